//! Whether the part of a drive that was used stands for the drive: not if a cache can hold it, and not if the
//! heads hardly move over it.

use super::Environment;
use crate::judging::round::Round;
use drivescope_model::cell::Order;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_model::units::Bytes;

/// Assumed in a drive that reports no cache: hard disks and SATA SSDs have up to this.
pub const DRIVE_CACHE_BYTES: u64 = 256 << 20;
/// Random requests within a smaller part of a rotating drive say nothing of its seeks.
const SHORT_STROKE_SHARE: f64 = 0.10;

pub(super) fn small_working_set(round: &Round, environment: &Environment) -> Option<Finding> {
    let load = round.load.as_ref()?;
    let past_memory = environment.direct && !environment.loop_caches;
    // Flash is as fast over a small span, which is then no more than what `latency` shows. A cached answer of
    // a rotating drive is a hundred times as fast as its medium, and no short seek.
    let studied = load.studies_span;
    if studied && !(past_memory && environment.rpm.is_some()) {
        return None;
    }
    let span = load.span.end - load.span.start;
    // A stretch that is read once, in order, is in no cache.
    let sent = load.ops_max.saturating_mul(load.shape.block.0 * u64::from(load.shape.threads));
    if studied && load.shape.order == Order::Seq && sent <= span {
        return None;
    }
    let (cache, what) = if past_memory {
        (DRIVE_CACHE_BYTES, "assumed for the drive's cache")
    } else {
        (environment.memory_bytes, "memory, which caches this target")
    };
    (span < cache).then(|| {
        let evidence =
            format!("{}: a span of {} against {} {what}", round.cell, Bytes(span), Bytes(cache));
        let weight = cache as f64 / span.max(1) as f64;
        Finding::new(FindingId::SmallWorkingSet, evidence).weighing(weight)
    })
}

/// Halves are whole MiB.
const HALF_SLACK: u64 = 1 << 20;

pub(super) fn short_stroke_of(round: &Round, environment: &Environment) -> Option<Finding> {
    let load = round.load.as_ref().filter(|load| load.shape.order == Order::Rnd)?;
    // A part of it is named as such; reads and writes may have a half each.
    let span = load.span.end - load.span.start;
    let is_all = !load.studies_span && span + HALF_SLACK >= environment.whole_bytes / 2;
    short_stroke(&round.cell, environment).filter(|_| is_all)
}

/// Whether random requests over all that a test uses stay within a small part of a rotating drive.
pub fn short_stroke(cell: &str, environment: &Environment) -> Option<Finding> {
    environment.rpm?;
    let (span, drive) = (environment.whole_bytes, environment.capacity_bytes);
    let share = span as f64 / drive.max(1) as f64;
    (share < SHORT_STROKE_SHARE).then(|| {
        let percent = rounded(share * 100.0);
        let evidence = format!(
            "{cell}: random requests within {} of a rotating drive of {} ({percent} %)",
            Bytes(span),
            Bytes(drive)
        );
        Finding::new(FindingId::ShortStroke, evidence).weighing(1.0 - share)
    })
}
