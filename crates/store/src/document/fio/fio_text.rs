//! The results in fio's output: among messages, in several documents, with or without its normal text.

use super::super::controls;
use super::FormatError;
use serde_json::Value;

/// A field of every result of fio, and of hardly any other text.
const MARK: &str = "\"fio version\"";
/// Start of fio's messages, which may also stand within a document.
const MESSAGE: &str = "fio: ";

/// The results in a text; of several that `--status-interval` printed for one call, the last. Errors: the only result
/// breaks off or is damaged.
pub fn documents(text: &str) -> Result<Vec<Value>, FormatError> {
    if !text.contains(MARK) {
        return Ok(Vec::new());
    }
    let lines = text.split_inclusive('\n').filter(|line| !line.starts_with(MESSAGE));
    let (found, fault) = values(&lines.collect::<String>());
    // A document of drivescope counts even beside results of fio.
    if found.iter().any(|value| value.get("format").is_some()) {
        return Ok(Vec::new());
    }
    let mut results: Vec<Value> = Vec::new();
    for mut value in found.into_iter().filter(is_result) {
        controls::remove(&mut value);
        if results.last().is_some_and(|last| is_later_of_same_call(last, &value)) {
            results.pop();
        }
        results.push(value);
    }
    match fault {
        Some(fault) if results.is_empty() => Err(FormatError::NotJson(format!(
            "this result of fio breaks off or is damaged ({fault}); let fio end by itself, with --output=FILE"
        ))),
        _ => Ok(results),
    }
}

/// JSON values that start at the start of a line, and the fault of the first damaged one.
fn values(text: &str) -> (Vec<Value>, Option<serde_json::Error>) {
    let (mut found, mut fault, mut rest) = (Vec::new(), None, text);
    loop {
        rest = rest.trim_start();
        if rest.starts_with(['{', '[']) {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => {
                    rest = &rest[values.byte_offset()..];
                    match value {
                        Value::Array(several) => found.extend(several),
                        one => found.push(one),
                    }
                    continue;
                }
                Some(Err(error)) => {
                    fault.get_or_insert(error);
                }
                None => {}
            }
        }
        match rest.find('\n') {
            Some(end) => rest = &rest[end + 1..],
            None => return (found, fault),
        }
    }
}

fn is_result(value: &Value) -> bool {
    let is_of_fio = value["fio version"].is_string();
    is_of_fio && (value["jobs"].is_array() || value["client_stats"].is_array())
}

/// Whether `later` is a later result of the same call: with the same start and the same jobs. fio counts the seconds
/// since its start upwards (`elapsed`), so one is subtracted.
fn is_later_of_same_call(earlier: &Value, later: &Value) -> bool {
    fn ms(value: &Value) -> Option<f64> {
        value["timestamp_ms"].as_f64().or_else(|| Some(value["timestamp"].as_f64()? * 1e3))
    }
    let elapsed_s = super::fio_job::entries(later).filter_map(|job| job["elapsed"].as_f64());
    let Some(elapsed_s) = elapsed_s.reduce(f64::max) else { return false };
    let Some((earlier_ms, later_ms)) = ms(earlier).zip(ms(later)) else { return false };
    names(earlier) == names(later)
        && earlier["global options"] == later["global options"]
        && (elapsed_s - 1.0) * 1e3 > later_ms - earlier_ms
}

fn names(value: &Value) -> Vec<Value> {
    let jobs = super::fio_job::entries(value);
    jobs.map(|job| Value::from(vec![job["jobname"].clone(), job["groupid"].clone()])).collect()
}
