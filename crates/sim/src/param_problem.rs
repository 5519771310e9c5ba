//! Parameters that cannot be, each named with its field.

use crate::numbers::outside;

/// A parameter that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ParamProblem {
    /// Path of the field inside its table, for example `zones.inner_media_mb_s`.
    pub field: String,
    /// The mistake, and the accepted values.
    pub message: String,
}

impl ParamProblem {
    pub(crate) fn new(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), message: message.into() }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Problems(pub(crate) Vec<ParamProblem>);

impl Problems {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn add(&mut self, field: &str, message: impl Into<String>) {
        self.0.push(ParamProblem::new(field, message));
    }

    pub(crate) fn unless(&mut self, ok: bool, field: &str, message: impl Into<String>) {
        if !ok {
            self.add(field, message);
        }
    }

    /// Notes a value that does not lie from `least` to `most`.
    pub(crate) fn range(&mut self, field: &str, value: f64, (least, most): (f64, f64), unit: &str) {
        if let Some(message) = outside(value, least, most, unit) {
            self.add(field, message);
        }
    }
}
