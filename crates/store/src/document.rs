//! Run documents as text: writing them, reading them back, and refusing what is not one.
//!
//! A reader takes documents of its own format and older ones, which it brings up to date. Fields it
//! does not know are ignored, and optional fields may be absent, because fields are added without a
//! new format.

mod resume_sentence;

use crate::finite;
use drivescope_model::document::{FORMAT, Run};
use drivescope_model::options::Suite;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

/// Digits of an id.
pub(crate) const ID_DIGITS: usize = 12;

/// Why a text is not a run document that can be kept; one line with the remedy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// There is no document in the text.
    #[error("the file is empty; import files written by drivescope export or run --json")]
    Empty,
    /// The text is not JSON.
    #[error(
        "invalid JSON at line {line}, column {column}: {reason}; export the run again, or repair the file"
    )]
    Broken {
        /// From 1.
        line: usize,
        /// In bytes, from 1; 0 if the text ends where the line begins.
        column: usize,
        /// What was found or missed.
        reason: String,
    },
    /// The JSON is something else.
    #[error(
        "{document} is not a drivescope run ({reason}); import files written by drivescope export or run --json"
    )]
    NotARun {
        /// Which one of the text.
        document: String,
        /// What shows it.
        reason: &'static str,
    },
    /// The document is of a later format.
    #[error(
        "{document} has format {found}, this drivescope reads up to {FORMAT}; update drivescope"
    )]
    Newer {
        /// Which one of the text.
        document: String,
        /// Its format.
        found: u64,
    },
    /// A field is missing or of another type.
    #[error(
        "{document} cannot be read: {reason}{place}; update drivescope if a newer version wrote it, otherwise repair that field"
    )]
    Unreadable {
        /// Which one of the text.
        document: String,
        /// What was found or missed.
        reason: String,
        /// ` (line 3, column 8)`, when it is known.
        place: String,
    },
    /// The id is not one.
    #[error("'{id}' is not a run id; it must be {ID_DIGITS} lower-case hexadecimal digits")]
    BadId {
        /// What the document has.
        id: String,
    },
    /// The start has no known form.
    #[error("run {id}: '{started_at}' is not a time; write it as 2026-01-31T12:00:00+01:00")]
    BadStart {
        /// Which run.
        id: String,
        /// What the document has.
        started_at: String,
    },
    /// A number is NaN or infinite, which JSON cannot express.
    #[error("run {id} cannot be kept: {field} is {value}, not a number; please report this")]
    NotFinite {
        /// Which run.
        id: String,
        /// The path of the field: `tests[0].metrics[2].value`.
        field: String,
        /// `NaN`, `inf`, `-inf`.
        value: String,
    },
    /// A metric that no measurement gives.
    #[error("run {id}: {key} is {what}; export the run again, or correct that metric")]
    Impossible {
        /// Which run.
        id: String,
        /// Key of the metric.
        key: String,
        /// What it has, and why that cannot be.
        what: String,
    },
}

/// The document of a run, indented. Numbers that are not finite become `null`: see [`check`].
pub fn to_json(run: &Run) -> String {
    serde_json::to_string_pretty(run).expect("a run is made of fields, texts and numbers")
}

/// The documents of several runs as one array, indented; [`from_json`] reads it.
pub fn all_to_json(runs: &[Run]) -> String {
    serde_json::to_string_pretty(runs).expect("a run is made of fields, texts and numbers")
}

/// The document of a run in the least space.
pub(crate) fn to_compact_json(run: &Run) -> String {
    serde_json::to_string(run).expect("a run is made of fields, texts and numbers")
}

/// Reads run documents: one, an array of them, or several one after the other (as
/// `drivescope run --json >> file` leaves them). Documents of older formats are brought up to date.
///
/// # Errors
/// The first fault found, with its line where the text shows it. Nothing is read from a text with a
/// fault in it.
pub fn from_json(text: &str) -> Result<Vec<Run>, FormatError> {
    // Some editors begin a file with a byte order mark, which JSON does not allow.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
            runs.push(read(document, number).map_err(|error| error.placed(text, begin, end))?);
        }
        begin = end;
    }
    if begin == 0 {
        return Err(FormatError::Empty);
    }
    Ok(runs)
}

/// The same of a file that anything may have written or changed since: also refuses metrics that cannot be.
///
/// # Errors
/// As [`from_json`]; [`FormatError::Impossible`].
pub fn from_file(text: &str) -> Result<Vec<Run>, FormatError> {
    let runs = from_json(text)?;
    for run in &runs {
        for metric in run.tests.iter().flat_map(|test| &test.metrics) {
            if let Some(what) = metric.impossible() {
                let (id, key) = (run.id.clone(), metric.key.clone());
                return Err(FormatError::Impossible { id, key, what });
            }
        }
    }
    Ok(runs)
}

/// Reads the one document that a row of the store holds.
pub(crate) fn from_stored(text: &str) -> Result<Run, FormatError> {
    from_json(text)?.into_iter().next().ok_or(FormatError::Empty)
}

/// Whether a run can be kept: the current format, an id, a start, and finite numbers only.
///
/// # Errors
/// The first of these that is wrong.
pub fn check(run: &Run) -> Result<(), FormatError> {
    if !is_id(&run.id) {
        return Err(FormatError::BadId { id: run.id.clone() });
    }
    if run.format != FORMAT {
        let document = format!("run {}", run.id);
        return Err(if run.format > FORMAT {
            FormatError::Newer { document, found: run.format.into() }
        } else {
            FormatError::NotARun { document, reason: "its format was not brought up to date" }
        });
    }
    started_unix_us(run)?;
    finite::check(run).map_err(|found| FormatError::NotFinite {
        id: run.id.clone(),
        field: found.path,
        value: found.value,
    })
}

/// When a run began, in microseconds since 1970 UTC.
pub(crate) fn started_unix_us(run: &Run) -> Result<i64, FormatError> {
    run.started_at.parse::<Timestamp>().map(Timestamp::as_microsecond).map_err(|_| {
        FormatError::BadStart { id: run.id.clone(), started_at: run.started_at.clone() }
    })
}

/// Whether `text` is a whole id.
fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// One document; `number` counts those of the text from 1.
fn read(document: Value, number: usize) -> Result<Run, FormatError> {
    let name = match document.get("id").and_then(Value::as_str) {
        Some(id) if is_id(id) => format!("run {id}"),
        _ => format!("document {number}"),
    };
    let document = up_to_date(document, &name)?;
    let mut run = Run::deserialize(&document)
        .or_else(|_| Run::deserialize(without_unknown_options(document)))
        .map_err(|error| FormatError::Unreadable {
            document: name,
            reason: error.to_string(),
            place: String::new(),
        })?;
    resume_sentence::upgrade(&mut run);
    check(&run)?;
    Ok(run)
}

/// Brings a document to [`FORMAT`]. A new format adds an arm that changes the value and goes on to
/// the next one.
fn up_to_date(document: Value, name: &str) -> Result<Value, FormatError> {
    let not_a_run = |reason| FormatError::NotARun { document: name.to_string(), reason };
    if !document.is_object() {
        return Err(not_a_run("it is not an object"));
    }
    match document.get("format").and_then(Value::as_u64) {
        None => Err(not_a_run("it has no format number")),
        Some(0) => Err(not_a_run("there is no format 0")),
        Some(1) => Ok(document),
        Some(found) => Err(FormatError::Newer { document: name.to_string(), found }),
    }
}

/// Takes the options away that this version does not know. The types of a suite refuse unknown
/// options, since one in a suite file is a slip of the pen; in a document it is an option of a newer
/// drivescope, and the results beside it can be read all the same.
fn without_unknown_options(mut document: Value) -> Value {
    let known = Suite::deserialize(json!({"name": "", "summary": "", "tests": []}))
        .map(serde_json::to_value)
        .expect("every option of a suite has a default")
        .expect("a suite is made of fields, texts and numbers");
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
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    FormatError::Broken {
        line: error.line(),
        column: error.column(),
        reason: text.strip_suffix(&place).unwrap_or(&text).to_string(),
    }
}

impl FormatError {
    /// Adds where in `text[begin..end]` the fault is. The part is read once more for this, straight
    /// into runs, because a JSON value does not remember its place; the place counts only if this
    /// meets the same fault first.
    fn placed(mut self, text: &str, begin: usize, end: usize) -> Self {
        if let Self::Unreadable { reason, place, .. } = &mut self {
            let part = &text[begin..end];
            let error = if part.trim_start().starts_with('[') {
                serde_json::from_str::<Vec<Run>>(part).err()
            } else {
                serde_json::from_str::<Run>(part).err()
            };
            if let Some(error) = error.filter(|error| error.to_string().starts_with(&*reason)) {
                let before = &text[..begin];
                let line = before.matches('\n').count() + error.line();
                let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
                let skipped = if error.line() == 1 { begin - line_start } else { 0 };
                *place = format!(" (line {line}, column {})", skipped + error.column());
            }
        }
        self
    }
}

#[cfg(test)]
pub(crate) mod tests;
