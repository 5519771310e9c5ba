//! Making entries of the gate's record.

use drivescope_machine::uses::{DeviceUse, shortened};
use drivescope_model::gate::{Check, Outcome};

pub(crate) fn ok(name: &str, evidence: impl Into<String>) -> Check {
    entry(name, Outcome::Ok, evidence, None)
}

pub(crate) fn unknown(name: &str, evidence: impl Into<String>, command: &str) -> Check {
    entry(name, Outcome::Unknown, evidence, Some(command))
}

pub(crate) fn refused(name: &str, evidence: impl Into<String>, command: &str) -> Check {
    entry(name, Outcome::Refused, evidence, Some(command))
}

/// A refusal for each use, or one entry that says that there is none.
pub(crate) fn uses(name: &str, found: Vec<DeviceUse>, none: impl Into<String>) -> Vec<Check> {
    if found.is_empty() {
        return vec![ok(name, none)];
    }
    let found = shortened(found).into_iter();
    found.map(|found| refused(name, found.evidence, &found.command)).collect()
}

pub(crate) fn reasons(checks: &[Check]) -> Option<String> {
    let refused: Vec<&Check> =
        checks.iter().filter(|check| check.outcome == Outcome::Refused).collect();
    // The claim only says that a use exists; another check names it.
    let has_named_use = refused.iter().any(|check| check.name != "claim");
    let shown = refused.into_iter().filter(|check| !(has_named_use && check.name == "claim"));
    let parts: Vec<String> = shown
        .map(|check| match &check.command {
            Some(command) => format!("{} ({command})", check.evidence),
            None => check.evidence.clone(),
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
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
    fn each_use_is_a_refusal() {
        let found = ["u1", "u2"].map(|evidence| DeviceUse::new(evidence, "c"));
        let expected = ["u1", "u2"].map(|evidence| refused("mounts", evidence, "c"));
        assert_eq!(uses("mounts", found.to_vec(), "none"), expected);
        assert_eq!(uses("mounts", Vec::new(), "none"), [ok("mounts", "none")]);
    }
}
