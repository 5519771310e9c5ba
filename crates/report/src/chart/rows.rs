//! Values in rows, each a mark with its interval.

use super::axis::{AxisValues, PlotAxis};
use super::extent;
use super::plot::{Beside, Ink, Layer, MarkOutline, Plot, PlotMark};
use crate::terminal::find_usable;
use drivescope_model::number::rounded;
use drivescope_model::{Metric, TestResult};

/// Room for a value left of the first mark of an axis, as a ratio.
const ROOM_LEFT: f64 = 1.7;

pub fn value_rows(x: PlotAxis, names: &[String], metrics: &[&Metric]) -> Plot {
    let ink = Ink::Series(0);
    let marks = metrics.iter().enumerate().map(|(row, metric)| PlotMark::in_row(metric, row));
    let marks: Vec<PlotMark> = marks.collect();
    let mut plot = Plot::new(x, PlotAxis::rows("", names));
    for mark in &marks {
        plot = plot.with_text(mark.at, rounded(mark.at.0), ink, Beside::Right);
    }
    plot.with(Layer::Marks { marks, ink })
}

pub struct RowQuantity {
    pub quantity: &'static str,
    pub ink: Ink,
    pub outline: MarkOutline,
    /// Names its marks.
    pub word: &'static str,
}

impl RowQuantity {
    fn mark(&self, result: &TestResult, cell: &str, row: usize) -> Option<PlotMark> {
        let mark = PlotMark::in_row(find_usable(result, cell, self.quantity)?, row);
        Some(PlotMark { outline: self.outline, ..mark })
    }
}

/// A part and the whole in the row of each cell, on a logarithmic axis. Their values stand to the left of the one and
/// to the right of the other, so that each belongs to its mark; the row with most room names them.
pub fn pair_rows(
    result: &TestResult,
    cells: &[&str],
    names: &[String],
    title: &str,
    [part, whole]: [&RowQuantity; 2],
) -> Plot {
    let marks_of = |it: &RowQuantity| -> Vec<(usize, PlotMark)> {
        let mark = |(row, cell): (usize, &&str)| Some((row, it.mark(result, cell, row)?));
        cells.iter().enumerate().filter_map(mark).collect()
    };
    let all = [(part, marks_of(part), Beside::Left), (whole, marks_of(whole), Beside::Right)];
    let (least, most) =
        extent(all.iter().flat_map(|(_, marks, _)| marks).map(|(_, mark)| mark.at.0));
    // Left of the first mark stands its value.
    let x = PlotAxis::log(title, least / ROOM_LEFT, most, AxisValues::Number);
    let mut plot = Plot::new(x, PlotAxis::rows("", names));
    // The largest part has most room for a word.
    let largest = |marks: &[(usize, PlotMark)]| {
        marks.iter().max_by(|a, b| a.1.at.0.total_cmp(&b.1.at.0)).map(|(row, _)| *row)
    };
    let named = largest(&all[0].1);
    for (it, marks, beside) in all {
        for (row, mark) in &marks {
            let word = if Some(*row) == named { format!("{} ", it.word) } else { String::new() };
            plot = plot.with_text(mark.at, word + &rounded(mark.at.0), it.ink, beside);
        }
        let marks = marks.into_iter().map(|(_, mark)| mark).collect();
        plot = plot.with(Layer::Marks { marks, ink: it.ink });
    }
    plot
}

/// Several quantities of each cell, a row for each below one with the cell's name; on a logarithmic axis.
pub fn quantity_rows(
    result: &TestResult,
    cells: &[&str],
    names: &[String],
    title: &str,
    quantities: &[RowQuantity],
) -> Plot {
    let mut rows: Vec<String> = Vec::new();
    let mut heads: Vec<(usize, &String)> = Vec::new();
    let mut marks: Vec<(Ink, PlotMark)> = Vec::new();
    for (cell, name) in cells.iter().zip(names) {
        heads.push((rows.len(), name));
        rows.push(String::new());
        for it in quantities {
            let Some(mark) = it.mark(result, cell, rows.len()) else { continue };
            rows.push(it.word.to_string());
            marks.push((it.ink, mark));
        }
    }
    let (least, most) = extent(marks.iter().map(|(_, mark)| mark.at.0));
    let x = PlotAxis::log(title, least, most, AxisValues::Number);
    let mut plot = Plot { is_compact: true, ..Plot::new(x, PlotAxis::rows("", &rows)) };
    for (row, name) in heads {
        plot = plot.with(Layer::RowHead { row, text: name.clone() });
    }
    for (ink, mark) in marks {
        plot = plot.with_text(mark.at, rounded(mark.at.0), ink, Beside::Right);
        plot = plot.with(Layer::Marks { marks: vec![mark], ink });
    }
    plot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::measured;
    use drivescope_model::TestKind;

    fn quantity(quantity: &'static str, word: &'static str) -> RowQuantity {
        RowQuantity { quantity, ink: Ink::Text, outline: MarkOutline::Open, word }
    }

    /// Texts with the places that they name, and their sides.
    fn texts(plot: &Plot) -> Vec<(f64, f64, &str, Beside)> {
        let text = |layer| match layer {
            &Layer::Text { at, ref text, beside, .. } => Some((at.0, at.1, text.as_str(), beside)),
            _ => None,
        };
        plot.layers.iter().filter_map(text).collect()
    }

    #[test]
    fn values_stand_at_the_height_of_their_marks() {
        let metrics =
            [("a.think_s", 50.0), ("a.run_s", 100.0), ("b.think_s", 5.0), ("b.run_s", 5.5)];
        let result = measured(TestKind::Apps, &metrics);
        let names = ["A", "B"].map(String::from);
        let (think, time) = (quantity("think_s", "thinking"), quantity("run_s", "time"));
        let plot = pair_rows(&result, &["a", "b"], &names, "s", [&think, &time]);
        let (left, right) = (Beside::Left, Beside::Right);
        assert_eq!(
            texts(&plot),
            [
                (50.0, 0.0, "thinking 50.0", left),
                (5.0, 1.0, "5.00", left),
                (100.0, 0.0, "time 100", right),
                (5.5, 1.0, "5.50", right)
            ]
        );
        let plot = quantity_rows(&result, &["a", "b"], &names, "s", &[think, time]);
        let rows: Vec<&str> = plot.y.ticks.iter().map(|tick| tick.text.as_str()).collect();
        assert_eq!(rows, ["", "thinking", "time", "", "thinking", "time"]);
        let head = |layer| match layer {
            &Layer::RowHead { row, ref text } => Some((row, text.as_str())),
            _ => None,
        };
        let heads: Vec<_> = plot.layers.iter().filter_map(head).collect();
        assert_eq!(heads, [(0, "A"), (3, "B")]);
    }
}
