//! How much a round of a writing cell moves at most: what the plan promises and the rounds keep.
//!
//! A round of writes ends with its time, or with its share of the promised bytes if those are through
//! before. The share is what the fastest drives of the kind take in that time, so that none of them is cut
//! short; what is faster still (memory behind a virtual disk) needs less time for the same figures.

use crate::expected_speed::{DEPTHS_MIN, ExpectedSpeed};
use drivescope_model::cell::{Cell, Order};
use drivescope_model::options::TransferOptions;

/// Chance decides which requests of a mix are writes: so many standard deviations are room enough.
const SIGMAS: f64 = 5.0;

/// Requests that each thread sends at most in a round of a writing cell, ramp included.
pub fn round_requests(cell: &Cell, options: &TransferOptions, fastest: ExpectedSpeed) -> u64 {
    let shape = cell.shape;
    let rate = fastest.rate(shape.order == Order::Rnd, shape.block.0, shape.depth * shape.threads);
    let bytes = rate * (options.time.0 + options.ramp.0) / f64::from(shape.threads);
    (bytes as u64 / shape.block.0).max(u64::from(shape.depth) * DEPTHS_MIN)
}

/// Bytes that all threads write at most in such a round.
pub fn round_bytes(cell: &Cell, options: &TransferOptions, fastest: ExpectedSpeed) -> u64 {
    let requests = round_requests(cell, options, fastest).saturating_mul(cell.shape.threads.into());
    let (all, share) = (requests as f64, 1.0 - f64::from(cell.mix.read_percent()) / 100.0);
    let spread = SIGMAS * (all * share * (1.0 - share)).sqrt();
    ((all * share + spread).ceil() as u64).min(requests).saturating_mul(cell.shape.block.0)
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
        let most = ExpectedSpeed { mb_s: 600.0, iops: 30_000.0, queue_gain: 5.0 };
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
        let most = ExpectedSpeed { mb_s: 600.0, iops: 10_000.0, queue_gain: 1.0 };
        let mix = round_bytes(&"rnd4k_q1t1.mix70".parse().unwrap(), &options(1.0, 0.0), most);
        assert!((3_000 * 4096..3_300 * 4096).contains(&mix), "{mix}");
    }
}
