//! Models as data: one TOML file per drive, the built-in ones and a user's own.

use crate::device::{Completion, Device, Nanos, Op, Request, Stream};
use crate::hdd::{self, HardDisk, HddParams};
use crate::ssd::{self, Ssd, SsdParams};
use serde::{Deserialize, Serialize};

/// What kind of drive a model describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Rotating disk.
    Hdd,
    /// Flash.
    Ssd,
}

/// What the drive says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Model name.
    pub model: String,
    /// Serial number.
    #[serde(default)]
    pub serial: String,
    /// Firmware revision.
    #[serde(default)]
    pub firmware: String,
    /// Smallest unit of addresses it reports.
    #[serde(default = "sector_512")]
    pub reported_logical_sector_bytes: u32,
    /// Physical sector it reports, which need not be the one it has.
    #[serde(default = "sector_4096")]
    pub reported_physical_sector_bytes: u32,
    /// Rotation it reports; absent for flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation_rpm: Option<u32>,
}

const fn sector_512() -> u32 {
    512
}
const fn sector_4096() -> u32 {
    4096
}

/// The link a drive hangs on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkTable {
    /// As people write it: `SATA 6.0 Gb/s`.
    pub name: String,
    /// The most payload it can carry.
    pub payload_mb_s: f64,
}

/// A model as its file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Name in `sim:NAME`.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Which of the tables below it has.
    pub kind: Kind,
    /// What it says of itself.
    pub identity: Identity,
    /// Its link, for the ceiling of rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkTable>,
    /// Parameters of a hard disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hdd: Option<HddParams>,
    /// Parameters of an SSD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssd: Option<SsdParams>,
}

/// Why a model cannot be used, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The file is not a model.
    #[error("{origin}:{line}:{column}: {message}")]
    Broken {
        /// Name of the file.
        origin: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A value that no drive can have.
    #[error("{origin}:{line}: {field}: {message}")]
    Impossible {
        /// Name of the file.
        origin: String,
        /// Line of the field, from 1; 0 when it stands nowhere.
        line: usize,
        /// Path of the field.
        field: String,
        /// What is wrong and what would be right.
        message: String,
    },
}

/// What is planted in a simulated drive, the same words for every kind.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Planted {
    /// Flushes are answered at once.
    pub flush_lies: bool,
    /// Partial physical sectors cost nothing extra (hard disks).
    pub no_read_modify_write: bool,
    /// Queued commands in order of arrival (hard disks).
    pub first_come: bool,
    /// A twentieth of the drive, at its middle, needs retries.
    pub slow_region: bool,
    /// A thousandth of the drive, at its middle, cannot be read.
    pub failing_region: bool,
    /// The drive disappears after so much time.
    pub gone_at: Option<Nanos>,
    /// The drive is throttled to a third (flash).
    pub throttled: bool,
}

/// State a simulated drive begins in.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Start {
    /// Seed of everything that is left to chance.
    pub seed: u64,
    /// Share of the drive that has been written before, 0–1 (flash).
    pub fill: f64,
    /// What is wrong with it.
    pub planted: Planted,
}

impl Model {
    /// Reads and checks a model; `origin` names it in errors.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ModelError> {
        let broken = |at: usize, message: String| {
            let before = &text[..at.min(text.len())];
            ModelError::Broken {
                origin: origin.to_string(),
                line: before.matches('\n').count() + 1,
                column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
                message,
            }
        };
        let model: Self = toml::from_str(text).map_err(|error| {
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            broken(error.span().map_or(0, |span| span.start), message)
        })?;
        let problem = match (&model.kind, &model.hdd, &model.ssd) {
            (Kind::Hdd, Some(params), None) => params
                .validate()
                .into_iter()
                .next()
                .map(|p| (format!("hdd.{}", p.field), p.message)),
            (Kind::Ssd, None, Some(params)) => params
                .validate()
                .into_iter()
                .next()
                .map(|p| (format!("ssd.{}", p.field), p.message)),
            (Kind::Hdd, ..) => {
                return Err(broken(0, "kind hdd needs one table, [hdd]".to_string()));
            }
            (Kind::Ssd, ..) => {
                return Err(broken(0, "kind ssd needs one table, [ssd]".to_string()));
            }
        };
        match problem {
            None => Ok(model),
            Some((field, message)) => {
                let line = line_of(text, &field);
                Err(ModelError::Impossible { origin: origin.to_string(), line, field, message })
            }
        }
    }

    /// Bytes that can be addressed.
    pub fn capacity_bytes(&self) -> u64 {
        match (&self.hdd, &self.ssd) {
            (Some(params), _) => params.capacity_bytes,
            (_, Some(params)) => params.capacity_bytes,
            _ => 0,
        }
    }

    /// The drive, powered on.
    pub fn build(&self, start: &Start) -> Result<Drive, Vec<String>> {
        let say = |field: &str, message: &str| format!("{field}: {message}");
        match (&self.hdd, &self.ssd) {
            (Some(params), _) => {
                let mut disk = HardDisk::new(params, start.seed).map_err(|problems| {
                    problems.iter().map(|p| say(&p.field, &p.message)).collect::<Vec<_>>()
                })?;
                disk.set_faults(hdd_faults(&start.planted, params.capacity_bytes));
                Ok(Drive::Hdd(Box::new(disk)))
            }
            (_, Some(params)) => {
                let mut drive = Ssd::new(params.clone(), start.seed).map_err(|problems| {
                    problems.iter().map(|p| say(&p.field, &p.message)).collect::<Vec<_>>()
                })?;
                if start.fill > 0.0 {
                    drive.precondition(start.fill);
                }
                drive.set_faults(ssd_faults(&start.planted, params.capacity_bytes));
                Ok(Drive::Ssd(Box::new(drive)))
            }
            _ => Err(vec!["a model has a table [hdd] or [ssd]".to_string()]),
        }
    }
}

fn hdd_faults(planted: &Planted, capacity: u64) -> hdd::Faults {
    let middle = capacity / 2 / 4096 * 4096;
    hdd::Faults {
        flush_lies: planted.flush_lies,
        no_read_modify_write: planted.no_read_modify_write,
        fcfs: planted.first_come,
        slow_region: planted.slow_region.then_some(hdd::SlowRegion {
            offset: middle,
            len: capacity / 20,
            extra_revolutions: 2,
        }),
        failing_region: planted.failing_region.then_some(hdd::FailingRegion {
            offset: middle,
            len: capacity / 1000,
            retry_ms: 2_000.0,
        }),
        gone_at: planted.gone_at,
    }
}

fn ssd_faults(planted: &Planted, capacity: u64) -> ssd::Faults {
    let middle = capacity / 2 / 4096 * 4096;
    let region = |len: u64, retry_ns: Nanos, unreadable: bool| ssd::FailingRegion {
        offset: middle,
        len,
        retry_ns,
        unreadable,
    };
    let mut failing = Vec::new();
    if planted.slow_region {
        failing.push(region(capacity / 20, 1_000_000, false));
    }
    if planted.failing_region {
        failing.push(region(capacity / 1000, 50_000_000, true));
    }
    ssd::Faults {
        flush_lies: planted.flush_lies,
        throttle_forced: planted.throttled.then_some(1.0 / 3.0),
        failing,
        gone_at: planted.gone_at,
    }
}

/// Line (from 1) of a field given by its path, or of the nearest table above it; 0 if neither stands.
fn line_of(text: &str, path: &str) -> usize {
    let (table, field) = path.rsplit_once('.').unwrap_or(("", path));
    let mut inside = table.is_empty();
    let mut of_table = 0;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            inside = header.trim_start_matches('[') == table;
            if inside {
                of_table = number + 1;
            }
        } else if inside && line.split('=').next().is_some_and(|key| key.trim() == field) {
            return number + 1;
        }
    }
    of_table
}

/// A drive of any kind.
#[derive(Debug)]
pub enum Drive {
    /// Rotating disk.
    Hdd(Box<HardDisk>),
    /// Flash.
    Ssd(Box<Ssd>),
}

macro_rules! of_either {
    ($self:ident, $drive:ident => $call:expr) => {
        match $self {
            Drive::Hdd($drive) => $call,
            Drive::Ssd($drive) => $call,
        }
    };
}

impl Device for Drive {
    fn capacity_bytes(&self) -> u64 {
        of_either!(self, drive => drive.capacity_bytes())
    }
    fn sector_bytes(&self) -> u32 {
        of_either!(self, drive => drive.sector_bytes())
    }
    fn submit(&mut self, now: Nanos, request: Request) {
        of_either!(self, drive => drive.submit(now, request));
    }
    fn next_completion(&mut self) -> Option<Nanos> {
        of_either!(self, drive => drive.next_completion())
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        of_either!(self, drive => drive.advance(to, done));
    }
}

impl Stream for Drive {
    fn stream(
        &mut self,
        now: Nanos,
        op: Op,
        offset: u64,
        len: u64,
        chunk: u64,
        depth: u32,
    ) -> Option<Nanos> {
        of_either!(self, drive => drive.stream(now, op, offset, len, chunk, depth))
    }
}

macro_rules! models {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../models/", $name, ".toml")))),*]
    };
}

/// The built-in models: name and text of the file. A test holds the list against the folder.
pub const BUILT_IN: &[(&str, &str)] = models![
    "corsair-mp510-240"
    "easystore-2tb"
    "hds722020ala330"
    "hgst-7k1000"
    "kioxia-bg4-128"
    "laptop-ssd-2015"
    "pm871b-128"
    "samsung-860evo-1tb"
    "samsung-860evo-250"
    "samsung-870evo-1tb"
    "st8000as0002-smr"
    "toshiba-xg6-1tb"
    "usb-16tb"
    "wd10ears"
    "wd15earx"
    "wd20eads"
    "wd20ears"
    "wd4000aaks"
    "wd40efrx"
    "wd40ezrz"
];

#[cfg(test)]
#[path = "library_tests.rs"]
mod tests;
