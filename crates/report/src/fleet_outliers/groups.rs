//! Drives that should be alike: of one model, capacity and firmware, measured by one suite in one way.

use drivescope_model::MeasuredDrive;
use drivescope_stats::peers::GROUP_MIN;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveGroup {
    pub model: String,
    /// `None`: of several, each too rare for a group of its own.
    pub firmware: Option<String>,
    pub capacity_bytes: u64,
    pub suite: String,
    pub simulated: bool,
    /// Drives that are judged in this group.
    pub drives: usize,
    pub figures: Vec<GroupFigure>,
    /// Places of these drives among all.
    #[serde(skip)]
    pub(crate) judged: Vec<usize>,
    /// What they are compared with, themselves included.
    #[serde(skip)]
    pub(crate) peers: Vec<usize>,
}

/// A figure of a group's drives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupFigure {
    pub what: &'static str,
    pub key: String,
    pub unit: String,
    pub drives: usize,
    pub median: f64,
    /// Standard deviation of the healthy ones below the median, in percent of it.
    pub spread_pct: f64,
    /// Place of each judged drive among all, with its speed as a ratio to the median's: below 1 is slower, also for
    /// latencies.
    #[serde(skip)]
    pub(crate) ratios: Vec<(usize, f64)>,
}

impl DriveGroup {
    /// `WD40EFRX-68N32N0 82.00A82, suite quick`.
    pub(crate) fn name(&self) -> String {
        let firmware = match self.firmware.as_deref() {
            None => " (firmware of few drives)".to_string(),
            Some("") => String::new(),
            Some(firmware) => format!(" {firmware}"),
        };
        let simulated = if self.simulated { ", simulated" } else { "" };
        format!("{}{firmware}, suite {}{simulated}", self.model, self.suite)
    }
}

/// Model, capacity, suite, whether simulated, whether files were measured and not the device.
type Class<'d> = (&'d str, u64, &'d str, bool, bool);

/// The groups of at least [`GROUP_MIN`] drives. A firmware that fewer drives have is pooled: those are compared with
/// all drives of the model. Beside them the models with too few drives, with their number.
pub(super) fn groups(drives: &[MeasuredDrive]) -> (Vec<DriveGroup>, Vec<(String, usize)>) {
    let mut classes: BTreeMap<Class<'_>, Vec<usize>> = BTreeMap::new();
    for (place, drive) in drives.iter().enumerate() {
        // A drive that does not say what it is is like no other.
        let Some(model) = drive.model.as_deref().filter(|model| !model.trim().is_empty()) else {
            continue;
        };
        let is_of_files = !(drive.target.starts_with("/dev/") || drive.target.starts_with("sim:"));
        let class = (model, drive.capacity_bytes, &*drive.suite, drive.simulated, is_of_files);
        classes.entry(class).or_default().push(place);
    }
    let (mut groups, mut too_small) = (Vec::new(), BTreeMap::new());
    for (class, members) in classes {
        if members.len() < GROUP_MIN {
            *too_small.entry(class.0.to_string()).or_insert(0) += members.len();
            continue;
        }
        let mut firmwares: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for place in &members {
            firmwares.entry(drives[*place].firmware.as_deref()).or_default().push(*place);
        }
        let mut rest = Vec::new();
        for (firmware, own) in firmwares {
            if own.len() < GROUP_MIN {
                rest.extend(own);
            } else {
                groups.push(group(class, Some(firmware.unwrap_or("")), own.clone(), own));
            }
        }
        if !rest.is_empty() {
            groups.push(group(class, None, rest, members));
        }
    }
    (groups, too_small.into_iter().collect())
}

fn group(
    (model, capacity_bytes, suite, simulated, _): Class<'_>,
    firmware: Option<&str>,
    judged: Vec<usize>,
    peers: Vec<usize>,
) -> DriveGroup {
    DriveGroup {
        model: model.to_string(),
        firmware: firmware.map(str::to_string),
        capacity_bytes,
        suite: suite.to_string(),
        simulated,
        drives: judged.len(),
        figures: Vec::new(),
        judged,
        peers,
    }
}
