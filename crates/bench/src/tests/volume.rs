//! How much the tests write at most: what the plan promises and the rounds keep.
//!
//! A round of writes ends with its time, or with its share of the promised bytes if those are through
//! before. The share is what the fastest drives of the kind take in that time, so that none of them is cut
//! short; what is faster still (memory behind a virtual disk) needs less time for the same figures.

use super::{Assumed, SATA_MB_S};
use drivescope_drive::Target;
use drivescope_model::cell::{Cell, Order};
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::options::{TinyWritesOptions, TransferOptions};
use drivescope_model::target::TargetKind;

/// A round holds so many requests per place of the queue, however short it is: what begins and ends it would
/// be all of it otherwise.
const DEPTHS_MIN: u64 = 4;
/// Calls of `write` through the page cache per second, of one thread.
const CACHED_IOPS: f64 = 2e6;
/// Chance decides which requests of a mix are writes: so many standard deviations are room enough.
const SIGMAS: f64 = 5.0;

/// Rates that no drive below `target` is expected to pass; `None` where writing costs nothing, on a
/// simulated drive.
pub fn most(target: &Target) -> Option<Assumed> {
    if target.info().kind == TargetKind::Simulated {
        return None;
    }
    Some(if target.memory_backed().is_some() { MEMORY } else { most_of(target.drive()) })
}

const MEMORY: Assumed = Assumed { mb_s: 10_000.0, iops: 500_000.0, queue_gain: 4.0 };

fn most_of(drive: Option<&Drive>) -> Assumed {
    let of = |mb_s, iops, queue_gain| Assumed { mb_s, iops, queue_gain };
    let link = drive.and_then(|drive| drive.link.as_ref()).map(|link| link.payload_mb_s);
    match drive.map(|drive| drive.kind) {
        // Four lanes of PCIe 4.0, unless the link is known.
        Some(DriveKind::Nvme) => of(link.unwrap_or(8_000.0), 100_000.0, 10.0),
        Some(DriveKind::Memory) => MEMORY,
        // Nobody knows what is below.
        Some(DriveKind::Virtual | DriveKind::Loop | DriveKind::Composite) | None => {
            of(5_000.0, 50_000.0, 10.0)
        }
        // Disks too: their cache takes a second's writes at the rate of the link.
        Some(_) => of(link.unwrap_or(SATA_MB_S), 30_000.0, 5.0),
    }
}

/// Requests that each thread sends at most in a round of a writing cell, ramp included.
pub fn round_requests(cell: &Cell, options: &TransferOptions, most: Assumed) -> u64 {
    let shape = cell.shape;
    let rate = most.rate(shape.order == Order::Rnd, shape.block.0, shape.depth * shape.threads);
    let bytes = rate * (options.time.0 + options.ramp.0) / f64::from(shape.threads);
    (bytes as u64 / shape.block.0).max(u64::from(shape.depth) * DEPTHS_MIN)
}

/// Bytes that all threads write at most in such a round.
pub fn round_bytes(cell: &Cell, options: &TransferOptions, most: Assumed) -> u64 {
    let requests = round_requests(cell, options, most).saturating_mul(cell.shape.threads.into());
    let (all, share) = (requests as f64, 1.0 - f64::from(cell.mix.read_percent()) / 100.0);
    let spread = SIGMAS * (all * share * (1.0 - share)).sqrt();
    ((all * share + spread).ceil() as u64).min(requests).saturating_mul(cell.shape.block.0)
}

/// Requests of `block_bytes` that a round of a stream of tiny writes sends at most.
pub fn stream_requests(
    cached: bool,
    block_bytes: u64,
    options: &TinyWritesOptions,
    most: Assumed,
) -> u64 {
    let iops = if cached { CACHED_IOPS } else { most.iops };
    let iops = iops.min(most.mb_s * 1e6 / block_bytes as f64);
    ((iops * options.time.0) as u64).max(DEPTHS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::units::Secs;

    fn options(time: f64, ramp: f64) -> TransferOptions {
        TransferOptions { time: Secs(time), ramp: Secs(ramp), ..TransferOptions::default() }
    }

    #[test]
    fn a_round_holds_what_the_link_carries_and_never_less_than_its_queue() {
        let most = Assumed { mb_s: 600.0, iops: 30_000.0, queue_gain: 5.0 };
        let second = options(1.0, 0.1);
        let of = |cell: &str| cell.parse().unwrap();
        assert_eq!(round_bytes(&of("seq1m_q8t1.write"), &second, most), 629 << 20);
        assert_eq!(round_requests(&of("rnd4k_q1t1.write"), &second, most), 33_000);
        // The same for all threads together.
        assert_eq!(round_requests(&of("rnd4k_q16t4.write"), &second, most), 161_132 / 4);
        let moment = options(0.001, 0.0);
        assert_eq!(round_bytes(&of("seq1m_q8t2.write"), &moment, most), 64 << 20);
    }

    #[test]
    fn a_mix_writes_its_share_and_a_little_for_chance() {
        let most = Assumed { mb_s: 600.0, iops: 10_000.0, queue_gain: 1.0 };
        let mix = round_bytes(&"rnd4k_q1t1.mix70".parse().unwrap(), &options(1.0, 0.0), most);
        assert!((3_000 * 4096..3_300 * 4096).contains(&mix), "{mix}");
    }

    #[test]
    fn a_stream_is_bound_by_its_calls_or_by_the_drive() {
        let most = Assumed { mb_s: 600.0, iops: 30_000.0, queue_gain: 5.0 };
        let options = TinyWritesOptions { time: Secs(0.5), ..TinyWritesOptions::default() };
        assert_eq!(stream_requests(true, 100, &options, most), 1_000_000);
        assert_eq!(stream_requests(true, 4_000, &options, most), 75_000);
        assert_eq!(stream_requests(false, 512, &options, most), 15_000);
    }
}
