//! The table of published cells: `data/published.tsv`, from five articles (seeds 000-004).

use super::comparison::Comparison;
use super::formula::{Formula, ModelRun};
use drivescope_model::reproduction::CellResult;
use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../../../data/published.tsv");

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

#[derive(Debug, Clone, PartialEq)]
pub struct PublishedCell {
    /// Without a simulated value; the reason says why there is none, or why it cannot be matched honestly.
    pub entry: CellResult,
    pub op: Comparison,
    /// `None` if there is no instrument or no model for it.
    pub measured: Option<Formula>,
    pub versus: Option<Formula>,
}

/// In the table's order. Errors: the first line that is not a cell; a test reads the whole table, so a release has
/// none.
pub fn cells() -> Result<Vec<PublishedCell>, String> {
    parse(TABLE)
}

/// Tab-separated lines, the first with the names of the columns; `#` begins a remark.
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
        if cells.iter().any(|known| known.entry.id == cell.entry.id) {
            return Err(wrong(format!("{} stands there twice", cell.entry.id)));
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
        number => {
            Some(number.parse().map_err(|_| format!("tolerance '{number}' is not a number"))?)
        }
    };
    let (measured, versus) = (formula(12)?, formula(13)?);
    let comparison = Comparison::parse(&op, &value)?;
    let entry = CellResult {
        id,
        seed,
        drive,
        models: Vec::new(),
        generic: false,
        method,
        condition,
        metric,
        unit,
        op,
        published: comparison.published(),
        simulated: None,
        difference_pct: None,
        tolerance_pct,
        pass: None,
        reason: text(14),
    };
    if measured.is_none() && entry.reason.is_none() {
        return Err(format!("{} has neither a figure nor a reason for none", entry.id));
    }
    Ok(PublishedCell { entry, op: comparison, measured, versus })
}

impl PublishedCell {
    pub(super) fn jobs(&self) -> BTreeSet<ModelRun> {
        let formulas = self.measured.iter().chain(&self.versus);
        formulas.flat_map(Formula::jobs).collect()
    }

    /// The models of the figure, without those of the divisor.
    pub fn own_models(&self) -> impl Iterator<Item = &str> {
        self.measured.iter().flat_map(Formula::models)
    }
}
