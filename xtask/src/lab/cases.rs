//! The cases: what is built in the guest, and the expected outcome.

mod exports;
mod faults;
mod health;
mod holders;
mod paths;
mod sectors;
mod timing;

use std::fmt;

/// One case. Its script is `setup`, which sets `$target`, and the steps that its expectation needs.
#[derive(Debug)]
pub struct Case {
    pub name: &'static str,
    /// Shell commands in the guest, with the functions of `guest/kit.sh`.
    pub setup: &'static str,
    pub expect: Expect,
    /// Left out of the short pass.
    pub long: bool,
}

/// The expected outcome of a case. In all of them the compared bytes are unchanged at the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expect {
    /// The gate lets patterns be written, and they are taken back.
    Free,
    /// This check of the gate refuses, in the plan and in the run.
    Refused(&'static str),
    /// The call is refused before the gate has a say, for a reason that contains this.
    Declined(&'static str),
    /// A killed run leaves patterns that nothing uses, and `restore` brings the contents back. The refusal
    /// of the next run has these words.
    Restored(&'static str),
    /// The drive fails while patterns are on it, and `restore` brings the contents back when it works again.
    RestoredAfterFailure,
    /// `align` and the drive's description say these sizes, and where a partition at sector 2048 lies.
    Sectors { logical: u64, physical: u64, misaligned: u64 },
    /// The drive's health is what smartctl says, and in a check it tests itself.
    Health,
    /// Reads take at least `least_us`, and as long as with fio.
    LikeFio { least_us: f64 },
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => f.write_str("free"),
            Self::Refused(check) => write!(f, "refused: {check}"),
            Self::Declined(reason) => write!(f, "declined: {reason}"),
            Self::Restored(_) => f.write_str("restored after a kill"),
            Self::RestoredAfterFailure => f.write_str("restored after failing"),
            Self::Sectors { logical, physical, misaligned } => {
                write!(f, "{logical}/{physical}, {misaligned} misaligned")
            }
            Self::Health => f.write_str("health, and a self-test"),
            Self::LikeFio { least_us } => write!(f, "as fio, over {least_us} µs"),
        }
    }
}

impl Case {
    const fn short(name: &'static str, expect: Expect, setup: &'static str) -> Self {
        Self { name, setup, expect, long: false }
    }

    const fn long(name: &'static str, expect: Expect, setup: &'static str) -> Self {
        Self { name, setup, expect, long: true }
    }

    /// What the guest runs.
    pub fn script(&self) -> String {
        let steps = match self.expect {
            Expect::Free | Expect::Refused(_) | Expect::Declined(_) => "gate",
            Expect::Restored(_) => "killed",
            Expect::RestoredAfterFailure => "failing",
            Expect::Sectors { .. } => "align",
            Expect::Health => "health",
            Expect::LikeFio { .. } => "pairs",
        };
        format!(". /lab/kit.sh\nset -e\n{}\nset +e\n{steps}\n", self.setup.trim())
    }
}

/// All cases, in the order in which they run.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [
        holders::CASES,
        exports::CASES,
        paths::CASES,
        faults::CASES,
        sectors::CASES,
        timing::CASES,
        health::CASES,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn cases_have_distinct_names_and_targets() {
        let mut names = BTreeSet::new();
        for case in all() {
            assert!(names.insert(case.name), "{} twice", case.name);
            let target = case.setup.contains("target=") || case.setup.contains("debug_disk");
            assert!(target, "{} sets no target", case.name);
        }
    }
}
