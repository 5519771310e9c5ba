//! What a person must say before contents are put at risk: something that differs for every drive.

use super::checks::{ok, refused};
use super::contents::{self, DeviceContents};
use drivescope_model::WriteLevel;
use drivescope_model::gate::{Check, DeviceIdentity};
use std::path::Path;

/// What the user gave: the serial numbers on the command line, or what was typed. There is no word
/// that stands for every device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confirmation {
    phrases: Vec<String>,
    /// A person was asked, and saw the plan.
    was_typed: bool,
}

impl Confirmation {
    pub fn none() -> Self {
        Self::default()
    }

    /// Serial numbers; one of them must be the device's.
    pub fn given(phrases: &[String]) -> Self {
        Self { phrases: phrases.to_vec(), was_typed: false }
    }

    /// The answer to the question for [`super::Examination::missing_phrase`].
    pub fn typed(phrase: &str) -> Self {
        Self { phrases: vec![phrase.to_string()], was_typed: true }
    }

    fn names(&self, device: &DeviceIdentity) -> bool {
        self.phrases.contains(&device.phrase())
    }

    fn how(&self) -> &'static str {
        if self.was_typed { "typed" } else { "given" }
    }
}

/// The checks of contents, and `confirmation`.
///
/// `destroy` always needs it; `restore` where there is something to lose; `same-bytes` never. A
/// confirmation for another device refuses in any case: then the user means something else.
pub(super) fn check(
    level: WriteLevel,
    device: &DeviceIdentity,
    contents: &DeviceContents,
    confirmation: &Confirmation,
) -> Vec<Check> {
    let is_named = confirmation.names(device);
    let consents = is_named || level < WriteLevel::Restore;
    let mut checks = contents::check(contents, Path::new(&device.path), consents);
    let is_needed = match level {
        WriteLevel::Destroy => true,
        WriteLevel::Restore => !contents.is_blank(),
        _ => false,
    };
    let phrase = device.phrase();
    let flag = match level {
        WriteLevel::Destroy => format!("--destroy {}", quoted(&phrase)),
        level => format!("--write {}", quoted(&format!("{}:{phrase}", level.name()))),
    };
    let command = match device.own_serial {
        Some(_) => format!("smartctl -i {}", device.path),
        None => format!("lsblk --nodeps --output NAME,MODEL,SERIAL,SIZE {}", device.path),
    };
    checks.push(if is_named {
        let how = confirmation.how();
        ok("confirmation", format!("{phrase} was {how} and matches the device"))
    } else if !confirmation.phrases.is_empty() {
        let (given, how) = (confirmation.phrases.join(", "), confirmation.how());
        let evidence = format!("{given} was {how}, but the device reports {phrase}");
        refused("confirmation", evidence, &command)
    } else if is_needed {
        let evidence = format!("{} needs confirmation: {flag}", level.name());
        refused("confirmation", evidence, &command)
    } else {
        ok("confirmation", format!("not needed: {}", why_not_needed(level)))
    });
    checks
}

/// One word for a shell, whatever the device says of itself: people paste it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn why_not_needed(level: WriteLevel) -> &'static str {
    match level {
        WriteLevel::Restore => "there is nothing to lose",
        _ => "the contents do not change",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_for_a_shell() {
        for name in ["S1 2", "'; touch /tmp/x; '", "a'b", "$(id)`id`\\"] {
            let script = format!("printf %s {}", quoted(name));
            let shell = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(shell.stdout).unwrap(), name);
        }
    }
}
