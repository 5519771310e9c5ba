//! Run documents as text: writing them, reading them back, and refusing other texts. Unknown fields are ignored, and
//! optional ones may be absent, because fields are added without a new format.

mod controls;
mod disk_mark;
mod f3;
mod fio;
mod hdparm;
mod imported_run;
mod ioping;
mod plausible;

use drivescope_model::document::{FORMAT, Run};
use drivescope_model::json;
use drivescope_model::options::Suite;
use jiff::Timestamp;
use serde_json::Value;

/// Some programs write it; JSON does not allow it.
const BYTE_ORDER_MARK: char = '\u{feff}';

pub(crate) const ID_DIGITS: usize = 12;

/// Why a text is not a valid run document, in one line with the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormatError {
    #[error("{0}")]
    NotJson(String),
    /// Other JSON, a later format, or values that no run has.
    #[error("{0}")]
    NotARun(String),
}

/// The indented document. Numbers that are not finite become `null`: see `check_finite`.
pub fn to_json(run: &Run) -> String {
    json::indented(&run.to_json())
}

/// Reads run documents: one, an array of them, or several one after the other (as `drivescope run --json >> file`
/// leaves them). Errors: the first fault found, with its line where the text shows it. Nothing is read from a text with
/// a fault in it.
pub fn from_json(text: &str) -> Result<Vec<Run>, FormatError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut runs = Vec::new();
    let mut number = 0;
    let mut begin = 0;
    while let Some(value) = values.next() {
        let value = value.map_err(|error| broken(&error))?;
        let end = values.byte_offset();
        let documents = match value {
            Value::Array(documents) => documents,
            one => vec![one],
        };
        for document in documents {
            number += 1;
            runs.push(read(document, number, |reason| place_of(reason, text, begin, end))?);
        }
        begin = end;
    }
    if begin == 0 {
        return Err(empty());
    }
    Ok(runs)
}

/// Reads runs from a file that any program may have written: also results of fio, and the text of CrystalDiskMark,
/// KDiskMark, ioping, f3 and hdparm. Refuses figures that no measurement gives. Errors: as [`from_json`]; an
/// impossible figure.
pub fn from_file(text: &str) -> Result<Vec<Run>, FormatError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let runs = match of_others(text)? {
        Some(runs) => runs,
        None if text.trim_start().starts_with(|c| !matches!(c, '{' | '[')) => return Err(foreign()),
        None => from_json(text)?,
    };
    runs.iter().try_for_each(plausible::check)?;
    Ok(runs)
}

/// `None`: the text is from no other program that is known.
fn of_others(text: &str) -> Result<Option<Vec<Run>>, FormatError> {
    if let Some(runs) = fio::runs(text)? {
        return Ok(Some(runs));
    }
    for read in [disk_mark::run, f3::run, hdparm::run, ioping::run] {
        if let Some(run) = read(text)? {
            return Ok(Some(vec![run]));
        }
    }
    Ok(None)
}

pub(crate) fn from_stored(text: &str) -> Result<Run, FormatError> {
    from_json(text)?.into_iter().next().ok_or_else(empty)
}

fn empty() -> FormatError {
    let message = "the file is empty; import files written by drivescope export or run --json";
    FormatError::NotJson(message.to_string())
}

fn foreign() -> FormatError {
    let message = "it is neither JSON nor a text of CrystalDiskMark, KDiskMark, ioping, f3 or hdparm; import what those \
                   print or save, or files written by drivescope export, run --json or fio --output-format=json";
    FormatError::NotJson(message.to_string())
}

/// Whether a run can be kept: the current format, an id, a start, and finite numbers only. Errors: the first of these
/// that is wrong.
pub fn check(run: &Run) -> Result<(), FormatError> {
    check_head(run)?;
    check_finite(run)
}

fn check_head(run: &Run) -> Result<(), FormatError> {
    let id = &run.id;
    if !is_id(id) {
        return Err(FormatError::NotARun(format!(
            "'{id}' is not a run id; it must be {ID_DIGITS} lower-case hexadecimal digits"
        )));
    }
    if run.format != FORMAT {
        return Err(other_format(&format!("run {id}"), run.format.into()));
    }
    started_unix_us(run).map(drop)
}

/// JSON has no NaN and no infinity: `serde_json` writes `null`, which reads back as an error, or, in an optional
/// field, as "not known".
fn check_finite(run: &Run) -> Result<(), FormatError> {
    if Run::from_json(&run.to_json()).is_ok_and(|same| same == *run) {
        return Ok(());
    }
    let metrics = run.tests.iter().flat_map(|test| &test.metrics);
    let spoiled = metrics.filter(|metric| !metric.value.is_finite()).map(|metric| &metric.key);
    let which = spoiled.map(|key| format!(", {key}")).collect::<String>();
    Err(FormatError::NotARun(format!(
        "run {} cannot be kept: it has a figure that is not a number{which}; please report this",
        run.id
    )))
}

/// Microseconds since 1970 UTC.
pub(crate) fn started_unix_us(run: &Run) -> Result<i64, FormatError> {
    run.started_at.parse::<Timestamp>().map(Timestamp::as_microsecond).map_err(|_| {
        FormatError::NotARun(format!(
            "run {}: '{}' is not a time; write it as 2026-01-31T12:00:00+01:00",
            run.id, run.started_at
        ))
    })
}

fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Reads one document; `number` counts those of the text from 1, `place` locates a fault.
fn read(
    mut document: Value,
    number: usize,
    place: impl Fn(&str) -> String,
) -> Result<Run, FormatError> {
    let name = match document.get("id").and_then(Value::as_str) {
        Some(id) if is_id(id) => format!("run {id}"),
        _ => format!("document {number}"),
    };
    check_format(&document, &name)?;
    controls::remove(&mut document);
    let run = Run::from_value(&document)
        .or_else(|_| Run::from_value(&without_unknown_options(document)))
        .map_err(|error| {
            let reason = json::reason(&error);
            FormatError::NotARun(format!(
                "{name} cannot be read: {reason}{}; update drivescope if a newer version wrote it, otherwise repair \
                 that field",
                place(&reason)
            ))
        })?;
    check_head(&run)?;
    Ok(run)
}

/// Whether a document is of [`FORMAT`]. A new format brings those of the one before it up to date here.
fn check_format(document: &Value, name: &str) -> Result<(), FormatError> {
    let reason = match document.get("format").map(Value::as_u64) {
        Some(Some(1)) => return Ok(()),
        Some(Some(found)) => return Err(other_format(name, found)),
        _ if !document.is_object() => "it is not an object",
        _ => "it has no format number",
    };
    Err(not_a_run(name, reason))
}

fn other_format(name: &str, found: u64) -> FormatError {
    if found == 0 {
        return not_a_run(name, "there is no format 0");
    }
    FormatError::NotARun(format!(
        "{name} has format {found}, this drivescope reads up to {FORMAT}; update drivescope"
    ))
}

fn not_a_run(name: &str, reason: &str) -> FormatError {
    FormatError::NotARun(format!(
        "{name} is not a drivescope run ({reason}); import files written by drivescope export or run --json"
    ))
}

/// Removes options that this version does not know. A suite file must not have them, since they are mistakes there; in
/// a document they come from a newer drivescope, and its results can still be read.
fn without_unknown_options(mut document: Value) -> Value {
    let known = Suite::default().to_value();
    if let Some(suite) = document.pointer_mut("/plan/suite") {
        keep_known(suite, &known);
    }
    document
}

fn keep_known(value: &mut Value, known: &Value) {
    if let (Value::Object(fields), Value::Object(known)) = (value, known) {
        fields.retain(|name, _| known.contains_key(name));
        for (name, field) in fields {
            keep_known(field, &known[name]);
        }
    }
}

fn broken(error: &serde_json::Error) -> FormatError {
    let (reason, line, column) = (json::reason(error), error.line(), error.column());
    FormatError::NotJson(format!(
        "invalid JSON at line {line}, column {column}: {reason}; export the run again, or repair the file"
    ))
}

/// The place of a fault in `text[begin..end]`: ` (line 3, column 8)`. The part is read again for this, straight into
/// runs, because a JSON value has no places; the place counts only if the same fault comes first.
fn place_of(reason: &str, text: &str, begin: usize, end: usize) -> String {
    let part = &text[begin..end];
    let error = if part.trim_start().starts_with('[') {
        Run::list_from_json(part).err()
    } else {
        Run::from_json(part).err()
    };
    let Some(error) = error.filter(|error| error.to_string().starts_with(reason)) else {
        return String::new();
    };
    let before = &text[..begin];
    let line = before.matches('\n').count() + error.line();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let skipped = if error.line() == 1 { begin - line_start } else { 0 };
    format!(" (line {line}, column {})", skipped + error.column())
}

#[cfg(test)]
pub(crate) mod tests;
