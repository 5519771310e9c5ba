//! Why originals cannot be restored now: the drive is in use, or it fails.

use super::JournalError;
use crate::gate;
use drivescope_model::gate::{Check, Outcome};

/// Why nothing can be restored now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotReady {
    /// Every reason, in one line.
    pub why: String,
    /// Whether the drive fails, rather than being in use.
    pub is_failing: bool,
}

impl NotReady {
    /// The refusals among these checks, if any. A failed flush is the drive's fault; all else is due to its users.
    pub(super) fn of(checks: &[Check]) -> Option<Self> {
        let refused = || checks.iter().filter(|check| check.outcome == Outcome::Refused);
        let is_failing = refused().all(|check| check.name == "flushed");
        Some(Self { why: gate::reasons(checks)?, is_failing })
    }

    pub(super) fn of_device(self, device: String) -> JournalError {
        if self.is_failing {
            JournalError::Failing { device, why: self.why }
        } else {
            JournalError::NotFree { device, why: self.why }
        }
    }
}

impl From<String> for NotReady {
    fn from(why: String) -> Self {
        Self { why, is_failing: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn failing_drive_is_distinguished_from_used() {
        fn check(name: &str, outcome: Outcome) -> Check {
            Check {
                name: name.to_string(),
                outcome,
                evidence: format!("{name} says so"),
                command: None,
            }
        }
        let ok = check("claim", Outcome::Ok);
        let (flushed, mounts) =
            (check("flushed", Outcome::Refused), check("mounts", Outcome::Refused));
        assert_eq!(NotReady::of(std::slice::from_ref(&ok)), None);
        for (checks, kind) in [
            (vec![ok.clone(), flushed.clone()], ErrorKind::Device),
            (vec![flushed, mounts.clone()], ErrorKind::Refused),
            (vec![ok, mounts], ErrorKind::Refused),
        ] {
            let error = NotReady::of(&checks).unwrap().of_device("/dev/sdb".to_string());
            assert_eq!(error.kind(), kind, "{error}");
        }
    }
}
