//! The lines of `drivescope runs`, and the choice of runs.

use drivescope_model::number::{latency_us, rounded};
use drivescope_model::units::Bytes;
use serde::Serialize;

/// Which runs to list; the default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Part of the drive's model, serial number or kernel name, or of the target. Case does not matter for the letters
    /// A–Z.
    pub drive: Option<String>,
    /// The whole label; case does not matter for the letters A–Z. Not a part of it: labels divide
    /// runs into groups, and `disk1` must not catch `disk10`.
    pub label: Option<String>,
    /// Part of any shown column: drive, target, label, suite, id.
    pub text: Option<String>,
    /// A value of [`RunSummary::status`].
    pub status: Option<String>,
    pub simulated: Option<bool>,
    /// The newest; `None` for all.
    pub limit: Option<u32>,
    /// Newest runs to skip: they are on the pages before.
    pub skip: u32,
}

impl Filter {
    pub(crate) fn drive_pattern(&self) -> String {
        pattern(self.drive.as_deref())
    }

    pub(crate) fn text_pattern(&self) -> String {
        pattern(self.text.as_deref())
    }

    pub(crate) fn is_empty(&self) -> bool {
        let Self { drive, label, text, status, simulated, limit: _, skip: _ } = self;
        let texts = [drive, label, text, status];
        texts.into_iter().all(Option::is_none) && simulated.is_none()
    }

    pub(crate) fn label_lower(&self) -> Option<String> {
        self.label.as_deref().map(str::to_ascii_lowercase)
    }

    pub(crate) fn rows(&self) -> i64 {
        self.limit.map_or(i64::MAX, i64::from)
    }
}

/// The pattern for `LIKE … ESCAPE '!'` of texts that contain `part`.
fn pattern(part: Option<&str>) -> String {
    let mut pattern = String::from("%");
    for letter in part.unwrap_or_default().chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        // As SQLite's LOWER does: the letters A–Z only.
        pattern.push(letter.to_ascii_lowercase());
    }
    if pattern.len() > 1 {
        pattern.push('%');
    }
    pattern
}

/// Columns of a run. They are stored apart from its document, so that runs with an unreadable document are listed too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    pub id: String,
    /// RFC 3339 with the time zone.
    pub started_at: String,
    pub elapsed_s: f64,
    pub label: Option<String>,
    pub suite: String,
    pub target: String,
    /// Kernel name.
    pub drive_name: Option<String>,
    pub drive_model: Option<String>,
    pub drive_serial: Option<String>,
    /// `done`, `skipped`, `failed`, `interrupted`.
    pub status: String,
    pub simulated: bool,
    pub format: u32,
    pub seq_read_mb_s: Option<f64>,
    pub seq_write_mb_s: Option<f64>,
    /// Valid random 4 KiB reads at depth 1 of `transfer`.
    pub rnd4k_q1t1_read_iops: Option<f64>,
    pub invalid_metrics: u64,
    /// Key of the first valid main figure of a test, in the order of the document.
    pub headline_key: Option<String>,
    pub headline_value: Option<f64>,
    pub headline_unit: Option<String>,
}

impl RunSummary {
    /// Model, else kernel name.
    pub fn drive(&self) -> Option<&str> {
        self.drive_model.as_deref().or(self.drive_name.as_deref())
    }

    /// `178 MB/s · 149 IOPS`.
    pub fn headline(&self) -> String {
        let mut headline = Vec::new();
        if let Some(rate) = self.seq_read_mb_s {
            headline.push(format!("{} MB/s", rounded(rate)));
        }
        if let Some(rate) = self.rnd4k_q1t1_read_iops {
            headline.push(format!("{} IOPS", rounded(rate)));
        }
        if headline.is_empty() {
            headline.extend(self.first_figure());
        }
        if headline.is_empty() && self.invalid_metrics > 0 {
            headline.push("no valid figures".to_string());
        }
        // A target that does not say so itself is a served drive, with the node and name of a real one.
        if self.simulated && !self.target.starts_with("sim:") {
            headline.push("simulated".to_string());
        }
        headline.join(" · ")
    }

    /// The main figure of a run without these reads: `span100 85.1 µs`.
    fn first_figure(&self) -> Option<String> {
        let (_, rest) = self.headline_key.as_deref()?.split_once('.')?;
        let (cell, quantity) = rest.rsplit_once('.')?;
        let value = self.headline_value?;
        let figure = match (self.headline_unit.as_deref()?, quantity) {
            ("bytes", _) => Bytes(value as u64).to_string(),
            (_, "iops") => format!("{} IOPS", rounded(value)),
            ("us", _) => latency_us(value),
            (unit, _) => format!("{} {unit}", rounded(value)),
        };
        Some(format!("{cell} {figure}"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestRun {
    pub id: String,
    pub name: Option<String>,
    pub model: Option<String>,
    pub serial: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_take_wildcards_literally() {
        for (drive, pattern) in [
            (None, "%"),
            (Some(""), "%"),
            (Some("WD20EARS"), "%wd20ears%"),
            (Some("100%_!x"), "%100!%!_!!x%"),
            (Some("GRÖSSE"), "%grÖsse%"),
        ] {
            let filter = Filter { drive: drive.map(Into::into), ..Filter::default() };
            assert_eq!(filter.drive_pattern(), pattern);
        }
    }
}
