//! All runs of one drive, wherever it was plugged in.

use crate::document::ID_DIGITS;
use crate::error::{StoreError, StoreFault};
use crate::store::Store;
use crate::summary::{Filter, RunSummary};
use drivescope_model::Bytes;
use drivescope_model::document::Run;
use drivescope_model::drive::Drive;

/// More drives than this are counted.
const LISTED_MAX: usize = 4;

#[derive(Debug)]
pub enum FoundDrive {
    None,
    /// Several drives, each with its newest run: `WD40EFRX (DOCK), 4.00 TB (run 0123456789ab)`.
    Several {
        listed: String,
        /// Newest run of the first drive, whose id names that drive alone.
        run: String,
    },
    One(DriveRuns),
}

#[derive(Debug)]
pub struct DriveRuns {
    pub name: String,
    /// Newest first.
    pub runs: Vec<Run>,
    /// Runs that this program cannot read, for example of a newer version, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Identity of a drive from the columns of a run: the serial number, else model and target.
#[derive(Debug, PartialEq, Eq)]
struct DriveKey {
    serial: Option<String>,
    model: Option<String>,
    target: String,
}

impl Store {
    /// The newest `limit` runs of the drive that `drive` is a part of the name of: serial number, model, kernel name or
    /// target; or of the drive of the run with this whole id. Of one suite, or of all.
    pub fn runs_of_drive(
        &self,
        drive: &str,
        suite: Option<&str>,
        limit: u32,
    ) -> Result<FoundDrive, StoreError> {
        let is_of_suite = |run: &RunSummary| suite.is_none_or(|suite| run.suite == suite);
        if let Some(run) = self.run_with_id(drive)? {
            let key = DriveKey::new(run.drive.as_ref(), &run.target.path);
            let mut found = self.runs_with(&key)?;
            found.retain(is_of_suite);
            let runs = self.read(&found, run.drive.as_ref(), limit)?.0;
            return Ok(FoundDrive::One(runs).or_none());
        }
        let filter = Filter { drive: Some(drive.to_string()), ..Filter::default() };
        let mut found = self.list_bare(&filter)?;
        found.retain(is_of_suite);
        let mut keys: Vec<(DriveKey, String, String)> = Vec::new();
        for run in &found {
            let key = DriveKey::of(run);
            if keys.iter().all(|(known, ..)| *known != key) {
                keys.push((key, name(run), run.id.clone()));
            }
        }
        if keys.len() > 1 {
            return Ok(several(keys.into_iter().map(|(_, name, run)| (name, run)).collect()));
        }
        let (runs, others) = self.read(&found, None, limit)?;
        Ok(if others.is_empty() { FoundDrive::One(runs).or_none() } else { several(others) })
    }

    /// The newest `limit` runs of an attached drive, measured as `target`.
    pub fn runs_of_attached(
        &self,
        drive: Option<&Drive>,
        target: &str,
        limit: u32,
    ) -> Result<DriveRuns, StoreError> {
        let found = self.runs_with(&DriveKey::new(drive, target))?;
        Ok(self.read(&found, drive, limit)?.0)
    }

    /// `None` also for a run that this program cannot read.
    fn run_with_id(&self, text: &str) -> Result<Option<Run>, StoreError> {
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Ok(None);
        }
        match self.get(text) {
            Ok(run) => Ok(Some(run)),
            Err(error) if matches!(error.fault, StoreFault::NoRun | StoreFault::Document) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn runs_with(&self, key: &DriveKey) -> Result<Vec<RunSummary>, StoreError> {
        let text = key.serial.as_ref().unwrap_or(&key.target);
        let filter = Filter { drive: Some(text.clone()), ..Filter::default() };
        let mut found = self.list_bare(&filter)?;
        found.retain(|run| DriveKey::of(run) == *key);
        Ok(found)
    }

    /// The newest `limit` of these runs that are of one drive by all that their documents tell: of `drive`, or of that
    /// of the newest. Beside them the other drives, each in words with its newest run.
    fn read(
        &self,
        found: &[RunSummary],
        drive: Option<&Drive>,
        limit: u32,
    ) -> Result<(DriveRuns, Vec<(String, String)>), StoreError> {
        let name = found.first().map(name).unwrap_or_default();
        let mut read = DriveRuns { name, runs: Vec::new(), unreadable: Vec::new() };
        let mut drives: Vec<(Drive, String)> = Vec::new();
        drives.extend(drive.map(|drive| (drive.clone(), String::new())));
        for summary in found {
            if read.runs.len() + read.unreadable.len() >= limit as usize {
                break;
            }
            let run = match self.get(&summary.id) {
                Ok(run) => run,
                Err(error) if error.fault == StoreFault::Document => {
                    read.unreadable.push((summary.id.clone(), error.to_string()));
                    continue;
                }
                // Removed since it was listed.
                Err(error) if error.fault == StoreFault::NoRun => continue,
                Err(error) => return Err(error),
            };
            let of = run.drive.as_ref().and_then(|of| {
                let place = drives.iter().position(|(drive, _)| drive.clash(of).is_none());
                if place.is_none() {
                    drives.push((of.clone(), run.id.clone()));
                }
                place.or(Some(drives.len() - 1))
            });
            if of.unwrap_or(0) == 0 {
                read.runs.push(run);
            }
        }
        let is_asked = drive.is_some() || drives.len() < 2;
        let others = drives.into_iter().map(|(drive, run)| (words(&drive), run));
        Ok((read, if is_asked { Vec::new() } else { others.collect() }))
    }
}

impl FoundDrive {
    fn or_none(self) -> Self {
        match self {
            Self::One(found) if found.runs.is_empty() && found.unreadable.is_empty() => Self::None,
            found => found,
        }
    }
}

impl DriveKey {
    fn new(drive: Option<&Drive>, target: &str) -> Self {
        let known = |text: Option<&String>| text.filter(|text| !text.trim().is_empty()).cloned();
        let serial = known(drive.and_then(|drive| drive.serial.as_ref()));
        let model = drive.and_then(|drive| drive.model.clone());
        let target = if serial.is_some() { String::new() } else { target.to_string() };
        Self { serial, model, target }
    }

    fn of(run: &RunSummary) -> Self {
        let serial = run.drive_serial.clone().filter(|serial| !serial.trim().is_empty());
        let target = if serial.is_some() { String::new() } else { run.target.clone() };
        Self { serial, model: run.drive_model.clone(), target }
    }
}

fn several(drives: Vec<(String, String)>) -> FoundDrive {
    let shown = drives.iter().take(LISTED_MAX).map(|(name, run)| format!("{name} (run {run})"));
    let mut listed = shown.collect::<Vec<_>>().join("; ");
    if drives.len() > LISTED_MAX {
        listed += &format!("; and {} more", drives.len() - LISTED_MAX);
    }
    let run = drives.into_iter().next().map(|(_, run)| run).unwrap_or_default();
    FoundDrive::Several { listed, run }
}

fn name(run: &RunSummary) -> String {
    let model = run.drive().unwrap_or(&run.target).trim().to_string();
    with_serial(model, run.drive_serial.as_deref())
}

/// A drive with the facts that distinguish it from others with its serial number.
fn words(drive: &Drive) -> String {
    let model = drive.model.as_ref().unwrap_or(&drive.name).trim().to_string();
    let names = [&drive.wwn, &drive.firmware].into_iter().zip(["", "firmware "]);
    let details = names.filter_map(|(text, what)| Some(format!(", {what}{}", text.as_deref()?)));
    let size = Bytes(drive.capacity_bytes);
    format!(
        "{}, {size}{}",
        with_serial(model, drive.serial.as_deref()),
        details.collect::<String>()
    )
}

fn with_serial(model: String, serial: Option<&str>) -> String {
    match serial.map(str::trim).filter(|serial| !serial.is_empty()) {
        Some(serial) => format!("{model} ({serial})"),
        None => model,
    }
}
