//! A drive of many, as its newest run of a suite found it: what comparisons with its like need.

use crate::drive::{Drive, Link};
use crate::findings::FindingId;

/// What the store has of a drive and a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredDrive {
    /// Id of the newest run.
    pub run: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    pub suite: String,
    pub host: String,
    pub target: String,
    pub simulated: bool,
    /// Kernel name.
    pub name: Option<String>,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    /// Of the drive, or of the target where no drive is known.
    pub capacity_bytes: u64,
    pub link: Option<Link>,
    /// The highest that was seen before and during the run.
    pub temperature_c: Option<f64>,
    /// The highest that its maker allows.
    pub limit_c: Option<f64>,
    /// Each with its evidence.
    pub findings: Vec<(FindingId, String)>,
    pub figures: Vec<MeasuredFigure>,
}

/// A valid figure of the newest run.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredFigure {
    pub key: String,
    pub value: f64,
    /// The same of the runs before, the newest first.
    pub earlier: Vec<f64>,
}

impl MeasuredDrive {
    pub fn figure(&self, key: &str) -> Option<&MeasuredFigure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// What is true of the drive whatever it is called where: its serial number with its model, else the target on its
    /// host. All simulated drives of a model have the same serial number.
    pub fn identity(&self) -> [&str; 3] {
        let model = self.model.as_deref().unwrap_or_default();
        match self.serial.as_deref().map(str::trim) {
            Some(serial) if !serial.is_empty() && !self.simulated => ["", serial, model],
            _ => [&self.host, &self.target, model],
        }
    }

    /// Kernel name; the target of a simulated drive, and of one without a name.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().filter(|_| !self.simulated).unwrap_or(&self.target)
    }

    /// Takes over what a run's document says of the drive.
    pub fn describe(&mut self, drive: Drive) {
        self.firmware = drive.firmware;
        self.capacity_bytes = drive.capacity_bytes;
        self.link = drive.link;
        self.limit_c = drive.health.limit_c;
        let before = drive.temperature_c.or(drive.health.now_c);
        self.temperature_c = self.temperature_c.into_iter().chain(before).reduce(f64::max);
    }
}
