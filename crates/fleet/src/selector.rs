//! Chooses drives by an expression: `model=~"WD40.*" and fill<0.5 and host=~"rack7-.*"`.
//!
//! Case does not count, and a pattern matches a whole text. A comparison with something that a drive does not have is
//! false, whatever the operator. docs/fleet.md has all fields.

mod fields;
mod parser;
mod words;

use drivescope_model::fleet::HostDrive;
use drivescope_model::nearest::nearest;
use fields::{NumberField, TextField};
use regex_lite::Regex;
use std::cmp::Ordering;

/// A parsed expression.
#[derive(Debug)]
pub struct Selector {
    expression: Expression,
}

/// Why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct SelectorError {
    /// In characters, from 1.
    pub column: usize,
    pub message: String,
}

#[derive(Debug)]
enum Expression {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    Test(Condition),
}

#[derive(Debug)]
enum Condition {
    Text { field: TextField, wanted: Wanted, is_negated: bool },
    Number { field: NumberField, relation: Relation, than: f64 },
    IsThere(bool),
}

#[derive(Debug)]
enum Wanted {
    /// In lower case.
    Same(String),
    Pattern(Regex),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Same,
    Other,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Selector {
    /// Errors: the column, and what was expected there.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        Ok(Self { expression: parser::parse(text)? })
    }

    pub fn matches(&self, drive: &HostDrive) -> bool {
        self.expression.holds(drive)
    }

    /// For a selector that matches nothing: the texts that it asks for and no drive has, each with the nearest one that
    /// a drive has.
    pub fn corrections(&self, drives: &[HostDrive]) -> Vec<String> {
        let mut found = Vec::new();
        self.expression.each_condition(&mut |condition| {
            let Condition::Text { field, wanted: Wanted::Same(wanted), is_negated: false } =
                condition
            else {
                return;
            };
            let known = || drives.iter().filter_map(|drive| field.of(drive));
            if known().any(|text| text.to_lowercase() == *wanted) {
                return;
            }
            if let Some(near) = nearest(wanted, known()) {
                found.push(format!("no {} is '{wanted}'; did you mean '{near}'?", field.name()));
            }
        });
        found
    }
}

impl Expression {
    fn holds(&self, drive: &HostDrive) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|part| part.holds(drive)),
            Self::All(parts) => parts.iter().all(|part| part.holds(drive)),
            Self::Not(inner) => !inner.holds(drive),
            Self::Test(condition) => condition.holds(drive),
        }
    }

    fn each_condition(&self, look: &mut dyn FnMut(&Condition)) {
        match self {
            Self::Any(parts) | Self::All(parts) => {
                parts.iter().for_each(|part| part.each_condition(look));
            }
            Self::Not(inner) => inner.each_condition(look),
            Self::Test(condition) => look(condition),
        }
    }
}

impl Condition {
    fn holds(&self, drive: &HostDrive) -> bool {
        match self {
            Self::Text { field, wanted, is_negated } => {
                field.of(drive).is_some_and(|text| wanted.is_met_by(text) != *is_negated)
            }
            Self::Number { field, relation, than } => {
                let order = field.of(drive).and_then(|value| field.compare(value, *than));
                order.is_some_and(|order| relation.allows(order))
            }
            Self::IsThere(wanted) => drive.is_there == *wanted,
        }
    }
}

impl Wanted {
    fn is_met_by(&self, text: &str) -> bool {
        match self {
            Self::Same(wanted) => text.to_lowercase() == *wanted,
            Self::Pattern(pattern) => pattern.is_match(text),
        }
    }
}

impl Relation {
    const fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Same => order.is_eq(),
            Self::Other => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

#[cfg(test)]
mod tests;
