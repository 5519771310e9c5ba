//! Figures by shape and direction, as CrystalDiskMark shows them: a row for each shape, a column for each direction.

use crate::chart::Chart;
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Layer, Plot};
use drivescope_model::Metric;
use drivescope_model::number::rounded;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FigureGrid<'r> {
    /// Names the chart: `transfer-grid`.
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<GridRow<'r>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GridRow<'r> {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// One per direction; `None` where it was not measured.
    pub(crate) fields: Vec<Option<GridField<'r>>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GridField<'r> {
    pub(crate) rate: &'r Metric,
    /// Median and 99th percentile.
    pub(crate) latencies_us: [Option<f64>; 2],
    pub(crate) finding: Option<String>,
}

impl FigureGrid<'_> {
    /// Rates alone, each with its unit.
    pub(crate) fn chart(&self) -> Chart {
        let rows: Vec<String> = self.rows.iter().map(|row| row.name.clone()).collect();
        let (x, y) = (PlotAxis::rows("", &self.columns), PlotAxis::rows("", &rows));
        let mut plot = Plot { is_compact: true, ..Plot::new(x, y) };
        let mut said = Vec::new();
        for (row, shape) in self.rows.iter().enumerate() {
            for (column, field) in shape.fields.iter().enumerate() {
                let Some(field) = field else { continue };
                let text = format!("{} {}{}", rounded(field.rate.value), shape.unit, field.mark());
                said.push(format!("{}, {}: {text}", shape.name, self.columns[column]));
                plot = plot.with(Layer::field(column, row, 0.0, text));
            }
        }
        Chart {
            name: self.name.to_string(),
            title: "Rates by shape and direction".to_string(),
            caption: "Median of the rounds. Q: requests in flight. *: a finding says what to mind; !: not the drive's."
                .to_string(),
            description: said.join("; "),
            plot,
        }
    }
}

impl GridField<'_> {
    pub(crate) fn mark(&self) -> &'static str {
        match (self.rate.valid, &self.finding) {
            (false, _) => " !",
            (true, Some(_)) => " *",
            (true, None) => "",
        }
    }
}
