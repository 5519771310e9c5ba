//! A simulated drive in virtual time. It moves no data, so it has no buffers.

use super::{Completion, Op, Queue, QueueSpec, Request};
use drivescope_drive::simulated::{Answer, SimOp, SimulatedDrive, Worker};
use std::io;

/// One loop's side of a simulated drive.
pub struct SimulatedQueue<'d> {
    drive: &'d SimulatedDrive,
    worker: Worker,
    slots: u16,
    /// What a write is: done in the cache, or on the medium.
    write: SimOp,
    answers: Vec<Answer>,
}

impl<'d> SimulatedQueue<'d> {
    /// A queue; time stands still until it waits.
    pub fn new(drive: &'d SimulatedDrive, spec: QueueSpec) -> Self {
        let slots = spec.slots();
        let answers = Vec::with_capacity(usize::from(slots));
        let write = if spec.dsync { SimOp::WriteThrough } else { SimOp::Write };
        Self { drive, worker: drive.register(slots), slots, write, answers }
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
            Op::Write => self.write,
            Op::Sync => SimOp::Sync,
        };
        self.drive.submit(self.worker, op, request.offset, request.len, request.slot);
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
