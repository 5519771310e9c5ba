//! Compares the drive's own answer to IDENTIFY with the kernel's record of it.
//!
//! IDENTIFY is the only command sent: it reads 4096 bytes of a controller (NVM Express Base Specification 2.0, section
//! 5.17.2.1) or 512 of an ATA drive (ACS-4, section 7.13), through SAT where SCSI lies between (SAT-4, section 12.2.2).
//! Some bridges fail on unknown commands, so only drives that udev identifies by default are asked
//! (60-persistent-storage.rules: vendor `ATA`, and disks on USB that are not removable).

use super::checks::{ok, refused, unknown};
use super::identify_command::{ATA_BYTES, IdentifyCommand, NVME_BYTES};
use super::kernel_calls::KernelCalls;
use drivescope_machine::ata;
use drivescope_machine::block_device::BlockDevice;
use drivescope_machine::roots::Roots;
use drivescope_model::gate::{Check, DeviceIdentity};
use rustix::io::Errno;
use std::fs::File;

/// Where an NVMe controller's names are in its answer, first and last byte: serial number and model.
const NVME_SERIAL: std::ops::Range<usize> = 4..24;
const NVME_MODEL: std::ops::Range<usize> = 24..64;
/// Last word of an ATA answer: this in the low byte says that the sum of all bytes is 0 (ACS-4, 7.13.7.90).
const ATA_CHECKED: u8 = 0xA5;
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct IdentifyAnswer {
    pub model: Option<String>,
    pub serial: Option<String>,
}

/// How the drive with this kernel name is asked; `None` for what does not answer, or should not be asked.
fn command_for(roots: &Roots, name: &str) -> Option<IdentifyCommand> {
    if name.starts_with("nvme") {
        return Some(IdentifyCommand::Nvme);
    }
    let device = BlockDevice::open(roots, name).filter(|_| name.starts_with("sd"))?;
    let is_on_usb = device.usb_device().is_some();
    if device.attr("device/vendor").as_deref() == Some("ATA") && !is_on_usb {
        return Some(IdentifyCommand::Ata);
    }
    let stays = device.attr("removable").as_deref() == Some("0");
    (is_on_usb && stays).then_some(IdentifyCommand::Bridge)
}

/// The answer in what was read; `None` if that is none.
fn parse(command: IdentifyCommand, bytes: &[u8]) -> Option<IdentifyAnswer> {
    let answer = match command {
        IdentifyCommand::Nvme => {
            let page = bytes.get(..NVME_BYTES)?;
            let (serial, model) = (ata::ascii(&page[NVME_SERIAL]), ata::ascii(&page[NVME_MODEL]));
            IdentifyAnswer { serial, model }
        }
        IdentifyCommand::Ata | IdentifyCommand::Bridge => {
            let page = bytes.get(..ATA_BYTES)?;
            let sum = page.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
            if page[ATA_BYTES - 2] == ATA_CHECKED && sum != 0 {
                return None;
            }
            let identify = ata::of_bytes(page)?;
            IdentifyAnswer { serial: identify.serial, model: identify.model }
        }
    };
    answer.serial.is_some().then_some(answer)
}

/// Asks the open drive and adds to `device` the serial number that the kernel does not show, or shows otherwise. The
/// check `answer` refuses a drive whose answer contradicts the kernel.
pub(super) fn check(
    kernel: &dyn KernelCalls,
    roots: &Roots,
    file: &File,
    device: &mut DeviceIdentity,
) -> Check {
    let disk = device.partition_of.clone().unwrap_or_else(|| device.name.clone());
    let node = roots.node(&disk);
    let show = format!("smartctl -i {node}; udevadm info {node}", node = node.display());
    let Some(command) = command_for(roots, &disk) else {
        let evidence = "only NVMe and ATA drives can be asked; the kernel's answer decides";
        return unknown("answer", evidence, &show);
    };
    let answer = match kernel.identify(file, command) {
        Ok(bytes) => parse(command, &bytes),
        Err(errno) => return no_answer(Some(errno), &show),
    };
    match answer {
        None => no_answer(None, &show),
        Some(answer) => judge(command, device, answer, &show),
    }
}

fn no_answer(why: Option<Errno>, show: &str) -> Check {
    let why = why.map(|errno| format!(" ({})", std::io::Error::from(errno))).unwrap_or_default();
    let evidence = format!("the drive does not answer IDENTIFY{why}; the kernel's answer decides");
    unknown("answer", evidence, show)
}

fn judge(
    command: IdentifyCommand,
    device: &mut DeviceIdentity,
    answer: IdentifyAnswer,
    show: &str,
) -> Check {
    fn said(one: &Option<String>) -> String {
        one.clone().unwrap_or_else(|| "nothing".to_string())
    }
    let IdentifyAnswer { model, serial } = answer;
    let evidence = format!("the drive reports model {}, serial {}", said(&model), said(&serial));
    let serials_differ = differs(&device.serial, &serial, |a, b| a == b);
    // SCSI cuts models, and names of vendors may stand before them.
    let models_differ = differs(&device.model, &model, |a, b| a.contains(b) || b.contains(a));
    if device.serial.is_none() {
        device.serial = serial;
    } else if serials_differ && command == IdentifyCommand::Bridge {
        device.own_serial = serial;
    }
    match command {
        _ if !serials_differ && !models_differ => ok("answer", evidence),
        IdentifyCommand::Bridge => {
            let bridge = "its bridge reports other names to the kernel";
            ok("answer", format!("{evidence}; {bridge}"))
        }
        IdentifyCommand::Nvme | IdentifyCommand::Ata => {
            let by_kernel =
                format!("model {}, serial {}", said(&device.model), said(&device.serial));
            refused("answer", format!("{evidence}, but the kernel reports {by_kernel}"), show)
        }
    }
}

/// Whether both have a value, and not the same; blanks do not count.
fn differs(
    kernel: &Option<String>,
    drive: &Option<String>,
    agree: impl Fn(&str, &str) -> bool,
) -> bool {
    let plain = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pair = kernel.as_ref().map(plain).zip(drive.as_ref().map(plain));
    pair.is_some_and(|(kernel, drive)| !agree(&kernel, &drive))
}

#[cfg(test)]
mod tests;
