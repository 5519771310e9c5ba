//! Published figures beside what simulated drives give: what `sim reproduce --json` prints.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// Cells with a figure, or whose instrument broke.
    pub reachable: usize,
    pub passed: usize,
    /// In the table's order.
    pub cells: Vec<CellResult>,
}

impl Reproduction {
    #[must_use]
    pub fn new(cells: Vec<CellResult>) -> Self {
        let count = |pass: &[Option<bool>]| cells.iter().filter(|c| pass.contains(&c.pass)).count();
        Self { reachable: count(&[Some(true), Some(false)]), passed: count(&[Some(true)]), cells }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cells with a figure, or whose instrument broke.
    pub reachable: usize,
    pub passed: usize,
}

impl Tally {
    fn add(&mut self, pass: bool) {
        self.reachable += 1;
        self.passed += usize::from(pass);
    }
}

/// Cells with a figure by kind. Some pass by construction and some repeat a measurement, which the share of all
/// hides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Of data sheets, which the models take over: all but certain to pass.
    pub specifications: Tally,
    /// Passes of phybs, each printed as time, requests per second and rate: three cells, one measurement. A pass
    /// counts once, and passes if all its cells do.
    pub phybs_passes: Tally,
    /// Of drives that their article does not name, for which a generic model stands: nothing is fitted.
    pub generic_passes: Tally,
    /// Statements of an article about several passes of phybs included.
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

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Published {
    One(f64),
    /// Both ends.
    Range([f64; 2]),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    pub id: String,
    /// Article.
    pub seed: String,
    /// As published.
    pub drive: String,
    pub models: Vec<String>,
    /// The article does not name the drive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generic: bool,
    /// Program or method.
    pub method: String,
    pub condition: String,
    pub metric: String,
    /// Of both values; `x` for a ratio.
    pub unit: String,
    /// How the value is meant: `=`, `~`, `<`, `>`, `min`, `max`, `ratio` or `range`.
    pub op: String,
    pub published: Published,
    /// In the same unit; none without an instrument or a model.
    pub simulated: Option<f64>,
    /// Of the published value, or of the nearer end of a range (0 inside it).
    pub difference_pct: Option<f64>,
    /// None for bounds.
    pub tolerance_pct: Option<f64>,
    /// None where nothing was simulated.
    pub pass: Option<bool>,
    /// Why nothing was simulated, or why a cell that fails cannot be matched honestly.
    pub reason: Option<String>,
}

impl CellResult {
    /// Fails without a known reason, or its instrument broke.
    #[must_use]
    pub fn is_trouble(&self) -> bool {
        self.pass == Some(false) && (self.reason.is_none() || self.simulated.is_none())
    }
}
