//! Does a simulated figure agree with a published one.

use super::Measured;
use super::table::Cell;
use drivescope_model::reproduction::{CellResult, Published};

/// How a published value is meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Op {
    /// `=`, `~`, `min`, `max`, `ratio`: this value, within the tolerance. Whether it is the extreme of
    /// several or a ratio is in the formulas.
    Near(f64),
    /// `<`: below it.
    Below(f64),
    /// `>`: above it.
    Above(f64),
    /// `range a..b`: between them, both widened by the tolerance.
    Between(f64, f64),
}

impl Op {
    /// Reads the two columns.
    pub(super) fn parse(op: &str, value: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse::<f64>().map_err(|_| format!("value '{text}' is no number"));
        match op {
            "=" | "~" | "min" | "max" | "ratio" => number(value).map(Self::Near),
            "<" => number(value).map(Self::Below),
            ">" => number(value).map(Self::Above),
            "range" => {
                let (low, high) =
                    value.split_once("..").ok_or(format!("range '{value}' is not LOW..HIGH"))?;
                Ok(Self::Between(number(low)?, number(high)?))
            }
            other => Err(format!("'{other}' is not =, ~, <, >, min, max, ratio or range")),
        }
    }

    /// Difference of `simulated` in percent, relative to the published value or the nearer end of the
    /// range (0 inside it), and whether that passes.
    #[must_use]
    pub fn judge(self, simulated: f64, tolerance_pct: Option<f64>) -> (f64, bool) {
        // what is on the edge but for rounding is within
        let tolerance_pct = tolerance_pct.unwrap_or(0.0) + 1e-9;
        let beside = |published: f64| (simulated / published - 1.0) * 100.0;
        match self {
            Self::Near(value) => (beside(value), beside(value).abs() <= tolerance_pct),
            Self::Below(value) => (beside(value), simulated < value),
            Self::Above(value) => (beside(value), simulated > value),
            Self::Between(low, high) => {
                let outside = if simulated < low {
                    beside(low)
                } else if simulated > high {
                    beside(high)
                } else {
                    0.0
                };
                (outside, outside.abs() <= tolerance_pct)
            }
        }
    }

    /// The value or values as published.
    fn published(self) -> Published {
        match self {
            Self::Near(value) | Self::Below(value) | Self::Above(value) => Published::One(value),
            Self::Between(low, high) => Published::Range([low, high]),
        }
    }
}

/// How many units of the figures (bytes, seconds, per second) one of a cell's units is.
fn scale(unit: &str) -> Result<f64, String> {
    Ok(match unit {
        "x" | "s" | "1/s" | "B" | "B/s" | "1/min" | "inch" | "count" => 1.0,
        "us" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        "KiB/s" => 1024.0,
        "MB" | "MB/s" => 1e6,
        "MiB" => 1_048_576.0,
        "GB" | "GB/s" => 1e9,
        "Gb/s" => 1e9 / 8.0,
        "TB" => 1e12,
        other => return Err(format!("'{other}' is no unit of a figure")),
    })
}

impl Cell {
    /// What the models give for this cell, in its unit.
    fn simulated(&self, measured: &Measured) -> Result<Option<f64>, String> {
        let Some(formula) = &self.measured else { return Ok(None) };
        let mut value = formula.value(&self.method, measured)? / scale(&self.unit)?;
        if let Some(versus) = &self.versus {
            value /= versus.value(&self.method, measured)?;
        }
        Ok(Some(value))
    }

    /// The cell beside what the models gave.
    #[must_use]
    pub fn result(&self, measured: &Measured) -> CellResult {
        let (simulated, trouble) = match self.simulated(measured) {
            Ok(simulated) => (simulated, None),
            Err(trouble) => (None, Some(trouble)),
        };
        let judged = simulated.map(|value| self.op.judge(value, self.tolerance_pct));
        // a job that broke is a failure, not a missing instrument
        let pass = judged.map(|(_, pass)| pass).or(trouble.is_some().then_some(false));
        let reason = trouble.or_else(|| self.reason.clone());
        CellResult {
            id: self.id.clone(),
            seed: self.seed.clone(),
            drive: self.drive.clone(),
            models: self.models(),
            method: self.method.clone(),
            condition: self.condition.clone(),
            metric: self.metric.clone(),
            unit: self.unit.clone(),
            op: self.sign.clone(),
            published: self.op.published(),
            simulated,
            difference_pct: judged.map(|(difference, _)| difference),
            tolerance_pct: self.tolerance_pct,
            reason: reason.filter(|_| pass != Some(true)),
            pass,
        }
    }

    /// The models it asks for, each once.
    fn models(&self) -> Vec<String> {
        let formulas = self.measured.iter().chain(&self.versus);
        let mut models: Vec<String> = Vec::new();
        for drive in formulas.flat_map(|formula| formula.drives()) {
            if !models.iter().any(|known| known == drive) {
                models.push(drive.to_string());
            }
        }
        models
    }
}
