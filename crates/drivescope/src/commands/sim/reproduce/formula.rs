//! The figures of runs, and the formulas by which cells ask for them.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// Metrics of a run by key, in bytes, seconds, and per second.
pub type MetricValues = BTreeMap<String, f64>;

/// Results of all jobs, or why one failed.
pub type RunFigures = BTreeMap<ModelRun, Result<MetricValues, String>>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelRun {
    pub model: String,
    /// A name in `runs.tsv`.
    pub run: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combined {
    Mean,
    Smallest,
    Largest,
}

#[derive(Debug, Clone, PartialEq)]
struct Term {
    job: ModelRun,
    key: String,
    /// The time of this many units, instead of the figure itself.
    count: Option<f64>,
}

/// Figures of models in a cell: `MODEL/RUN:METRIC …`, the mean of several unless `min` or `max` stands before them.
/// `COUNT/MODEL/RUN:METRIC` is the time of COUNT units at that rate. The mean of the figures after `minus` is
/// subtracted.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    combined: Combined,
    terms: Vec<Term>,
    minus: Vec<Term>,
}

impl FromStr for Formula {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut combined, mut terms, mut minus) = (Combined::Mean, Vec::new(), Vec::new());
        let (text, subtracted) = text.split_once(" minus ").unwrap_or((text, ""));
        for word in subtracted.split_whitespace() {
            minus.push(word.parse()?);
        }
        for word in text.split_whitespace() {
            match word {
                "mean" => combined = Combined::Mean,
                "min" => combined = Combined::Smallest,
                "max" => combined = Combined::Largest,
                _ => terms.push(word.parse()?),
            }
        }
        if terms.is_empty() {
            return Err(format!("'{text}' names no figure"));
        }
        Ok(Self { combined, terms, minus })
    }
}

impl FromStr for Term {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let wrong = || format!("'{word}' is not MODEL/RUN:METRIC or COUNT/MODEL/RUN:METRIC");
        let (run, key) = word.split_once(':').ok_or_else(wrong)?;
        let (count, model, run) = match *run.split('/').collect::<Vec<&str>>() {
            [model, run] => (None, model, run),
            [count, model, run] => (Some(count.parse().map_err(|_| wrong())?), model, run),
            _ => return Err(wrong()),
        };
        let job = ModelRun { model: model.to_string(), run: run.to_string() };
        Ok(Self { job, key: key.to_string(), count })
    }
}

impl Term {
    fn value(&self, measured: &RunFigures) -> Result<f64, String> {
        let ModelRun { model, run } = &self.job;
        let figures = measured.get(&self.job).ok_or(format!("{run} was not run on {model}"))?;
        let figures = figures.as_ref().map_err(Clone::clone)?;
        let value = figures.get(&self.key);
        let value = *value.ok_or(format!("{run} gives no {} of {model}", self.key))?;
        Ok(self.count.map_or(value, |count| count / value))
    }
}

impl Formula {
    pub fn jobs(&self) -> BTreeSet<ModelRun> {
        self.terms.iter().chain(&self.minus).map(|term| term.job.clone()).collect()
    }

    pub fn models(&self) -> Vec<&str> {
        let mut models: Vec<&str> = self.terms.iter().map(|term| term.job.model.as_str()).collect();
        models.dedup();
        models
    }

    /// In bytes, seconds, or per second. Errors: the job that failed, or the figure it does not have.
    pub fn value(&self, measured: &RunFigures) -> Result<f64, String> {
        let values = |terms: &[Term]| -> Result<Vec<f64>, String> {
            terms.iter().map(|term| term.value(measured)).collect()
        };
        let (values, minus) = (values(&self.terms)?, values(&self.minus)?);
        let combined = match self.combined {
            Combined::Mean => mean(&values),
            Combined::Smallest => values.iter().copied().fold(f64::INFINITY, f64::min),
            Combined::Largest => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        Ok(combined - mean(&minus))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
