//! Does a simulated figure agree with a published one.

use super::formula::RunFigures;
use super::table::PublishedCell;
use drivescope_drive::simulated::spec::model_named;
use drivescope_model::reproduction::CellResult;

/// A unit in bytes, seconds or per second.
pub(super) fn scale(unit: &str) -> Result<f64, String> {
    Ok(match unit {
        "x" | "s" | "1/s" | "B" | "bytes" | "B/s" | "1/min" | "%" | "% full" => 1.0,
        "us" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        "KiB/s" => 1024.0,
        "MiB" => 1_048_576.0,
        "MB/s" => 1e6,
        "GB" | "GB/s" => 1e9,
        "TB" => 1e12,
        other => return Err(format!("'{other}' is not a unit of a figure")),
    })
}

fn is_generic(model: &str) -> bool {
    model_named(model).is_ok_and(|model| model.generic)
}

impl PublishedCell {
    fn simulated(&self, measured: &RunFigures) -> Result<Option<f64>, String> {
        let Some(formula) = &self.measured else { return Ok(None) };
        let mut value = formula.value(measured)? / scale(&self.entry.unit)?;
        if let Some(versus) = &self.versus {
            value /= versus.value(measured)?;
        }
        Ok(Some(value))
    }

    #[must_use]
    pub fn result(&self, measured: &RunFigures) -> CellResult {
        let (simulated, trouble) = match self.simulated(measured) {
            Ok(simulated) => (simulated, None),
            Err(trouble) => (None, Some(trouble)),
        };
        let judged = simulated.map(|value| self.op.judge(value, self.entry.tolerance_pct));
        // a run that broke is a failure, not a missing instrument
        let pass = judged.map(|(_, pass)| pass).or(trouble.is_some().then_some(false));
        let reason = trouble.or_else(|| self.entry.reason.clone());
        CellResult {
            generic: self.own_models().any(is_generic),
            models: self.models(),
            simulated,
            difference_pct: judged.map(|(difference, _)| difference),
            reason: reason.filter(|_| pass != Some(true)),
            pass,
            ..self.entry.clone()
        }
    }

    fn models(&self) -> Vec<String> {
        let formulas = self.measured.iter().chain(&self.versus);
        let mut models: Vec<String> = Vec::new();
        for model in formulas.flat_map(|formula| formula.models()) {
            if !models.iter().any(|known| known == model) {
                models.push(model.to_string());
            }
        }
        models
    }
}
