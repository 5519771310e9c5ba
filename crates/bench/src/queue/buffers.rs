//! Page-aligned, populated buffers, one per slot.

use rustix::mm::{MapFlags, ProtFlags};
use std::io;

/// Alignment of every buffer: a page, which satisfies all drivers.
const ALIGN: usize = 4096;

/// One mapping cut into equal buffers.
#[derive(Debug)]
pub struct Buffers {
    base: *mut u8,
    stride: usize,
    len: usize,
    slots: u16,
}

// SAFETY: the mapping belongs to this value alone; moving it to another thread moves the ownership.
unsafe impl Send for Buffers {}

impl Buffers {
    /// `slots` buffers of `len` bytes each, already backed by memory so that no page fault is measured.
    pub fn new(slots: u16, len: usize) -> io::Result<Self> {
        let stride = len.max(1).next_multiple_of(ALIGN);
        // SAFETY: a new private mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                stride * usize::from(slots),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )
        }?;
        Ok(Self { base: base.cast(), stride, len, slots })
    }

    /// Number of buffers.
    pub fn slots(&self) -> u16 {
        self.slots
    }

    /// Length of each.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Address of a buffer.
    pub fn pointer(&self, slot: u16) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: slot < slots, so the offset lies within the mapping.
        unsafe { self.base.add(self.stride * usize::from(slot)) }
    }

    /// The buffer as a slice; the caller's exclusive borrow stands for "not in flight".
    pub fn slice(&mut self, slot: u16) -> &mut [u8] {
        // SAFETY: `pointer` checks the slot; a buffer is `len` ≤ stride bytes and buffers are disjoint.
        // The queue lends a slot only while no request on it is in flight.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(slot), self.len) }
    }

    /// All buffers, for registration with the kernel.
    pub fn iovecs(&self) -> Vec<libc::iovec> {
        (0..self.slots)
            .map(|slot| libc::iovec { iov_base: self.pointer(slot).cast(), iov_len: self.len })
            .collect()
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped; queues drain before they drop their buffers.
        let _ =
            unsafe { rustix::mm::munmap(self.base.cast(), self.stride * usize::from(self.slots)) };
    }
}
