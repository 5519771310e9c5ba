//! Whether the device still answers after a failed test: tests run only on one that does.

use super::Session;
use crate::error::BenchError;
use crate::io::device::IoDevice;
use crate::io::queue::{IoCompletion, IoOp, IoQueue, IoRequest, IoTask, QueueSpec};
use crate::loops::control::Control;
use drivescope_drive::ErrorKind;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::TestKind;
use drivescope_model::target::IoMode;
use std::io;
use std::sync::Arc;

/// Length of the trial reads, where the device has no larger sectors.
const BLOCK_BYTES: u32 = 4096;

impl Session<'_> {
    /// After a failed test: later tests are skipped if the device no longer answers, which is a finding.
    pub(crate) fn note_failure(&mut self, test: TestKind, error: &BenchError) -> Option<Finding> {
        let is_gone = error.kind(self.target.info().kind) == ErrorKind::Device
            && (error.is_of_a_device_gone() || !self.answers());
        is_gone.then(|| {
            let why = format!(
                "the device no longer answers since {test} failed; check its cable and power"
            );
            self.device_gone.get_or_insert(why);
            let evidence = format!("the device no longer answers since {test} failed");
            Finding::new(FindingId::DriveGone, evidence).about(test.name())
        })
    }

    /// Whether any of three blocks can be read: the first, the middle one and the last. Always, where no device is
    /// open, as in tests of files.
    fn answers(&self) -> bool {
        let of_model = self.target.simulated().map(|drive| {
            drive.idle_until(self.now_ns());
            IoDevice::simulated(Arc::clone(drive), IoMode::Direct)
        });
        let Some(device) = of_model.as_ref().or(self.storage.device.as_ref()) else { return true };
        let block = device.align_bytes().max(BLOCK_BYTES);
        let blocks = device.size_bytes() / u64::from(block);
        let places = [0, blocks / 2, blocks.saturating_sub(1)].map(|at| at * u64::from(block));
        let spec = QueueSpec { depth: 1, ahead: 1, block_bytes: block, dsync: false };
        let outcome = self.run_task(device, spec, &Control::default(), AskBlocks { places, block });
        // A run that is to end does not query the device.
        outcome.map_or(true, |(outcome, _)| outcome.output)
    }
}

struct AskBlocks {
    places: [u64; 3],
    block: u32,
}

impl IoTask for AskBlocks {
    type Output = bool;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<bool> {
        let mut done: Vec<IoCompletion> = Vec::with_capacity(queue.slots() as usize);
        for offset in self.places {
            let request = IoRequest { op: IoOp::Read, offset, len: self.block, slot: 0 };
            if queue.exchange(request, &mut done)?.is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::VirtualQueue;

    #[test]
    fn device_with_one_readable_block_answers() {
        fn ask() -> AskBlocks {
            AskBlocks { places: [0, 8192, 16384], block: 4096 }
        }
        let mut dead = VirtualQueue::new(2, 1, |_: &IoRequest, _| Err(libc::EIO));
        assert!(!ask().run(&mut dead).unwrap());
        assert_eq!(dead.served.len(), 3);
        let mut worn = VirtualQueue::new(2, 1, |request: &IoRequest, _| match request.offset {
            0 => Err(libc::EIO),
            _ => Ok(1_000),
        });
        assert!(ask().run(&mut worn).unwrap());
        assert_eq!(worn.served.len(), 2);
    }
}
