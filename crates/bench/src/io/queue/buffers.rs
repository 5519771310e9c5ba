//! Page-aligned, populated buffers, one per slot.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise};
use std::io;

/// Alignment of every buffer: a page, which satisfies all drivers.
const ALIGN: usize = 4096;

/// Huge page of x86-64 and of arm64 with 4 KiB pages. Elsewhere the alignment is merely generous.
const HUGE: usize = 2 << 20;

/// One mapping cut into equal buffers.
///
/// Large requests lie in huge pages where the kernel gives them: a request of 1 MiB is then one
/// segment instead of 256, and the cost of describing it to the drive is not measured with it.
#[derive(Debug)]
pub struct Buffers {
    map: *mut u8,
    map_len: usize,
    base: *mut u8,
    stride: usize,
    len: usize,
    slots: u32,
}

// SAFETY: the mapping belongs to this value alone; moving it to another thread moves the ownership.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Already backed by memory, so that no page fault is measured.
    pub fn new(slots: u32, len: usize) -> io::Result<Self> {
        let stride = len.max(1).next_multiple_of(ALIGN);
        let wanted = stride * slots as usize;
        let huge = wanted >= HUGE / 2;
        let map_len = if huge { wanted.next_multiple_of(HUGE) + HUGE } else { wanted };
        // SAFETY: a new private mapping at an address of the kernel's choice aliases nothing.
        let map = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                map_len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let map: *mut u8 = map.cast();
        let skip = if huge { map.align_offset(HUGE) } else { 0 };
        // SAFETY: the mapping is one huge page longer than wanted, so `skip` stays within it.
        let base = unsafe { map.add(skip) };
        let buffers = Self { map, map_len, base, stride, len, slots };
        if huge {
            // SAFETY: advice on our own fresh mapping. A kernel without huge pages refuses it: then the
            // buffers are in small pages, which is slower and nothing else.
            let _ = unsafe {
                madvise(base.cast(), wanted.next_multiple_of(HUGE), Advice::LinuxHugepage)
            };
        }
        buffers.touch(wanted);
        Ok(buffers)
    }

    fn touch(&self, len: usize) {
        for offset in (0..len).step_by(ALIGN) {
            // SAFETY: the offset lies within the mapping, which no other code knows yet.
            unsafe { self.base.add(offset).write_volatile(0) };
        }
    }

    pub fn slots(&self) -> u32 {
        self.slots
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn pointer(&self, slot: u16) -> *mut u8 {
        assert!(u32::from(slot) < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: slot < slots, so the offset lies within the mapping.
        unsafe { self.base.add(self.stride * usize::from(slot)) }
    }

    /// The caller's exclusive borrow stands for "not in flight".
    pub fn slice(&mut self, slot: u16) -> &mut [u8] {
        // SAFETY: `pointer` checks the slot; a buffer is `len` ≤ stride bytes and buffers are disjoint.
        // The queue lends a slot only while no request on it is in flight.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(slot), self.len) }
    }

    pub fn iovecs(&self) -> Vec<libc::iovec> {
        (0..self.slots as u16)
            .map(|slot| libc::iovec { iov_base: self.pointer(slot).cast(), iov_len: self.len })
            .collect()
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped; queues drain before they drop their buffers.
        let _ = unsafe { rustix::mm::munmap(self.map.cast(), self.map_len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buffers_are_aligned_disjoint_and_writable(slots in 1u32..20, len in 1usize..300_000) {
            let mut buffers = Buffers::new(slots, len).unwrap();
            for slot in 0..slots as u16 {
                prop_assert_eq!(buffers.pointer(slot) as usize % ALIGN, 0);
                buffers.slice(slot).fill(slot as u8);
            }
            for slot in 0..slots as u16 {
                prop_assert!(buffers.slice(slot).iter().all(|&byte| byte == slot as u8));
            }
            prop_assert_eq!(buffers.iovecs().len(), slots as usize);
        }
    }
}
