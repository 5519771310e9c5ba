//! Checks a claimed device about every second while tests write to it: whether another program uses it.

use super::Session;
use crate::error::BenchError;
use crate::io::clock;
use crate::io::device::IoDevice;
use drivescope_drive::gate::{RawDisk, Rechecks, WriteError};
use drivescope_model::plan::WriteLevel;
use std::cell::{Cell, RefCell};

/// Each takes a few milliseconds of a thread that only waits.
const RECHECK_EVERY_NS: u64 = 1_000_000_000;

#[derive(Default)]
pub(super) struct ClaimRecheck {
    next_ns: Cell<u64>,
    refused: RefCell<Option<WriteError>>,
}

impl Session<'_> {
    /// Whether the test may continue to write, as far as the last check shows.
    pub(super) fn claim_holds(&self) -> bool {
        if self.storage.recheck.refused.borrow().is_some() {
            return false;
        }
        let disk = self.storage.device.as_ref().and_then(IoDevice::claim);
        let Some(disk) = disk.filter(|_| self.writes() >= WriteLevel::SameBytes) else {
            return true;
        };
        let now = clock::now_ns();
        if now < self.storage.recheck.next_ns.get() {
            return true;
        }
        self.storage.recheck.next_ns.set(now + RECHECK_EVERY_NS);
        *self.storage.recheck.refused.borrow_mut() = disk.still_free().err();
        self.storage.recheck.refused.borrow().is_none()
    }

    /// Since the device was claimed; none where it is only read.
    pub fn rechecks(&self) -> Option<Rechecks> {
        let of_device = self.storage.device.as_ref().and_then(IoDevice::claim);
        of_device.or(self.storage.claim.as_ref()).map(RawDisk::rechecks)
    }

    pub(super) fn check_claim(&self) -> Result<(), BenchError> {
        self.claim_holds();
        let refused = self.storage.recheck.refused.borrow_mut().take();
        refused.map_or(Ok(()), |why| {
            // The next call checks at once.
            self.storage.recheck.next_ns.set(0);
            Err(why.into())
        })
    }
}
