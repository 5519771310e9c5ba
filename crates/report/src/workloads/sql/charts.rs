//! Pictures of databases: rates of what moves all of a table, and of statements.

use super::{actions, name_of, rate_of, statements};
use crate::chart::axis::{AxisValues, PlotAxis};
use crate::chart::rows::value_rows;
use crate::chart::{Chart, extent};
use crate::terminal::find_usable;
use drivescope_model::number::rounded;
use drivescope_model::{Metric, TestResult};

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    tables(result).into_iter().chain(clients(result)).collect()
}

/// Figures to draw, with the names of their rows.
fn rows<'r>(
    result: &'r TestResult,
    cells: Vec<&'r str>,
    quantity: fn(&str) -> &'static str,
) -> (Vec<String>, Vec<&'r Metric>) {
    cells
        .iter()
        .filter_map(|cell| Some((name_of(cell), find_usable(result, cell, quantity(cell))?)))
        .unzip()
}

fn tables(result: &TestResult) -> Option<Chart> {
    let (names, metrics) = rows(result, actions(result), |_| "mb_s");
    let first = metrics.first()?;
    let (_, highest) = extent(metrics.iter().map(|metric| metric.high));
    Some(Chart {
        name: "sql".to_string(),
        title: "A table loaded, scanned, backed up and restored".to_string(),
        caption: "Bytes of the table by the time of each step, caches cold and the final flush included. Bars are \
                  95 % intervals."
            .to_string(),
        description: format!("{}: {} MB/s.", names[0], rounded(first.value)),
        plot: value_rows(PlotAxis::from_zero("MB/s", highest), &names, &metrics),
    })
}

fn clients(result: &TestResult) -> Option<Chart> {
    let (names, metrics) = rows(result, statements(result), rate_of);
    let first = metrics.first()?;
    let (least, most) = extent(metrics.iter().map(|metric| metric.value));
    let x = PlotAxis::log("per second", least, most, AxisValues::Number);
    Some(Chart {
        name: "sql-statements".to_string(),
        title: "Single rows and transactions".to_string(),
        caption: "Statements per second, all clients together; a page written and flushed, for comparison. \
                  Logarithmic; bars are 95 % intervals."
            .to_string(),
        description: format!("{}: {} per second.", names[0], rounded(first.value)),
        plot: value_rows(x, &names, &metrics),
    })
}
