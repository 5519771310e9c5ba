//! Values in rows, each a mark with its interval.

use super::axis::{AxisValues, PlotAxis};
use super::extent;
use super::plot::{Beside, Ink, Layer, MarkOutline, Plot, PlotMark};
use crate::terminal::find_usable;
use drivescope_model::number::rounded;
use drivescope_model::{Metric, TestResult};

pub fn value_rows(x: PlotAxis, names: &[String], metrics: &[&Metric]) -> Plot {
    let ink = Ink::Series(0);
    let marks = metrics.iter().enumerate().map(|(row, metric)| PlotMark::in_row(metric, row));
    let marks: Vec<PlotMark> = marks.collect();
    let mut plot = Plot::new(x, PlotAxis::rows("", names));
    for mark in &marks {
        plot = plot.with_text(mark.at, rounded(mark.at.0), ink, Beside::AboveRight);
    }
    plot.with(Layer::Marks { marks, ink })
}

pub struct RowQuantity {
    pub quantity: &'static str,
    pub ink: Ink,
    pub outline: MarkOutline,
    /// Stands before the value in the last row.
    pub word: &'static str,
    pub beside: Beside,
}

/// Several quantities in the row of each cell that has them, the last in front, on a logarithmic axis.
pub fn quantity_rows(
    result: &TestResult,
    cells: &[&str],
    names: &[String],
    title: &str,
    quantities: &[RowQuantity],
) -> Plot {
    let marks_of = |it: &RowQuantity| -> Vec<PlotMark> {
        let metric = |(row, cell): (usize, &&str)| {
            let mark = PlotMark::in_row(find_usable(result, cell, it.quantity)?, row);
            Some(PlotMark { outline: it.outline, ..mark })
        };
        cells.iter().enumerate().filter_map(metric).collect()
    };
    let all: Vec<Vec<PlotMark>> = quantities.iter().map(marks_of).collect();
    let (least, most) = extent(all.iter().flatten().map(|mark| mark.at.0));
    let x = PlotAxis::log(title, least, most, AxisValues::Number);
    let mut plot = Plot::new(x, PlotAxis::rows("", names));
    for (it, marks) in quantities.iter().zip(all) {
        for (i, mark) in marks.iter().enumerate() {
            // Above the first row there is little room.
            let text = if i + 1 == marks.len() {
                format!("{} {}", it.word, rounded(mark.at.0))
            } else {
                rounded(mark.at.0)
            };
            plot = plot.with_text(mark.at, text, it.ink, it.beside);
        }
        plot = plot.with(Layer::Marks { marks, ink: it.ink });
    }
    plot
}
