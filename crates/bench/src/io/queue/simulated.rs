//! A simulated drive in virtual time. It has buffers only if it keeps what is written: else no data move.

use super::buffers::Buffers;
use super::{IoCompletion, IoOp, IoQueue, IoRequest, QueueSpec};
use drivescope_drive::simulated::{Answer, SimulatedDrive};
use drivescope_model::target::IoMode;
use std::io;

pub struct SimulatedQueue<'d> {
    drive: &'d SimulatedDrive,
    mode: IoMode,
    slots: u32,
    /// A write completes in the cache or on the medium.
    write: IoOp,
    buffers: Option<Buffers>,
    answers: Vec<Answer>,
    now_ns: u64,
}

impl<'d> SimulatedQueue<'d> {
    /// Time stands still until it waits.
    pub fn new(drive: &'d SimulatedDrive, mode: IoMode, spec: QueueSpec) -> io::Result<Self> {
        let slots = spec.slots();
        let buffers = drive.keeps_contents();
        let buffers =
            buffers.then(|| Buffers::new(slots, spec.block_bytes as usize)).transpose()?;
        let answers = Vec::with_capacity(slots as usize);
        let write = if spec.dsync { IoOp::WriteThrough } else { IoOp::Write };
        drive.begin(slots);
        Ok(Self { drive, mode, slots, write, buffers, answers, now_ns: drive.now() })
    }

    /// Moves data as requests are sent: they take effect in the order of their arrival.
    fn move_data(&mut self, request: IoRequest) {
        let Some(buffers) = &mut self.buffers else { return };
        let data = &mut buffers.slice(request.slot)[..request.len as usize];
        match request.op {
            IoOp::Read => self.drive.fetch(request.offset, data),
            IoOp::Write | IoOp::WriteThrough => self.drive.store(request.offset, data),
            IoOp::Sync => {}
        }
    }
}

impl IoQueue for SimulatedQueue<'_> {
    fn slots(&self) -> u32 {
        self.slots
    }
    fn buffer(&mut self, slot: u16) -> &mut [u8] {
        self.buffers.as_mut().map_or(&mut [], |buffers| buffers.slice(slot))
    }
    fn submit(&mut self, request: IoRequest) {
        let op = if request.op == IoOp::Write { self.write } else { request.op };
        self.move_data(request);
        let IoRequest { offset, len, slot, .. } = request;
        self.drive.submit(self.mode, op, offset, len, slot.into());
    }
    fn kick(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        self.now_ns = self.drive.wait_until(at_ns, &mut self.answers);
        let completion = |(slot, result)| IoCompletion { slot: slot as u16, result };
        done.extend(self.answers.drain(..).map(completion));
        Ok(())
    }
    fn now(&self) -> u64 {
        self.now_ns
    }
}

impl Drop for SimulatedQueue<'_> {
    fn drop(&mut self) {
        self.drive.end();
    }
}
