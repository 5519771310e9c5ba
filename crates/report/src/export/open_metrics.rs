//! Figures of runs for monitoring: the text format of OpenMetrics, which Prometheus reads too. Names, labels and units
//! stay as they are: dashboards and alerts depend on them.

use crate::comparison::name_of;
use crate::terminal::clean;
use drivescope_model::findings::Severity;
use drivescope_model::metrics::{Quantity, quantity_of};
use drivescope_model::target::TargetKind;
use drivescope_model::{Run, TestStatus};
use std::collections::BTreeMap;

/// A family of one quantity: its name, and what turns a figure into its base unit.
#[derive(Debug, PartialEq)]
struct MetricFamily {
    name: String,
    times: f64,
    /// Divided by: decimal fractions stay exact.
    by: f64,
}

/// A fact of a run or drive as a gauge: name, help, value.
type Gauge = (&'static str, &'static str, fn(&Run) -> Option<f64>);

const GAUGES: [Gauge; 11] = [
    ("run_start_time_seconds", "When the newest run began, Unix time.", start_time_s),
    ("run_duration_seconds", "How long the newest run took.", |run| Some(run.elapsed_s)),
    ("run_complete", "1 if all tests of the newest run ended without an error.", |run| {
        Some(f64::from(u8::from(run.status == TestStatus::Done)))
    }),
    ("run_valid_figures", "Valid figures of the newest run.", |run| Some(figures(run, true))),
    (
        "run_invalid_figures",
        "Figures of the newest run that are not the drive's; they are left out here.",
        |run| Some(figures(run, false)),
    ),
    ("drive_capacity_bytes", "Capacity of the drive.", |run| {
        Some(run.drive.as_ref()?.capacity_bytes as f64)
    }),
    ("drive_temperature_celsius", "Temperature of the drive before the run.", |run| {
        run.drive.as_ref()?.temperature_c
    }),
    ("drive_health_passed", "SMART's overall verdict: 1 passed, 0 failed.", |run| {
        Some(f64::from(u8::from(run.drive.as_ref()?.health.passed?)))
    }),
    ("drive_power_on_seconds", "Time powered on, as SMART reports it.", |run| {
        Some(run.drive.as_ref()?.health.power_on_hours? as f64 * 3600.0)
    }),
    (
        "drive_wear_ratio",
        "Wear of the flash as a share of its rated endurance; may exceed 1.",
        |run| Some(run.drive.as_ref()?.health.wear_pct? as f64 / 100.0),
    ),
    ("drive_bad_sectors", "Reallocated and pending sectors, and media errors.", |run| {
        Some(run.drive.as_ref()?.health.bad_sectors? as f64)
    }),
];

const INFO: (&str, &str) = ("run_info", "The newest run: its id, label, program and status.");
const FINDINGS: (&str, &str) = ("run_findings", "Findings of the newest run, by severity.");
const VERDICTS: (&str, &str) =
    ("verdict_points", "What the drive suits: 0 to 3 points for each use.");
const SEVERITIES: [Severity; 4] =
    [Severity::Note, Severity::Warning, Severity::Invalid, Severity::Problem];

/// The families of an exposition: help, and samples by their labels. Two samples with the same labels would make a
/// collector refuse the whole text, so the later one replaces the earlier.
#[derive(Default)]
struct MetricFamilies(BTreeMap<String, (String, BTreeMap<String, f64>)>);

impl MetricFamilies {
    fn add(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: f64) {
        let of_name = || (help.to_string(), BTreeMap::new());
        let (_, samples) = self.0.entry(format!("drivescope_{name}")).or_insert_with(of_name);
        let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        samples.insert(labels.collect::<Vec<_>>().join(","), value);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, (help, samples)) in &self.0 {
            text += &format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
            for (labels, value) in samples {
                text += &format!("{name}{{{labels}}} {value}\n");
            }
        }
        text + "# EOF\n"
    }
}

/// The valid figures of runs in base units, a series for each; of two runs with the same labels the later one counts.
pub fn open_metrics(runs: &[Run]) -> String {
    let mut families = MetricFamilies::default();
    runs.iter().for_each(|run| add_run(&mut families, run));
    families.text()
}

fn add_run(families: &mut MetricFamilies, run: &Run) {
    let (drive, target) = (name_of(run), series_target(run));
    let serial = run.drive.as_ref().and_then(|drive| drive.serial.as_deref()).unwrap_or_default();
    let labels = [
        ("drive", drive.as_str()),
        ("serial", serial),
        ("target", target),
        ("suite", run.plan.suite.name.as_str()),
    ];
    let mut add = |(name, help): (&str, &str), more: &[(&str, &str)], value: f64| {
        families.add(name, help, &[&labels[..], more].concat(), value);
    };
    let status = format!("{:?}", run.status).to_lowercase();
    let about = [
        ("run", run.id.as_str()),
        ("label", run.label.as_deref().unwrap_or_default()),
        ("version", run.tool.version.as_str()),
        ("status", status.as_str()),
        ("simulated", if run.simulated { "true" } else { "false" }),
    ];
    add(INFO, &about, 1.0);
    for (name, help, value_of) in GAUGES {
        value_of(run).into_iter().for_each(|value| add((name, help), &[], value));
    }
    for severity in SEVERITIES {
        let count = run.findings.iter().filter(|finding| finding.severity == severity).count();
        add(FINDINGS, &[("severity", severity.name())], count as f64);
    }
    for verdict in &run.verdict {
        if let Some(points) = verdict.points {
            add(VERDICTS, &[("suits", &verdict.suits)], f64::from(points));
        }
    }
    for metric in run.tests.iter().flat_map(|test| &test.metrics).filter(|metric| metric.valid) {
        let Some(quantity) = quantity_of(&metric.key) else { continue };
        let MetricFamily { name, times, by } = family(quantity);
        let help = help(quantity, &name);
        let (test, rest) = metric.key.split_once('.').unwrap_or((&metric.key, ""));
        let cell = rest.rsplit_once('.').map_or("", |(cell, _)| cell);
        add((&name, &help), &[("test", test), ("cell", cell)], metric.value * times / by);
    }
}

/// The path of a target, except where the drive's serial number says more: a device may have another name after a boot.
fn series_target(run: &Run) -> &str {
    let has_serial = run.drive.as_ref().is_some_and(|drive| drive.serial.is_some());
    if has_serial && run.target.kind == TargetKind::Block { "" } else { &run.target.path }
}

fn start_time_s(run: &Run) -> Option<f64> {
    let began: jiff::Timestamp = run.started_at.parse().ok()?;
    run.is_clock_set().then(|| began.as_millisecond() as f64 / 1e3)
}

fn figures(run: &Run, is_valid: bool) -> f64 {
    let all = run.tests.iter().flat_map(|test| &test.metrics);
    all.filter(|metric| metric.valid == is_valid).count() as f64
}

/// The key of a quantity with its base unit: `lat_p99_us` is `latency_p99_seconds`.
fn family(quantity: &Quantity) -> MetricFamily {
    let key = quantity.key;
    let ends_as = |old: &str, new: &str| format!("{}{new}", key.strip_suffix(old).unwrap_or(key));
    let (name, times, by) = match quantity.unit {
        "MB/s" => (ends_as("mb_s", "bytes_per_second"), 1e6, 1.0),
        "KiB/s" => (ends_as("kib_s", "pass_bytes_per_second"), 1024.0, 1.0),
        "1/s" if key.ends_with("iops") => (ends_as("iops", "requests_per_second"), 1.0, 1.0),
        "1/s" if key == "tps" => ("pass_requests_per_second".to_string(), 1.0, 1.0),
        "1/s" => (ends_as("_s", "_per_second"), 1.0, 1.0),
        "1/min" => (ends_as("rpm", "rotations_per_second"), 1.0, 60.0),
        "s" => (ends_as("_s", "_seconds"), 1.0, 1.0),
        "ms" => (ends_as("_ms", "_seconds"), 1.0, 1e3),
        "us" => (ends_as("_us", "_seconds"), 1.0, 1e6),
        "ns" => (ends_as("_ns_per_io", "_seconds_per_request"), 1.0, 1e9),
        "%" => (ends_as("_pct", "_ratio"), 1.0, 100.0),
        // The name of a gauge must not end like a part of a histogram.
        _ if key == "count" => ("number".to_string(), 1.0, 1.0),
        _ => (key.to_string(), 1.0, 1.0),
    };
    let name = match name.strip_prefix("lat_") {
        Some(rest) => format!("latency_{rest}"),
        None => name,
    };
    MetricFamily { name, times, by }
}

/// Where the quantity is described; its own text may name another unit.
fn help(quantity: &Quantity, name: &str) -> String {
    let units =
        ["bytes_per_second", "seconds_per_request", "seconds", "bytes", "per_second", "ratio"];
    let unit = units.into_iter().find(|unit| name.ends_with(unit));
    let unit = unit.map_or(String::new(), |unit| format!(", in {}", unit.replace('_', " ")));
    format!("Quantity {} of drivescope (docs/format.md){unit}.", quantity.key)
}

fn escaped(text: &str) -> String {
    clean(text.trim()).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, must_have, with_metrics};
    use drivescope_model::metrics::QUANTITIES;

    const DASHBOARD: &str = include_str!("../../../../packaging/grafana/drivescope.json");

    /// Names of all families that any run can have.
    fn all_names() -> Vec<String> {
        let gauges = GAUGES.iter().map(|(name, ..)| name.to_string());
        let others = [INFO, FINDINGS, VERDICTS].map(|(name, _)| name.to_string());
        let quantities = QUANTITIES.iter().map(|quantity| family(quantity).name);
        gauges.chain(others).chain(quantities).map(|name| format!("drivescope_{name}")).collect()
    }

    #[test]
    fn names_are_unique_and_end_in_base_units() {
        let mut names = all_names();
        let abbreviated = ["s", "ms", "us", "ns", "mb", "kb", "pct", "iops", "tps", "rpm", "lat"];
        for name in &names {
            assert!(
                name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
            );
            assert!(!name.split('_').any(|part| abbreviated.contains(&part)), "{name}");
            let reserved = ["_total", "_count", "_sum", "_bucket", "_created"];
            assert!(!reserved.iter().any(|end| name.ends_with(end)), "{name}");
        }
        names.sort();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    }

    #[test]
    fn figures_have_base_units() {
        for (key, name, value) in [
            ("mb_s", "bytes_per_second", 2e6),
            ("min_mb_s", "min_bytes_per_second", 2e6),
            ("kib_s", "pass_bytes_per_second", 2048.0),
            ("offered_iops", "offered_requests_per_second", 2.0),
            ("commits_s", "commits_per_second", 2.0),
            ("lat_p99_9_us", "latency_p99_9_seconds", 2e-6),
            ("access_mean_ms", "access_mean_seconds", 2e-3),
            ("time_s", "time_seconds", 2.0),
            ("cpu_user_ns_per_io", "cpu_user_seconds_per_request", 2e-9),
            ("cache_share_pct", "cache_share_ratio", 0.02),
            ("rpm", "rotations_per_second", 2.0 / 60.0),
            ("penalty_ratio", "penalty_ratio", 2.0),
            ("sector_bytes", "sector_bytes", 2.0),
        ] {
            let found = family(quantity_of(key).unwrap());
            assert_eq!((found.name.as_str(), 2.0 * found.times / found.by), (name, value));
        }
    }

    #[test]
    fn valid_figures_are_series_and_invalid_ones_are_counted() {
        let mut run = with_metrics(&[
            ("transfer.rnd4k_q1t1.read.lat_p99_us", &[85.3]),
            ("transfer.seq1m_q8t1.read.mb_s", &[178.2]),
            ("transfer.rnd4k_q1t1.read.iops", &[149.0]),
        ]);
        run.tests[0].metrics[2].valid = false;
        run.target.path = "/mnt/a \"b\"\\\n".to_string();
        let drive = run.drive.as_mut().unwrap();
        (drive.model, drive.serial) = (Some("WD".to_string()), Some("S1".to_string()));
        let text = open_metrics(&[run.clone()]);
        let labels = "{drive=\"WD\",serial=\"S1\",target=\"/mnt/a \\\"b\\\"\\\\\",suite=\"quick\"";
        must_have(
            &text,
            &[
                &format!(
                    "drivescope_latency_p99_seconds{labels},test=\"transfer\",cell=\"rnd4k_q1t1.read\"}} 0.0000853\n"
                ),
                &format!(
                    "drivescope_bytes_per_second{labels},test=\"transfer\",cell=\"seq1m_q8t1.read\"}} 178200000\n"
                ),
                &format!("drivescope_run_invalid_figures{labels}}} 1\n"),
                &format!("drivescope_run_findings{labels},severity=\"warning\"}} 0\n"),
            ],
        );
        assert!(!text.contains("requests_per_second") && text.ends_with("\n# EOF\n"), "{text}");
        run.target.kind = TargetKind::Block;
        assert!(open_metrics(&[run]).contains("serial=\"S1\",target=\"\""));
    }

    #[test]
    fn every_series_is_there_once() {
        let (mut old, new) = (hard_disk(), hard_disk());
        old.tests[0].metrics[0].value = 1.0;
        let text = open_metrics(&[old, new.clone()]);
        assert_eq!(text, open_metrics(&[new]));
        let mut series: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.rsplit_once(' ').unwrap().0)
            .collect();
        let count = series.len();
        series.sort_unstable();
        series.dedup();
        assert!(count > 30 && series.len() == count, "{text}");
    }

    #[test]
    fn dashboard_asks_only_for_metrics_that_are_written() {
        fn is_part(c: char) -> bool {
            c.is_ascii_alphanumeric() || c == '_'
        }
        let names = all_names();
        let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
        let mut asked = 0;
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let query = target["expr"].as_str().unwrap();
                for word in query.split(|c| !is_part(c)).filter(|it| it.starts_with("drivescope_"))
                {
                    assert!(names.iter().any(|name| name == word), "{word} in {query}");
                    asked += 1;
                }
            }
        }
        let variables = dashboard["templating"]["list"].to_string();
        for (at, _) in variables.match_indices("drivescope_") {
            let word = variables[at..].split(|c| !is_part(c)).next().unwrap();
            assert!(names.iter().any(|name| name == word), "{word} in a variable");
        }
        assert!(asked > 8, "{asked}");
    }
}
