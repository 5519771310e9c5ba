//! The picture of traces: how much of each application's time is its own, and how much it waits for the drive.

use super::{name_of, traces};
use crate::chart::Chart;
use crate::chart::plot::{Ink, MarkOutline};
use crate::chart::rows::{RowQuantity, pair_rows};
use crate::terminal::find_usable;
use drivescope_model::TestResult;
use drivescope_model::number::rounded;

const TIME: Ink = Ink::Series(0);
const THINK: Ink = Ink::Series(1);

pub(super) fn charts(result: &TestResult) -> Vec<Chart> {
    waiting(result).into_iter().collect()
}

/// A row per trace: its time, and the application's think time in it.
fn waiting(result: &TestResult) -> Option<Chart> {
    let time = |cell: &str| find_usable(result, cell, "run_s");
    let rows: Vec<&str> = traces(result).into_iter().filter(|cell| time(cell).is_some()).collect();
    let first = time(rows.first()?)?;
    let names: Vec<String> = rows.iter().map(|cell| name_of(cell)).collect();
    let row = |quantity, ink, outline, word| RowQuantity { quantity, ink, outline, word };
    let think = row("think_s", THINK, MarkOutline::Open, "thinking");
    let time = row("run_s", TIME, MarkOutline::Filled, "time");
    let plot = pair_rows(result, &rows, &names, "seconds", [&think, &time]);
    Some(Chart {
        name: "apps".to_string(),
        title: "Applications: time, and how much of it they think".to_string(),
        caption: "What lies between the marks of a row is waiting for the drive. Logarithmic; bars are 95 % \
                  intervals."
            .to_string(),
        description: format!("{}: {} s.", names[0], rounded(first.value)),
        plot,
    })
}
