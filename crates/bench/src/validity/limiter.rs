//! What held a round back.

use super::processors::{is_cpu_bound, others_set_the_pace};
use super::{Facts, bytes_missing, rate_missed};
use crate::phase::Pace;
use crate::results::{Cache, Round};
use drivescope_drive::counters::DeviceCounters;
use drivescope_model::document::Limiter;
use drivescope_model::findings::FindingId;

/// A link this full sets the pace.
const LINK_FULL_SHARE: f64 = 0.90;
/// A device less busy than this was waiting for the layers above it.
const DEVICE_IDLE_PCT: f64 = 50.0;
/// A device that moved less of what was asked did not set the pace.
const MOST_SHARE: f64 = 0.5;

/// Counters of the drive, or of the device that answers for it, and those of its flushes. A loop device that
/// the page cache answers does not.
fn counted(round: &Round, facts: &Facts) -> Option<(DeviceCounters, DeviceCounters)> {
    if facts.loop_caches {
        return round.below_loop.map(|below| (below, below));
    }
    round.top.map(|top| (top, round.disk.unwrap_or(top)))
}

/// Through the page cache on purpose: the drive where the program waited for it, memory otherwise.
///
/// Reads and synced writes wait while the drive is busy. Other writes only wait where a page must be read
/// before a part of it can be written, and where the kernel lets them wait for pages to be written: then
/// most of what they wrote is on the drive.
fn through_the_cache(round: &Round, facts: &Facts) -> Limiter {
    let synced = round.cache == Cache::SyncedWrites;
    let Some((device, flushed)) = counted(round, facts) else {
        return if synced { the_drive(facts) } else { Limiter::Memory };
    };
    // A flush counts as no work in the kernel's busy time.
    let busy = (device.busy_ms + flushed.flush_wait_ms) as f64 / 1e3 / round.window_s;
    let most = |share: f64| share * 100.0 >= DEVICE_IDLE_PCT;
    let waited = if round.cache == Cache::Writes {
        let written = device.written_bytes as f64 / (round.measured.recorder.bytes as f64).max(1.0);
        most(device.read_wait_ms as f64 / 1e3 / round.window_s) || (most(written) && most(busy))
    } else {
        most(busy)
    };
    match waited {
        true => Limiter::Drive,
        // What waited for the drive each time and did not keep it busy waited for the layer between.
        false if synced => Limiter::FileSystem,
        false => Limiter::Memory,
    }
}

/// What answered most of a round's requests, if the drive did not.
fn instead_of_the_drive(round: &Round, facts: &Facts) -> Option<Limiter> {
    let missing = bytes_missing(round, facts).filter(|_| !facts.has_holes)?;
    let (read, written) = round.asked?;
    let counted = round.below_loop.or(round.top);
    let moved = counted.map_or(0, |device| device.read_bytes + device.written_bytes) as f64;
    (moved < (read + written) * MOST_SHARE).then(|| match missing.id {
        FindingId::PageCache => Limiter::Memory,
        _ => above_the_device(facts),
    })
}

/// The layers between program and device.
fn above_the_device(facts: &Facts) -> Limiter {
    if facts.file_system { Limiter::FileSystem } else { Limiter::Host }
}

/// The drive, where anything shows that one answered.
fn the_drive(facts: &Facts) -> Limiter {
    if facts.unproven { Limiter::FileSystem } else { Limiter::Drive }
}

/// What held a round back; throttling is told from all rounds of a cell, in [`crate::results`].
pub fn limiter(round: &Round, facts: &Facts) -> Limiter {
    let rate = round.measured.mb_s();
    let writes = round.load.as_ref().is_some_and(|load| load.mix.writes());
    let open = round.load.as_ref().is_some_and(|load| load.pace != Pace::Closed);
    if facts.memory_backed {
        Limiter::Memory
    } else if round.cached_on_purpose() {
        through_the_cache(round, facts)
    } else if let Some(other) = instead_of_the_drive(round, facts) {
        other
    } else if facts.link_mb_s.is_some_and(|link| rate > link * LINK_FULL_SHARE) {
        Limiter::Link
    } else if is_cpu_bound(round) {
        let making_data = writes && rate > facts.generator_mb_s / 2.0;
        if making_data { Limiter::Generator } else { Limiter::Cpu }
    } else if open && rate_missed(round).is_none() {
        Limiter::Schedule
    } else if others_set_the_pace(round) {
        Limiter::OtherPrograms
    } else if round.busy_pct().is_some_and(|busy| busy < DEVICE_IDLE_PCT) {
        above_the_device(facts)
    } else {
        the_drive(facts)
    }
}
