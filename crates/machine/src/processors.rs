//! What all processors did since the machine started: /proc/stat.

use crate::roots::{Roots, read_text};

/// A tick of /proc/stat: USER_HZ is 100 on every architecture that Rust builds Linux programs for.
const TICK_NS: u64 = 10_000_000;

/// Totals over all processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreTimes {
    /// Any work, interrupts included.
    pub busy_ns: u64,
    /// The part of `busy_ns` that programs ran themselves, without the kernel's work.
    pub programs_ns: u64,
    /// Time in which the hypervisor ran others on a processor that had work.
    pub steal_ns: u64,
    pub total_ns: u64,
}

impl CoreTimes {
    /// Now; `None` if the kernel does not report it.
    pub fn read(roots: &Roots) -> Option<Self> {
        parse(&read_text(roots.proc.join("stat"))?)
    }

    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            busy_ns: self.busy_ns.saturating_sub(before.busy_ns),
            programs_ns: self.programs_ns.saturating_sub(before.programs_ns),
            steal_ns: self.steal_ns.saturating_sub(before.steal_ns),
            total_ns: self.total_ns.saturating_sub(before.total_ns),
        }
    }
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user and
/// nice (Documentation/filesystems/proc.rst of the kernel).
fn parse(text: &str) -> Option<CoreTimes> {
    fn ns(ticks: &[u64]) -> u64 {
        ticks.iter().fold(0u64, |sum, &t| sum.saturating_add(t)).saturating_mul(TICK_NS)
    }
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[user, nice, system, idle, waiting, irq, softirq, steal, ..] = ticks.as_slice() else {
        return None;
    };
    let busy = [user, nice, system, irq, softirq];
    Some(CoreTimes {
        busy_ns: ns(&busy),
        programs_ns: ns(&[user, nice]),
        steal_ns: ns(&[steal]),
        total_ns: ns(&busy) + ns(&[idle, waiting, steal]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    const NOW: &str = "cpu  100 20 30 1000 50 6 4 7 90 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nintr 1\n";

    #[test]
    fn busy_stolen_and_idle_time_are_distinguished() {
        let times = parse(NOW).unwrap();
        // 100 + 20 + 30 + 6 + 4, of which user and nice are programs.
        assert_eq!((times.busy_ns, times.programs_ns), (160 * TICK_NS, 120 * TICK_NS));
        assert_eq!(times.steal_ns, 7 * TICK_NS);
        assert_eq!(times.total_ns, 1_217 * TICK_NS);
        let later = parse(&NOW.replace("100 20", "103 20")).unwrap();
        let since = later.since(times);
        assert_eq!((since.busy_ns, since.programs_ns), (3 * TICK_NS, 3 * TICK_NS));
        assert_eq!(times.since(later), CoreTimes::default());
    }

    #[test]
    fn unreported_times_are_none() {
        for text in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4", "cpu  1 2 3 4 5 6 x 8"] {
            assert_eq!(parse(text), None);
        }
        assert_eq!(CoreTimes::read(&Fake::new().roots), None);
    }
}
