//! Making entries of the gate's record.

use drivescope_model::gate::{Check, Outcome};

/// No refusal lists more uses of a kind; the rest is counted.
const USES_MAX: usize = 8;

/// One use of the device: what was seen, and the command that shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Use {
    /// What was seen.
    pub evidence: String,
    /// The command.
    pub command: String,
}

impl Use {
    /// A use seen as `evidence` that `command` shows.
    pub fn new(evidence: impl Into<String>, command: impl Into<String>) -> Self {
        Self { evidence: evidence.into(), command: command.into() }
    }
}

/// A check that found nothing against writing.
pub(crate) fn ok(name: &str, evidence: impl Into<String>) -> Check {
    entry(name, Outcome::Ok, evidence, None)
}

/// A check that could not be made here.
pub(crate) fn unknown(name: &str, evidence: impl Into<String>, command: &str) -> Check {
    entry(name, Outcome::Unknown, evidence, Some(command))
}

/// A check that refuses.
pub(crate) fn refused(name: &str, evidence: impl Into<String>, command: &str) -> Check {
    entry(name, Outcome::Refused, evidence, Some(command))
}

/// A refusal for each use, or one entry that says that there is none.
pub(crate) fn uses(name: &str, mut found: Vec<Use>, none: impl Into<String>) -> Vec<Check> {
    if found.is_empty() {
        return vec![ok(name, none)];
    }
    found.sort();
    found.dedup();
    let more = found.len().saturating_sub(USES_MAX);
    let mut checks: Vec<Check> = found
        .iter()
        .take(USES_MAX)
        .map(|found| refused(name, &found.evidence, &found.command))
        .collect();
    if let (Some(last), 1..) = (checks.last_mut(), more) {
        last.evidence.push_str(&format!("; and {more} more of the kind"));
    }
    checks
}

fn entry(
    name: &str,
    outcome: Outcome,
    evidence: impl Into<String>,
    command: Option<&str>,
) -> Check {
    let command = command.filter(|text| !text.is_empty()).map(str::to_string);
    Check { name: name.to_string(), outcome, evidence: evidence.into(), command }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_use_refuses_once_and_many_are_counted() {
        let found: Vec<Use> =
            (0..12).map(|i| Use::new(format!("u{:02}", i / 2 * 2), "c")).collect();
        let checks = uses("mounts", found, "none");
        assert_eq!(checks.len(), 6);
        let found = (0..11).map(|i| Use::new(format!("u{i:02}"), "c")).collect();
        let checks = uses("mounts", found, "none");
        assert_eq!(checks.len(), USES_MAX);
        assert_eq!(checks[7].evidence, "u07; and 3 more of the kind");
        assert_eq!(uses("mounts", Vec::new(), "none"), [ok("mounts", "none")]);
    }
}
