//! Documents as JSON, and suites as TOML. Only here: serde makes the code for a type anew in each crate, and for each
//! form of a text, that reads or writes it, which is megabytes of program for a run.

use crate::document::Run;
use crate::options::Suite;
use serde_json::{Error, Value};

impl Run {
    /// In one line. Numbers that are not finite become `null`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a run is made of fields, texts and numbers")
    }

    pub fn to_value(&self) -> Value {
        value_of(&self.to_json())
    }

    /// Errors: the first fault with its place. Unknown fields are skipped, but not unknown options.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text)
    }

    /// As [`from_json`](Self::from_json), from a list of documents.
    pub fn list_from_json(text: &str) -> Result<Vec<Self>, Error> {
        serde_json::from_str(text)
    }

    /// As [`from_json`](Self::from_json); the place of a fault is none of the document's.
    pub fn from_value(document: &Value) -> Result<Self, Error> {
        Self::from_json(&document.to_string())
    }
}

impl Suite {
    /// A suite file. Errors: the first fault with its place.
    pub fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    pub fn to_value(&self) -> Value {
        value_of(
            &serde_json::to_string(self).expect("a suite is made of fields, texts and numbers"),
        )
    }

    /// Errors: the first fault; its place is none of the suite's.
    pub fn from_value(options: &Value) -> Result<Self, Error> {
        serde_json::from_str(&options.to_string())
    }
}

fn value_of(json: &str) -> Value {
    serde_json::from_str(json).expect("it was just written")
}

/// JSON on several lines, with its fields in the same order.
pub fn indented(json: &str) -> String {
    format!("{:#}", value_of(json))
}

/// What is wrong, without the place that [`Error`] shows.
pub fn reason(error: &Error) -> String {
    let (text, line, column) = (error.to_string(), error.line(), error.column());
    let place = format!(" at line {line} column {column}");
    text.strip_suffix(&place).unwrap_or(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indented_json_has_fields_and_figures_as_written() {
        let line = r#"{"b":0.1,"a":[2.0,18446744073709551615],"c":null}"#;
        let indented = indented(line);
        assert!(indented.starts_with("{\n  \"b\": 0.1,\n  \"a\": [\n    2.0,\n"), "{indented}");
        assert_eq!(indented.replace([' ', '\n'], ""), line);
    }

    #[test]
    fn options_come_back_and_faults_have_no_place() {
        let suite = Suite { rounds: 7, ..Suite::default() };
        let mut options = suite.to_value();
        assert_eq!(Suite::from_value(&options).unwrap(), suite);
        options["rounds"] = "seven".into();
        let fault = reason(&Suite::from_value(&options).unwrap_err());
        assert_eq!(fault, "invalid type: string \"seven\", expected u32");
    }
}
