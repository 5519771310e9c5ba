//! A drive of any kind, as one type.

use crate::device::{Completion, Device, Heat, Nanos, Request};
use crate::hdd::HardDisk;
use crate::passes::{Kind, Order, Passes, Way};
use crate::ssd::Ssd;

/// A drive of any kind.
#[derive(Debug, Clone)]
pub enum Drive {
    /// Rotating disk.
    Hdd(Box<HardDisk>),
    /// Flash.
    Ssd(Box<Ssd>),
}

macro_rules! of_either {
    ($self:ident, $drive:ident => $call:expr) => {
        match $self {
            Drive::Hdd($drive) => $call,
            Drive::Ssd($drive) => $call,
        }
    };
}

impl Device for Drive {
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
    fn submit(&mut self, now: Nanos, request: Request) {
        of_either!(self, drive => drive.submit(now, request));
    }
    fn next_completion(&mut self) -> Option<Nanos> {
        of_either!(self, drive => drive.next_completion())
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        of_either!(self, drive => drive.advance(to, done));
    }
}

const ASKED: &str = "it was asked which kind it is";

impl Drive {
    fn disk(&self) -> &HardDisk {
        match self {
            Self::Hdd(disk) => disk,
            Self::Ssd(_) => unreachable!("{ASKED}"),
        }
    }

    fn disk_mut(&mut self) -> &mut HardDisk {
        match self {
            Self::Hdd(disk) => disk,
            Self::Ssd(_) => unreachable!("{ASKED}"),
        }
    }

    fn ssd(&self) -> &Ssd {
        match self {
            Self::Ssd(ssd) => ssd,
            Self::Hdd(_) => unreachable!("{ASKED}"),
        }
    }

    fn ssd_mut(&mut self) -> &mut Ssd {
        match self {
            Self::Ssd(ssd) => ssd,
            Self::Hdd(_) => unreachable!("{ASKED}"),
        }
    }
}

impl Way for Drive {
    type Drive = Self;

    fn drive(&self) -> &Self {
        self
    }

    fn drive_mut(&mut self) -> &mut Self {
        self
    }
}

impl Passes for Drive {
    fn pass<W: Way<Drive = Self>>(way: &mut W, now: Nanos, order: Order) -> Option<Nanos> {
        if matches!(way.drive(), Self::Hdd(_)) {
            let mut kind = Kind { way, of: Self::disk, of_mut: Self::disk_mut };
            return HardDisk::pass(&mut kind, now, order);
        }
        Ssd::pass(&mut Kind { way, of: Self::ssd, of_mut: Self::ssd_mut }, now, order)
    }
}
