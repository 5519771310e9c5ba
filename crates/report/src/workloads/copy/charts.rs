//! A picture of copies: the rate of each step.

use super::{parts, words};
use crate::chart::Chart;
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Along, Beside, Ink, Layer, Plot, PlotMark};
use crate::terminal::{cells, find};
use drivescope_model::TestResult;
use drivescope_model::number::rounded;

const RATE: Ink = Ink::Series(0);

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    rates(result).into_iter().collect()
}

fn rates(result: &TestResult) -> Option<Chart> {
    let measured = |cell: &&str| find(result, cell, "mb_s").is_some_and(|metric| metric.valid);
    let rows: Vec<&str> = cells(result).into_iter().filter(measured).collect();
    let metrics: Vec<_> = rows.iter().filter_map(|cell| find(result, cell, "mb_s")).collect();
    let first = metrics.first()?;
    let highest = metrics.iter().map(|metric| metric.high).fold(0.0, f64::max);
    let name = |cell: &&str| format!("{}: {}", parts(cell).0, words(parts(cell).1));
    let names: Vec<String> = rows.iter().map(name).collect();
    let mark = |(row, metric): (usize, &&drivescope_model::Metric)| PlotMark {
        at: (metric.value, row as f64),
        interval: (metric.low, metric.high),
        interval_along: Along::X,
        is_filled: true,
    };
    let marks: Vec<PlotMark> = metrics.iter().enumerate().map(mark).collect();
    let mut plot = Plot::new(PlotAxis::from_zero("MB/s", highest), PlotAxis::rows("", &names));
    for mark in &marks {
        plot = plot.with_text(mark.at, rounded(mark.at.0), RATE, Beside::AboveRight);
    }
    Some(Chart {
        name: "copy".to_string(),
        title: "Copying files".to_string(),
        caption:
            "Rate of each step on cold files, the final flush included. Bars are 95 % intervals."
                .to_string(),
        description: format!("{}: {} MB/s.", names[0], rounded(first.value)),
        plot: plot.with(Layer::Marks { marks, ink: RATE }),
    })
}
