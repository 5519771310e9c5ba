//! Claims a drive to restore its contents from a journal.
//!
//! The original run has already checked signatures, blankness and the running system, so the contents do not speak
//! against a restore, and no serial number has to be typed. But a program that uses the drive meanwhile would lose its
//! writes, so the gate makes every check of use.

use super::inspect::{self, Inspection, Purpose};
use super::kernel_calls::{Access, HostKernel, KernelCalls};
use super::protected_paths::OwnPaths;
use super::raw_disk::RawDisk;
use super::{GateRequest, Refusal};
use drivescope_machine::roots::Roots;
use drivescope_model::WriteLevel;
use drivescope_model::gate::GateRecord;
use std::path::PathBuf;

/// Claims the device with this node to write originals back. Nothing is opened for writing unless a look
/// finds nothing against it; then everything is looked at again through the claim.
///
/// Errors: it is in use, cannot be written, or is another device the second time.
pub(crate) fn claim_to_restore(roots: &Roots, node: PathBuf) -> Result<RawDisk, Refusal> {
    claim_with(Box::new(HostKernel), roots, node)
}

pub(super) fn claim_with(
    kernel: Box<dyn KernelCalls>,
    roots: &Roots,
    node: PathBuf,
) -> Result<RawDisk, Refusal> {
    let level = WriteLevel::Restore;
    let request = GateRequest { path: node, level, range: None, own: OwnPaths::default() };
    let look = |access| inspect::inspect(&*kernel, roots, &request, access, Purpose::Restore);
    let Inspection { checks, device: shown, .. } = look(Access::ReadExclusive);
    let seen = GateRecord { level, device: shown.clone(), checks };
    if !seen.is_allowed() {
        return Err(Refusal { record: Box::new(seen) });
    }
    let Inspection { mut checks, device, claim, .. } = look(Access::to_write(level));
    checks.push(inspect::is_as_shown(shown.as_ref(), device.as_ref()));
    let record = GateRecord { level, device: device.clone(), checks };
    match (claim, device) {
        (Some(claim), Some(device)) if record.is_allowed() => {
            let range = 0..device.size_bytes;
            Ok(RawDisk::new(kernel, roots.clone(), claim, request, range, device, record))
        }
        _ => Err(Refusal { record: Box::new(record) }),
    }
}
