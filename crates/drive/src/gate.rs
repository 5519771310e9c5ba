//! The gate: the only way to a handle that writes to a block device.
//!
//! [`examine`] looks at a device without changing anything and reports what speaks against writing;
//! [`claim`] opens it for writing, looks at everything again through the claim it then holds, and
//! gives a [`RawDisk`] or a [`Refusal`]. docs/safety.md explains each check, and what none can see.

mod aliases;
mod checks;
mod confirm;
mod contents;
mod device_identity;
mod exclusive_claim;
mod flush;
mod identify_check;
mod identify_command;
mod inspect;
mod kernel_calls;
mod other_programs;
mod overlap;
mod pools;
mod protected_paths;
mod raw_disk;
mod recheck;
mod recheck_log;
mod rest_of_drive;
mod restore_claim;
mod sibling_partitions;
mod use_checks;

pub use confirm::Confirmation;
pub use overlap::{Overlap, common_disk, overlap};
pub use protected_paths::OwnPaths;
pub use raw_disk::{RawDisk, WriteError};
pub use recheck_log::Rechecks;

pub(crate) use checks::reasons;
pub(crate) use recheck::{checks_of_use, drop_caches, flush_others, visible_use_of};
pub(crate) use restore_claim::claim_to_restore;

use contents::DeviceContents;
use drivescope_machine::roots::Roots;
use drivescope_model::WriteLevel;
use drivescope_model::gate::{Check, DeviceIdentity, GateRecord};
use inspect::{Inspection, Purpose};
use kernel_calls::{Access, HostKernel, KernelCalls};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRequest {
    pub path: PathBuf,
    pub level: WriteLevel,
    /// Bytes that may be written; `None` for all.
    pub range: Option<Range<u64>>,
    /// Files of drivescope that must not lie on it.
    pub own: OwnPaths,
}

/// What [`examine`] found out. It is shown to the user, and [`claim`] gives a handle only for the very
/// device it describes.
#[derive(Debug)]
pub struct Examination {
    request: GateRequest,
    device: Option<DeviceIdentity>,
    checks: Vec<Check>,
    contents: DeviceContents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub record: Box<GateRecord>,
}

impl Examination {
    /// The record with the checks that this confirmation completes.
    pub fn record(&self, confirmation: &Confirmation) -> GateRecord {
        record(&self.request, self.device.clone(), &self.checks, &self.contents, confirmation)
    }

    /// What the user must type, if only that is missing.
    pub fn missing_phrase(&self) -> Option<String> {
        let phrase = self.device.as_ref()?.phrase();
        let allowed = |confirmation: &Confirmation| self.record(confirmation).is_allowed();
        let is_missing = !allowed(&Confirmation::none())
            && allowed(&Confirmation::given(std::slice::from_ref(&phrase)));
        is_missing.then_some(phrase)
    }

    pub fn device(&self) -> Option<&DeviceIdentity> {
        self.device.as_ref()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, check) in self.record.refusals().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}: {}", check.name, check.evidence)?;
            if let Some(command) = &check.command {
                write!(f, " ({command})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// Looks at a device. It is opened read-only, with the kernel's exclusive claim and the advisory lock
/// for as long as the look takes, and nothing is changed.
pub fn examine(roots: &Roots, request: GateRequest) -> Examination {
    examine_with(&HostKernel, roots, request)
}

/// Claims the device of a report for writing, until the handle is dropped.
///
/// Nothing is opened for writing unless the report and the confirmation allow it; then every check is
/// made again through the claim, and the device must still be the one that the report describes.
pub fn claim(
    roots: &Roots,
    examination: Examination,
    confirmation: &Confirmation,
) -> Result<RawDisk, Refusal> {
    claim_with(Box::new(HostKernel), roots, examination, confirmation)
}

fn examine_with(kernel: &dyn KernelCalls, roots: &Roots, request: GateRequest) -> Examination {
    let Inspection { checks, device, contents, .. } =
        inspect::inspect(kernel, roots, &request, Access::ReadExclusive, Purpose::Test);
    Examination { request, device, checks, contents }
}

fn claim_with(
    kernel: Box<dyn KernelCalls>,
    roots: &Roots,
    examination: Examination,
    confirmation: &Confirmation,
) -> Result<RawDisk, Refusal> {
    let seen = examination.record(confirmation);
    if !seen.is_allowed() {
        return Err(Refusal { record: Box::new(seen) });
    }
    let Examination { request, device: shown, .. } = examination;
    let access = Access::to_write(request.level);
    let Inspection { mut checks, device, contents, claim } =
        inspect::inspect(&*kernel, roots, &request, access, Purpose::Test);
    checks.push(inspect::is_as_shown(shown.as_ref(), device.as_ref()));
    let record = record(&request, device.clone(), &checks, &contents, confirmation);
    match (claim, device) {
        (Some(claim), Some(device)) if record.is_allowed() => {
            let range = request.range.clone().unwrap_or(0..device.size_bytes);
            Ok(RawDisk::new(kernel, roots.clone(), claim, request, range, device, record))
        }
        _ => Err(Refusal { record: Box::new(record) }),
    }
}

fn record(
    request: &GateRequest,
    device: Option<DeviceIdentity>,
    checks: &[Check],
    contents: &DeviceContents,
    confirmation: &Confirmation,
) -> GateRecord {
    let mut checks = checks.to_vec();
    if let Some(device) = &device {
        checks.extend(confirm::check(request.level, device, contents, confirmation));
    }
    GateRecord { level: request.level, device, checks }
}

#[cfg(test)]
mod tests;
