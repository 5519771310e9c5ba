//! Runs and servers for tests.

#[cfg(feature = "postgres")]
#[path = "../../../tests/support/pooler.rs"]
#[expect(dead_code, reason = "other test programs use more of it")]
mod pooler;
#[cfg(feature = "postgres")]
#[path = "../../../tests/support/postgres_server.rs"]
#[expect(dead_code, reason = "other test programs use more of it")]
mod postgres_server;
#[path = "../../../tests/support/skip.rs"]
#[cfg_attr(
    not(feature = "postgres"),
    expect(dead_code, reason = "other test programs use more of it")
)]
pub(crate) mod skip;

#[cfg(feature = "postgres")]
pub(crate) use pooler::Pooler;
#[cfg(feature = "postgres")]
pub(crate) use postgres_server::{OWNER, PostgresServer};

#[cfg(feature = "postgres")]
use crate::{StoreLocation, init};
use drivescope_model::document::{FORMAT, Metric, Run, TestStatus};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::schema::run_schema;
use serde_json::{Value, json};

#[cfg(feature = "postgres")]
impl PostgresServer {
    /// Makes the tables in a new database.
    pub fn new_store(&self) -> StoreLocation {
        let location = self.location_of(OWNER, &self.new_database());
        assert_eq!(init(&location).unwrap().lacks, [""; 0]);
        location
    }

    pub fn location_of(&self, user: &str, database: &str) -> StoreLocation {
        StoreLocation::parse(Some(&self.address(user, database))).unwrap()
    }
}

/// Makes an empty file.
#[cfg(feature = "postgres")]
#[expect(clippy::disallowed_methods, reason = "a file in a folder of the test")]
pub(crate) fn touch(path: &std::path::Path) {
    std::fs::write(path, "").unwrap();
}

/// Every field is filled: no absent option, no empty list.
pub(crate) fn rich_run(id: &str) -> Run {
    let schema = run_schema().to_value();
    let mut run: Run = serde_json::from_value(samples(&schema, &schema, &mut 0).remove(0)).unwrap();
    (run.format, run.id, run.elapsed_s) = (FORMAT, id.to_string(), 61.5);
    run.started_at = "2026-01-31T12:00:00.25+01:00".into();
    run.status = TestStatus::Done;
    run.label = Some("new cable, \"left\" port — größer".into());
    run.target.path = "/mnt/Data_1/100%".into();
    run.host.name = "bench1".into();
    (run.plan.suite.name, run.plan.seed) = ("standard".into(), u64::MAX);
    let drive = run.drive.as_mut().unwrap();
    drive.name = "sda".into();
    drive.model = Some("WDC WD20EARS-00MVWB0".into());
    drive.serial = Some("WD-WCAZA1234567".into());
    run.findings =
        vec![Finding::new(FindingId::Stall, "1.2 s").about("transfer.rnd4k_q1t1").weighing(1.2)];
    run.tests[0].metrics = vec![
        metric("transfer.seq1m_q8t1.read.mb_s", 110.1, "MB/s", true),
        metric("transfer.seq1m_q1t1.read.mb_s", 108.0, "MB/s", true),
        metric("transfer.seq128k_q32t1.read.mb_s", 9_999.0, "MB/s", false),
        metric("transfer.seq1m_q8t1.write.mb_s", 95.5, "MB/s", true),
        metric("transfer.rnd4k_q1t1.read.iops", 72.5, "1/s", true),
        metric("transfer.rnd4k_q1t1.read.lat_p99_us", 24_000.125, "us", true),
    ];
    run
}

pub(crate) fn metric(key: &str, value: f64, unit: &str, valid: bool) -> Metric {
    Metric {
        key: key.into(),
        value,
        unit: unit.into(),
        low: value - 1.0,
        high: value + 1.0,
        rounds: vec![value - 0.5, value, value + 0.1],
        pooled: false,
        valid,
        invalid_because: vec![FindingId::AboveLink],
    }
}

/// A value of each kind that a schema allows, none absent. `count` makes numbers and texts differ.
fn samples(document: &Value, schema: &Value, count: &mut u32) -> Vec<Value> {
    *count += 1;
    if let Some(name) = schema["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/")) {
        return match name {
            "Shape" => vec![json!("rnd4k_q4t1")],
            "Mix" => vec![json!("mix70")],
            "Cell" => vec![json!("rnd4k_q1t1.write")],
            "FindingId" => vec![json!("F001")],
            _ => samples(document, &document["$defs"][name], count),
        };
    }
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return choices.iter().flat_map(|choice| samples(document, choice, count)).collect();
    }
    if !schema["const"].is_null() {
        return vec![schema["const"].clone()];
    }
    let kind = schema["type"].as_array().map_or(&schema["type"], |kinds| &kinds[0]);
    vec![match kind.as_str().unwrap() {
        "object" => {
            let fields = schema["properties"].as_object().unwrap().iter();
            let mut last = |field| samples(document, field, count).pop();
            Value::Object(
                fields.filter_map(|(name, field)| Some((name.clone(), last(field)?))).collect(),
            )
        }
        "array" => {
            let elements = if schema["items"]["type"] == "number" { 3 } else { 1 };
            (0..elements).flat_map(|_| samples(document, &schema["items"], count)).collect()
        }
        "null" => return vec![],
        "boolean" => json!(true),
        "integer" => json!(*count % 200),
        "number" => json!(f64::from(*count) + 0.25),
        _ => json!(format!("text {count}")),
    }]
}

#[test]
fn the_rich_run_leaves_nothing_out() {
    let text = serde_json::to_string(&rich_run("0123456789ab")).unwrap();
    assert!(!text.contains("null") && !text.contains("[]"), "{text}");
}
