//! Checks repeated while a claim lasts: the device may have been replaced, and claiming a loop device does not protect
//! its file, which another loop device can expose and mount in the middle of a test.

use super::checks::reasons;
use super::raw_disk::{RawDisk, WriteError};
use super::recheck_log::Rechecks;
use super::{aliases, device_identity, flush, identify_check, other_programs, use_checks};
use crate::page_cache::evict;
use drivescope_machine::exports;
use drivescope_machine::graph::{BlockGraph, Footprint};
use drivescope_machine::roots::{Roots, list_dir, read_text};
use drivescope_model::WriteLevel;
use drivescope_model::gate::{Check, Outcome};
use rustix::fd::AsFd;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;

impl RawDisk {
    /// Begins a test that writes at this level. Engines may then write within the claimed range at `same-bytes` and
    /// `destroy`; at `restore` nowhere, until the journal has the originals of an area
    /// ([`crate::journal::BeforeImages::protect`]); at `read` nowhere at all. Errors: a level above the claimed one;
    /// the medium was changed; another program uses the device, since claiming a loop device does not protect its file.
    pub fn begin(&self, level: WriteLevel) -> Result<(), WriteError> {
        self.permit_level(level.max(WriteLevel::SameBytes))?;
        self.open(0..0);
        if level >= WriteLevel::SameBytes {
            self.same_medium()?;
            let used = reasons(&checks_of_use(self));
            self.recheck_log.count(true, used.is_some());
            if let Some(why) = used {
                return Err(WriteError::InUse { why });
            }
        }
        self.open(match level {
            WriteLevel::SameBytes | WriteLevel::Destroy => self.range(),
            _ => 0..0,
        });
        Ok(())
    }

    /// Writes `bytes`, aligned as for [`RawDisk::read_at`]. `level` is what the caller does:
    /// [`WriteLevel::SameBytes`] when these are the bytes that are there.
    ///
    /// Refused without touching the device: a level above the claimed one, bytes outside the claimed
    /// range, at [`WriteLevel::Restore`] bytes whose originals are in no journal, and everything when the
    /// check before the first write finds another device.
    pub fn write_at(&self, level: WriteLevel, bytes: &[u8], offset: u64) -> Result<(), WriteError> {
        self.permit_level(level)?;
        self.permit(bytes.len(), offset)?;
        if level == WriteLevel::Restore && !self.allows(bytes.len() as u64, offset) {
            return Err(WriteError::Unsaved { offset, length: bytes.len() });
        }
        self.ready()?;
        self.put(bytes, offset)
    }

    /// The check right before the first write: an error if the device is not the claimed one any more.
    pub fn ready(&self) -> Result<(), WriteError> {
        match self.before_first_write.get_or_init(|| change(self)) {
            None => Ok(()),
            Some(why) => Err(WriteError::Changed { why: why.clone() }),
        }
    }

    /// As [`Self::ready`], at any time.
    pub(crate) fn check_unchanged(&self) -> Result<(), WriteError> {
        change(self).map_or(Ok(()), |why| Err(WriteError::Changed { why }))
    }

    /// Checks regularly while a test writes, and before each range is restored; cheap while no file system, swap area
    /// or device of this machine has come or gone. Errors: another program uses the device, or its medium was changed.
    /// New, unused paths to its bytes are claimed too.
    pub fn still_free(&self) -> Result<(), WriteError> {
        self.same_medium()?;
        let is_as_before = self.recheck_log.replace(signs(self.roots()));
        let why = if is_as_before { None } else { visible_use_of(self) };
        self.recheck_log.count(!is_as_before, why.is_some());
        why.map_or(Ok(()), |why| {
            self.recheck_log.forget();
            Err(WriteError::InUse { why })
        })
    }

    pub fn rechecks(&self) -> Rechecks {
        self.recheck_log.rechecks()
    }
}

/// In which way the device is not the claimed one any more: the path, the descriptor and sysfs
/// must all still tell the same.
fn change(disk: &RawDisk) -> Option<String> {
    let (kernel, roots) = (disk.kernel(), disk.roots());
    let path = disk.request.path.display();
    let node = match kernel.resolve(&disk.request.path) {
        Ok(node) => node,
        Err(errno) => return Some(format!("{path} is gone: {}", io::Error::from(errno))),
    };
    let facts = match kernel.facts(disk.file()) {
        Ok(facts) => facts,
        Err(errno) => return Some(format!("{path} fails: {}", io::Error::from(errno))),
    };
    if node.number != facts.number {
        return Some(format!("{path} now leads to another device"));
    }
    match device_identity::read(roots, &node, &facts) {
        None => Some(format!("the kernel no longer knows {path}")),
        Some(mut now) => {
            let answer = identify_check::check(kernel, roots, disk.file(), &mut now);
            let checks = [device_identity::check(roots, &now), answer];
            let refused = checks.into_iter().find(|check| check.outcome == Outcome::Refused);
            let refused = refused.map(|check| check.evidence);
            device_identity::difference(disk.device(), &now).or(refused)
        }
    }
}

/// A hash that changes when something of this machine is put to use.
fn signs(roots: &Roots) -> u64 {
    let mut signs = DefaultHasher::new();
    for table in ["self/mountinfo", "swaps"] {
        std::fs::read(roots.proc.join(table)).ok().hash(&mut signs);
    }
    for name in list_dir(&roots.sys.join("block")) {
        let dir = roots.sys.join("block").join(&name);
        let loop_state =
            ["loop/backing_file", "loop/offset", "diskseq"].map(|it| read_text(dir.join(it)));
        (name, loop_state).hash(&mut signs);
    }
    exports::all(roots).hash(&mut signs);
    signs.finish()
}

/// Who uses a claimed device by now, or has written to it what is not on it: the claim holds, but it does not keep
/// others from loop devices that share bytes with the drive.
pub(crate) fn checks_of_use(disk: &RawDisk) -> Vec<Check> {
    let graph = BlockGraph::read(disk.roots());
    let footprint = graph.footprint(&disk.device().name);
    let mut checks = visible_uses(disk, &graph, &footprint);
    checks.extend(other_programs::check(disk.roots(), &footprint));
    checks.extend(flush::check(disk.kernel(), disk.roots(), &footprint));
    checks
}

/// Who uses a claimed device by now, programs that merely have it open aside.
pub(crate) fn visible_use_of(disk: &RawDisk) -> Option<String> {
    let graph = BlockGraph::read(disk.roots());
    let footprint = graph.footprint(&disk.device().name);
    reasons(&visible_uses(disk, &graph, &footprint))
}

fn visible_uses(disk: &RawDisk, graph: &BlockGraph, footprint: &Footprint) -> Vec<Check> {
    let mut checks = use_checks::check(graph, footprint, &[]);
    // Claimed aliases keep other users out; new ones are claimed here.
    let mut held = disk.aliases();
    let (found, claimed) = aliases::claim(disk.kernel(), graph, footprint, &held);
    held.extend(claimed);
    checks.extend(found);
    checks
}

/// Writes what others wrote by other devices to the drive, right before the originals of an area are read: others may
/// have written since the claim. Errors: what is not on the drive.
pub(crate) fn flush_others(disk: &RawDisk) -> Result<(), String> {
    let footprint = BlockGraph::read(disk.roots()).footprint(&disk.device().name);
    reasons(&flush::check(disk.kernel(), disk.roots(), &footprint)).map_or(Ok(()), Err)
}

/// Lets the kernel forget what anybody has read of the device or of what shares its bytes: whoever keeps one of
/// these open would go on to see patterns where the originals are back, and write them with the next few bytes.
pub(crate) fn drop_caches(disk: &RawDisk) {
    let footprint = BlockGraph::read(disk.roots()).footprint(&disk.device().name);
    for file in flush::cached_devices(disk.kernel(), disk.roots(), &footprint) {
        // A device that cannot be opened does not make the drive's contents invalid.
        let _ = evict(file.as_fd());
    }
}
