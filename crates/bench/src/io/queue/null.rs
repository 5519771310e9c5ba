//! A target that answers at once and moves nothing: what remains is the tool's own cost.

use super::{IoCompletion, IoQueue, IoRequest, QueueSpec};
use crate::io::clock;
use std::io;

#[derive(Debug)]
pub struct NullQueue {
    slots: u32,
    flying: Vec<IoCompletion>,
}

impl NullQueue {
    pub fn new(spec: QueueSpec) -> Self {
        Self { slots: spec.slots(), flying: Vec::with_capacity(spec.slots() as usize) }
    }
}

impl IoQueue for NullQueue {
    fn slots(&self) -> u32 {
        self.slots
    }
    fn buffer(&mut self, _slot: u16) -> &mut [u8] {
        &mut []
    }
    fn submit(&mut self, request: IoRequest) {
        self.flying.push(IoCompletion { slot: request.slot, result: request.len as i32 });
    }
    fn kick(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        while self.flying.is_empty() && clock::now_ns() < at_ns {
            std::hint::spin_loop();
        }
        done.append(&mut self.flying);
        Ok(())
    }
    fn now(&self) -> u64 {
        clock::now_ns()
    }
}
