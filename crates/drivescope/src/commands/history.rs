//! `history`: one drive over all its stored runs.

use crate::arguments::HistoryArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::open_existing;
use drivescope_model::Run;
use drivescope_report::{DriveHistory, text};
use drivescope_store::{Filter, RunSummary, Store, StoreFault};

/// Shows what became of the drive.
pub fn history(arguments: &HistoryArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let wanted = WantedRuns {
        drive: &arguments.drive,
        suite: arguments.suite.as_deref(),
        limit: arguments.limit as usize,
    };
    let history = history_of(&store, wanted, |run| run)?;
    match arguments.json {
        true => output::print_document(&history),
        false => output::print_line(&text::history(&history, output::style())),
    }
    Ok(Code::Ok)
}

/// Which runs of a store make a history.
#[derive(Debug, Clone, Copy)]
pub struct WantedRuns<'a> {
    /// A part of the drive's serial number, model, kernel name or target.
    pub drive: &'a str,
    /// Only of this suite.
    pub suite: Option<&'a str>,
    /// The newest at most.
    pub limit: usize,
}

/// The history of a drive, of its runs as `told` has them. Errors: no run or several drives have that name.
pub fn history_of(
    store: &Store,
    WantedRuns { drive, suite, limit }: WantedRuns<'_>,
    told: impl Fn(Run) -> Run,
) -> Result<DriveHistory, Failure> {
    let filter = Filter { drive: Some(drive.to_string()), ..Filter::default() };
    let mut found = store.list(&filter)?;
    found.retain(|run| suite.is_none_or(|suite| run.suite == suite));
    let Some(newest) = found.first() else {
        let words = store.words();
        let message = format!(
            "no stored run of a drive with '{drive}' in its name; drivescope runs{words} lists all"
        );
        return Err(Failure::usage(drivescope_report::clean(&message).into_owned()));
    };
    if let Some(other) = found.iter().find(|run| drive_of(run) != drive_of(newest)) {
        let message = format!(
            "'{drive}' names more than one drive: {} and {}; say more of its serial number",
            name(newest),
            name(other)
        );
        return Err(Failure::usage(drivescope_report::clean(&message).into_owned()));
    }
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for summary in found.iter().take(limit) {
        match store.get(&summary.id) {
            Ok(run) => runs.push(told(run)),
            // Such as that of a newer drivescope.
            Err(error) if error.fault == StoreFault::Document => {
                unreadable.push((summary.id.clone(), error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    // What the runs tell of their drive: of anonymous ones, no serial number.
    let called = runs.first().map_or_else(|| name(newest), name_of);
    let mut history = drivescope_report::history(runs, called);
    history.left_out.extend(unreadable);
    Ok(history)
}

/// What tells drives apart wherever they are plugged in: the serial number, or else model and target.
fn drive_of(run: &RunSummary) -> (Option<&str>, Option<&str>, &str) {
    let model = run.drive_model.as_deref();
    match run.drive_serial.as_deref() {
        Some(serial) => (Some(serial), model, ""),
        None => (None, model, &run.target),
    }
}

/// Its model with the serial number, where both are known.
fn name(run: &RunSummary) -> String {
    called(run.drive().unwrap_or(&run.target), run.drive_serial.as_deref())
}

fn name_of(run: &Run) -> String {
    let drive = run.drive.as_ref();
    let model = drive.and_then(|drive| drive.model.as_deref()).unwrap_or(&run.target.path);
    called(model, drive.and_then(|drive| drive.serial.as_deref()))
}

fn called(model: &str, serial: Option<&str>) -> String {
    match serial.map(str::trim).filter(|serial| !serial.is_empty()) {
        Some(serial) => format!("{} ({serial})", model.trim()),
        None => model.trim().to_string(),
    }
}
