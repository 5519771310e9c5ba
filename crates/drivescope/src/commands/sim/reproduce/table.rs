//! The table of published cells: `data/published.tsv`, from five articles (seeds 000-004).

use super::comparison::Comparison;
use super::formula::{Formula, ModelRun};
use std::collections::BTreeSet;

/// The table as it is kept.
const TABLE: &str = include_str!("../../../../data/published.tsv");

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
pub struct PublishedCell {
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
    pub op: Comparison,
    /// Unit of the published value; `x` for a ratio.
    pub unit: String,
    /// Accepted difference in percent; none where the value is a bound.
    pub tolerance_pct: Option<f64>,
    /// Which figure of which model answers it; none if no instrument or no model exists.
    pub measured: Option<Formula>,
    /// What that figure is divided by, for ratios.
    pub versus: Option<Formula>,
    /// Why there is no figure, or why the cell cannot be matched honestly.
    pub reason: Option<String>,
}

/// All published cells, in the table's order.
/// Errors: the first line that is not a cell; a test reads the whole table, so a release has none.
pub fn cells() -> Result<Vec<PublishedCell>, String> {
    parse(TABLE)
}

/// Reads a table: lines of tab-separated fields, the first of which names the columns; lines that begin
/// with `#` are remarks.
pub(super) fn parse(text: &str) -> Result<Vec<PublishedCell>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let mut cells: Vec<PublishedCell> = Vec::new();
    for (index, line) in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields == COLUMNS {
            continue;
        }
        let wrong = |message: String| format!("published.tsv:{}: {message}", index + 1);
        let cell = cell(&fields).map_err(wrong)?;
        if cells.iter().any(|known| known.id == cell.id) {
            return Err(wrong(format!("{} stands there twice", cell.id)));
        }
        cells.push(cell);
    }
    Ok(cells)
}

fn cell(fields: &[&str]) -> Result<PublishedCell, String> {
    let fields: &[&str; 15] = fields
        .try_into()
        .map_err(|_| format!("{} fields where {} are needed", fields.len(), COLUMNS.len()))?;
    let [id, seed, drive, method, condition, metric, op, value, unit, tolerance, ..] =
        fields.map(str::to_string);
    let text = |at: usize| (!fields[at].is_empty()).then(|| fields[at].to_string());
    let formula = |at: usize| text(at).map(|text| text.parse::<Formula>()).transpose();
    let tolerance_pct = match tolerance.as_str() {
        "" => None,
        number => Some(number.parse().map_err(|_| format!("tolerance '{number}' is no number"))?),
    };
    let cell = PublishedCell {
        op: Comparison::parse(&op, &value)?,
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
    };
    if cell.measured.is_none() && cell.reason.is_none() {
        return Err(format!("{} has neither a figure nor a reason for none", cell.id));
    }
    Ok(cell)
}

impl PublishedCell {
    /// What must be run for this cell.
    pub(super) fn jobs(&self) -> BTreeSet<ModelRun> {
        let formulas = self.measured.iter().chain(&self.versus);
        formulas.flat_map(Formula::jobs).collect()
    }

    /// The models whose figure it is, without those it is compared with.
    pub fn own_models(&self) -> impl Iterator<Item = &str> {
        self.measured.iter().flat_map(Formula::models)
    }
}
