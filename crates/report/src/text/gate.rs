//! The gate's opinion: every check with what was seen, and the command that shows a refusal.

use super::plan::level_words;
use crate::terminal::{Paragraph, Role, Style, clean, shorten};
use drivescope_model::gate::{Check, GateRecord, Outcome};

const OUTCOME: usize = 9;
const NAME: usize = 16;

/// `gate at level destroy: refused by 2 of 21 checks`, then refusals, then the other checks.
pub fn gate(record: &GateRecord, style: Style) -> String {
    let refusals = record.refusals().count();
    let level = format!("gate at level {} ({}): ", record.level.name(), level_words(record.level));
    let of_all = format!("of {} checks", record.checks.len());
    let (role, text) = match refusals {
        0 => (Role::Good, format!("would open, none {of_all} refused")),
        n => (Role::Bad, format!("refused by {n} {of_all}")),
    };
    let mut out = Paragraph::new().lead(Role::Title, &level).text(role, &text).lines(2, style);
    let is_refusal = |check: &&Check| check.outcome == Outcome::Refused;
    for check in record.refusals().chain(record.checks.iter().filter(|check| !is_refusal(check))) {
        out.push_str(&line(check, style));
    }
    out
}

fn line(check: &Check, style: Style) -> String {
    let role = match check.outcome {
        Outcome::Ok => Role::Good,
        Outcome::Unknown => Role::Warn,
        Outcome::Refused => Role::Bad,
    };
    let name = shorten(&clean(&check.name), NAME - 1).into_owned();
    let indent = OUTCOME + NAME;
    let mut out = Paragraph::new()
        .lead(role, format!("{:<OUTCOME$}", check.outcome.name()))
        .lead(Role::Plain, format!("{name:<NAME$}"))
        .text(Role::Plain, &check.evidence)
        .lines(indent, style);
    if let (Some(command), true) = (&check.command, check.outcome != Outcome::Ok) {
        let lead = " ".repeat(indent);
        let paragraph =
            Paragraph::new().lead(Role::Dim, &lead).text(Role::Dim, format!("$ {command}"));
        out.push_str(&paragraph.lines(indent + 2, style));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::WriteLevel;

    fn check(name: &str, outcome: Outcome, evidence: &str, command: &str) -> Check {
        Check {
            name: name.into(),
            outcome,
            evidence: evidence.into(),
            command: Some(command.into()).filter(|c: &String| !c.is_empty()),
        }
    }

    #[test]
    fn refusals_come_first_with_their_commands() {
        let mut record = GateRecord {
            level: WriteLevel::Destroy,
            device: None,
            checks: vec![
                check("path", Outcome::Ok, "/dev/sdb is /dev/sdb", ""),
                check(
                    "mounts",
                    Outcome::Refused,
                    "dm-0 (vg-data) on sdb1 is mounted on /srv/data and in many other places (ext4)",
                    "findmnt --source /dev/dm-0",
                ),
                check("siblings", Outcome::Unknown, "sdb2 shares its time\x1b[2J", "findmnt"),
            ],
        };
        let plain = Style::PLAIN;
        insta::assert_snapshot!(gate(&record, plain), @r"
        gate at level destroy (EVERYTHING IS LOST): refused by 1 of 3 checks
        refused  mounts          dm-0 (vg-data) on sdb1 is mounted on /srv/data and in
                                 many other places (ext4)
                                 $ findmnt --source /dev/dm-0
        ok       path            /dev/sdb is /dev/sdb
        unknown  siblings        sdb2 shares its time�[2J
                                 $ findmnt
        ");
        record.checks.remove(1);
        let text = gate(&record, plain);
        assert!(text.contains("would open, none of 2 checks refused"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= crate::WIDTH), "{text}");
    }
}
