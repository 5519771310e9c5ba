//! All runs of one drive, wherever it was plugged in.

use crate::error::{StoreError, StoreFault};
use crate::store::Store;
use crate::summary::{Filter, RunSummary};
use drivescope_model::document::Run;

/// What a text comes to that names a drive.
#[derive(Debug)]
pub enum FoundDrive {
    /// No run has it.
    None,
    /// More than one drive, two of which are these.
    Several(String, String),
    /// One.
    One(DriveRuns),
}

/// The runs of a drive.
#[derive(Debug)]
pub struct DriveRuns {
    /// Its model with the serial number, where both are known.
    pub name: String,
    /// The newest of them, newest first.
    pub runs: Vec<Run>,
    /// Those that this program cannot read, such as that of a newer one, with the reason.
    pub unreadable: Vec<(String, String)>,
}

impl Store {
    /// The newest `limit` runs of the drive that `drive` is a part of the name of: serial number, model, kernel name
    /// or target; of one suite, or of all.
    ///
    /// # Errors
    /// Only those of reading the file.
    pub fn runs_of_drive(
        &self,
        drive: &str,
        suite: Option<&str>,
        limit: u32,
    ) -> Result<FoundDrive, StoreError> {
        let filter = Filter { drive: Some(drive.to_string()), ..Filter::default() };
        let mut found = self.list(&filter)?;
        found.retain(|run| suite.is_none_or(|suite| run.suite == suite));
        let Some(newest) = found.first() else { return Ok(FoundDrive::None) };
        let name = name(newest);
        if let Some(other) = found.iter().find(|run| drive_of(run) != drive_of(newest)) {
            return Ok(FoundDrive::Several(name, self::name(other)));
        }
        let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
        for summary in found.iter().take(limit as usize) {
            match self.get(&summary.id) {
                Ok(run) => runs.push(run),
                Err(error) if error.fault == StoreFault::Document => {
                    unreadable.push((summary.id.clone(), error.to_string()));
                }
                // Removed since it was listed.
                Err(error) if error.fault == StoreFault::NoRun => {}
                Err(error) => return Err(error),
            }
        }
        Ok(FoundDrive::One(DriveRuns { name, runs, unreadable }))
    }
}

/// What tells drives apart wherever they are plugged in: the serial number, or else model and target.
fn drive_of(run: &RunSummary) -> (Option<&str>, Option<&str>, &str) {
    let model = run.drive_model.as_deref();
    match run.drive_serial.as_deref() {
        Some(serial) => (Some(serial), model, ""),
        None => (None, model, &run.target),
    }
}

fn name(run: &RunSummary) -> String {
    let model = run.drive().unwrap_or(&run.target).trim().to_string();
    match run.drive_serial.as_deref().map(str::trim).filter(|serial| !serial.is_empty()) {
        Some(serial) => format!("{model} ({serial})"),
        None => model,
    }
}
