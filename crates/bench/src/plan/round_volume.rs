//! How much a round of a writing cell moves at most: what the fastest drives of the kind take in its time, so that
//! none of them is cut short.
//!
//! With `write_once` it is also at most what the test file holds. It suffices: the file is larger than the write
//! buffer of any single drive, and a cache that holds all of it would take the same blocks again just as fast. What
//! lasts longer (the fast cache of flash) no short round can empty; `fill` is the test for it.

use crate::plan::expected_speed::{DEPTHS_MIN, ExpectedSpeed};
use drivescope_model::cell::{Cell, Order, Shape};
use drivescope_model::units::Secs;

/// Chance decides which requests of a mix are writes: this many standard deviations are room enough.
const SIGMAS: f64 = 5.0;

/// Bytes of a request that a simulated drive computes as quickly as a small one.
const COMPUTED_AS_ONE: u64 = 256 << 10;

/// How many small requests a request counts as where a round on a simulated drive is shortened.
pub fn computed_as(block_bytes: u64) -> u64 {
    block_bytes.div_ceil(COMPUTED_AS_ONE).max(1)
}

/// Requests left to a thread in a shortened round, where the requests are large.
pub fn shortened(requests: u64, shape: Shape) -> u64 {
    (requests / computed_as(shape.block.0)).max(u64::from(shape.depth) * DEPTHS_MIN)
}

#[derive(Debug, Clone, Copy)]
pub struct RoundLength {
    /// Measured time and ramp.
    pub time: Secs,
    /// Whether it also ends when it has written its place once.
    pub write_once: bool,
}

/// Requests per thread at most in a round of a writing cell that has `place_bytes`, ramp included.
pub fn round_requests(
    cell: &Cell,
    length: RoundLength,
    fastest: ExpectedSpeed,
    place_bytes: u64,
) -> u64 {
    let (shape, block) = (cell.shape, cell.shape.mean_block().0);
    let rate = fastest.rate(shape.order == Order::Rnd, block, shape.depth * shape.threads);
    let bytes = rate * length.time.0 / f64::from(shape.threads);
    let once = place_bytes / u64::from(shape.threads);
    let bytes = if length.write_once { (bytes as u64).min(once) } else { bytes as u64 };
    (bytes / block).max(u64::from(shape.depth) * DEPTHS_MIN)
}

/// Bytes that all threads write at most in such a round.
pub fn round_bytes(
    cell: &Cell,
    length: RoundLength,
    fastest: ExpectedSpeed,
    place_bytes: u64,
) -> u64 {
    let each = round_requests(cell, length, fastest, place_bytes);
    let requests = each.saturating_mul(cell.shape.threads.into());
    let (all, share) = (requests as f64, 1.0 - f64::from(cell.mix.read_percent()) / 100.0);
    let spread = SIGMAS * (all * share * (1.0 - share)).sqrt();
    ((all * share + spread).ceil() as u64).min(requests).saturating_mul(cell.shape.block.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_shortened_round_has_fewer_large_requests() {
        let left = |text: &str| shortened(10_000, text.parse::<Cell>().unwrap().shape);
        let all = ["rnd4k_q32t1.read", "seq128k_q32t1.read", "seq1m_q8t1.read", "seq8m_q1t1.read"];
        assert_eq!(all.map(left), [10_000, 10_000, 2_500, 312]);
    }

    fn seconds(time: f64) -> RoundLength {
        RoundLength { time: Secs(time), write_once: false }
    }

    #[test]
    fn round_volume_follows_link_and_queue() {
        fn of(cell: &str) -> Cell {
            cell.parse().unwrap()
        }
        let most = ExpectedSpeed { mb_s: 600.0, iops: 30_000.0, queue_gain: 5.0 };
        let second = seconds(1.1);
        assert_eq!(round_bytes(&of("seq1m_q8t1.write"), second, most, u64::MAX), 629 << 20);
        assert_eq!(round_requests(&of("rnd4k_q1t1.write"), second, most, u64::MAX), 33_000);
        // The same for all threads together.
        assert_eq!(round_requests(&of("rnd4k_q16t4.write"), second, most, u64::MAX), 161_132 / 4);
        let moment = seconds(0.001);
        assert_eq!(round_bytes(&of("seq1m_q8t2.write"), moment, most, u64::MAX), 64 << 20);
    }

    #[test]
    fn round_that_writes_once_ends_with_the_file() {
        let most = ExpectedSpeed { mb_s: 5_000.0, iops: 50_000.0, queue_gain: 10.0 };
        let once = RoundLength { write_once: true, ..seconds(0.55) };
        let bytes = |cell: &str, length: RoundLength| {
            round_bytes(&cell.parse().unwrap(), length, most, 512 << 20)
        };
        assert_eq!(bytes("seq1m_q8t2.write", once), 512 << 20);
        assert!(bytes("seq1m_q8t2.write", seconds(0.55)) > 4 * (512 << 20));
        // What is slower ends with its time.
        assert_eq!(bytes("rnd4k_q1t1.sync", once), 27_500 * 4096);
    }

    #[test]
    fn mix_plans_its_share_plus_chance() {
        let most = ExpectedSpeed { mb_s: 600.0, iops: 10_000.0, queue_gain: 1.0 };
        let mix = round_bytes(&"rnd4k_q1t1.mix70".parse().unwrap(), seconds(1.0), most, u64::MAX);
        assert!((3_000 * 4096..3_300 * 4096).contains(&mix), "{mix}");
    }
}
