//! The shortest of times that contain a wait anywhere in one turn.
//!
//! An access to a random place takes t = s + w, with w uniform on [0, P): s lies between max − P and min for sure,
//! and the middle of both has a smaller error than mean − P/2 (E. L. Lehmann and G. Casella, "Theory of Point
//! Estimation", 2nd ed. 1998, example 1.7: the midrange of a uniform distribution of known width).

use crate::sorted;

/// One disk of ten thousand that moves its heads in no time is taken for one that does not wait: the normal quantile.
const NO_WAIT_SIGMAS: f64 = 3.719_016;

/// The part of times that is not a wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortestTime {
    pub value: f64,
    /// It cannot be less, unless a time was delayed by something else.
    pub low: f64,
    /// It cannot be more.
    pub high: f64,
}

/// A time so far beyond one turn, as a share of it, was delayed (a retry takes a whole turn more).
const SLACK: f64 = 0.02;

/// What is left of `times` without waits of up to `turn`. Times that no wait explains are left out, the longest first,
/// up to a quarter of them. `None` of fewer than four times, or where more do not fit.
pub fn shortest_time(times: &[f64], turn: f64) -> Option<ShortestTime> {
    let ascending = sorted(times)?;
    let min = *ascending.first()?;
    if ascending.len() < 4 || turn <= 0.0 {
        return None;
    }
    let fitting = ascending.iter().filter(|&&time| time < min + turn * (1.0 + SLACK)).count();
    if fitting * 4 < ascending.len() * 3 {
        return None;
    }
    let max = ascending[fitting - 1];
    let low = (max - turn).min(min);
    Some(ShortestTime { value: f64::midpoint(low, min), low, high: min })
}

/// Whether `count` accesses to random places, one after the other, took too few turns of a disk for chance: even
/// without any movement of the heads each waits half a turn on average, with a variance of 1/12. Few accesses never
/// do. The waits' sum has shorter tails than the normal distribution that it is compared with.
pub fn is_without_waits(count: f64, turns: f64) -> bool {
    count / 2.0 - turns > NO_WAIT_SIGMAS * (count / 12.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn chance_is_not_mistaken_for_missing_waits() {
        let mut random = Random::new(1);
        for (count, disks) in [(1, 10_000), (4, 10_000), (9, 10_000), (30, 10_000), (300, 2_000)] {
            let mut wait = || random.below(1 << 20) as f64 / f64::from(1 << 20);
            let mut turns = || (0..count).map(|_| wait()).sum::<f64>();
            let is_false = |_: &i32| is_without_waits(f64::from(count), turns());
            let (fast, all) = ((0..disks).filter(is_false).count(), disks);
            assert!(fast <= 4, "{count}: {fast} of {all}");
        }
        // Twice as fast as waits allow is seen in a second of any disk, ten times in ten accesses.
        assert!(is_without_waits(180.0, 45.0) && is_without_waits(12.0, 0.6));
        assert!(!is_without_waits(4.0, 0.0), "too few to tell");
    }

    fn times(count: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| 5.0 + 8.0 * random.below(1 << 20) as f64 / f64::from(1 << 20)).collect()
    }

    #[test]
    fn shortest_is_within_bounds_middle_is_near() {
        let mut squares = 0.0;
        for seed in 0..200 {
            let found = shortest_time(&times(32, seed), 8.0).unwrap();
            assert!(found.low <= 5.0 && 5.0 <= found.high, "{found:?}");
            squares += (found.value - 5.0f64).powi(2);
        }
        // P / sqrt(2 (n + 1)(n + 2)) = 0.169
        let error = (squares / 200.0f64).sqrt();
        assert!(error < 0.2, "{error}");
    }

    #[test]
    fn retries_are_left_out_nonsense_gives_nothing() {
        let mut some = times(32, 7);
        some.extend([14.5, 21.0]);
        let found = shortest_time(&some, 8.0).unwrap();
        assert!(found.low <= 5.0 && 5.0 <= found.high, "{found:?}");
        assert_eq!(shortest_time(&[1.0, 20.0, 40.0, 60.0], 8.0), None);
        assert_eq!(shortest_time(&[1.0], 8.0), None);
    }
}
