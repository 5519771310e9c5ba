//! What a person must say before contents are put at risk: something that differs for every drive.

use super::checks::{ok, refused};
use super::contents::{self, Contents};
use drivescope_model::WriteLevel;
use drivescope_model::gate::{Check, DeviceIdentity};
use std::path::Path;

/// What the user gave: the serial numbers on the command line, or what was typed. There is no word
/// that stands for every device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confirmation(Vec<String>);

impl Confirmation {
    /// Nothing was given.
    pub fn none() -> Self {
        Self::default()
    }

    /// These serial numbers; one of them must be that of the device.
    pub fn given(phrases: &[String]) -> Self {
        Self(phrases.to_vec())
    }

    /// Whether exactly this device was named.
    fn names(&self, device: &DeviceIdentity) -> bool {
        self.0.contains(&device.phrase())
    }
}

/// The checks of contents, and `confirmation`.
///
/// `destroy` always needs it; `restore` where there is something to lose; `same-bytes` never. A
/// confirmation for another device refuses in any case: then the user means something else.
pub(crate) fn check(
    level: WriteLevel,
    device: &DeviceIdentity,
    contents: &Contents,
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
        WriteLevel::Destroy => format!("--destroy '{phrase}'"),
        level => format!("--write '{}:{phrase}'", level.name()),
    };
    let command = format!("lsblk --nodeps --output NAME,MODEL,SERIAL,SIZE {}", device.path);
    checks.push(if is_named {
        ok("confirmation", format!("{phrase} was given, which the device reports"))
    } else if !confirmation.0.is_empty() {
        let given = confirmation.0.join(", ");
        let evidence = format!("{given} was given, but the device reports {phrase}");
        refused("confirmation", evidence, &command)
    } else if is_needed {
        let evidence = format!("{} needs the device's own name: {flag}", level.name());
        refused("confirmation", evidence, &command)
    } else {
        ok("confirmation", format!("not needed: {}", why_not_needed(level)))
    });
    checks
}

fn why_not_needed(level: WriteLevel) -> &'static str {
    match level {
        WriteLevel::Restore => "there is nothing to lose",
        _ => "the contents stay as they are",
    }
}
