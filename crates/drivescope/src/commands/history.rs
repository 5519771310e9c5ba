//! `history`: one drive over all its stored runs.

use crate::arguments::HistoryArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::open_existing;
use drivescope_model::Run;
use drivescope_report::{DriveHistory, MetricHistory, RUNS_MIN, clean, text};
use drivescope_store::{DriveRuns, FoundDrive, Store};

pub fn history(arguments: &HistoryArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let wanted = WantedRuns {
        drive: &arguments.drive,
        suite: arguments.suite.as_deref(),
        limit: arguments.limit,
    };
    let history = history_of(&store, wanted, |run| run)?;
    if arguments.json {
        output::print_document(&history)
    } else {
        output::print_line(&text::history(&history, output::style()))
    }
    Ok(if arguments.fail_on.is_some() { judged(&history) } else { Code::Ok })
}

/// Fails where a metric got worse, and where nothing of the newest run can be judged; notes what the check leaves out.
fn judged(history: &DriveHistory) -> Code {
    let newest = history.runs.len().saturating_sub(1);
    let has_newest = |row: &&MetricHistory| row.values.last().is_some_and(|it| it.run == newest);
    let most = history.rows.iter().map(|row| row.values.len()).max().unwrap_or(history.runs.len());
    let is_first = history.runs.len() == 1;
    if !is_first && !history.rows.iter().any(|row| has_newest(&row)) {
        output::complain(
            "--fail-on worse: the newest run has no valid figure that an earlier run has, so nothing can be judged; \
             drivescope show last says why",
        );
        return Code::Problem;
    }
    if most < RUNS_MIN {
        output::remark(&format!(
            "comparable runs: {most}; --fail-on worse cannot fail before there are {RUNS_MIN}"
        ));
    }
    let missing = history.rows.iter().filter(|row| !has_newest(row)).map(|row| row.what);
    let missing = missing.collect::<Vec<_>>().join(", ");
    if !missing.is_empty() {
        output::remark(&format!("not judged, since the newest run has no valid figure: {missing}"));
    }
    let is_worse = |row: &MetricHistory| row.change.is_some_and(|change| change.times < 1.0);
    if history.rows.iter().any(is_worse) { Code::Problem } else { Code::Ok }
}

#[derive(Debug, Clone, Copy)]
pub struct WantedRuns<'a> {
    /// A part of the drive's serial number, model, kernel name or target, or the id of a run of it.
    pub drive: &'a str,
    pub suite: Option<&'a str>,
    pub limit: u32,
}

/// The history of a drive from its runs, each changed by `prepared`. Errors: no run or several drives have that name.
pub fn history_of(
    store: &Store,
    WantedRuns { drive, suite, limit }: WantedRuns<'_>,
    prepared: impl Fn(Run) -> Run,
) -> Result<DriveHistory, Failure> {
    let found = match store.runs_of_drive(drive, suite, limit)? {
        FoundDrive::One(found) => Ok(found),
        FoundDrive::None => Err(format!(
            "no stored run of a drive with '{drive}' in its name; drivescope runs{} lists all",
            store.words()
        )),
        FoundDrive::Several { listed, run } => Err(format!(
            "'{drive}' names more than one drive: {listed}; give one by a run of it: drivescope history {run}{}",
            store.words()
        )),
    };
    let DriveRuns { name, runs, unreadable } =
        found.map_err(|message| Failure::usage(clean(&message).into_owned()))?;
    // Oldest first, in the order of the store.
    let runs: Vec<Run> = runs.into_iter().rev().map(prepared).collect();
    // The drive's name as in its runs: without a serial number if they are anonymous.
    let called = runs.last().map_or(name, name_of);
    let mut history = drivescope_report::history(runs, called);
    history.left_out.extend(unreadable);
    Ok(history)
}

fn name_of(run: &Run) -> String {
    let drive = run.drive.as_ref();
    let model = drive.and_then(|drive| drive.model.as_deref()).unwrap_or(&run.target.path).trim();
    match drive.and_then(|drive| drive.serial.as_deref()).map(str::trim) {
        Some(serial) if !serial.is_empty() => format!("{model} ({serial})"),
        _ => model.to_string(),
    }
}
