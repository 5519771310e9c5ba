//! Answers as the specifications lay them out, and what is made of them.

use super::IdentifyCommand::{Ata, Bridge, Nvme};
use super::*;
use drivescope_machine::ata_image::bytes as ata_image;
use drivescope_machine::roots::fake::Fake;
use drivescope_model::gate::Outcome;
use proptest::prelude::*;

/// Identify Controller data (NVM Express Base Specification 2.0, figure 275): VID, SSVID, SN, MN, FR.
fn nvme(serial: &str, model: &str) -> Vec<u8> {
    let mut page = vec![0u8; NVME_BYTES];
    page[0..4].copy_from_slice(&[0x4d, 0x14, 0x4d, 0x14]);
    page[4..24].copy_from_slice(format!("{serial:<20}").as_bytes());
    page[24..64].copy_from_slice(format!("{model:<40}").as_bytes());
    page[64..72].copy_from_slice(b"2B2QEXM7");
    page
}

/// The same data with the checksum of word 255 set.
fn checked(mut page: Vec<u8>) -> Vec<u8> {
    page[ATA_BYTES - 2] = ATA_CHECKED;
    page[ATA_BYTES - 1] = 0;
    let sum = page.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    page[ATA_BYTES - 1] = sum.wrapping_neg();
    page
}

fn answer(serial: &str, model: &str) -> Option<IdentifyAnswer> {
    Some(IdentifyAnswer { model: Some(model.into()), serial: Some(serial.into()) })
}

fn device(model: Option<&str>, serial: Option<&str>) -> DeviceIdentity {
    DeviceIdentity {
        path: "/dev/sdb".into(),
        name: "sdb".into(),
        number: "8:16".into(),
        size_bytes: 1 << 30,
        logical_sector_bytes: 512,
        physical_sector_bytes: 4096,
        model: model.map(str::to_string),
        serial: serial.map(str::to_string),
        ..DeviceIdentity::default()
    }
}

#[test]
fn names_are_read_where_the_specifications_put_them() {
    let page = nvme("S5GXNX0T123456", "Samsung SSD 980 PRO 1TB");
    assert_eq!(parse(Nvme, &page), answer("S5GXNX0T123456", "Samsung SSD 980 PRO 1TB"));
    let page = ata_image("IMAGINED DISK 2000 GB", "  WD-TEST123456");
    let expected = answer("WD-TEST123456", "IMAGINED DISK 2000 GB");
    for command in [Ata, Bridge] {
        assert_eq!(parse(command, &page), expected);
        assert_eq!(parse(command, &checked(page.clone())), expected);
    }
}

#[test]
fn damaged_short_or_nameless_data_is_no_answer() {
    let mut page = checked(ata_image("IMAGINED DISK 2000 GB", "  WD-TEST123456"));
    page[200] ^= 1;
    assert_eq!(parse(Ata, &page), None, "the checksum is wrong");
    assert_eq!(parse(Ata, &page[..511]), None);
    assert_eq!(parse(Nvme, &nvme("S1", "M")[..4095]), None);
    assert_eq!(parse(Nvme, &nvme("", "Model")), None);
    assert_eq!(parse(Ata, &[0; ATA_BYTES]), None);
}

#[test]
fn only_drives_that_udev_asks_are_asked() {
    let fake = Fake::new();
    let scsi = |place: &str, name: &str, minor, vendor: &str, removable: &str| {
        fake.scsi_disk(&format!("{place}/block/{name}"), (8, minor), 1 << 30);
        fake.file(&format!("sys/devices/{place}/vendor"), vendor);
        fake.attrs(name, &[("removable", removable)]);
    };
    scsi("pci0000:00/ata1/host0/target0:0:0/0:0:0:0", "sda", 0, "ATA     ", "0");
    scsi("pci0000:00/host1/target1:0:0/1:0:0:0", "sdb", 16, "SEAGATE ", "0");
    let usb = "pci0000:00/usb2/2-1/2-1:1.0/host2/target2:0:0/2:0:0";
    scsi(&format!("{usb}:0"), "sdc", 32, "WD      ", "0");
    scsi(&format!("{usb}:1"), "sdd", 48, "Generic ", "1");
    let names = ["sda", "sdb", "sdc", "sdd", "sde", "nvme0n1", "vda", "loop0", "dm-0"];
    let asked: Vec<_> = names.map(|name| command_for(&fake.roots, name)).into_iter().collect();
    let [ata, nvme, bridge] = [Ata, Nvme, Bridge].map(Some);
    assert_eq!(asked, [ata, None, bridge, None, None, nvme, None, None, None]);
}

#[test]
fn other_identity_is_refused_except_by_a_bridge() {
    let own = || answer("S1", "Disk 2000 GB").unwrap();
    for (command, model, serial, outcome, words) in [
        (Nvme, Some("Disk 2000 GB"), Some("S1"), Outcome::Ok, "serial S1"),
        (Ata, Some("Disk  2000"), Some("S1"), Outcome::Ok, "serial S1"),
        (Ata, None, Some(" S1"), Outcome::Ok, "serial S1"),
        (Nvme, Some("Disk 2000 GB"), Some("S2"), Outcome::Refused, "kernel reports"),
        (Ata, Some("Other"), Some("S1"), Outcome::Refused, "kernel reports model Other"),
        (Bridge, Some("Elements"), Some("5758"), Outcome::Ok, "other names"),
    ] {
        let mut device = device(model, serial);
        let check = judge(command, &mut device, own(), "smartctl");
        assert_eq!(check.outcome, outcome, "{check:?}");
        assert!(check.evidence.contains(words), "{check:?}");
        assert_eq!(device.serial.as_deref(), serial, "what the kernel shows stays");
        let is_docked = command == Bridge;
        assert_eq!(device.own_serial.as_deref(), is_docked.then_some("S1"));
    }
}

#[test]
fn own_serial_replaces_one_missing_in_the_kernel() {
    for command in [Nvme, Ata, Bridge] {
        let mut nameless = device(Some("Disk 2000 GB"), None);
        let check =
            judge(command, &mut nameless, answer("S1", "Disk 2000 GB").unwrap(), "smartctl");
        assert_eq!((check.outcome, nameless.phrase().as_str()), (Outcome::Ok, "S1"));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..4200)) {
        for command in [Nvme, Ata, Bridge] {
            if let Some(answer) = parse(command, &bytes) {
                prop_assert!(answer.serial.is_some_and(|serial| serial.trim() == serial));
            }
        }
    }
}
