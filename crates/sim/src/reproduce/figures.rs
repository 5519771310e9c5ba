//! Figures that instruments give, and the formulas by which cells ask for them.

use super::instruments;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// What one run of an instrument gives: figures by name, in bytes, seconds, and per second.
pub type Figures = BTreeMap<String, f64>;

/// One instrument on one drive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// Name of a model, or of a twin of it that turns at another speed: `wd40efrx@7200rpm`.
    pub drive: String,
    /// Name of the instrument: the cell's method.
    pub method: String,
}

impl Job {
    /// Runs it, in virtual time from a drive that has just been powered on.
    ///
    /// # Errors
    /// One line: no such model or method, or a request that failed.
    pub fn run(&self) -> Result<Figures, String> {
        instruments::run(self)
    }
}

/// How several figures become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combined {
    Mean,
    Smallest,
    Largest,
}

/// Figures of models, as a cell asks for them: `DRIVE:FIGURE …`, the mean of several unless `min` or `max`
/// stands before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula {
    combined: Combined,
    terms: Vec<(String, String)>,
}

impl FromStr for Formula {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut combined = Combined::Mean;
        let mut terms = Vec::new();
        for word in text.split_whitespace() {
            match (word, word.split_once(':')) {
                ("mean", _) => combined = Combined::Mean,
                ("min", _) => combined = Combined::Smallest,
                ("max", _) => combined = Combined::Largest,
                (_, Some((drive, figure))) => terms.push((drive.to_string(), figure.to_string())),
                _ => return Err(format!("'{word}' is not DRIVE:FIGURE")),
            }
        }
        if terms.is_empty() {
            return Err(format!("'{text}' names no figure"));
        }
        Ok(Self { combined, terms })
    }
}

impl Formula {
    /// What must be run for it with this instrument.
    pub(super) fn jobs(&self, method: &str) -> BTreeSet<Job> {
        let job = |drive: &String| Job { drive: drive.clone(), method: method.to_string() };
        self.terms.iter().map(|(drive, _)| job(drive)).collect()
    }

    /// The drives it asks, each once, in the order named.
    #[must_use]
    pub fn drives(&self) -> Vec<&str> {
        let mut drives: Vec<&str> = self.terms.iter().map(|(drive, _)| drive.as_str()).collect();
        drives.dedup();
        drives
    }

    /// Its value, in the units of the figures.
    ///
    /// # Errors
    /// One line: which job failed, or which figure it does not give.
    pub(super) fn value(&self, method: &str, measured: &super::Measured) -> Result<f64, String> {
        let mut values = Vec::with_capacity(self.terms.len());
        for (drive, figure) in &self.terms {
            let job = Job { drive: drive.clone(), method: method.to_string() };
            let figures = measured.get(&job).ok_or(format!("{method} was not run on {drive}"))?;
            let figures = figures.as_ref().map_err(Clone::clone)?;
            let value = figures.get(figure);
            values.push(*value.ok_or(format!("{method} gives no {figure} of {drive}"))?);
        }
        Ok(match self.combined {
            Combined::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Combined::Smallest => values.iter().copied().fold(f64::INFINITY, f64::min),
            Combined::Largest => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}
