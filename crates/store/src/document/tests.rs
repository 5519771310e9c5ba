use super::*;
use crate::testing::rich_run;
use drivescope_model::document::Metric;
use drivescope_model::options::Rate;
use proptest::prelude::*;
use serde_json::json;

const ID: &str = "0123456789ab";

fn value_of(run: &Run) -> Value {
    serde_json::to_value(run).unwrap()
}

fn message_of(value: &Value) -> String {
    let message = from_json(&value.to_string()).unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

#[test]
fn one_an_array_and_a_sequence_read_back() {
    let (a, b) = (rich_run(ID), rich_run("ba9876543210"));
    let both = [a.clone(), b.clone()];
    assert_eq!(from_json(&to_json(&a)).unwrap(), both[..1]);
    assert_eq!(from_json(&a.to_json()).unwrap(), both[..1]);
    assert_eq!(from_json(&serde_json::to_string_pretty(&both).unwrap()).unwrap(), both);
    assert_eq!(from_json(&format!("\u{feff}{}\n{}\n", to_json(&a), to_json(&b))).unwrap(), both);
    assert_eq!(from_json(&format!("{}{}", a.to_json(), to_json(&b))).unwrap(), both);
    assert_eq!(from_json("[]").unwrap(), []);
}

#[test]
fn a_text_without_a_document_is_refused() {
    for text in ["", "  \n", "\u{feff}"] {
        assert_eq!(from_json(text), Err(empty()), "{text:?}");
    }
}

#[test]
fn broken_json_is_placed() {
    let text = to_json(&rich_run(ID));
    let third_line = text.match_indices('\n').nth(1).unwrap().0 + 1;
    let mut spoiled = text.clone();
    spoiled.insert_str(third_line, "  oops,\n");
    for (text, line, column) in [
        (spoiled.as_str(), 3, 3),
        ("{\"format\": 1,}", 1, 14),
        ("[]\n[1, 2", 2, 5),
        (&text[..text.len() - 1], text.lines().count(), 0),
        ("{\"format\": 1e999}", 1, 16),
    ] {
        let Err(FormatError::NotJson(message)) = from_json(text) else { panic!("{text}") };
        let place = format!("invalid JSON at line {line}, column {column}: ");
        let reason = message.strip_prefix(&place).expect(&message);
        assert!(!reason.contains("line"), "{reason}");
    }
}

#[test]
fn newer_format_is_refused_before_parsing() {
    let message = message_of(&json!({"format": 2, "id": ID, "everything": "else"}));
    assert_eq!(
        message,
        "run 0123456789ab has format 2, this drivescope reads up to 1; update drivescope"
    );
    let message = message_of(&json!([value_of(&rich_run(ID)), {"format": 7}]));
    assert!(message.starts_with("document 2 has format 7"), "{message}");
}

#[test]
fn other_json_is_not_a_run() {
    for (value, word) in [
        (json!({}), "no format number"),
        (json!({"format": "1"}), "no format number"),
        (json!({"format": 1.5}), "no format number"),
        (json!({"format": -1}), "no format number"),
        (json!({"format": 0}), "format 0"),
        (json!(17), "not an object"),
        (json!([[]]), "not an object"),
    ] {
        let message = message_of(&value);
        assert!(message.starts_with("document 1 is not a drivescope run"), "{message}");
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn a_wrong_field_is_named_with_its_place() {
    let text = to_json(&rich_run(ID)).replace("\"elapsed_s\": 61.5", "\"elapsed_s\": null");
    let line = 1 + text.lines().position(|line| line.contains("null")).unwrap();
    let message = from_json(&text).unwrap_err().to_string();
    assert!(
        message.starts_with("run 0123456789ab cannot be read: invalid type: null"),
        "{message}"
    );
    assert!(message.contains(&format!("(line {line}, column")), "{message}");

    // The same as the second document of a file and on the same line as the first.
    let other = to_json(&rich_run("ba9876543210"));
    let lines = other.lines().count();
    let message = from_json(&format!("{other}\n{text}")).unwrap_err().to_string();
    assert!(message.contains(&format!("(line {}, column", lines + line)), "{message}");
    let compact: Value = serde_json::from_str(&text).unwrap();
    let message = from_json(&format!("[]  {compact}")).unwrap_err().to_string();
    let column = 4 + compact.to_string().find("null").unwrap() + "null".len();
    assert!(message.contains(&format!("(line 1, column {column})")), "{message}");
}

#[test]
fn unknown_finding_is_an_error_naming_it() {
    let text = to_json(&rich_run(ID)).replace("F020", "F999");
    let message = from_json(&text).unwrap_err().to_string();
    assert!(message.contains("F999") && message.contains("update"), "{message}");
}

#[test]
fn fields_of_the_future_are_ignored() {
    fn add_everywhere(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.values_mut().for_each(add_everywhere);
                fields.insert("of_the_future".into(), json!({"a": [1, null]}));
            }
            Value::Array(items) => items.iter_mut().for_each(add_everywhere),
            _ => {}
        }
    }
    let run = rich_run(ID);
    let mut value = value_of(&run);
    add_everywhere(&mut value);
    assert!(value.to_string().matches("of_the_future").count() > 30);
    assert_eq!(from_json(&value.to_string()).unwrap(), [run]);
}

#[test]
fn unknown_option_does_not_hide_another_fault() {
    let mut value = value_of(&rich_run(ID));
    value["plan"]["suite"]["surface"]["of_the_future"] = json!(1);
    value["host"]["cpus"] = json!("eight");
    let message = message_of(&value);
    assert!(message.contains("eight") && !message.contains("of_the_future"), "{message}");
}

#[test]
fn optional_fields_may_be_absent() {
    fn remove_nulls(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|_, field| !field.is_null());
                fields.values_mut().for_each(remove_nulls);
            }
            Value::Array(items) => items.iter_mut().for_each(remove_nulls),
            _ => {}
        }
    }
    let mut run = rich_run(ID);
    (run.label, run.price, run.drive) = (None, None, None);
    (run.host.governor, run.target.file_system, run.verdict[0].points) = (None, None, None);
    let mut value = value_of(&run);
    assert!(value.to_string().contains("null"));
    remove_nulls(&mut value);
    assert_eq!(from_json(&value.to_string()).unwrap(), [run]);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    type Spoil = fn(&mut Run);
    let cases: [(&str, Spoil); 13] = [
        ("is not a run id", |run| run.id = "0123456789a".into()),
        ("is not a run id", |run| run.id = "0123456789abc".into()),
        ("is not a run id", |run| run.id = "0123456789AB".into()),
        ("is not a run id", |run| run.id = "../../../etc".into()),
        ("format 2", |run| run.format = 2),
        ("there is no format 0", |run| run.format = 0),
        ("is not a time", |run| run.started_at = "yesterday".into()),
        ("is not a time", |run| run.started_at = "2026-01-31T12:00:00".into()),
        ("not a number, transfer.seq1m_q8t1.read.mb_s; please report", |run| {
            run.tests[0].metrics[0].value = f64::INFINITY;
        }),
        ("not a number", |run| run.tests[0].metrics[0].rounds[2] = f64::NEG_INFINITY),
        ("not a number", |run| run.tests[0].phases[0].temperature_c = Some(f64::NAN)),
        ("not a number", |run| run.verdict[0].rules[0].thresholds[1] = f64::NAN),
        ("not a number", |run| run.plan.suite.latency.rates[0] = Rate::Iops(f64::NAN)),
    ];
    for (word, spoil) in cases {
        let mut run = rich_run(ID);
        spoil(&mut run);
        let message = check(&run).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
        // An optional field that is null is absent.
        assert!(word == "not a number" || from_json(&to_json(&run)).is_err(), "{word}");
    }
    assert_eq!(check(&rich_run(ID)), Ok(()));
}

#[test]
fn starts_are_compared_as_moments() {
    fn start(text: &str) -> i64 {
        let mut run = rich_run(ID);
        run.started_at = text.into();
        started_unix_us(&run).unwrap()
    }
    assert_eq!(start("1970-01-01T00:00:00.000001Z"), 1);
    assert_eq!(start("2026-01-31T12:00:00+01:00"), start("2026-01-31T11:00:00Z"));
    assert_eq!(
        start("2026-01-31T12:00:00.5+01:00[Europe/Berlin]"),
        start("2026-01-31T11:00:00.5Z")
    );
}

fn finite() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE
}

prop_compose! {
    fn any_metric()(
        key in "\\PC{0,20}", value in finite(), low in finite(), high in finite(),
        rounds in prop::collection::vec(finite(), 0..5), valid: bool,
    ) -> Metric {
        let unit = key.chars().rev().collect();
        Metric { key, value, unit, low, high, rounds, pooled: false, valid, invalid_because: vec![] }
    }
}

prop_compose! {
    /// The rich run with arbitrary texts, numbers and lengths in the places of each kind.
    pub(crate) fn any_run()(
        id in "[0-9a-f]{12}", label in prop::option::of(any::<String>()), path: String,
        second in -1_000_000_000i64..4_000_000_000, seed: u64, bytes: u64, simulated: bool,
        temperature_c in prop::option::of(finite()), elapsed_s in finite(),
        metrics in prop::collection::vec(any_metric(), 0..4), has_drive: bool,
        y in prop::collection::vec(finite(), 0..20),
    ) -> Run {
        let mut run = rich_run(&id);
        run.started_at = Timestamp::from_second(second).unwrap().to_string();
        (run.label, run.target.path, run.simulated) = (label, path, simulated);
        (run.elapsed_s, run.plan.seed, run.target.size_bytes) = (elapsed_s, seed, bytes);
        run.tests[0].phases[0].temperature_c = temperature_c;
        run.tests[0].series[0].y = y;
        run.tests[0].metrics = metrics;
        run.drive = run.drive.filter(|_| has_drive);
        run
    }
}

#[test]
fn impossible_metric_is_refused_in_file_not_store() {
    type Spoil = fn(&mut Metric);
    let cases: [(&str, Spoil); 5] = [
        ("is -5 MB/s, which no measurement gives", |metric| metric.value = -5.0),
        ("is -1 MB/s, which", |metric| metric.rounds[1] = -1.0),
        ("outside its own interval", |metric| metric.low = metric.value * 2.0),
        ("outside its own interval", |metric| metric.high = metric.value / 2.0),
        ("is 101 MB/s, which", |metric| {
            metric.key = "verify.capacity.sure_pct".into();
            (metric.value, metric.high) = (101.0, 102.0);
        }),
    ];
    assert_eq!(from_file(&to_json(&rich_run(ID))).unwrap(), [rich_run(ID)]);
    for (words, spoil) in cases {
        let mut run = rich_run(ID);
        let metric = &mut run.tests[0].metrics[0];
        spoil(metric);
        let message = from_file(&to_json(&run)).unwrap_err().to_string();
        let key = &run.tests[0].metrics[0].key;
        assert!(message.starts_with(&format!("run {ID}: {key} ")), "{message}");
        assert!(message.contains(words) && message.contains("; "), "{message}");
        assert_eq!(from_stored(&to_json(&run)).unwrap(), run);
    }
}

#[test]
fn sector_of_0_is_refused_naming_its_field() {
    for (field, spoil) in [("drive.logical_sector_bytes", 0), ("drive.physical_sector_bytes", 1)] {
        let mut run = rich_run(ID);
        let drive = run.drive.as_mut().unwrap();
        let fields = [&mut drive.logical_sector_bytes, &mut drive.physical_sector_bytes];
        *fields[spoil] = 0;
        let message = from_file(&to_json(&run)).unwrap_err().to_string();
        assert!(message.contains(&format!("{field} is 0")), "{message}");
    }
}

#[test]
fn control_characters_of_any_field_are_left_out() {
    let text = to_json(&rich_run(ID)).replace("\"transfer.seq", "\"transfer.\\u001b[31m\\u009bseq");
    let run = from_json(&text).unwrap().remove(0);
    let key = &run.tests[0].metrics[0].key;
    assert!(key.starts_with("transfer.\u{fffd}[31m\u{fffd}seq"), "{key}");
    assert_eq!(from_stored(&text).unwrap(), run);
}

#[test]
fn unknown_text_is_refused_naming_accepted_forms() {
    let message = from_file("hello").unwrap_err().to_string();
    assert!(message.contains("fio") && message.contains("CrystalDiskMark"), "{message}");
}

proptest! {
    #[test]
    fn file_with_possible_figures_is_accepted(
        figures in prop::collection::vec(-9.0..9.0f64, 2..6), low in -9.0..9.0f64, high in -9.0..9.0f64,
        known: bool,
    ) {
        let mut run = rich_run(ID);
        let key = if known { "transfer.a.iops" } else { "transfer.a.drift_us" };
        run.tests[0].metrics[0] = Metric {
            key: key.into(), value: figures[0], low, high, rounds: figures[1..].to_vec(),
            ..run.tests[0].metrics[0].clone()
        };
        let possible = !known || figures.iter().all(|&figure| figure >= 0.0);
        let expected = possible && (low..=high).contains(&figures[0]);
        prop_assert_eq!(from_file(&to_json(&run)).is_ok(), expected);
    }

    #[test]
    fn every_run_reads_back(run in any_run()) {
        prop_assert_eq!(from_json(&to_json(&run)).unwrap(), vec![run.clone()]);
        prop_assert_eq!(from_json(&run.to_json()).unwrap(), vec![run]);
    }

    #[test]
    fn reading_never_panics(text in ".{0,60}") {
        let _ = from_json(&text);
    }

    #[test]
    fn a_cut_document_is_broken_or_empty(share in 0.0f64..0.999) {
        let text = to_json(&rich_run(ID));
        let mut cut = (text.len() as f64 * share) as usize;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let error = from_json(&text[..cut]).unwrap_err();
        prop_assert!(matches!(error, FormatError::NotJson(_)), "{error}");
    }

    #[test]
    fn a_spoiled_byte_never_panics(share in 0.0f64..1.0, byte in 0x20u8..0x7f) {
        let text = to_json(&rich_run(ID));
        let at = (text.len() as f64 * share) as usize;
        let mut bytes = text.into_bytes();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes) {
            let _ = from_json(&text);
        }
    }
}
