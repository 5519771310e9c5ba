//! How a cell's processor time divides into user mode and kernel. Only their sum is exact on most kernels: with
//! CONFIG_TICK_CPU_ACCOUNTING each tick counts for the mode it finds the thread in, and `getrusage` divides the
//! time in that ratio (`cputime_adjust` in kernel/sched/cputime.c). A round without a tick shows all of it in one
//! mode, so the ticks of all rounds are pooled.

use crate::io::cpu_usage::CpuUsage;
use drivescope_stats::interval::Interval;
use drivescope_stats::proportion::{succession, wilson_interval};

/// Longest time between ticks: kernels tick at 100 Hz or more.
const TICK_NS: f64 = 1e7;

/// The share of user mode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CpuSplit {
    /// Neither 0 nor 1.
    pub share: f64,
    pub interval: Interval,
}

impl CpuSplit {
    /// All rounds of a cell together.
    pub fn of(rounds: impl IntoIterator<Item = CpuUsage>, confidence: f64) -> Self {
        fn ticks(ns: u64) -> f64 {
            ns as f64 / TICK_NS
        }
        let all = rounds.into_iter().fold(CpuUsage::default(), std::ops::Add::add);
        let (user, both) = (ticks(all.user_ns), ticks(all.user_ns + all.sys_ns));
        let share = succession(user, both).expect("a part is not more than the sum");
        let interval = wilson_interval(user, both, confidence);
        Self { share, interval: interval.expect("a part is not more than the sum") }
    }

    pub fn of_kernel(self) -> Self {
        let Interval { low, high } = self.interval;
        Self { share: 1.0 - self.share, interval: Interval { low: 1.0 - high, high: 1.0 - low } }
    }

    pub fn interval_of(self, all: Interval) -> Interval {
        Interval { low: all.low * self.interval.low, high: all.high * self.interval.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(user_ms: u64, sys_ms: u64) -> CpuUsage {
        let [user_ns, sys_ns] = [user_ms, sys_ms].map(|ms| ms * 1_000_000);
        CpuUsage { cpu_ns: user_ns + sys_ns, user_ns, sys_ns, switches: 0 }
    }

    #[test]
    fn unresolved_share_has_a_wide_interval() {
        let unresolved = CpuSplit::of([usage(0, 3), usage(4, 0)], 0.95);
        assert!(unresolved.share > 0.4 && unresolved.share < 0.6, "{unresolved:?}");
        assert!(unresolved.interval.width() > 0.9, "{unresolved:?}");
        let nothing_in_user_mode = CpuSplit::of([usage(0, 30)], 0.95);
        assert!(nothing_in_user_mode.share > 0.0);
    }

    #[test]
    fn long_rounds_resolve_the_share() {
        let split = CpuSplit::of([usage(2_000, 18_000), usage(2_200, 17_800)], 0.95);
        assert!((split.share - 0.105).abs() < 0.001, "{split:?}");
        assert!(split.interval.width() < 0.03, "{split:?}");
        assert!((split.share + split.of_kernel().share - 1.0).abs() < 1e-12);
        let part = split.of_kernel().interval_of(Interval { low: 100.0, high: 200.0 });
        assert!(part.low > 85.0 && part.low < 89.5 && part.high > 178.0 && part.high < 182.0);
    }
}
