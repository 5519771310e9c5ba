//! IDENTIFY DEVICE: what an ATA drive says of itself (ATA Command Set, ACS-4, section 7.13).

use crate::block_device::{BlockDevice, numbered};
use crate::roots::{file_name, read_text};
use drivescope_model::drive::Zoned;
use std::fs;
use std::path::PathBuf;

/// Words of IDENTIFY DEVICE data.
pub(super) const WORDS: usize = 256;

/// Where the data begins in VPD page 89h (SAT-4, ATA Information).
const VPD_89_IDENTIFY_OFFSET: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identify {
    /// Model in full; SCSI cuts it to 16 characters.
    pub model: Option<String>,
    pub serial: Option<String>,
    /// Firmware in full; SCSI cuts it to 4 characters.
    pub firmware: Option<String>,
    /// Rotation: `Some(0)` for no rotation, else revolutions per minute.
    pub rpm: Option<u32>,
    pub zoned: Option<Zoned>,
    /// Fastest SATA generation it supports: 1, 2 or 3.
    pub sata_generation: Option<u32>,
    /// Level of advanced power management; 0: switched off.
    pub apm_level: Option<u32>,
}

/// Where libata shows a drive: names in `/sys/class/ata_link` and `/sys/class/ata_device`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtaPlace {
    pub link: PathBuf,
    pub device: PathBuf,
}

/// The place of a drive on a port of libata; `None` for other drives.
///
/// A drive on a port has SCSI address `H:0:ID:0`, link `linkN` and device `devN.ID`; behind a port
/// multiplier it has `H:PORT:0:0`, `linkN.PORT` and `devN.PORT.0`.
pub fn place(device: &BlockDevice) -> Option<AtaPlace> {
    let port_dir = device.ancestor(|name| numbered(name, "ata").is_some())?;
    let port = numbered(&file_name(port_dir)?, "ata")?;
    let (channel, id) = device
        .ancestors()
        .filter_map(|dir| scsi_channel_and_id(dir.file_name()?.to_str()?))
        .next()
        .unwrap_or((0, 0));
    let class = device.roots.sys.join("class");
    let behind = class.join(format!("ata_link/link{port}.{channel}"));
    Some(if behind.exists() {
        let device = class.join(format!("ata_device/dev{port}.{channel}.0"));
        AtaPlace { link: behind, device }
    } else {
        AtaPlace {
            link: class.join(format!("ata_link/link{port}")),
            device: class.join(format!("ata_device/dev{port}.{id}")),
        }
    })
}

/// Identification of a drive: from libata, or from a SAS adapter that passes it on as a VPD page.
pub fn identify(device: &BlockDevice) -> Option<Identify> {
    let libata = place(device).and_then(|place| read_text(place.device.join("id")));
    libata
        .and_then(|text| words_of_text(&text))
        .or_else(|| {
            let page = fs::read(device.dir.join("device/vpd_pg89")).ok()?;
            words_of_bytes(page.get(VPD_89_IDENTIFY_OFFSET..)?)
        })
        .map(|words| parse(&words))
}

pub fn of_bytes(bytes: &[u8]) -> Option<Identify> {
    words_of_bytes(bytes).map(|words| parse(&words))
}

/// `2:0:1:0` as channel 0 and id 1.
fn scsi_channel_and_id(name: &str) -> Option<(u32, u32)> {
    let parts: Vec<u32> = name.split(':').map(|p| p.parse().ok()).collect::<Option<_>>()?;
    match parts.as_slice() {
        [_, channel, id, _] => Some((*channel, *id)),
        _ => None,
    }
}

/// Words as libata prints them: four hexadecimal digits each.
fn words_of_text(text: &str) -> Option<[u16; WORDS]> {
    let words: Vec<u16> = text
        .split_whitespace()
        .map(|word| u16::from_str_radix(word, 16).ok())
        .collect::<Option<_>>()?;
    words.try_into().ok()
}

/// Words as the drive sends them: little-endian.
fn words_of_bytes(bytes: &[u8]) -> Option<[u16; WORDS]> {
    let bytes = bytes.get(..2 * WORDS)?;
    let words: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
    words.try_into().ok()
}

fn parse(words: &[u16; WORDS]) -> Identify {
    Identify {
        serial: text(&words[10..20]),
        firmware: text(&words[23..27]),
        model: text(&words[27..47]),
        rpm: rotation(words[217]),
        // ZONED field of Additional Supported.
        zoned: zoned_field(words[69] & 0b11),
        // Bits 1 to 3 are the three generations; 0000h and FFFFh mean no serial ATA.
        sata_generation: match words[76] {
            0 | 0xFFFF => None,
            capabilities => (1..=3).rev().find(|generation| capabilities >> generation & 1 == 1),
        },
        // Bit 3 of words 83 and 86: supported, enabled. Bits 15:14 of word 83 are 01b where it is valid.
        apm_level: (words[83] >> 14 == 0b01 && words[83] & 1 << 3 != 0)
            .then(|| if words[86] & 1 << 3 != 0 { u32::from(words[91] & 0xFF) } else { 0 }),
    }
}

/// Nominal media rotation rate, the same in ATA (word 217) and SCSI (VPD page B1h, SBC-4): 1 is solid state, 0401h
/// to FFFEh are revolutions per minute.
pub(crate) fn rotation(rate: u16) -> Option<u32> {
    match rate {
        1 => Some(0),
        rpm @ 0x0401..=0xFFFE => Some(u32::from(rpm)),
        _ => None,
    }
}

/// The ZONED field, the same in ATA (word 69) and SCSI (VPD page B1h, SBC-4). Host-managed disks have another device
/// type instead, which the kernel reports.
pub(crate) fn zoned_field(bits: u16) -> Option<Zoned> {
    match bits {
        0b01 => Some(Zoned::HostAware),
        0b10 => Some(Zoned::DriveManaged),
        _ => None,
    }
}

/// An ATA string: two characters in each word, the first in its high byte, padded with spaces.
fn text(words: &[u16]) -> Option<String> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    ascii(&bytes)
}

/// ASCII, padded with spaces; `None` if nothing else is in it.
pub fn ascii(bytes: &[u8]) -> Option<String> {
    let printable = bytes.iter().filter(|b| b.is_ascii_graphic() || **b == b' ');
    let text: String = printable.map(|b| *b as char).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ata_image::{text_of, words};
    use crate::roots::fake::Fake;
    use proptest::prelude::*;

    fn expected() -> Identify {
        Identify {
            model: Some("IMAGINED DISK 2000 GB".into()),
            serial: Some("WD-TEST123456".into()),
            firmware: Some("01.01A01".into()),
            rpm: Some(5400),
            zoned: None,
            sata_generation: Some(3),
            apm_level: None,
        }
    }

    #[test]
    fn strings_rotation_and_generation_are_read() {
        let words = words("IMAGINED DISK 2000 GB", "  WD-TEST123456", 5400, 0b1110);
        assert_eq!(parse(&words_of_text(&text_of(&words)).unwrap()), expected());
    }

    #[test]
    fn values_without_meaning_are_none() {
        for (rpm, sata, expected) in [
            (0, 0, (None, None)),
            (1, 0b0110, (Some(0), Some(2))),
            (0x400, 0b0010, (None, Some(1))),
            (0xFFFF, 0xFFFF, (None, None)),
        ] {
            let found = parse(&words("", "", rpm, sata));
            assert_eq!((found.rpm, found.sata_generation), expected, "{rpm} {sata}");
            assert_eq!(found.model, None);
        }
    }

    #[test]
    fn power_management_level_counts_while_enabled() {
        for (supported, enabled, level, expected) in [
            (0x4008, 0x0008, 0x40FE, Some(0xFE)),
            (0x4008, 0x0000, 0x00FE, Some(0)),
            (0x4000, 0x0008, 0x00FE, None),
            (0xFFFF, 0xFFFF, 0xFFFF, None),
        ] {
            let mut words = words("", "", 5400, 0);
            (words[83], words[86], words[91]) = (supported, enabled, level);
            assert_eq!(parse(&words).apm_level, expected, "{supported:x} {enabled:x}");
        }
    }

    #[test]
    fn shingled_disks_may_say_so() {
        let drive_managed = Some(Zoned::DriveManaged);
        for (bits, expected) in
            [(0, None), (1, Some(Zoned::HostAware)), (2, drive_managed), (3, None)]
        {
            let mut words = words("", "", 5400, 0);
            words[69] = 0x0300 | bits;
            assert_eq!(parse(&words).zoned, expected, "{bits}");
        }
    }

    #[test]
    fn a_sas_adapter_passes_the_same_on() {
        let fake = Fake::new();
        let place = "pci0000:00/host0/target0:0:3/0:0:3:0/block/sda";
        fake.scsi_disk(place, (8, 0), 1 << 30);
        let mut page = vec![0u8; VPD_89_IDENTIFY_OFFSET];
        for word in words("IMAGINED DISK 2000 GB", "  WD-TEST123456", 5400, 0b1110) {
            page.extend(word.to_le_bytes());
        }
        fake.file("sys/devices/pci0000:00/host0/target0:0:3/0:0:3:0/vpd_pg89", &page);
        let device = BlockDevice::open(&fake.roots, "sda").unwrap();
        assert_eq!(super::place(&device), None);
        assert_eq!(identify(&device), Some(expected()));
    }

    #[test]
    fn port_multiplier_has_a_link_per_port() {
        let fake = Fake::new();
        fake.scsi_disk("pci0000:00/ata5/host4/target4:2:0/4:2:0:0/block/sdc", (8, 32), 1 << 30);
        let device = BlockDevice::open(&fake.roots, "sdc").unwrap();
        let direct = super::place(&device).unwrap();
        assert!(direct.link.ends_with("ata_link/link5"));
        assert!(direct.device.ends_with("ata_device/dev5.0"));
        fake.file("sys/class/ata_link/link5.2/sata_spd", "3.0 Gbps");
        let behind = super::place(&device).unwrap();
        assert!(behind.link.ends_with("ata_link/link5.2"));
        assert!(behind.device.ends_with("ata_device/dev5.2.0"));
    }

    proptest! {
        #[test]
        fn any_data_is_taken(bytes in proptest::collection::vec(any::<u8>(), 500..520), text in "[0-9a-g ]{0,40}") {
            if let Some(words) = words_of_bytes(&bytes) {
                let _ = parse(&words);
            }
            prop_assert!(words_of_text(&text).is_none());
        }
    }
}
