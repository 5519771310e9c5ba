//! Rates of files in the order of their writing: where they decline, and where they recover.

use crate::judging::test_record::TestRecord;
use drivescope_drive::target::FilePositions;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::units::Bytes;
use drivescope_stats::summary::{max, median, min};

/// Smoothing window: 1/200 of the files, at least 3.
const NEIGHBOURS_SHARE: usize = 200;
const NEIGHBOURS_MIN: usize = 3;
/// The decline begins where the rate is for good below this share of that at the start.
const DECLINE_SHARE: f64 = 0.9;
/// Files at each end whose median is the rate there, as a part of all.
const END_SHARE: usize = 20;
/// Fewer files make no curve: single ones differ by what else the machine does.
const TURNS_FILES_MIN: usize = 100;
/// A file that spans more than this share of the drive has no one place.
const SPAN_MAX: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FileSample {
    pub at_bytes: u64,
    pub size_bytes: u64,
    pub time_s: f64,
    /// Byte-weighted mean position of its extents on the drive, where they are known.
    pub position_bytes: Option<f64>,
    pub span_bytes: u64,
}

impl FileSample {
    pub fn new(at_bytes: u64, size_bytes: u64, time_s: f64) -> Self {
        Self { at_bytes, size_bytes, time_s, position_bytes: None, span_bytes: 0 }
    }

    pub fn end_bytes(&self) -> u64 {
        self.at_bytes + self.size_bytes
    }

    pub fn mb_s(&self) -> f64 {
        self.size_bytes as f64 / self.time_s.max(1e-9) / 1e6
    }

    /// The same file with the place of its extents: first byte and length of each.
    #[must_use]
    pub fn placed(self, extents: &[(u64, u64)], positions: &FilePositions) -> Self {
        let bytes: u64 = extents.iter().map(|(_, len)| len).sum();
        let first = extents.iter().map(|(at, _)| *at).min();
        let end = extents.iter().map(|(at, len)| at + len).max();
        let (Some(first), Some(end)) = (first, end) else { return self };
        let weighed = |&(at, len): &(u64, u64)| (at as f64 + len as f64 / 2.0) * len as f64;
        let mean = extents.iter().map(weighed).sum::<f64>() / bytes.max(1) as f64;
        Self {
            position_bytes: Some(mean + positions.start_bytes as f64),
            span_bytes: end - first,
            ..self
        }
    }
}

/// Keeps curve and figures of files under `cell`, in the order of their writing.
pub(crate) fn keep(
    record: &mut TestRecord,
    cell: &str,
    samples: &[FileSample],
    positions: &FilePositions,
) {
    if samples.is_empty() {
        return;
    }
    let rates: Vec<f64> = samples.iter().map(FileSample::mb_s).collect();
    let x: Vec<f64> = samples.iter().map(|sample| sample.at_bytes as f64).collect();
    record.curve(&format!("{cell}.mb_s"), ("bytes", "MB/s"), x.clone(), rates.clone());
    let known: Vec<&FileSample> =
        samples.iter().filter(|sample| sample.position_bytes.is_some()).collect();
    if !known.is_empty() {
        let x: Vec<f64> = known.iter().map(|sample| sample.at_bytes as f64).collect();
        let place = known.iter().filter_map(|sample| sample.position_bytes).collect();
        let span = known.iter().map(|sample| sample.span_bytes as f64).collect();
        record.curve(&format!("{cell}.position_bytes"), ("bytes", "bytes"), x.clone(), place);
        record.curve(&format!("{cell}.span_bytes"), ("bytes", "bytes"), x, span);
        notice_scattered(record, cell, &known, positions);
    }
    let bytes: u64 = samples.iter().map(|sample| sample.size_bytes).sum();
    let seconds: f64 = samples.iter().map(|sample| sample.time_s).sum();
    let end = (rates.len() / END_SHARE).max(1);
    let figure = |values: Option<f64>| vec![values.unwrap_or(0.0)];
    for (key, value) in [
        ("start_mb_s", figure(median(&rates[..end]))),
        ("end_mb_s", figure(median(&rates[rates.len() - end..]))),
        ("min_mb_s", figure(min(&rates))),
        ("mean_mb_s", vec![bytes as f64 / seconds.max(1e-9) / 1e6]),
        ("max_mb_s", figure(max(&rates))),
        ("time_s", vec![seconds]),
        ("files", vec![rates.len() as f64]),
    ] {
        record.metric(&format!("{cell}.{key}"), value);
    }
    let all = samples.last().map_or(0, |last| last.at_bytes + last.size_bytes);
    let percent = |index: usize| vec![samples[index].at_bytes as f64 * 100.0 / all.max(1) as f64];
    let Some(turns) = turns(&rates) else { return };
    record.metric(&format!("{cell}_decline.at_pct"), percent(turns.decline));
    if let Some(recovery) = turns.recovery {
        record.metric(&format!("{cell}_recovery.at_pct"), percent(recovery));
        record.metric(&format!("{cell}_recovery.mb_s"), figure(median(&rates[recovery..])));
    }
}

fn notice_scattered(
    record: &mut TestRecord,
    cell: &str,
    samples: &[&FileSample],
    positions: &FilePositions,
) {
    let most = positions.size_bytes as f64 * SPAN_MAX;
    let scattered: Vec<&&FileSample> =
        samples.iter().filter(|sample| most > 0.0 && sample.span_bytes as f64 > most).collect();
    let Some(widest) = scattered.iter().map(|sample| sample.span_bytes).max() else { return };
    let evidence = format!(
        "{} of {} files, the widest over {} of {}",
        scattered.len(),
        samples.len(),
        Bytes(widest),
        Bytes(positions.size_bytes)
    );
    let about = format!("{}.{cell}", record.test());
    record.notice(Finding::new(FindingId::ScatteredFiles, evidence).about(about));
}

/// Files at which the rate turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turns {
    decline: usize,
    recovery: Option<usize>,
}

/// Where the rate begins to decline, and where it comes up again for the rest: above the middle of its lowest and
/// its first. `None` where it does not decline.
fn turns(rates: &[f64]) -> Option<Turns> {
    if rates.len() < TURNS_FILES_MIN {
        return None;
    }
    let half = (rates.len() / NEIGHBOURS_SHARE).max(NEIGHBOURS_MIN) / 2;
    let smooth: Vec<f64> = (0..rates.len())
        .map(|i| {
            median(&rates[i.saturating_sub(half)..(i + half + 1).min(rates.len())]).unwrap_or(0.0)
        })
        .collect();
    let start = median(&smooth[..(rates.len() / END_SHARE).max(1)])?;
    let lowest = (0..smooth.len()).min_by(|&a, &b| smooth[a].total_cmp(&smooth[b]))?;
    if smooth[lowest] >= start * DECLINE_SHARE {
        return None;
    }
    let decline = smooth[..lowest]
        .iter()
        .rposition(|&rate| rate >= start * DECLINE_SHARE)
        .map_or(0, |i| i + 1);
    let middle = smooth[lowest].midpoint(start);
    let risen = smooth.iter().rev().take_while(|&&rate| rate >= middle).count();
    let recovery = smooth.len() - risen;
    Some(Turns { decline, recovery: (risen > 0 && recovery > lowest).then_some(recovery) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of 1,000 files whose rate falls from a quarter on, the last `risen` of which lie outside again.
    fn disk(risen: usize) -> Vec<f64> {
        let falling = |i: usize| 250.0 - 150.0 * (i.saturating_sub(250) as f64 / 750.0);
        let noise = |i: usize| 1.0 + 0.02 * ((i * 7919 % 100) as f64 / 50.0 - 1.0);
        (0..1000).map(|i| if i >= 1000 - risen { 240.0 } else { falling(i) * noise(i) }).collect()
    }

    #[test]
    fn recovering_curve_turns_at_its_minimum() {
        let found = turns(&disk(20)).unwrap();
        // a tenth below 250 MB/s is reached 125 files after the fall began
        assert!((360..390).contains(&found.decline), "{found:?}");
        assert!((976..=984).contains(&found.recovery.unwrap()), "{found:?}");
        assert_eq!(turns(&disk(0)).unwrap().recovery, None);
        assert_eq!(turns(&[500.0, 505.0, 498.0, 503.0]), None, "flash");
        assert_eq!(turns(&[1.0]), None);
    }

    #[test]
    fn file_lies_at_the_mean_of_its_bytes() {
        let positions = FilePositions { start_bytes: 1000, size_bytes: 1 << 40, of: String::new() };
        let sample = FileSample::new(0, 400, 1.0);
        let placed = sample.placed(&[(0, 300), (9_900, 100)], &positions);
        assert_eq!(placed.position_bytes, Some(1000.0 + (150.0 * 300.0 + 9_950.0 * 100.0) / 400.0));
        assert_eq!(placed.span_bytes, 10_000);
        assert_eq!(sample.placed(&[], &positions), sample);
    }
}
