//! What a program sees beside what the drive itself does.

use super::DRIVE_BLOCK;
use super::patterns::{IoPath, Pattern, patterns};
use crate::judging::round::Round;
use crate::judging::test_record::TestRecord;
use drivescope_drive::Target;
use drivescope_model::cell::Order;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_stats::summary;
use std::ops::Range;

/// More of a read that begins with an empty page cache than this comes from the drive, or it is none.
const COLD_CACHED_MAX_PCT: f64 = 10.0;

/// The device whose counters show what passed to the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CounterSource {
    /// Counters of the uppermost device.
    Top,
    /// Counters of the drive below a loop device, which the page cache answers.
    BelowLoop,
    /// No counters: there are several drives below loop devices that the page cache answers.
    Nowhere,
}

impl CounterSource {
    pub(super) fn on(target: &Target) -> Self {
        if target.drives_are_uncounted() {
            Self::Nowhere
        } else if target.loop_caches() {
            Self::BelowLoop
        } else {
            Self::Top
        }
    }
}

/// Puts the drive's own figures and, with counters, the page cache's share beside what a program sees.
pub(super) fn compare_with_drive(
    record: &mut TestRecord,
    span: &Range<u64>,
    counted: CounterSource,
    has_drive: bool,
) {
    let mut metrics = Vec::new();
    for pattern in patterns() {
        let Some(drive_cell) = pattern.drive else { continue };
        let (Some(seen), Some(drive)) =
            (medians(record, pattern.cell), medians(record, drive_cell))
        else {
            continue;
        };
        metrics.push((pattern.cell, "drive_iops", vec![drive.0]));
        metrics.push((pattern.cell, "drive_mb_s", vec![drive.1]));
        for quantity in ["drive_iops", "drive_mb_s"] {
            record.share_findings(drive_cell, &format!("{}.{quantity}", pattern.cell));
        }
        let rounds = record.rounds_of(pattern.cell);
        let shares: Option<Vec<f64>> =
            rounds.map(|round| cache_share_pct(pattern, round, span, counted)).collect();
        let shares = shares.filter(|shares| !shares.is_empty());
        let share = shares.as_deref().and_then(summary::median);
        metrics.extend(shares.map(|shares| (pattern.cell, "cache_share_pct", shares)));
        if let Some(finding) = cold_in_memory(pattern, share, counted).filter(|_| has_drive) {
            record.notice(finding);
        }
        let unflushed = pattern.mix.writes() && !pattern.sync && pattern.order == Order::Rnd;
        let is_kept = share.is_none_or(|share| share > 0.0) && !record.is_invalid(drive_cell);
        if unflushed && has_drive && is_kept && seen.0 > drive.0 {
            let kept = share.map_or(String::new(), |share| {
                format!("; {share:.0} % not on the drive at the end")
            });
            let evidence = format!(
                "{}: buffered {} writes/s, drive {} writes/s{kept}",
                pattern.cell,
                rounded(seen.0),
                rounded(drive.0)
            );
            let about = format!("tiny-writes.{}", pattern.cell);
            record.notice(Finding::new(FindingId::Unflushed, evidence).about(about));
        }
    }
    for (cell, quantity, values) in metrics {
        record.metric(&format!("{cell}.{quantity}"), values);
    }
}

/// A read that was to come from the drive and came from memory: from a cache below the emptied one. Counters
/// below a loop device cannot excuse it: they are those of all programs that use the drive.
pub(super) fn cold_in_memory(
    pattern: Pattern,
    share_pct: Option<f64>,
    counted: CounterSource,
) -> Option<Finding> {
    let is_cold = pattern.path == IoPath::Cold && !pattern.mix.writes();
    let share_pct = share_pct.filter(|&share| share > COLD_CACHED_MAX_PCT);
    let evidence = match (share_pct, counted) {
        (_, CounterSource::BelowLoop) => {
            "answered from the page cache below the loop device, which cannot be evicted"
                .to_string()
        }
        (share, _) => {
            format!("{:.0} % came from memory although the page cache had been evicted", share?)
        }
    };
    is_cold.then(|| {
        Finding::new(FindingId::PageCache, format!("{}: {evidence}", pattern.cell))
            .weighing(share_pct.unwrap_or(0.0))
            .about(format!("tiny-writes.{}", pattern.cell))
    })
}

/// Percent of what a round asked that had not passed the device at the end of its measured time: reads that
/// memory answered, writes that it still held. The page cache moves whole pages, so a small request
/// anywhere takes one; a span has a fixed number. `None` without the device's counters.
pub(super) fn cache_share_pct(
    pattern: Pattern,
    round: &Round,
    span: &Range<u64>,
    counted: CounterSource,
) -> Option<f64> {
    let device = match counted {
        CounterSource::Top => round.top,
        CounterSource::BelowLoop => round.below_loop,
        CounterSource::Nowhere => None,
    }?;
    let recorder = &round.measured.recorder;
    let passed = if pattern.mix.writes() { device.written_bytes } else { device.read_bytes };
    let asked = match pattern.order {
        Order::Seq => recorder.bytes,
        Order::Rnd => {
            recorder.bytes.max(recorder.ops * u64::from(DRIVE_BLOCK)).min(span.end - span.start)
        }
    };
    (asked > 0).then(|| (1.0 - passed as f64 / asked as f64).max(0.0) * 100.0)
}

/// Median rates of a cell: requests and MB per second.
fn medians(record: &TestRecord, cell: &str) -> Option<(f64, f64)> {
    let rounds = record.rounds_of(cell);
    let (iops, mb_s): (Vec<f64>, Vec<f64>) =
        rounds.map(|round| (round.measured.iops(), round.measured.mb_s())).unzip();
    Some((summary::median(&iops)?, summary::median(&mb_s)?))
}
