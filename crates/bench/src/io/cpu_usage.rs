//! Processor time and context switches, and time spent waiting for a core.

use crate::io::clock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuScope {
    Thread,
    /// With the kernel workers of its rings.
    Process,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuUsage {
    /// Both modes, by the scheduler's clock: exact. Other threads of the program may lag by what they ran since the
    /// last tick of their core.
    pub cpu_ns: u64,
    /// From `getrusage`, which may miss the time since the last tick: it divides `cpu_ns`, and is no measure by
    /// itself.
    pub user_ns: u64,
    pub sys_ns: u64,
    pub switches: u64,
}

impl CpuUsage {
    pub fn of(who: CpuScope) -> Self {
        let (cpu_ns, who) = match who {
            CpuScope::Thread => (clock::cpu_ns(), libc::RUSAGE_THREAD),
            CpuScope::Process => (clock::program_cpu_ns(), libc::RUSAGE_SELF),
        };
        // SAFETY: an all-zero rusage is valid, and getrusage fills it; with these constants it cannot
        // fail.
        let usage = unsafe {
            let mut usage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            usage
        };
        let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
        Self {
            cpu_ns,
            user_ns: ns(usage.ru_utime),
            sys_ns: ns(usage.ru_stime),
            switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        }
    }

    pub fn since(self, before: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(before.cpu_ns),
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            sys_ns: self.sys_ns.saturating_sub(before.sys_ns),
            switches: self.switches.saturating_sub(before.switches),
        }
    }
}

impl std::ops::Add for CpuUsage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns + other.cpu_ns,
            user_ns: self.user_ns + other.user_ns,
            sys_ns: self.sys_ns + other.sys_ns,
            switches: self.switches + other.switches,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuCost {
    /// Helper threads included.
    pub usage: CpuUsage,
    /// `usage` is the whole program's, other workers included.
    pub whole_program: bool,
    pub busiest_cpu_ns: u64,
    /// Longest time that a worker stood ready to run while others held the cores; `None` where the
    /// kernel does not report it.
    pub wait_ns: Option<u64>,
    /// Time in which the whole program stood although it was due: stopped by a signal or a debugger, with its
    /// machine, or by the limit of its container.
    pub still_ns: u64,
    pub wall_ns: u64,
}

impl CpuCost {
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        let all = self.whole_program || other.whole_program;
        let larger = if self.usage.cpu_ns < other.usage.cpu_ns { other } else { self };
        Self {
            usage: if all { larger.usage } else { self.usage + other.usage },
            whole_program: all,
            busiest_cpu_ns: self.busiest_cpu_ns.max(other.busiest_cpu_ns),
            wait_ns: self.wait_ns.max(other.wait_ns),
            still_ns: self.still_ns.max(other.still_ns),
            wall_ns: self.wall_ns.max(other.wall_ns),
        }
    }
}

/// Time the calling thread has stood in a run queue since it began: the second field of its
/// `schedstat` (Documentation/scheduler/sched-stats.rst of the kernel).
pub fn waited_ns() -> Option<u64> {
    parse_wait(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

fn parse_wait(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_the_second_number() {
        assert_eq!(parse_wait("48395111 8101 37\n"), Some(8101));
        assert_eq!(parse_wait("48395111"), None);
        assert_eq!(parse_wait(""), None);
    }

    /// Waits by the wall clock: reading the processor's would bring the others up to date.
    #[test]
    fn work_shorter_than_a_tick_is_seen() {
        for who in [CpuScope::Thread, CpuScope::Process] {
            for _ in 0..50 {
                let (before, start) = (CpuUsage::of(who), clock::now_ns());
                while clock::now_ns() - start < 100_000 {}
                assert!(CpuUsage::of(who).since(before).cpu_ns > 0, "{who:?}");
            }
        }
    }

    #[test]
    fn the_whole_programs_usage_counts_once() {
        fn usage(cpu_ns: u64) -> CpuUsage {
            CpuUsage { cpu_ns, user_ns: cpu_ns, sys_ns: 0, switches: 0 }
        }
        fn all(cpu_cost: CpuCost) -> CpuCost {
            CpuCost { whole_program: true, ..cpu_cost }
        }
        let one = CpuCost { usage: usage(5), wait_ns: Some(3), wall_ns: 9, ..CpuCost::default() };
        let two = CpuCost { usage: usage(7), wait_ns: None, wall_ns: 8, ..CpuCost::default() };
        let both = one.beside(two);
        assert_eq!((both.usage.user_ns, both.wait_ns, both.wall_ns), (12, Some(3), 9));
        assert_eq!(all(one).beside(all(two)).usage.user_ns, 7);
    }
}
