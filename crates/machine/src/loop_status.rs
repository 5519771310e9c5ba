//! A loop device's record of its file (`LOOP_GET_STATUS64`): the file's name is not enough, because it may belong to
//! another mount namespace, or another file may have taken it.

use crate::roots::{Roots, open_to_read, split_dev};
use rustix::fs::OFlags;
use rustix::ioctl::{Getter, Opcode, ioctl};

/// `include/uapi/linux/loop.h` of the kernel.
const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// `struct loop_info64` of the same header.
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of linux/loop.h")]
pub struct LoopInfo64 {
    pub device: u64,
    pub inode: u64,
    pub rdevice: u64,
    pub offset: u64,
    pub size_limit: u64,
    pub number: u32,
    pub encrypt_type: u32,
    pub encrypt_key_size: u32,
    pub flags: u32,
    pub file_name: [u8; 64],
    pub crypt_name: [u8; 64],
    pub encrypt_key: [u8; 32],
    pub init: [u64; 2],
}

/// What lies below a loop device; any user who may open it can query this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopStatus {
    /// `st_dev` and `st_ino` of its file.
    pub file: (u64, u64),
    /// Number of the block device, when it lies straight on one.
    pub block_device: Option<(u32, u32)>,
}

impl LoopStatus {
    /// Of the loop device with this kernel name; `None` where its node is missing or may not be opened.
    #[expect(clippy::disallowed_methods, reason = "LOOP_GET_STATUS64 only asks")]
    pub fn of(roots: &Roots, name: &str) -> Option<Self> {
        let device = open_to_read(&roots.node(name), OFlags::empty()).ok()?;
        let number = split_dev(rustix::fs::fstat(&device).ok()?.st_rdev);
        if roots.block_number(name) != Some(number) {
            return None;
        }
        // SAFETY: LOOP_GET_STATUS64 fills one `loop_info64`, whose layout LoopInfo64 has; other devices
        // refuse it.
        let info =
            unsafe { ioctl(&device, Getter::<LOOP_GET_STATUS64, LoopInfo64>::new()) }.ok()?;
        let block_device = (info.rdevice != 0).then(|| split_dev(info.rdevice));
        Some(Self { file: (info.device, info.inode), block_device })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_kernels_layout() {
        assert_eq!(size_of::<LoopInfo64>(), 232);
        assert_eq!(std::mem::offset_of!(LoopInfo64, flags), 52);
    }
}
