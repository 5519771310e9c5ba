//! The JSON of nvme-cli, under smartctl's names.

use serde_json::{Value, json};

/// Figures of the health log: smartctl's name, and nvme's.
const FIGURES: [(&str, &str); 13] = [
    ("critical_warning", "critical_warning"),
    ("available_spare", "avail_spare"),
    ("available_spare_threshold", "spare_thresh"),
    ("percentage_used", "percent_used"),
    ("data_units_read", "data_units_read"),
    ("data_units_written", "data_units_written"),
    ("power_cycles", "power_cycles"),
    ("power_on_hours", "power_on_hours"),
    ("unsafe_shutdowns", "unsafe_shutdowns"),
    ("media_errors", "media_errors"),
    ("num_err_log_entries", "num_err_log_entries"),
    ("warning_temp_time", "warning_temp_time"),
    ("critical_comp_time", "critical_comp_time"),
];

/// Kinds of self-tests by number (NVM Express 2.0, figure 99).
const KINDS: [(u64, &str); 2] = [(1, "Short"), (2, "Extended")];
/// Results of self-tests by number, from 0 (figure 99).
const RESULTS: [&str; 10] = [
    "Completed without error",
    "Aborted by a command",
    "Aborted by a reset",
    "Aborted: namespace removed",
    "Aborted by a format",
    "Ended by a fatal or unknown error",
    "Completed: a segment failed, unknown which",
    "Completed: failed segments",
    "Aborted for an unknown reason",
    "Aborted by a sanitize operation",
];
/// An entry of the log that was never used.
const UNUSED: u64 = 15;

const ZERO_CELSIUS_K: u64 = 273;

/// What `smart-log`, `id-ctrl` and `self-test-log` print, as smartctl would. `None`: the first has no health log. The
/// other two may be absent: old drives have no self-tests.
pub fn as_smartctl(health: &Value, controller: &Value, self_tests: &Value) -> Option<Value> {
    let warning = number(&health["critical_warning"])?;
    let log: serde_json::Map<String, Value> = FIGURES
        .iter()
        .filter_map(|(name, key)| Some(((*name).to_string(), number(&health[*key])?.into())))
        .collect();
    let reports = self_tests["List of Valid Reports"].as_array().into_iter().flatten();
    let tests: Vec<Value> = reports.filter_map(self_test).collect();
    Some(json!({
        "smart_status": {"passed": warning == 0},
        "temperature": {
            "current": celsius(&health["temperature"]),
            "op_limit_max": celsius(&controller["wctemp"]),
        },
        "power_cycle_count": number(&health["power_cycles"]),
        "nvme_smart_health_information_log": log,
        "nvme_self_test_log": {"table": tests},
    }))
}

/// Counters of 128 bits are text in nvme-cli 2, and floating-point numbers in nvme-cli 1.
fn number(value: &Value) -> Option<u64> {
    let text = || value.as_str().and_then(|text| text.parse().ok());
    let rounded = || value.as_f64().filter(|it| *it >= 0.0).map(|it| it as u64);
    value.as_u64().or_else(text).or_else(rounded)
}

/// nvme prints kelvins, as the drive does; 0 means not reported.
fn celsius(kelvin: &Value) -> Option<u64> {
    number(kelvin).and_then(|kelvin| kelvin.checked_sub(ZERO_CELSIUS_K))
}

fn self_test(report: &Value) -> Option<Value> {
    let result = number(&report["Self test result"]).filter(|it| *it != UNUSED)?;
    let code = number(&report["Self test code"])?;
    let kind = KINDS.iter().find(|(number, _)| *number == code).map_or("Of the maker", |it| it.1);
    let words = usize::try_from(result).ok().and_then(|at| RESULTS.get(at)).copied();
    Some(json!({
        "self_test_code": {"value": code, "string": kind},
        "self_test_result": {"value": result, "string": words.unwrap_or("Unknown result")},
        "power_on_hours": number(&report["Power on hours"]),
        "lba": number(&report["Failing LBA"]),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::smart_report::{json_of, read};
    use drivescope_model::health::Health;

    /// Printed by nvme-cli 2.3 of a log made for these tests.
    const HEALTH: &str = include_str!("smart_report/samples/nvme-cli-smart-log.json");
    const CONTROLLER: &str = include_str!("smart_report/samples/nvme-cli-id-ctrl.json");
    const SELF_TESTS: &str = include_str!("smart_report/samples/nvme-cli-self-test-log.json");

    fn health(log: &str, controller: &str, tests: &str) -> Option<Health> {
        let [log, controller, tests] =
            [log, controller, tests].map(|text| json_of(text.as_bytes()).unwrap_or_default());
        Some(read(&as_smartctl(&log, &controller, &tests)?).health)
    }

    #[test]
    fn logs_of_nvme_cli_are_read_whole() {
        let read = health(HEALTH, CONTROLLER, SELF_TESTS).unwrap();
        assert_eq!((read.passed, read.wear_pct, read.bad_sectors), (Some(true), Some(3), Some(0)));
        assert_eq!((read.power_on_hours, read.starts), (Some(6_487), Some(612)));
        assert_eq!(read.written_bytes, Some(38_770_112 * 512_000));
        assert_eq!((read.now_c, read.limit_c), (Some(41.0), Some(84.0)));
        let log = read.nvme.unwrap();
        assert_eq!((log.spare_pct, log.spare_threshold_pct), (Some(100), Some(10)));
        assert_eq!((log.unsafe_shutdowns, log.error_log_entries), (Some(21), Some(1_204)));
        assert_eq!((log.warm_minutes, log.critical_minutes), (Some(4), Some(0)));
        let tests: Vec<_> = read
            .self_tests
            .iter()
            .map(|it| (it.kind.as_str(), it.passed, it.power_on_hours, it.first_bad_sector))
            .collect();
        let expected = [
            ("Short", Some(true), Some(6_480), None),
            ("Extended", None, Some(5_011), None),
            ("Extended", Some(false), Some(4_900), Some(991)),
        ];
        assert_eq!(tests, expected);
    }

    #[test]
    fn counters_are_numbers_or_text_and_parts_may_be_absent() {
        let numbers = HEALTH.replace("\"6487\"", "6487.0").replace("\"612\"", "612");
        let read = health(&numbers, "", "").unwrap();
        assert_eq!(
            (read.power_on_hours, read.starts, read.limit_c),
            (Some(6_487), Some(612), None)
        );
        assert!(read.self_tests.is_empty());
        let warned = HEALTH.replace("\"critical_warning\":0", "\"critical_warning\":8");
        let read = health(&warned, "", "").unwrap();
        assert_eq!(read.passed, Some(false));
        assert_eq!(read.nvme.unwrap().warnings, ["it takes no more writes"]);
        assert_eq!(health("{}", CONTROLLER, SELF_TESTS), None);
    }
}
