//! What SMART says of a drive, each figure with its name: for terminals and pages.

use drivescope_model::Bytes;
use drivescope_model::health::{AttributeFailure, Health, NvmeHealth, SelfTest, SmartAttribute};
use drivescope_model::number::{one_decimal, whole};

/// Self-tests shown; the document has all.
const SELF_TESTS_SHOWN: usize = 5;

pub(crate) const ATTRIBUTE_HEADS: [&str; 7] =
    ["id", "attribute", "raw", "value", "worst", "threshold", "failed"];
pub(crate) const SELF_TEST_HEADS: [&str; 3] = ["self-test", "at", "result"];

pub(crate) struct HealthFact {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// A reason to worry.
    pub(crate) is_bad: bool,
}

/// A count, before and after a run.
struct Counter {
    name: &'static str,
    get: fn(&Health) -> Option<u64>,
    is_bad: bool,
}

const fn counter(name: &'static str, is_bad: bool, get: fn(&Health) -> Option<u64>) -> Counter {
    Counter { name, get, is_bad }
}

const COUNTERS: [Counter; 5] = [
    counter("reallocated", true, |it| it.reallocated_sectors),
    counter("pending", true, |it| it.pending_sectors),
    counter("offline-uncorrectable", true, |it| it.offline_uncorrectable),
    counter("uncorrected errors", true, |it| it.uncorrected_errors),
    // One bad moment of a cable stays in it for ever.
    counter("CRC errors of the link", false, |it| it.crc_errors),
];

/// Every figure that is known; `after` is the health at the end of a run, shown where it differs.
pub(crate) fn health_facts(health: &Health, after: Option<&Health>) -> Vec<HealthFact> {
    let mut facts = Vec::new();
    let mut add = |name, value: Option<String>, is_bad| {
        facts.extend(value.map(|value| HealthFact { name, value, is_bad }));
    };
    let verdict = |passed| if passed { "passed" } else { "FAILED" }.to_string();
    add("SMART", health.passed.map(verdict), health.passed == Some(false));
    add("power-on hours", health.power_on_hours.map(whole), false);
    let farm = health.farm.as_ref().map(|farm| {
        let parts =
            [(farm.power_on, "on"), (farm.spinning, "turning"), (farm.head_flight, "heads flying")];
        let known = parts.into_iter().filter_map(|(hours, what)| Some((whole(hours?), what)));
        known.map(|(hours, what)| format!("{hours} {what}")).collect::<Vec<_>>().join(", ")
    });
    add("hours by FARM", farm, false);
    add("starts", health.starts.map(whole), false);
    let now = after.unwrap_or(health);
    let bytes = |before: Option<u64>, now: Option<u64>| {
        let (before, now) = (Bytes(before?).to_string(), Bytes(now.or(before)?).to_string());
        Some(changed(before, now))
    };
    add("written", bytes(health.written_bytes, now.written_bytes), false);
    add("read", bytes(health.read_bytes, now.read_bytes), false);
    let wear = health.wear_pct.map(|pct| format!("{} % of the maker's rating", whole(pct)));
    add("endurance used", wear, health.wear_pct >= Some(100));
    for Counter { name, get, is_bad } in COUNTERS {
        let (before, last) = (get(health), get(now).or(get(health)));
        let value = before.zip(last).map(|(it, last)| changed(whole(it), whole(last)));
        add(name, value, (is_bad && last > Some(0)) || last > before);
    }
    if let Some(nvme) = &health.nvme {
        facts.extend(nvme_facts(nvme));
    }
    facts.extend(temperature(health, now));
    facts
}

/// Every figure that is a number, with its unit: for tables that programs read.
pub(crate) fn health_figures(health: &Health) -> Vec<(&'static str, f64, &'static str)> {
    let count = |name, value: Option<u64>, unit| Some((name, value? as f64, unit));
    let known = [
        count("power_on_hours", health.power_on_hours, "h"),
        count("starts", health.starts, "1"),
        count("written_bytes", health.written_bytes, "bytes"),
        count("read_bytes", health.read_bytes, "bytes"),
        count("wear_pct", health.wear_pct, "%"),
        count("reallocated_sectors", health.reallocated_sectors, "1"),
        count("pending_sectors", health.pending_sectors, "1"),
        count("offline_uncorrectable", health.offline_uncorrectable, "1"),
        count("uncorrected_errors", health.uncorrected_errors, "1"),
        count("crc_errors", health.crc_errors, "1"),
        health.now_c.map(|celsius| ("now_c", celsius, "°C")),
    ];
    known.into_iter().flatten().collect()
}

/// `12, 15 after the run`.
fn changed(before: String, after: String) -> String {
    if before == after { before } else { format!("{before}, {after} after the run") }
}

fn nvme_facts(log: &NvmeHealth) -> Vec<HealthFact> {
    fn minutes(minutes: Option<u64>) -> Option<String> {
        minutes.map(|it| format!("{} min", whole(it)))
    }
    let spare = log.spare_pct.map(|pct| match log.spare_threshold_pct {
        Some(least) => format!("{pct} %, threshold {least} %"),
        None => format!("{pct} %"),
    });
    let is_short = log.spare_pct.zip(log.spare_threshold_pct).is_some_and(|(it, least)| it < least);
    let warnings = (!log.warnings.is_empty()).then(|| log.warnings.join("; "));
    let all = [
        ("warnings", warnings, true),
        ("spare blocks", spare, is_short),
        ("unsafe shutdowns", log.unsafe_shutdowns.map(whole), false),
        ("error log entries", log.error_log_entries.map(whole), false),
        ("time too warm", minutes(log.warm_minutes), false),
        ("time critically warm", minutes(log.critical_minutes), log.critical_minutes > Some(0)),
    ];
    let known = all
        .into_iter()
        .filter_map(|(name, value, is_bad)| Some(HealthFact { name, value: value?, is_bad }));
    known.collect()
}

fn temperature(health: &Health, now: &Health) -> Option<HealthFact> {
    fn celsius(c: f64) -> String {
        format!("{} °C", one_decimal(c))
    }
    let before = celsius(health.now_c?);
    let mut parts = vec![changed(before.clone(), now.now_c.map_or(before, celsius))];
    parts.extend(health.highest_c.map(|c| format!("highest ever {}", celsius(c))));
    parts.extend(health.limit_c.map(|c| format!("limit {}", celsius(c))));
    let is_bad = now.now_c.zip(health.limit_c).is_some_and(|(now, limit)| now >= limit);
    Some(HealthFact { name: "temperature", value: parts.join(", "), is_bad })
}

pub(crate) fn attribute_row(attribute: &SmartAttribute) -> [String; 7] {
    fn number(value: Option<u64>) -> String {
        value.map(whole).unwrap_or_default()
    }
    let failed = match attribute.failed {
        Some(AttributeFailure::Now) => "now",
        Some(AttributeFailure::Past) => "in the past",
        None => "",
    };
    [
        attribute.id.to_string(),
        attribute.name.clone(),
        attribute.raw.clone(),
        number(attribute.value),
        number(attribute.worst),
        number(attribute.threshold),
        failed.to_string(),
    ]
}

pub(crate) fn last_self_tests(health: &Health) -> &[SelfTest] {
    &health.self_tests[..health.self_tests.len().min(SELF_TESTS_SHOWN)]
}

pub(crate) fn self_test_row(test: &SelfTest) -> [String; 3] {
    let hours = test.power_on_hours.map(|hours| format!("{} h", whole(hours))).unwrap_or_default();
    let place = test.first_bad_sector.map(|sector| format!(" at sector {}", whole(sector)));
    [test.kind.clone(), hours, format!("{}{}", test.result, place.unwrap_or_default())]
}
