//! Processor time and context switches, from `getrusage`.

/// Whose usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The calling thread.
    Thread,
    /// The whole program, kernel workers of its rings included.
    Process,
}

/// Processor time and context switches since some beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// User mode.
    pub user_ns: u64,
    /// Kernel mode.
    pub sys_ns: u64,
    /// Voluntary and involuntary switches.
    pub switches: u64,
}

impl Usage {
    /// Usage so far.
    pub fn of(who: Who) -> Self {
        let who = match who {
            Who::Thread => libc::RUSAGE_THREAD,
            Who::Process => libc::RUSAGE_SELF,
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
            user_ns: ns(usage.ru_utime),
            sys_ns: ns(usage.ru_stime),
            switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        }
    }

    /// What was used since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            sys_ns: self.sys_ns.saturating_sub(before.sys_ns),
            switches: self.switches.saturating_sub(before.switches),
        }
    }

    /// Both modes.
    pub fn cpu_ns(self) -> u64 {
        self.user_ns + self.sys_ns
    }
}

impl std::ops::Add for Usage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            sys_ns: self.sys_ns + other.sys_ns,
            switches: self.switches + other.switches,
        }
    }
}
