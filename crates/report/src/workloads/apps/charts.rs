//! The picture of traces: how much of each application's time is its own, and how much it waits for the drive.

use super::traces;
use crate::chart::Chart;
use crate::chart::axis::{AxisValues, PlotAxis};
use crate::chart::plot::{Along, Beside, Ink, Layer, Plot, PlotMark};
use crate::terminal::find;
use drivescope_model::number::rounded;
use drivescope_model::{Metric, TestResult};

const TIME: Ink = Ink::Series(0);
const THINK: Ink = Ink::Series(1);

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    waiting(result).into_iter().collect()
}

/// A row for each trace: its time, and the part of it in which the application thought.
fn waiting(result: &TestResult) -> Option<Chart> {
    let metric = |cell: &str, quantity: &str| {
        find(result, cell, quantity).filter(|metric| metric.value > 0.0 && metric.valid)
    };
    let rows: Vec<&str> =
        traces(result).into_iter().filter(|cell| metric(cell, "run_s").is_some()).collect();
    let of = |quantity: &'static str| rows.iter().filter_map(move |cell| metric(cell, quantity));
    let all = || ["run_s", "think_s"].into_iter().flat_map(of).map(|metric| metric.value);
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let first = of("run_s").next()?;
    let names: Vec<String> = rows.iter().map(|cell| cell.replace('_', "-")).collect();
    let x = PlotAxis::log("seconds", least, most, AxisValues::Number);
    let mut plot = Plot::new(x, PlotAxis::rows("", &names));
    for (quantity, ink, is_filled, word, beside) in [
        ("think_s", THINK, false, "thinking", Beside::AboveLeft),
        ("run_s", TIME, true, "time", Beside::AboveRight),
    ] {
        let marks: Vec<PlotMark> = rows
            .iter()
            .enumerate()
            .filter_map(|(row, cell)| Some(mark(metric(cell, quantity)?, row, is_filled)))
            .collect();
        for mark in &marks {
            let name = match mark.at.1 == 0.0 {
                true => format!("{word} {}", rounded(mark.at.0)),
                false => rounded(mark.at.0),
            };
            plot = plot.with_text(mark.at, name, ink, beside);
        }
        plot = plot.with(Layer::Marks { marks, ink });
    }
    Some(Chart {
        name: "apps".to_string(),
        title: "Applications: time, and how much of it they think".to_string(),
        caption: "What lies between the marks of a row is waiting for the drive. Logarithmic; bars are 95 % \
                  intervals."
            .to_string(),
        description: format!("{}: {} s.", rows[0], rounded(first.value)),
        plot,
    })
}

fn mark(metric: &Metric, row: usize, is_filled: bool) -> PlotMark {
    let interval = (metric.low, metric.high);
    PlotMark { at: (metric.value, row as f64), interval, interval_along: Along::X, is_filled }
}
