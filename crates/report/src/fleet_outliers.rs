//! Many drives: which are odd among those like them, in what, and how sure that is.

pub(crate) mod charts;
mod figures;
mod groups;
mod noted;

use crate::comparison::COMPARED;
use crate::workloads::evidence;
use drivescope_model::{FindingId, MeasuredDrive};
use drivescope_stats::false_discoveries::{combined_p_value, q_values};
use figures::FigureQuestion;
use serde::Serialize;
use std::collections::BTreeMap;

pub use groups::{DriveGroup, GroupFigure};

/// Share of false discoveries among the drives that are called odd by their figures.
pub const FDR: f64 = 0.05;

/// The drives of a store, compared with those of their model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetOutliers {
    /// At most this share of the drives that are odd by their figures is expected to be healthy.
    pub fdr: f64,
    /// All drives that were looked at.
    pub drives: usize,
    /// Drives that were compared with others.
    pub compared: usize,
    pub groups: Vec<DriveGroup>,
    /// Too few alike to compare: the name of the model, and the number of its drives.
    pub too_small: Vec<(String, usize)>,
    /// The surest first.
    pub odd: Vec<OddDrive>,
    /// Hosts with several drives, most of which are odd: the number of those, and of all that were compared.
    pub odd_hosts: Vec<(String, usize, usize)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OddDrive {
    pub host: String,
    /// Kernel name; the target, if it has none or is simulated.
    pub drive: String,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    /// Smallest rate of false discoveries at which its figures are odd; `None` where only its own findings are.
    pub q_value: Option<f64>,
    /// The gravest first.
    pub reasons: Vec<OddReason>,
}

/// Kinds of oddness, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OddKind {
    /// Regions that fail or read slowly, failing health, a lost drive.
    Failing,
    /// Slower than those like it.
    Slow,
    /// Slower than it was, and others like it are not.
    Fell,
    /// Hotter than those like it, or than its maker allows.
    Temperature,
    /// A link below what is possible, or one that damages transfers.
    Link,
    /// A partition that does not begin on a physical sector.
    Partition,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OddReason {
    pub kind: OddKind,
    /// Id of the run that shows it.
    pub run: String,
    /// In a sentence without its full stop.
    pub words: String,
    /// What was compared: the key of a metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Of those like it; of a drive that changed, the median of its own earlier runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The finding of the run that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<FindingId>,
}

impl FleetOutliers {
    /// Whether the drive is slower than those like it in this metric.
    pub(crate) fn is_odd_in(&self, drive: &MeasuredDrive, key: &str) -> bool {
        let reasons = self.odd.iter().flat_map(|odd| &odd.reasons);
        let mut of_run = reasons.filter(|reason| reason.run == drive.run);
        of_run.any(|reason| reason.kind == OddKind::Slow && reason.key.as_deref() == Some(key))
    }
}

/// Keys of the metrics in which drives are compared.
pub fn fleet_keys() -> Vec<&'static str> {
    let all = COMPARED.into_iter().flat_map(|(criterion, _)| evidence(criterion));
    let mut keys: Vec<&str> = all.map(|(_, evidence)| evidence.key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Finds the drives that are odd. `drives` has one entry for each drive and suite, with the figures of
/// [`fleet_keys`].
pub fn fleet_outliers(drives: &[MeasuredDrive], fdr: f64) -> FleetOutliers {
    let (mut groups, too_small) = groups::groups(drives);
    let questions = figures::questions(drives, &mut groups);
    // By drive, over all its suites: what is read is a list of drives, not of figures.
    let mut of_drives: BTreeMap<[&str; 3], (Vec<usize>, Vec<FigureQuestion>)> = BTreeMap::new();
    for (i, drive) in drives.iter().enumerate() {
        of_drives.entry(drive.identity()).or_default().0.push(i);
    }
    for question in questions {
        let identity = drives[question.drive].identity();
        of_drives.entry(identity).or_default().1.push(question);
    }
    let asked: Vec<&[FigureQuestion]> =
        of_drives.values().map(|(_, questions)| questions.as_slice()).collect();
    let q_values = q_values_of(&asked);
    let found = q_values.iter().flatten().filter(|q| **q <= fdr).count();
    let compared = q_values.iter().flatten().count();
    let links = noted::usual_links(drives, &groups);
    let mut odd: Vec<OddDrive> = of_drives
        .values()
        .zip(&q_values)
        .filter_map(|((places, questions), q)| {
            let odd_in = match q.filter(|q| *q <= fdr) {
                // Within each drive at the rate that holds for the drives found.
                Some(_) => odd_in(questions, fdr * found as f64 / compared as f64),
                None => Vec::new(),
            };
            let q_value = q.filter(|_| !odd_in.is_empty());
            let mut reasons: Vec<OddReason> =
                odd_in.into_iter().map(|question| question.reason(drives)).collect();
            for place in places {
                reasons.extend(noted::reasons(&drives[*place], links[*place].as_ref()));
            }
            odd_drive(drives, places, reasons, q_value)
        })
        .collect();
    odd.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
    let odd_hosts =
        odd_hosts(&odd, drives, &of_drives.values().map(|it| it.0[0]).collect::<Vec<_>>());
    FleetOutliers { fdr, drives: of_drives.len(), compared, groups, too_small, odd, odd_hosts }
}

/// For each drive with a question.
fn q_values_of(asked: &[&[FigureQuestion]]) -> Vec<Option<f64>> {
    let p_value = |questions: &&&[FigureQuestion]| {
        combined_p_value(&questions.iter().map(|it| it.p_value).collect::<Vec<f64>>())
    };
    let with = asked.iter().filter(|questions| !questions.is_empty());
    let mut q_values =
        q_values(&with.map(|questions| p_value(&questions)).collect::<Vec<f64>>()).into_iter();
    let next = |questions: &&[FigureQuestion]| {
        if questions.is_empty() { None } else { q_values.next() }
    };
    asked.iter().map(next).collect()
}

/// In what a drive is odd, by enough to matter (Y. Benjamini and M. Bogomolov, JRSS B 76(1), 2014).
fn odd_in(questions: &[FigureQuestion], rate: f64) -> Vec<&FigureQuestion> {
    let p_values: Vec<f64> = questions.iter().map(|it| it.p_value).collect();
    let found = questions.iter().zip(q_values(&p_values));
    let mut odd: Vec<&FigureQuestion> =
        found.filter(|(it, q)| *q <= rate && it.matters()).map(|(it, _)| it).collect();
    odd.sort_by(|a, b| a.p_value.total_cmp(&b.p_value));
    odd
}

/// `None` without a reason.
fn odd_drive(
    drives: &[MeasuredDrive],
    places: &[usize],
    mut reasons: Vec<OddReason>,
    q_value: Option<f64>,
) -> Option<OddDrive> {
    // Of several suites, the newest run knows best what the drive is called now.
    let newest = places
        .iter()
        .max_by_key(|place| drives[**place].started_at.parse::<jiff::Timestamp>().ok());
    let drive = &drives[*newest?];
    reasons.sort_by_key(|reason| reason.kind);
    // Several suites may note the same.
    let mut known = Vec::new();
    reasons.retain(|reason| {
        let what = (reason.kind, reason.words.clone());
        let is_new = !known.contains(&what);
        known.push(what);
        is_new
    });
    let is_odd = !reasons.is_empty();
    is_odd.then(|| OddDrive {
        host: drive.host.clone(),
        drive: drive.shown_name().to_string(),
        model: drive.model.clone(),
        serial: drive.serial.clone(),
        firmware: drive.firmware.clone(),
        q_value,
        reasons,
    })
}

fn rank(odd: &OddDrive) -> (Option<OddKind>, f64, &str, &str) {
    let kind = odd.reasons.first().map(|reason| reason.kind);
    (kind, odd.q_value.unwrap_or(1.0), &odd.host, &odd.drive)
}

/// Fewer odd drives of a host are no pattern.
const HOST_ODD_MIN: usize = 3;

/// Where at least half of a host's drives are slow or hot, the host is the likely cause.
fn odd_hosts(
    odd: &[OddDrive],
    drives: &[MeasuredDrive],
    distinct: &[usize],
) -> Vec<(String, usize, usize)> {
    let mut hosts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for place in distinct {
        hosts.entry(&drives[*place].host).or_default().1 += 1;
    }
    for drive in odd.iter().filter(|drive| drive.q_value.is_some()) {
        hosts.entry(&drive.host).or_default().0 += 1;
    }
    let is_odd = |(_, (odd, all)): &(&str, (usize, usize))| *odd >= HOST_ODD_MIN && 2 * odd >= *all;
    let found = hosts.into_iter().filter(is_odd);
    found.map(|(host, (odd, all))| (host.to_string(), odd, all)).collect()
}

#[cfg(test)]
mod tests;
