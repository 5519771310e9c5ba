//! The table of published cells: `data/seed-cells.tsv`, from five articles (seeds 000-004).

use super::figures::{Formula, Job};
use super::judge::Op;
use std::collections::BTreeSet;

/// The table as it is kept.
const TABLE: &str = include_str!("../../data/seed-cells.tsv");

/// The columns, in order.
const COLUMNS: [&str; 15] = [
    "id",
    "seed",
    "drive",
    "method",
    "condition",
    "metric",
    "op",
    "value",
    "unit",
    "tolerance_pct",
    "evidence",
    "note",
    "measured",
    "versus",
    "reason",
];

/// One published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Name of the cell.
    pub id: String,
    /// Number of the article.
    pub seed: String,
    /// The drive as the article's table names it.
    pub drive: String,
    /// The program or method that measured it.
    pub method: String,
    /// Under which circumstances.
    pub condition: String,
    /// What was measured.
    pub metric: String,
    /// How the published value is meant, as the table writes it.
    pub sign: String,
    /// The same with the value.
    pub op: Op,
    /// Unit of the published value; `x` for a ratio.
    pub unit: String,
    /// Accepted difference in percent; none where the value is a bound.
    pub tolerance_pct: Option<f64>,
    /// Where it stands and how it was read.
    pub note: String,
    /// Which figure of which model answers it; none if no instrument or no model exists.
    pub measured: Option<Formula>,
    /// What that figure is divided by, for ratios.
    pub versus: Option<Formula>,
    /// Why there is no figure, or why the cell cannot be matched honestly.
    pub reason: Option<String>,
}

/// A line of the table that is not a cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("seed-cells.tsv:{line}: {message}")]
pub struct TableError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// All published cells, in the table's order.
///
/// # Errors
/// The first line that is not a cell; a test reads the whole table, so a release has none.
pub fn cells() -> Result<Vec<Cell>, TableError> {
    parse(TABLE)
}

/// Reads a table: lines of tab-separated fields, the first of which names the columns; lines that begin
/// with `#` are remarks.
pub(super) fn parse(text: &str) -> Result<Vec<Cell>, TableError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let mut cells: Vec<Cell> = Vec::new();
    for (index, line) in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields == COLUMNS {
            continue;
        }
        let wrong = |message: String| TableError { line: index + 1, message };
        let cell = cell(&fields).map_err(wrong)?;
        if cells.iter().any(|known| known.id == cell.id) {
            return Err(wrong(format!("{} stands there twice", cell.id)));
        }
        cells.push(cell);
    }
    Ok(cells)
}

fn cell(fields: &[&str]) -> Result<Cell, String> {
    let fields: &[&str; 15] = fields
        .try_into()
        .map_err(|_| format!("{} fields where {} are needed", fields.len(), COLUMNS.len()))?;
    let [id, seed, drive, method, condition, metric, op, value, unit, tolerance, _, note, ..] =
        fields.map(str::to_string);
    let text = |at: usize| (!fields[at].is_empty()).then(|| fields[at].to_string());
    let formula = |at: usize| text(at).map(|text| text.parse::<Formula>()).transpose();
    let tolerance_pct = match tolerance.as_str() {
        "" => None,
        number => Some(number.parse().map_err(|_| format!("tolerance '{number}' is no number"))?),
    };
    let cell = Cell {
        op: Op::parse(&op, &value)?,
        sign: op,
        measured: formula(12)?,
        versus: formula(13)?,
        reason: text(14),
        tolerance_pct,
        id,
        seed,
        drive,
        method,
        condition,
        metric,
        unit,
        note,
    };
    if cell.measured.is_none() && cell.reason.is_none() {
        return Err(format!("{} has neither a figure nor a reason for none", cell.id));
    }
    Ok(cell)
}

impl Cell {
    /// What must be run for this cell.
    pub(super) fn jobs(&self) -> BTreeSet<Job> {
        let formulas = self.measured.iter().chain(&self.versus);
        formulas.flat_map(|formula| formula.jobs(&self.method)).collect()
    }

    /// The models of which it wants a figure, without those it is compared with.
    pub fn own_models(&self) -> impl Iterator<Item = &str> {
        self.measured.iter().flat_map(Formula::drives)
    }
}
