//! `history`: one drive over all its stored runs.

use crate::arguments::HistoryArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::open_existing;
use drivescope_report::{clean, text};
use drivescope_store::{DriveRuns, FoundDrive};

/// Shows what became of the drive.
pub fn history(arguments: &HistoryArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let HistoryArguments { drive, suite, limit, json, .. } = arguments;
    let DriveRuns { name, runs, unreadable } = match store.runs_of_drive(
        drive,
        suite.as_deref(),
        *limit,
    )? {
        FoundDrive::One(found) => found,
        FoundDrive::None => {
            let words = store.words();
            let message = format!(
                "no stored run of a drive with '{drive}' in its name; drivescope runs{words} lists all"
            );
            return Err(Failure::usage(clean(&message).into_owned()));
        }
        FoundDrive::Several(one, other) => {
            let message = format!(
                "'{drive}' names more than one drive: {one} and {other}; say more of its serial number"
            );
            return Err(Failure::usage(clean(&message).into_owned()));
        }
    };
    let mut history = drivescope_report::history(runs, name);
    history.left_out.extend(unreadable);
    match json {
        true => output::print_document(&history),
        false => output::print_line(&text::history(&history, output::style())),
    }
    Ok(Code::Ok)
}
