//! Published figures beside what simulated drives give: what `sim reproduce --json` prints.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The outcome of all chosen cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// Cells with a figure, or whose instrument broke.
    pub reachable: usize,
    /// Those among them that pass.
    pub passed: usize,
    /// One entry per cell, in the table's order.
    pub cells: Vec<CellResult>,
}

impl Reproduction {
    /// Counts the cells.
    #[must_use]
    pub fn new(cells: Vec<CellResult>) -> Self {
        let count = |pass: &[Option<bool>]| cells.iter().filter(|c| pass.contains(&c.pass)).count();
        Self { reachable: count(&[Some(true), Some(false)]), passed: count(&[Some(true)]), cells }
    }
}

/// Cells with a figure, and those among them that pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cells with a figure, or whose instrument broke.
    pub reachable: usize,
    /// Cells that pass.
    pub passed: usize,
}

impl Tally {
    fn add(&mut self, pass: bool) {
        self.reachable += 1;
        self.passed += usize::from(pass);
    }
}

/// How the cells with a figure divide. Some pass by construction and some say the same more than once, which the
/// share of all hides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Of data sheets, which the models take over: all but certain to pass.
    pub specifications: Tally,
    /// Passes of phybs, each printed as time, requests per second and rate: three cells, one measurement. Passes
    /// count here, not cells; one passes if all its cells do.
    pub phybs_passes: Tally,
    /// The same of drives that their article does not name, for which a generic model stands: nothing is fitted.
    pub generic_passes: Tally,
    /// All others, statements of an article about several passes of phybs among them.
    pub measured: Tally,
}

impl Kinds {
    /// Every measurement of a known drive once, without specifications.
    #[must_use]
    pub fn measurements(&self) -> Tally {
        let (phybs, measured) = (self.phybs_passes, self.measured);
        Tally {
            reachable: phybs.reachable + measured.reachable,
            passed: phybs.passed + measured.passed,
        }
    }
}

impl Reproduction {
    /// The cells by kind.
    #[must_use]
    pub fn kinds(&self) -> Kinds {
        let mut kinds = Kinds::default();
        let mut passes: BTreeMap<(bool, &str, &str), bool> = BTreeMap::new();
        for cell in &self.cells {
            let Some(pass) = cell.pass else { continue };
            match (cell.method.as_str(), cell.metric.as_str()) {
                ("spec", _) => kinds.specifications.add(pass),
                ("phybs", "msec" | "tps" | "kBps") if cell.op == "=" => {
                    let key = (cell.generic, cell.drive.as_str(), cell.condition.as_str());
                    let whole = passes.entry(key).or_insert(true);
                    *whole &= pass;
                }
                _ => kinds.measured.add(pass),
            }
        }
        for ((generic, ..), pass) in passes {
            let tally = if generic { &mut kinds.generic_passes } else { &mut kinds.phybs_passes };
            tally.add(pass);
        }
        kinds
    }
}

/// A published value: a number, or the two ends of a range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Published {
    /// One value.
    One(f64),
    /// Both ends of a range.
    Range([f64; 2]),
}

/// A published cell with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Name of the cell.
    pub id: String,
    /// Article.
    pub seed: String,
    /// The drive as published.
    pub drive: String,
    /// The models asked, if any.
    pub models: Vec<String>,
    /// Whether the model is generic: the article does not name the drive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generic: bool,
    /// Program or method.
    pub method: String,
    /// Circumstances.
    pub condition: String,
    /// What was measured.
    pub metric: String,
    /// Unit of both values; `x` for a ratio.
    pub unit: String,
    /// How the value is meant: `=`, `~`, `<`, `>`, `min`, `max`, `ratio` or `range`.
    pub op: String,
    /// The published value.
    pub published: Published,
    /// What the model gives, in the same unit; none without an instrument or a model.
    pub simulated: Option<f64>,
    /// Difference in percent of the published value, or of the nearer end of a range (0 inside it).
    pub difference_pct: Option<f64>,
    /// Accepted difference in percent; none for bounds.
    pub tolerance_pct: Option<f64>,
    /// Whether both agree; none where nothing was simulated.
    pub pass: Option<bool>,
    /// Why nothing was simulated, or why a cell that fails cannot be matched honestly.
    pub reason: Option<String>,
}

impl CellResult {
    /// Whether it fails without a known reason, or its instrument broke.
    #[must_use]
    pub fn is_trouble(&self) -> bool {
        self.pass == Some(false) && (self.reason.is_none() || self.simulated.is_none())
    }
}
