//! Claiming a drive whose own contents go back to it from a journal.
//!
//! What lies on such a drive is its own, and no reason against that: signatures, blankness and the running
//! system are for the run that saved it, and nobody has to type a serial number. But whoever uses the drive
//! meanwhile would lose what was written since, so every check of use is the gate's own.

use super::inspect::{self, Inspection, Purpose};
use super::kernel::{Access, Host, Kernel};
use super::{Family, OwnPlaces, RawDisk, Refusal, Request, flush, pools, processes, twins, users};
use drivescope_machine::roots::Roots;
use drivescope_model::WriteLevel;
use drivescope_model::gate::{Check, GateRecord, Outcome};
use std::path::PathBuf;

/// Claims the device with this node to write originals back. Nothing is opened for writing unless a look
/// finds nothing against it; then everything is looked at again through the claim.
///
/// Errors: it is in use, cannot be written, or is another device the second time.
pub(crate) fn claim_to_give_back(roots: &Roots, node: PathBuf) -> Result<RawDisk, Refusal> {
    claim_with(Box::new(Host), roots, node)
}

pub(super) fn claim_with(
    kernel: Box<dyn Kernel>,
    roots: &Roots,
    node: PathBuf,
) -> Result<RawDisk, Refusal> {
    let level = WriteLevel::Restore;
    let request = Request { path: node, level, range: None, own: OwnPlaces::default() };
    let look = |access| inspect::inspect(&*kernel, roots, &request, access, Purpose::GiveBack);
    let Inspection { checks, device: shown, .. } = look(Access::ReadExclusive);
    let seen = GateRecord { level, device: shown.clone(), checks };
    if !seen.is_allowed() {
        return Err(Refusal { record: Box::new(seen) });
    }
    let Inspection { mut checks, device, held, .. } = look(Access::WriteExclusive);
    checks.push(inspect::is_as_shown(shown.as_ref(), device.as_ref()));
    let record = GateRecord { level, device: device.clone(), checks };
    match (held, device) {
        (Some(held), Some(device)) if record.is_allowed() => {
            let range = 0..device.size_bytes;
            Ok(RawDisk::new(kernel, roots.clone(), held, request, range, device, record))
        }
        _ => Err(Refusal { record: Box::new(record) }),
    }
}

/// The look right before the first original goes back: what keeps it from that, if anything. The claim holds,
/// but it does not keep others from loop devices that share bytes with the drive.
pub(crate) fn reason_against(disk: &RawDisk) -> Option<String> {
    if let Err(changed) = disk.ready() {
        return Some(changed.to_string());
    }
    use_of(disk)
}

/// Who uses a claimed device by now, or has written to it what is not on it.
pub(super) fn use_of(disk: &RawDisk) -> Option<String> {
    let roots = disk.roots();
    let family = Family::of(roots, &disk.device().name);
    let mut checks = shown(disk, &family);
    checks.extend(processes::check(roots, &family));
    checks.extend(flush::check(disk.kernel(), roots, &family));
    reasons(&checks)
}

/// Who uses a claimed device by now, programs that merely have it open aside.
pub(crate) fn shown_use_of(disk: &RawDisk) -> Option<String> {
    reasons(&shown(disk, &Family::of(disk.roots(), &disk.device().name)))
}

fn shown(disk: &RawDisk, family: &Family) -> Vec<Check> {
    let roots = disk.roots();
    let mut checks = users::check(roots, family);
    checks.extend(pools::check(roots, family, &[]));
    // Those that are held already keep everybody else out, and so do new ones from now on.
    let mut twins = disk.twins();
    let (found, claimed) = twins::claim(disk.kernel(), roots, family, &twins);
    twins.extend(claimed);
    checks.extend(found);
    checks
}

/// Every reason of a refusal, in one line.
pub(crate) fn reasons(checks: &[Check]) -> Option<String> {
    let refused: Vec<&Check> =
        checks.iter().filter(|check| check.outcome == Outcome::Refused).collect();
    // The claim only says that there is a use where another check tells which.
    let is_told = refused.iter().any(|check| check.name != "claim");
    let told = refused.into_iter().filter(|check| !(is_told && check.name == "claim"));
    let parts: Vec<String> = told
        .map(|check| match &check.command {
            Some(command) => format!("{} ({command})", check.evidence),
            None => check.evidence.clone(),
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
