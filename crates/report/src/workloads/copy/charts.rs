//! A picture of copies: the rate of each step.

use super::name_of;
use crate::chart::axis::PlotAxis;
use crate::chart::rows::value_rows;
use crate::chart::{Chart, extent};
use crate::terminal::{cells, find};
use drivescope_model::TestResult;
use drivescope_model::number::rounded;

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    rates(result).into_iter().collect()
}

fn rates(result: &TestResult) -> Option<Chart> {
    let rows: Vec<&str> = cells(result)
        .into_iter()
        .filter(|cell| find(result, cell, "mb_s").is_some_and(|metric| metric.valid))
        .collect();
    let metrics: Vec<_> = rows.iter().filter_map(|cell| find(result, cell, "mb_s")).collect();
    let first = metrics.first()?;
    let (_, highest) = extent(metrics.iter().map(|metric| metric.high));
    let names: Vec<String> = rows.iter().map(|cell| name_of(cell)).collect();
    Some(Chart {
        name: "copy".to_string(),
        title: "Copying files".to_string(),
        caption:
            "Rate of each step on cold files, the final flush included. Bars are 95 % intervals."
                .to_string(),
        description: format!("{}: {} MB/s.", names[0], rounded(first.value)),
        plot: value_rows(PlotAxis::from_zero("MB/s", highest), &names, &metrics),
    })
}
