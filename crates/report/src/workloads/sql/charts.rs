//! Pictures of databases: rates of what moves all of a table, and of statements.

use super::{actions, name_of, rate_of, statements};
use crate::chart::Chart;
use crate::chart::axis::{AxisValues, PlotAxis};
use crate::chart::plot::{Along, Beside, Ink, Layer, Plot, PlotMark};
use crate::terminal::find;
use drivescope_model::number::rounded;
use drivescope_model::{Metric, TestResult};

const RATE: Ink = Ink::Series(0);

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    tables(result).into_iter().chain(clients(result)).collect()
}

/// The figures to draw, each with the name of its row.
fn rows<'r>(
    result: &'r TestResult,
    cells: Vec<&'r str>,
    quantity: fn(&str) -> &'static str,
) -> (Vec<String>, Vec<&'r Metric>) {
    let valid = |cell: &&str| {
        let metric = find(result, cell, quantity(cell)).filter(|it| it.valid && it.value > 0.0)?;
        Some((name_of(cell), metric))
    };
    cells.iter().filter_map(valid).unzip()
}

fn plotted(x: PlotAxis, names: &[String], metrics: &[&Metric]) -> Plot {
    let mark = |(row, metric): (usize, &&Metric)| PlotMark {
        at: (metric.value, row as f64),
        interval: (metric.low, metric.high),
        interval_along: Along::X,
        is_filled: true,
    };
    let marks: Vec<PlotMark> = metrics.iter().enumerate().map(mark).collect();
    let mut plot = Plot::new(x, PlotAxis::rows("", names));
    for mark in &marks {
        plot = plot.with_text(mark.at, rounded(mark.at.0), RATE, Beside::AboveRight);
    }
    plot.with(Layer::Marks { marks, ink: RATE })
}

fn tables(result: &TestResult) -> Option<Chart> {
    let (names, metrics) = rows(result, actions(result), |_| "mb_s");
    let first = metrics.first()?;
    let highest = metrics.iter().map(|metric| metric.high).fold(0.0, f64::max);
    Some(Chart {
        name: "sql".to_string(),
        title: "A table loaded, scanned, backed up and restored".to_string(),
        caption: "Bytes of the table by the time of each step, caches cold and the final flush included. Bars are \
                  95 % intervals."
            .to_string(),
        description: format!("{}: {} MB/s.", names[0], rounded(first.value)),
        plot: plotted(PlotAxis::from_zero("MB/s", highest), &names, &metrics),
    })
}

fn clients(result: &TestResult) -> Option<Chart> {
    let (names, metrics) = rows(result, statements(result), rate_of);
    let first = metrics.first()?;
    let least = metrics.iter().map(|metric| metric.value).fold(f64::INFINITY, f64::min);
    let most = metrics.iter().map(|metric| metric.value).fold(0.0, f64::max);
    let x = PlotAxis::log("per second", least, most, AxisValues::Number);
    Some(Chart {
        name: "sql-statements".to_string(),
        title: "Single rows and transactions".to_string(),
        caption: "Statements per second, all clients together; a page written and flushed, for comparison. \
                  Logarithmic; bars are 95 % intervals."
            .to_string(),
        description: format!("{}: {} per second.", names[0], rounded(first.value)),
        plot: plotted(x, &names, &metrics),
    })
}
