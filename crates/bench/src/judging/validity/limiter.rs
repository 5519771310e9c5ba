//! What held a round back.

use super::{Environment, bytes_missing, rate_missed};
use crate::judging::cpu_contention::{DEVICE_IDLE_PCT, is_cpu_bound, others_set_the_pace};
use crate::judging::round::{Cache, Round};
use crate::loops::phase::LoopMode;
use drivescope_machine::counters::DeviceCounters;
use drivescope_model::document::Limiter;
use drivescope_model::findings::FindingId;

const LINK_FULL_SHARE: f64 = 0.90;
/// A device that moved less of what was asked did not set the pace.
const MOST_SHARE: f64 = 0.5;

/// Counters of the drive or of the device that answers for it, and of its flushes. `None` for a loop device that
/// the page cache answers.
fn counted(round: &Round, environment: &Environment) -> Option<(DeviceCounters, DeviceCounters)> {
    if environment.loop_caches {
        return round.below_loop.map(|below| (below, below));
    }
    round.top.map(|top| (top, round.disk.unwrap_or(top)))
}

/// Through the page cache on purpose: the drive where the program waited for it, memory otherwise. Reads and
/// synced writes wait while the drive is busy. Other writes only wait where a page must be read before a part of it
/// can be written, and where the kernel lets them wait for pages to be written: then most of what they wrote is on
/// the drive.
fn through_the_cache(round: &Round, environment: &Environment) -> Limiter {
    let synced = round.cache == Cache::SyncedWrites;
    let Some((device, flushed)) = counted(round, environment) else {
        return if others_set_the_pace(round) {
            Limiter::OtherPrograms
        } else if synced {
            the_drive(environment)
        } else {
            Limiter::Memory
        };
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
    if waited {
        Limiter::Drive
    } else if others_set_the_pace(round) {
        Limiter::OtherPrograms
    } else if synced {
        // What waited for the drive each time and did not keep it busy waited for the layer between.
        Limiter::FileSystem
    } else {
        Limiter::Memory
    }
}

/// The kernel lets requests through in slices of a tenth of a second, of which a round has few.
const LIMIT_FULL_SHARE: f64 = 0.80;

/// Whether a round did what its control group allows. Large requests count as the kernel splits them.
fn at_a_limit(round: &Round, environment: &Environment) -> bool {
    let Some(limits) = &environment.io_limits else { return false };
    let recorder = &round.measured.recorder;
    let (read, written) = round.asked.unwrap_or((recorder.bytes as f64, recorder.bytes as f64));
    let all = (read + written).max(1.0);
    let of_ours =
        |bytes: f64| [round.measured.mb_s() * 1e6, round.measured.iops()].map(|r| r * bytes / all);
    let seen = round
        .top
        .map_or([0.0; 2], |top| [top.reads, top.writes].map(|n| n as f64 / round.window_s));
    [read, written].into_iter().enumerate().any(|(way, bytes)| {
        let [bytes_s, requests_s] = of_ours(bytes);
        let requests_s = if bytes > 0.0 { requests_s.max(seen[way]) } else { 0.0 };
        let is_full = |rate: f64, most: Option<u64>| {
            most.is_some_and(|most| rate >= most as f64 * LIMIT_FULL_SHARE)
        };
        is_full(bytes_s, limits.bytes_s[way]) || is_full(requests_s, limits.requests_s[way])
    })
}

/// What answered most of a round's requests, if the drive did not.
fn instead_of_the_drive(round: &Round, environment: &Environment) -> Option<Limiter> {
    let missing = bytes_missing(round, environment).filter(|_| !environment.has_holes)?;
    let (read, written) = round.asked?;
    let counted = round.below_loop.or(round.top);
    let moved = counted.map_or(0, |device| device.read_bytes + device.written_bytes) as f64;
    (moved < (read + written) * MOST_SHARE).then(|| match missing.id {
        FindingId::PageCache => Limiter::Memory,
        _ => above_the_device(environment),
    })
}

fn above_the_device(environment: &Environment) -> Limiter {
    if environment.file_system { Limiter::FileSystem } else { Limiter::Host }
}

/// The drive, where anything shows that one answered.
fn the_drive(environment: &Environment) -> Limiter {
    if environment.unproven { Limiter::FileSystem } else { Limiter::Drive }
}

/// A device with less than this part of the asked queue waited for what is above it; one as busy as this may take
/// no more at a time.
const QUEUE_SHARE_MIN: f64 = 0.125;
const QUEUE_ASKED_MIN: u32 = 8;
const DEVICE_FULL_PCT: f64 = 90.0;

/// Whether the requests of a deep queue came to the device one by one, although it had time for more: serialized by
/// a lock of the file system, or by the one worker in which io_uring writes to a file (btrfs with checksums).
fn is_handed_down_singly(round: &Round) -> bool {
    let closed = round.load.as_ref().filter(|load| load.mode == LoopMode::Closed);
    let asked = closed.map_or(0, |load| load.shape.depth * load.shape.threads);
    let Some((top, busy_pct)) = round.top.zip(round.busy_pct()) else { return false };
    let queued = (top.read_wait_ms + top.write_wait_ms) as f64 / 1e3 / round.window_s;
    let is_less = queued > 0.0 && queued < f64::from(asked) * QUEUE_SHARE_MIN;
    asked >= QUEUE_ASKED_MIN && busy_pct < DEVICE_FULL_PCT && is_less
}

/// Whether threads pause for longer than their requests take.
fn is_mostly_paused(round: &Round) -> bool {
    let think_us = round.load.as_ref().map_or(0, |load| load.shape.think_us);
    f64::from(think_us) > round.measured.recorder.latencies.mean() / 1e3
}

/// Throttling is found from all rounds of a cell, in [`crate::judging::test_record`].
pub fn limiter(round: &Round, environment: &Environment) -> Limiter {
    let rate = round.measured.mb_s();
    let writes = round.load.as_ref().is_some_and(|load| load.mix.writes());
    let open = round.load.as_ref().is_some_and(|load| load.mode != LoopMode::Closed);
    if environment.memory_backed {
        Limiter::Memory
    } else if !round.is_of_memory() && at_a_limit(round, environment) {
        Limiter::ControlGroup
    } else if round.cached_on_purpose() {
        through_the_cache(round, environment)
    } else if let Some(other) = instead_of_the_drive(round, environment) {
        other
    } else if environment.link_mb_s.is_some_and(|link| rate > link * LINK_FULL_SHARE) {
        Limiter::Link
    } else if is_cpu_bound(round) {
        let making_data = writes && rate > environment.generator_mb_s / 2.0;
        if making_data { Limiter::Generator } else { Limiter::Cpu }
    } else if (open && rate_missed(round).is_none()) || is_mostly_paused(round) {
        Limiter::Schedule
    } else if others_set_the_pace(round) {
        Limiter::OtherPrograms
    } else if round.busy_pct().is_some_and(|busy| busy < DEVICE_IDLE_PCT)
        || is_handed_down_singly(round)
    {
        above_the_device(environment)
    } else {
        the_drive(environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::round;
    use drivescope_model::cell::Mix;

    /// Of 32 writes at once, btrfs passed 0.7 to the drive, which was blamed.
    #[test]
    fn serializing_layer_is_not_a_drive_limit() {
        fn held(cell: &str, busy_ms: u64, wait_ms: u64) -> bool {
            let mut round = round(cell, 3_000, 4096, Mix::WRITE);
            let top = DeviceCounters { busy_ms, write_wait_ms: wait_ms, ..round.top.unwrap() };
            round.top = Some(top);
            is_handed_down_singly(&round)
        }
        assert!(held("rnd4k_q32t1.write", 700, 700));
        assert!(held("rnd4k_q8t4.write", 700, 3_900));
        assert!(!held("rnd4k_q32t1.write", 700, 9_100), "enough to choose from");
        assert!(!held("rnd4k_q32t1.write", 990, 1_000), "a drive without a queue");
        assert!(!held("rnd4k_q4t1.write", 700, 400));
        assert!(!held("rnd4k_q32t1.write", 700, 0), "counters unknown");
    }
}
