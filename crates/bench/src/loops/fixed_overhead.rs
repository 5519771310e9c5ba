//! What a stretch of writes costs beside its bytes: a turn of a disk, the filling of a cache that a drive gathers
//! before it begins, the flush. Two neighbouring parts of different length, each written and flushed, show both: T
//! = overhead + len / rate.
//!
//! As each time ends with a flush, no cache can make the rest look faster than the medium. A drive that gathers
//! more than a part shows less of its overhead, and the rates come out too low, as with the whole time.

use drivescope_stats::summary::median;

/// Stretches of each order that a median needs.
const STRETCHES_MIN: usize = 4;
/// With a larger share of fixed overhead in a stretch, the rest is not its rate.
const SHARE_MAX: f64 = 0.5;

/// A stretch written in two parts, each with the flush after it.
#[derive(Debug, Clone, Copy)]
pub struct StretchParts {
    /// Bytes and ns of the part written first.
    pub first: (u64, u64),
    /// Bytes and ns of the other part.
    pub second: (u64, u64),
}

impl StretchParts {
    fn ns(&self) -> f64 {
        (self.first.1 + self.second.1) as f64
    }

    /// If both parts have the same.
    fn fixed_overhead_ns(&self) -> f64 {
        let [(a, a_ns), (b, b_ns)] =
            [self.first, self.second].map(|(bytes, ns)| (bytes as f64, ns as f64));
        (a * b_ns - b * a_ns) / (a - b)
    }
}

/// The fixed overhead of a part, ns. `None` where it cannot be known, and only the whole times are to be trusted:
/// few stretches, parts of equal length, a drive that is faster at first than later, or overhead that takes most of
/// the time. What only the first part of a stretch has, such as the way from elsewhere, would count too much where
/// that is the shorter part, and too little where it is the longer one: with both orders, the mean is right.
pub fn fixed_overhead_ns(stretches: &[StretchParts]) -> Option<f64> {
    let of_order = |short_first: bool| {
        let is_one = |parts: &&StretchParts| (parts.first.0 < parts.second.0) == short_first;
        let onsets: Vec<f64> =
            stretches.iter().filter(is_one).map(StretchParts::fixed_overhead_ns).collect();
        let onset = median(&onsets).filter(|_| onsets.len() >= STRETCHES_MIN)?;
        (onset.is_finite() && onset > 0.0).then_some(onset)
    };
    let onset = f64::midpoint(of_order(true)?, of_order(false)?);
    stretches.iter().all(|parts| 2.0 * onset < parts.ns() * SHARE_MAX).then_some(onset)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// 32 stretches of 256 MiB at a rate that falls from 200 MiB/s by half. `part_ns`: time of a part by its
    /// length, the rate in bytes per ns, and whether it is the first.
    fn written(part_ns: impl Fn(f64, f64, bool) -> f64) -> Vec<StretchParts> {
        let stretch = |i: u32| {
            let rate = 0.2 * MIB as f64 / 1e6 * (1.0 - f64::from(i) / 62.0);
            let lens = if i.is_multiple_of(2) { [64, 192] } else { [192, 64] };
            let [first, second] = [0, 1]
                .map(|k| (lens[k] * MIB, part_ns((lens[k] * MIB) as f64, rate, k == 0) as u64));
            StretchParts { first, second }
        };
        (0..32).map(stretch).collect()
    }

    #[test]
    fn fixed_overhead_is_found() {
        let known = written(|len, rate, _| 120e6 + len / rate);
        assert!((fixed_overhead_ns(&known).unwrap() / 120e6 - 1.0).abs() < 1e-6);
    }

    /// The way from elsewhere, 10 ms before the first part only: the sum over a stretch is right.
    #[test]
    fn overhead_of_the_first_part_counts_once() {
        let known = written(|len, rate, first| if first { 18e6 } else { 8e6 } + len / rate);
        assert!((2.0 * fixed_overhead_ns(&known).unwrap() / 26e6 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn gathering_drive_never_looks_too_fast() {
        for gathered in [0.0, 32.0, 64.0, 100.0, 192.0, 1000.0] {
            // What is gathered comes at 600 MiB/s, then the medium begins.
            let interface = 0.6 * MIB as f64 / 1e6;
            let drive =
                |len: f64, rate: f64, _| len.min(gathered * MIB as f64) / interface + len / rate;
            let stretches = written(drive);
            let onset = fixed_overhead_ns(&stretches).unwrap_or(0.0);
            for (i, parts) in stretches.iter().enumerate() {
                let medium =
                    (256 * MIB) as f64 / (0.2 * MIB as f64 / 1e6 * (1.0 - i as f64 / 62.0));
                let seen = parts.ns() - 2.0 * onset;
                assert!(seen > 0.999 * medium, "{gathered}: {seen} for {medium} at {i}");
                let is_exact = gathered > 64.0 || seen < 1.001 * medium;
                assert!(is_exact, "{gathered}: {seen} for {medium}");
            }
        }
    }

    #[test]
    fn unknown_overhead_is_not_reported() {
        let steady = |len: f64, rate: f64, _| 10e6 + len / rate;
        assert!(fixed_overhead_ns(&written(steady)[..6]).is_none(), "three of each order");
        assert!(fixed_overhead_ns(&[]).is_none());
        let fast_at_first = |len: f64, rate: f64, _| len / rate + (len - 96e6).max(0.0) / rate;
        assert!(fixed_overhead_ns(&written(fast_at_first)).is_none());
        let little_else = written(|len, rate, _| 2e9 + len / rate);
        assert!(fixed_overhead_ns(&little_else).is_none());
        let equal = StretchParts { first: (MIB, 1000), second: (MIB, 2000) };
        assert!(fixed_overhead_ns(&[equal; 20]).is_none());
    }
}
