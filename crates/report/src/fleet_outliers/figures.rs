//! What is asked of each drive's figures: is it slower than those like it, slower than it was, hotter than they are.

use super::groups::{DriveGroup, GroupFigure};
use super::{OddKind, OddReason};
use crate::comparison::COMPARED;
use crate::workloads::evidence;
use drivescope_model::metrics::quantity_of;
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::{MeasuredDrive, MeasuredFigure};
use drivescope_stats::peers::{GROUP_MIN, PeerSpread, PeerValues, among_peers};
use drivescope_stats::summary::median;

/// Runs of one drive differ by as much: groups of equal figures are not more exact.
const LOG_SIGMA_MIN: f64 = 0.01;
/// Sensors show whole degrees.
const DEGREES_SIGMA_MIN: f64 = 1.0;
/// Smaller differences make none in practice, however sure they are.
const SLOWER_MIN: f64 = 0.10;
const DEGREES_MIN: f64 = 10.0;
/// Earlier runs whose median a newest run is compared with.
const EARLIER_MIN: usize = 2;

/// A question, and how improbable its answer is of a drive that is like the others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FigureQuestion {
    /// Place among all drives.
    pub drive: usize,
    pub p_value: f64,
    kind: OddKind,
    what: &'static str,
    key: Option<&'static str>,
    value: f64,
    /// Of the group; of a change, of the drive's own earlier runs.
    median: f64,
}

impl FigureQuestion {
    pub fn matters(&self) -> bool {
        match self.kind {
            OddKind::Temperature => self.value - self.median >= DEGREES_MIN,
            _ => self.ratio() <= 1.0 - SLOWER_MIN,
        }
    }

    /// Of speeds.
    fn ratio(&self) -> f64 {
        if self.key.is_some_and(is_time) {
            self.median / self.value
        } else {
            self.value / self.median
        }
    }

    pub fn reason(&self, drives: &[MeasuredDrive]) -> OddReason {
        let (unit, size) = self.unit();
        let [value, median] = [self.value / size, self.median / size].map(rounded);
        let words = match self.kind {
            OddKind::Temperature => {
                let by = one_decimal(self.value - self.median);
                format!(
                    "{by} °C hotter than those like it: {value} °C, their median is {median} °C"
                )
            }
            OddKind::Fell => format!(
                "{} {} than before, which those like it are not: {value} {unit}, the median of its earlier runs is \
                 {median} {unit}",
                self.what,
                slower(self.ratio())
            ),
            _ => format!(
                "{} {} than those like it: {value} {unit}, their median is {median} {unit}",
                self.what,
                slower(self.ratio())
            ),
        };
        OddReason {
            kind: self.kind,
            run: drives[self.drive].run.clone(),
            words,
            key: self.key.map(str::to_string),
            value: Some(self.value),
            median: Some(self.median),
            unit: Some(self.key.and_then(quantity_of).map_or("°C", |it| it.unit).to_string()),
            finding: None,
        }
    }

    /// For people, and what values are divided by.
    fn unit(&self) -> (&'static str, f64) {
        match self.key.and_then(quantity_of).map_or("°C", |quantity| quantity.unit) {
            "us" if self.value >= 1e3 => ("ms", 1e3),
            "us" => ("µs", 1.0),
            "1/s" => ("per second", 1.0),
            unit => (unit, 1.0),
        }
    }
}

/// `46 % slower`, `2.4 times slower`.
fn slower(ratio: f64) -> String {
    if ratio < 0.5 {
        return format!("{} times slower", rounded(1.0 / ratio));
    }
    format!("{:.0} % slower", (1.0 - ratio) * 100.0)
}

fn is_time(key: &str) -> bool {
    quantity_of(key).is_some_and(|quantity| quantity.smaller_is_better)
}

/// The logarithm of a speed: of a time, that of its inverse.
fn log_speed(key: &str, value: f64) -> f64 {
    if is_time(key) { -value.ln() } else { value.ln() }
}

/// The values of the drives of a group that have one: the larger, the better.
struct AskedGroup {
    group: usize,
    key: Option<&'static str>,
    /// Place among all drives, and its value.
    values: Vec<(usize, f64)>,
}

/// All questions, and in each group the figures that they are about.
pub(super) fn questions(
    drives: &[MeasuredDrive],
    groups: &mut [DriveGroup],
) -> Vec<FigureQuestion> {
    let mut questions = Vec::new();
    for (criterion, what) in COMPARED {
        let keys: Vec<&'static str> = evidence(criterion).map(|(_, it)| it.key).collect();
        let (mut speeds, mut changes) = (Vec::new(), Vec::new());
        for (group, it) in groups.iter().enumerate() {
            let Some(key) = fullest(&keys, drives, &it.peers) else { continue };
            let of = |of: fn(&str, &MeasuredFigure) -> Option<f64>| {
                let value = |place: &usize| Some((*place, of(key, drives[*place].figure(key)?)?));
                AskedGroup {
                    group,
                    key: Some(key),
                    values: it.peers.iter().filter_map(value).collect(),
                }
            };
            speeds.push(of(|key, figure| Some(log_speed(key, figure.value))));
            changes.push(of(change));
        }
        let found = among(&speeds, LOG_SIGMA_MIN);
        questions.extend(judged(&speeds, &found, drives, groups, (OddKind::Slow, what)));
        add_figures(&speeds, &found, groups, what);
        let found = among(&changes, LOG_SIGMA_MIN);
        questions.extend(judged(&changes, &found, drives, groups, (OddKind::Fell, what)));
    }
    let of_group = |(group, it): (usize, &DriveGroup)| {
        let value = |place: &usize| Some((*place, -drives[*place].temperature_c?));
        AskedGroup { group, key: None, values: it.peers.iter().filter_map(value).collect() }
    };
    let heat: Vec<AskedGroup> = groups.iter().enumerate().map(of_group).collect();
    let found = among(&heat, DEGREES_SIGMA_MIN);
    let kind = (OddKind::Temperature, "temperature");
    questions.extend(judged(&heat, &found, drives, groups, kind));
    questions
}

fn among(asked: &[AskedGroup], sigma_min: f64) -> Vec<PeerValues> {
    let values = |it: &AskedGroup| it.values.iter().map(|(_, value)| *value).collect();
    among_peers(&asked.iter().map(values).collect::<Vec<_>>(), sigma_min)
}

/// The key that most of these drives have; of several, the first.
fn fullest(
    keys: &[&'static str],
    drives: &[MeasuredDrive],
    places: &[usize],
) -> Option<&'static str> {
    let count =
        |key: &str| places.iter().filter(|place| drives[**place].figure(key).is_some()).count();
    let counted = keys.iter().map(|key| (*key, count(key)));
    let fullest = counted.reduce(|a, b| if b.1 > a.1 { b } else { a });
    fullest.filter(|(_, count)| *count >= GROUP_MIN).map(|(key, _)| key)
}

/// Against the median of its earlier runs.
fn change(key: &str, figure: &MeasuredFigure) -> Option<f64> {
    let earlier: Vec<f64> = figure.earlier.iter().map(|value| log_speed(key, *value)).collect();
    (earlier.len() >= EARLIER_MIN).then_some(log_speed(key, figure.value) - median(&earlier)?)
}

fn judged(
    asked: &[AskedGroup],
    found: &[PeerValues],
    drives: &[MeasuredDrive],
    groups: &[DriveGroup],
    (kind, what): (OddKind, &'static str),
) -> Vec<FigureQuestion> {
    let mut questions = Vec::new();
    for (it, found) in asked.iter().zip(found) {
        let Some(spread) = found.spread else { continue };
        let judged = &groups[it.group].judged;
        for ((drive, _), p_value) in it.values.iter().zip(&found.p_values) {
            // Peers of a rare firmware are judged in the group of their own.
            if judged.binary_search(drive).is_err() {
                continue;
            }
            let (value, median) = shown(kind, it.key, &drives[*drive], spread);
            questions.push(FigureQuestion {
                drive: *drive,
                p_value: *p_value,
                kind,
                what,
                key: it.key,
                value,
                median,
            });
        }
    }
    questions
}

/// The value of a drive, and the median that it is compared with, as people write them.
fn shown(
    kind: OddKind,
    key: Option<&'static str>,
    drive: &MeasuredDrive,
    spread: PeerSpread,
) -> (f64, f64) {
    let Some((key, figure)) = key.and_then(|key| Some((key, drive.figure(key)?))) else {
        return (drive.temperature_c.unwrap_or_default(), -spread.center);
    };
    let center = match kind {
        OddKind::Fell => median(&figure.earlier).unwrap_or(figure.value),
        _ => value_of(key, spread.center),
    };
    (figure.value, center)
}

/// The value whose logarithm of speed this is.
fn value_of(key: &str, log_speed: f64) -> f64 {
    if is_time(key) { (-log_speed).exp() } else { log_speed.exp() }
}

fn add_figures(
    speeds: &[AskedGroup],
    found: &[PeerValues],
    groups: &mut [DriveGroup],
    what: &'static str,
) {
    for (it, found) in speeds.iter().zip(found) {
        let (Some(PeerSpread { center, sigma }), Some(key)) = (found.spread, it.key) else {
            continue;
        };
        let group = &mut groups[it.group];
        let is_judged = |(drive, _): &&(usize, f64)| group.judged.binary_search(drive).is_ok();
        let ratios: Vec<(usize, f64)> = it
            .values
            .iter()
            .filter(is_judged)
            .map(|(drive, value)| (*drive, (value - center).exp()))
            .collect();
        group.figures.push(GroupFigure {
            what,
            key: key.to_string(),
            unit: quantity_of(key).map_or("", |quantity| quantity.unit).to_string(),
            drives: ratios.len(),
            median: value_of(key, center),
            spread_pct: sigma * 100.0,
            ratios,
        });
    }
}
