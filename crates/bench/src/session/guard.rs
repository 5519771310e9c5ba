//! Looks at a claimed device now and then while tests write to it: whether it still is nobody else's.

use super::Session;
use crate::clock;
use crate::device::Device;
use crate::error::BenchError;
use drivescope_drive::gate::{Looks, RawDisk, WriteError};
use drivescope_model::plan::WriteLevel;
use std::cell::{Cell, RefCell};

/// Between two looks, which take a few milliseconds of a thread that only waits.
const LOOK_EVERY_NS: u64 = 1_000_000_000;

/// When the last look was, and what it found.
#[derive(Default)]
pub(super) struct Guard {
    next_ns: Cell<u64>,
    refused: RefCell<Option<WriteError>>,
}

impl Session<'_> {
    /// Whether the test may go on writing, as far as the last look tells.
    pub(super) fn may_go_on(&self) -> bool {
        if self.guard.refused.borrow().is_some() {
            return false;
        }
        let disk = self.device.as_ref().and_then(Device::claim);
        let Some(disk) = disk.filter(|_| self.writes() >= WriteLevel::SameBytes) else {
            return true;
        };
        let now = clock::now_ns();
        if now < self.guard.next_ns.get() {
            return true;
        }
        self.guard.next_ns.set(now + LOOK_EVERY_NS);
        let looked = disk.still_free();
        *self.guard.refused.borrow_mut() = looked.err();
        self.guard.refused.borrow().is_none()
    }

    /// The looks since the device was claimed; none where it is only read.
    pub fn looks(&self) -> Option<Looks> {
        let of_device = self.device.as_ref().and_then(Device::claim);
        of_device.or(self.claim.as_ref()).map(RawDisk::looks)
    }

    /// Ends the test if it may not go on.
    pub(super) fn check_guard(&self) -> Result<(), BenchError> {
        self.may_go_on();
        let refused = self.guard.refused.borrow_mut().take();
        refused.map_or(Ok(()), |why| {
            // Whoever asks once more gets the same answer.
            self.guard.next_ns.set(0);
            Err(why.into())
        })
    }
}
