//! Memory for direct I/O.

use std::ops::{Deref, DerefMut};

/// The strictest alignment that any driver asks for.
const ALIGN_BYTES: usize = 4096;

/// Zeros at first; they begin at a multiple of 4096.
pub(crate) struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    pub(crate) fn new(len: usize) -> Self {
        let bytes = vec![0; len + ALIGN_BYTES];
        let start = bytes.as_ptr().align_offset(ALIGN_BYTES);
        assert!(start < ALIGN_BYTES, "bytes can be aligned to anything");
        Self { bytes, start, len }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_all_there() {
        for len in [0, 1, 4096, 1 << 20] {
            let mut aligned = AlignedBuffer::new(len);
            assert_eq!(aligned.len(), len);
            assert_eq!(aligned.as_ptr().align_offset(ALIGN_BYTES), 0);
            aligned.fill(7);
        }
    }
}
