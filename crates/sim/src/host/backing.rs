//! What the page cache needs to know of what is under it: where objects (files, or a whole drive) end.

use crate::device::{Nanos, SimCompletion, SimDevice, SimRequest};

/// A device whose addresses belong to objects. Read-ahead stays inside an object and keeps one state for
/// each.
pub trait CacheBacking: SimDevice {
    /// First byte and end of the data of the object that holds an address.
    fn object(&self, offset: u64) -> (u64, u64);

    /// Whether the page at this address has contents that a partial write must read first. Pages beyond a
    /// file's end and holes have none.
    fn holds_data(&self, offset: u64) -> bool;
}

/// A whole drive as one object, as the kernel's cache of a block device sees it.
#[derive(Debug, Clone)]
pub struct RawDevice<D>(pub D);

impl<D: SimDevice> SimDevice for RawDevice<D> {
    fn capacity_bytes(&self) -> u64 {
        self.0.capacity_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        self.0.sector_bytes()
    }

    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.0.submit(now, request);
    }

    fn next_completion(&mut self) -> Option<Nanos> {
        self.0.next_completion()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        self.0.advance(to, done);
    }
}

impl<D: SimDevice> CacheBacking for RawDevice<D> {
    fn object(&self, _offset: u64) -> (u64, u64) {
        (0, self.0.capacity_bytes())
    }

    fn holds_data(&self, _offset: u64) -> bool {
        true
    }
}
