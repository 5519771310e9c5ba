//! A drive of any kind, as one type.

use crate::device::{Heat, Nanos, SimCompletion, SimDevice, SimRequest};
use crate::hdd::HardDisk;
use crate::ssd::Ssd;

#[derive(Debug, Clone)]
pub enum Medium {
    Hdd(Box<HardDisk>),
    Ssd(Box<Ssd>),
}

macro_rules! of_either {
    ($self:ident, $drive:ident => $call:expr) => {
        match $self {
            Medium::Hdd($drive) => $call,
            Medium::Ssd($drive) => $call,
        }
    };
}

impl SimDevice for Medium {
    fn heat(&self) -> Option<Heat> {
        of_either!(self, drive => drive.heat())
    }
    fn live_bytes(&self) -> Option<u64> {
        of_either!(self, drive => drive.live_bytes())
    }
    fn capacity_bytes(&self) -> u64 {
        of_either!(self, drive => drive.capacity_bytes())
    }
    fn sector_bytes(&self) -> u32 {
        of_either!(self, drive => drive.sector_bytes())
    }
    fn submit(&mut self, now: Nanos, request: SimRequest) {
        of_either!(self, drive => drive.submit(now, request));
    }
    fn next_completion(&mut self) -> Option<Nanos> {
        of_either!(self, drive => drive.next_completion())
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        of_either!(self, drive => drive.advance(to, done));
    }
}
