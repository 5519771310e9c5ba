//! The two commands by which a drive is asked who it is. Both only read.

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::ffi::c_void;
use std::fs::File;

pub(super) const ATA_BYTES: usize = 512;
pub(super) const NVME_BYTES: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdentifyCommand {
    Nvme,
    /// IDENTIFY DEVICE, to a drive that the kernel itself asked when it was attached.
    Ata,
    /// The same through a USB bridge, which may report other names to the kernel.
    Bridge,
}

/// `NVME_IOCTL_ADMIN_CMD` of `include/uapi/linux/nvme_ioctl.h`, and the command Identify with the number
/// that asks for the controller (NVM Express Base Specification 2.0, figures 138 and 273).
const NVME_ADMIN: Opcode = opcode::read_write::<NvmeCommand>(b'N', 0x41);
const NVME_IDENTIFY: u8 = 0x06;
const NVME_CONTROLLER: u32 = 0x01;

/// `SG_IO` of `include/scsi/sg.h`, its way from the drive, and the bit of `info` for any trouble.
const SG_IO: Opcode = 0x2285;
const SG_FROM_DRIVE: libc::c_int = -3;
const SG_INFO_CHECK: u32 = 1;
/// ATA PASS-THROUGH (16) of SAT-4, section 12.2.2.3: protocol 4 is PIO Data-In; then the length is in
/// the count field, in blocks, from the device. The count is 1, the command IDENTIFY DEVICE (ACS-4, 7.13).
const ATA_IDENTIFY: [u8; 16] = [0x85, 4 << 1, 0x0E, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xEC, 0];

/// A drive that does not answer in this time is not waited for.
const TIMEOUT_MS: u32 = 5_000;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Debug, Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// `struct sg_io_hdr`.
#[repr(C)]
struct SgHeader {
    interface: libc::c_int,
    direction: libc::c_int,
    command_bytes: u8,
    sense_bytes_max: u8,
    pieces: u16,
    data_bytes: u32,
    data: *mut c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: libc::c_int,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_bytes: u8,
    host_status: u16,
    driver_status: u16,
    residual: libc::c_int,
    duration: u32,
    info: u32,
}

/// What the open drive answers.
/// Errors: the kernel's, when it does not pass the command on; `IO` when the drive does not take it.
pub(super) fn ask(file: &File, command: IdentifyCommand) -> Result<Vec<u8>, Errno> {
    match command {
        IdentifyCommand::Nvme => nvme(file),
        IdentifyCommand::Ata | IdentifyCommand::Bridge => ata(file),
    }
}

#[expect(clippy::disallowed_methods, reason = "Identify Controller only asks")]
fn nvme(file: &File) -> Result<Vec<u8>, Errno> {
    let mut page = vec![0u8; NVME_BYTES];
    let mut command = NvmeCommand {
        opcode: NVME_IDENTIFY,
        address: page.as_mut_ptr() as u64,
        data_bytes: NVME_BYTES as u32,
        words_10_15: [NVME_CONTROLLER, 0, 0, 0, 0, 0],
        timeout_ms: TIMEOUT_MS,
        ..NvmeCommand::default()
    };
    // SAFETY: the number belongs to this structure, and `page` has the announced length and outlives the
    // call. A status of the drive leaves the page as it is: zeros, which are no answer.
    unsafe { ioctl(file, Updater::<NVME_ADMIN, NvmeCommand>::new(&mut command))? };
    Ok(page)
}

#[expect(clippy::disallowed_methods, reason = "IDENTIFY DEVICE only asks")]
fn ata(file: &File) -> Result<Vec<u8>, Errno> {
    let mut page = vec![0u8; ATA_BYTES];
    let mut sense = [0u8; 32];
    let mut header = SgHeader {
        interface: libc::c_int::from(b'S'),
        direction: SG_FROM_DRIVE,
        command_bytes: ATA_IDENTIFY.len() as u8,
        sense_bytes_max: sense.len() as u8,
        pieces: 0,
        data_bytes: ATA_BYTES as u32,
        data: page.as_mut_ptr().cast(),
        command: ATA_IDENTIFY.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: TIMEOUT_MS,
        flags: 0,
        pack_id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_bytes: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: the number belongs to this structure, and all three buffers have the announced lengths and
    // outlive the call.
    unsafe { ioctl(file, Updater::<SG_IO, SgHeader>::new(&mut header))? };
    if header.info & SG_INFO_CHECK != 0 || header.residual != 0 {
        return Err(Errno::IO);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and places as the kernel's headers have them on machines of 64 bits.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn structures_are_laid_out_as_in_the_headers() {
        use std::mem::{offset_of, size_of};
        assert_eq!(size_of::<NvmeCommand>(), 72);
        assert_eq!(offset_of!(NvmeCommand, address), 24);
        assert_eq!(offset_of!(NvmeCommand, words_10_15), 40);
        assert_eq!(NVME_ADMIN, 0xC048_4E41);
        assert_eq!(size_of::<SgHeader>(), 88);
        assert_eq!(offset_of!(SgHeader, data), 16);
        assert_eq!(offset_of!(SgHeader, timeout_ms), 40);
        assert_eq!(offset_of!(SgHeader, info), 80);
    }

    #[test]
    fn the_commands_only_read() {
        assert_eq!(ATA_IDENTIFY[0] & 0xE0, 0x80, "a command of 16 bytes");
        assert_eq!(ATA_IDENTIFY[14], 0xEC, "IDENTIFY DEVICE");
        assert_eq!(ATA_IDENTIFY[2] & 0x08, 0x08, "from the device");
        assert_eq!(NVME_IDENTIFY & 3, 2, "data go from the controller to the host");
    }

    #[test]
    fn a_file_is_no_drive() {
        let file = tempfile::tempfile().unwrap();
        for command in [IdentifyCommand::Nvme, IdentifyCommand::Ata] {
            assert_eq!(ask(&file, command), Err(Errno::NOTTY));
        }
    }
}
