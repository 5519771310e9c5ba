//! `history`: one drive over all its stored runs.

use crate::arguments::HistoryArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::open_existing;
use drivescope_report::text;
use drivescope_store::{Filter, RunSummary, StoreFault};

/// Shows what became of the drive.
pub fn history(arguments: &HistoryArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let filter = Filter { drive: Some(arguments.drive.clone()), ..Filter::default() };
    let mut found = store.list(&filter)?;
    found.retain(|run| arguments.suite.as_ref().is_none_or(|suite| run.suite == *suite));
    let Some(newest) = found.first() else {
        let words = store.words();
        let message = format!(
            "no stored run of a drive with '{}' in its name; drivescope runs{words} lists all",
            arguments.drive
        );
        return Err(Failure::usage(drivescope_report::clean(&message).into_owned()));
    };
    let name = name(newest);
    if let Some(other) = found.iter().find(|run| drive_of(run) != drive_of(newest)) {
        let message = format!(
            "'{}' names more than one drive: {name} and {}; say more of its serial number",
            arguments.drive,
            self::name(other)
        );
        return Err(Failure::usage(drivescope_report::clean(&message).into_owned()));
    }
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for summary in found.iter().take(arguments.limit as usize) {
        match store.get(&summary.id) {
            Ok(run) => runs.push(run),
            // Such as that of a newer drivescope.
            Err(error) if error.fault == StoreFault::Document => {
                unreadable.push((summary.id.clone(), error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut history = drivescope_report::history(runs, name);
    history.left_out.extend(unreadable);
    match arguments.json {
        true => output::print_document(&history),
        false => output::print_line(&text::history(&history, output::style())),
    }
    Ok(Code::Ok)
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
    let model = run.drive().unwrap_or(&run.target).trim().to_string();
    match run.drive_serial.as_deref().map(str::trim).filter(|serial| !serial.is_empty()) {
        Some(serial) => format!("{model} ({serial})"),
        None => model,
    }
}
