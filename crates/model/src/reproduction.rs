//! Published figures beside what simulated drives give: what `sim reproduce --json` prints.

use serde::{Deserialize, Serialize};

/// The outcome of all cells asked for.
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
