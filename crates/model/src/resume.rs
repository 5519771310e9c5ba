//! Where a test of a whole drive or file system was stopped, so that `--resume` can continue it.

use crate::options::TestKind;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which part of a test was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResumePhase {
    /// A full `fill`.
    Fill,
    /// The write phase of a full `verify`.
    VerifyWrite,
    /// The read phase of a full `verify`.
    VerifyRead,
    /// `fill-files`: what it wrote is still there.
    FillFiles,
    /// `steady`: how the drive was prepared, and the rounds so far.
    Steady,
    /// A full read of `surface`.
    Surface,
}

/// Where a full `fill`, `verify` or `surface`, `fill-files` or `steady` was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumePoint {
    /// The plan's seed, which determines every stamp on the drive.
    pub seed: u64,
    /// Where to continue, bytes from the start of the target; of `fill-files` and `steady` the bytes
    /// written.
    pub at_bytes: u64,
    /// Which part of the test was stopped.
    pub phase: ResumePhase,
    /// Whether every sector before `at_bytes` was read back intact: the result can then be about the whole drive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub intact_before: bool,
}

impl ResumePoint {
    pub fn test(&self) -> TestKind {
        match self.phase {
            ResumePhase::Fill => TestKind::Fill,
            ResumePhase::VerifyWrite | ResumePhase::VerifyRead => TestKind::Verify,
            ResumePhase::FillFiles => TestKind::FillFiles,
            ResumePhase::Steady => TestKind::Steady,
            ResumePhase::Surface => TestKind::Surface,
        }
    }

    /// Whether resuming saves anything.
    pub fn is_worthwhile(&self) -> bool {
        self.at_bytes > 0 || self.phase == ResumePhase::VerifyRead
    }

    /// As `--set` takes them.
    fn settings(&self) -> Vec<String> {
        let test = self.test().name();
        let phase = match self.phase {
            ResumePhase::Fill
            | ResumePhase::FillFiles
            | ResumePhase::Steady
            | ResumePhase::Surface => None,
            ResumePhase::VerifyWrite => Some("write"),
            ResumePhase::VerifyRead => Some("read"),
        };
        let phase = phase.map(|phase| format!("{test}.phase={phase}"));
        let from = format!("{test}.from={}", self.at_bytes);
        let mode = if self.phase == ResumePhase::Surface { "preset" } else { "mode" };
        std::iter::once(format!("{test}.{mode}=full")).chain(phase).chain([from]).collect()
    }
}

/// For people: where it stopped, and two ways to continue. No program reads this sentence.
impl fmt::Display for ResumePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.phase == ResumePhase::Steady {
            let written = Bytes(self.at_bytes);
            return write!(f, "stopped after {written} written; continue with --resume");
        }
        write!(f, "stopped at byte {} ({})", self.at_bytes, Bytes(self.at_bytes))?;
        match self.phase {
            ResumePhase::Fill | ResumePhase::Steady | ResumePhase::Surface => {}
            ResumePhase::FillFiles => return write!(f, "; continue with --resume"),
            ResumePhase::VerifyWrite => write!(f, " of the write phase")?,
            ResumePhase::VerifyRead => write!(f, " of the read phase")?,
        }
        if self.intact_before {
            write!(f, ", all data before it intact")?;
        }
        write!(f, "; continue with --resume, or if this run is not stored: --seed {}", self.seed)?;
        self.settings().iter().try_for_each(|setting| write!(f, " --set {setting}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: ResumePoint =
        ResumePoint { seed: 7, at_bytes: 512, phase: ResumePhase::VerifyRead, intact_before: true };

    #[test]
    fn sentence_has_the_options_of_the_command_line() {
        assert_eq!(
            POINT.to_string(),
            "stopped at byte 512 (512 B) of the read phase, all data before it intact; continue with --resume, \
             or if this run is not stored: --seed 7 --set verify.mode=full --set verify.phase=read --set \
             verify.from=512"
        );
    }

    #[test]
    fn early_stop_is_not_resumable_unless_all_written() {
        fn at_start(phase: ResumePhase) -> ResumePoint {
            ResumePoint { at_bytes: 0, phase, ..POINT }
        }
        assert_eq!(POINT.test(), TestKind::Verify);
        assert!(at_start(ResumePhase::VerifyRead).is_worthwhile());
        assert!(!at_start(ResumePhase::VerifyWrite).is_worthwhile());
        assert!(!at_start(ResumePhase::Fill).is_worthwhile());
    }
}
