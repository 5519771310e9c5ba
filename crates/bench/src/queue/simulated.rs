//! A simulated drive in virtual time. It moves no data, so it has no buffers.

use super::{Completion, Op, Queue, QueueSpec, Request};
use drivescope_drive::simulated::{Answer, SimOp, SimulatedDrive, Worker};
use drivescope_model::target::IoMode;
use std::io;

/// One loop's side of a simulated drive.
pub struct SimulatedQueue<'d> {
    drive: &'d SimulatedDrive,
    mode: IoMode,
    worker: Worker,
    slots: u16,
    answers: Vec<Answer>,
}

impl<'d> SimulatedQueue<'d> {
    /// A queue whose requests go through the host's page cache or past it; time stands still until it waits.
    pub fn new(drive: &'d SimulatedDrive, mode: IoMode, spec: QueueSpec) -> Self {
        let slots = spec.slots();
        let answers = Vec::with_capacity(usize::from(slots));
        Self { drive, mode, worker: drive.register(slots), slots, answers }
    }
}

impl Queue for SimulatedQueue<'_> {
    fn slots(&self) -> u16 {
        self.slots
    }
    fn buffer(&mut self, _slot: u16) -> &mut [u8] {
        &mut []
    }
    fn submit(&mut self, request: Request) {
        let op = match request.op {
            Op::Read => SimOp::Read,
            Op::Write => SimOp::Write,
            Op::Sync => SimOp::Sync,
        };
        let Request { offset, len, slot, .. } = request;
        self.drive.submit(self.worker, self.mode, op, offset, len, slot);
    }
    fn kick(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn wait(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        self.wait_until(u64::MAX, done)
    }
    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<Completion>) -> io::Result<()> {
        self.drive.wait_until(self.worker, at_ns, &mut self.answers);
        done.extend(self.answers.drain(..).map(|(slot, result)| Completion { slot, result }));
        Ok(())
    }
    fn now(&self) -> u64 {
        self.drive.now()
    }
}

impl Drop for SimulatedQueue<'_> {
    fn drop(&mut self) {
        self.drive.unregister(self.worker);
    }
}
