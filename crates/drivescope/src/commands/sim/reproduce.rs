//! `sim reproduce`: the models against published measurements of their drives.
//!
//! [`table`] has the published cells, [`formula`] says which metrics of which runs answer one, [`simulated_run`] does
//! these runs, and [`judge`] holds the figures against the cells, each by its [`comparison`].

mod comparison;
mod formula;
mod judge;
mod simulated_run;
mod table;

#[cfg(test)]
mod tests;

use crate::arguments::ReproduceArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_model::nearest::nearest;
use drivescope_model::reproduction::{CellResult, Reproduction};
use drivescope_report::text;
use formula::{ModelRun, RunFigures};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeSet;
use std::sync::Mutex;
use table::PublishedCell;

pub fn reproduce(arguments: &ReproduceArguments) -> Result<Code, Failure> {
    let all = table::cells().map_err(Failure::usage)?;
    let cells = chosen(all, arguments)?;
    let measured = run_all(jobs(&cells));
    let result = Reproduction::new(cells.iter().map(|cell| cell.result(&measured)).collect());
    if arguments.json {
        output::print_document(&result);
    } else {
        output::print_line(&text::reproduction(&result, output::style()));
    }
    let trouble = result.cells.iter().any(CellResult::is_trouble);
    Ok(if trouble { Code::Problem } else { Code::Ok })
}

/// In the table's order.
fn chosen(
    all: Vec<PublishedCell>,
    arguments: &ReproduceArguments,
) -> Result<Vec<PublishedCell>, Failure> {
    for id in &arguments.cell {
        if !all.iter().any(|cell| cell.entry.id == *id) {
            return Err(unknown("cell", id, all.iter().map(|cell| cell.entry.id.as_str())));
        }
    }
    for name in &arguments.drive {
        if !all.iter().any(|cell| is_about(cell, name)) {
            let names = all.iter().flat_map(|cell| {
                std::iter::once(cell.entry.drive.as_str()).chain(cell.own_models())
            });
            return Err(unknown("drive", name, names));
        }
    }
    let wanted = |cell: &PublishedCell| {
        let by_id = arguments.cell.is_empty() || arguments.cell.contains(&cell.entry.id);
        let by_drive =
            arguments.drive.is_empty() || arguments.drive.iter().any(|name| is_about(cell, name));
        by_id && by_drive
    };
    let cells: Vec<PublishedCell> = all.into_iter().filter(wanted).collect();
    if cells.is_empty() {
        return Err(Failure::usage("no such cell for that drive"));
    }
    Ok(cells)
}

fn jobs(cells: &[PublishedCell]) -> BTreeSet<ModelRun> {
    cells.iter().flat_map(PublishedCell::jobs).collect()
}

/// Whether a cell is about the drive or model called `name`.
fn is_about(cell: &PublishedCell, name: &str) -> bool {
    cell.entry.drive == name || cell.own_models().any(|model| model == name)
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Failure {
    let hint = nearest(name, known).map(|near| format!(" (did you mean '{near}'?)"));
    let hint = hint.unwrap_or_default();
    Failure::usage(format!("no {what} '{name}'{hint}; drivescope sim reproduce shows them all"))
}

/// Why a lock is never poisoned.
const WHOLE: &str = "no thread panics while it holds the lock";

/// Uses all processors; the jobs are independent.
fn run_all(jobs: BTreeSet<ModelRun>) -> RunFigures {
    let bar = ProgressBar::with_draw_target(Some(jobs.len() as u64), ProgressDrawTarget::hidden());
    if output::is_watched() {
        let style = ProgressStyle::with_template("{pos}/{len} {bar:20} {wide_msg}");
        bar.set_style(style.expect("the template is fixed and correct"));
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let waiting = Mutex::new(jobs);
    let measured = Mutex::new(RunFigures::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect(WHOLE).pop_first();
                    let Some(job) = next else { return };
                    bar.set_message(format!("{} {}", job.model, job.run));
                    let figures = job.figures();
                    measured.lock().expect(WHOLE).insert(job, figures);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    measured.into_inner().expect(WHOLE)
}
