//! Messages about mistakes in model files, in the terms of their author.

use super::wrong_value::{self, WrongValue};
use crate::numbers::plain;
use drivescope_model::shortened::shortened;

/// The place of a mistake in `text` (first byte of the value, or of the table), and its message in one line.
pub(super) fn mistake(text: &str, error: &toml::de::Error) -> (usize, String) {
    let at = error.span().map_or(0, |span| span.start);
    let message = in_words(error.message());
    match wrong_value::find(text, at, error.message()) {
        Some(WrongValue { at, .. }) if message.starts_with("unknown field ") => (at, message),
        Some(WrongValue { at, field }) => (at, format!("{field}: {message}")),
        None => match key_before(text, at) {
            Some(key) => (at, format!("{key}: {message}")),
            None => (at, message),
        },
    }
}

/// The message of the TOML reader in one line: what it found, and what it expected.
fn in_words(message: &str) -> String {
    let message = message.lines().collect::<Vec<_>>().join(" ");
    if let Some(name) = quoted_after(&message, "missing field ") {
        let rest = message.split_once(&format!("`{name}`")).map_or("", |(_, rest)| rest);
        return format!("the field {name} is missing{rest}");
    }
    for beginning in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) =
            message.strip_prefix(beginning).and_then(|rest| rest.rsplit_once(", expected "))
        {
            return format!("is {}; give {}", found_in_words(found), wanted_in_words(expected));
        }
    }
    if let Some((found, expected)) = unknown("variant", &message) {
        return format!("is \"{}\"; give {}", shortened(found), in_quotes(expected));
    }
    if let Some((found, expected)) = unknown("field", &message) {
        return format!("unknown field `{}`, expected {expected}", shortened(found));
    }
    if let Some(expected) = message.strip_prefix("invalid length ") {
        let length = expected.split(',').next().unwrap_or_default();
        return format!("has {length} values; give pairs [cylinders, ms]");
    }
    message
}

/// Of `unknown KIND `X`, expected Y`: X, which may be anything, and Y, which is ours.
fn unknown<'m>(kind: &str, message: &'m str) -> Option<(&'m str, &'m str)> {
    let found = message.strip_prefix("unknown ")?.strip_prefix(kind)?.strip_prefix(" `")?;
    found.rsplit_once("`, expected ")
}

fn in_quotes(names: &str) -> String {
    names.replace('`', "\"")
}

/// The name in backquotes after `before`.
fn quoted_after<'a>(message: &'a str, before: &str) -> Option<&'a str> {
    message.strip_prefix(before)?.strip_prefix('`')?.split('`').next()
}

fn found_in_words(found: &str) -> String {
    let value = || {
        let text = found.split('`').nth(1).unwrap_or(found);
        // the reader writes out all zeros of 1e-300
        let number = text.parse::<f64>().ok().filter(|_| text.len() > 20);
        number.map_or(text.to_string(), plain)
    };
    match found.split(' ').next() {
        Some("string") => {
            let text = found.trim_start_matches("string ").trim_matches('"');
            format!("the text \"{}\"", shortened(text))
        }
        Some("integer" | "floating" | "boolean") => value(),
        Some("map") => "a table".to_string(),
        Some("sequence") => "a list".to_string(),
        Some("unit") => "empty".to_string(),
        _ => found.to_string(),
    }
}

fn wanted_in_words(expected: &str) -> String {
    let wanted = match expected {
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number, 0 or more",
        "f64" => "a number",
        "a string" => "a text in quotation marks",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "variant identifier" => "a word in quotation marks",
        "a tuple of size 2" => "a pair [cylinders, ms]",
        _ if expected.contains("struct") || expected.contains("enum") || expected == "a map" => {
            "a table"
        }
        _ => expected,
    };
    wanted.to_string()
}

/// The key whose value begins at byte `at` of a file, if it stands directly before.
fn key_before(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?.trim_end().strip_suffix('=')?.trim_end();
    let part_of_key = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let key = &before[before.trim_end_matches(part_of_key).len()..];
    (!key.is_empty()).then_some(key)
}
