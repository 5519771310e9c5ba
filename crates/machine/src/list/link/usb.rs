//! The link of a USB drive.

use crate::block_device::BlockDevice;
use crate::roots::read_text;
use drivescope_model::drive::Link;
use std::fs;
use std::path::Path;

/// Types of a BOS descriptor and of a capability in it (USB 3.2, section 9.6.2).
const BOS: u8 = 0x0F;
const CAPABILITY: u8 = 0x10;
const CAPABILITY_SUPERSPEED: u8 = 0x03;

/// The link by the speed the device was enumerated at, with the driver's protocol.
pub(super) fn usb(device: &BlockDevice) -> Option<Link> {
    let usb = device.usb_device()?;
    let speed = read_text(usb.join("speed"))?;
    let lanes = read_text(usb.join("rx_lanes"));
    let (rate, payload_mb_s) = rate_and_payload(&speed, lanes.as_deref())?;
    let driver = fs::canonicalize(device.usb_interface()?.join("driver")).ok();
    let protocol = match driver.as_deref().and_then(|d| d.file_name()?.to_str()) {
        Some("uas") => " (UAS)",
        Some("usb-storage") => " (BOT)",
        _ => "",
    };
    let possible =
        (payload_mb_s < 500.0 && superspeed_at_both_ends(usb)).then(|| "USB 5 Gb/s".to_string());
    Some(Link { name: format!("USB {rate}{protocol}"), payload_mb_s, possible })
}

/// Name and payload in MB/s of a speed in Mbit/s. Up to USB 2 nothing is lost to coding (bit
/// stuffing depends on the data); 5 Gb/s is 8b/10b, faster lanes are 128b/132b. 10 Gb/s on two
/// lanes are two of 5 Gb/s.
pub(super) fn rate_and_payload(speed: &str, lanes: Option<&str>) -> Option<(&'static str, f64)> {
    Some(match (speed, lanes) {
        ("1.5", _) => ("1.5 Mb/s", 0.1875),
        ("12", _) => ("12 Mb/s", 1.5),
        ("480", _) => ("480 Mb/s", 60.0),
        ("5000", _) => ("5 Gb/s", 500.0),
        ("10000", Some("2")) => ("10 Gb/s x2", 1000.0),
        ("10000", _) => ("10 Gb/s", 1250.0 * 128.0 / 132.0),
        ("20000", _) => ("20 Gb/s", 2500.0 * 128.0 / 132.0),
        _ => return None,
    })
}

/// Whether a device that runs at USB 2 speed and the socket it is in both support 5 Gb/s. The socket
/// tells by the port of a faster hub that shares it; kernels before 6.9 do not tell the device's.
fn superspeed_at_both_ends(usb: &Path) -> bool {
    let socket = usb.join("port/peer").exists();
    socket && fs::read(usb.join("bos_descriptors")).is_ok_and(|bos| has_superspeed(&bos))
}

/// Whether a BOS descriptor has the SuperSpeed capability.
fn has_superspeed(bos: &[u8]) -> bool {
    let mut rest = match bos {
        [length, BOS, ..] => bos.get(usize::from(*length)..).unwrap_or_default(),
        _ => return false,
    };
    while let [length, kind, capability, ..] = *rest {
        if kind == CAPABILITY && capability == CAPABILITY_SUPERSPEED {
            return true;
        }
        // A descriptor without a length would never end.
        if length < 3 {
            return false;
        }
        rest = rest.get(usize::from(length)..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;
    use proptest::prelude::*;

    const DEVICE: &str = "sys/devices/pci0000:00/usb2/2-1/2-1.4";
    const WITH_SUPERSPEED: [u8; 22] = [
        5, 0x0F, 22, 0, 2, // BOS with two capabilities
        7, 0x10, 2, 2, 0, 0, 0, // USB 2 extension
        10, 0x10, 3, 0, 0x0E, 0, 1, 0, 0, 0, // SuperSpeed
    ];

    /// A USB disk at a speed, driven by a driver.
    fn disk(speed: &str, driver: &str) -> Fake {
        let fake = Fake::new();
        let place = "pci0000:00/usb2/2-1/2-1.4/2-1.4:1.0/host6/target6:0:0/6:0:0:0/block/sdb";
        fake.scsi_disk(place, (8, 16), 1 << 30);
        fake.file(&format!("{DEVICE}/speed"), speed);
        fake.file(&format!("sys/bus/usb/drivers/{driver}/module"), "");
        let target = fake.path(&format!("sys/bus/usb/drivers/{driver}"));
        fake.link(&format!("{DEVICE}/2-1.4:1.0/driver"), target);
        fake
    }

    fn link(fake: &Fake) -> Option<Link> {
        usb(&BlockDevice::open(&fake.roots, "sdb").unwrap())
    }

    #[test]
    fn speed_and_driver_make_the_name() {
        for (speed, driver, name, payload) in [
            ("480", "usb-storage", "USB 480 Mb/s (BOT)", 60.0),
            ("5000", "uas", "USB 5 Gb/s (UAS)", 500.0),
            ("10000", "uas", "USB 10 Gb/s (UAS)", 1212.12),
            ("20000", "uas", "USB 20 Gb/s (UAS)", 2424.24),
            ("12", "ums-realtek", "USB 12 Mb/s", 1.5),
        ] {
            let link = link(&disk(speed, driver)).unwrap();
            assert_eq!(link.name, name);
            assert!((link.payload_mb_s - payload).abs() < 0.01, "{name}: {}", link.payload_mb_s);
        }
        assert_eq!(link(&disk("unknown", "uas")), None);
    }

    #[test]
    fn two_5_gigabit_lanes_are_slower_than_10() {
        let fake = disk("10000", "uas");
        fake.file(&format!("{DEVICE}/rx_lanes"), "2");
        assert_eq!(link(&fake).unwrap().payload_mb_s, 1000.0);
    }

    #[test]
    fn faster_link_needs_both_ends() {
        let fake = disk("480", "uas");
        assert_eq!(link(&fake).unwrap().possible, None);
        fake.file(&format!("{DEVICE}/bos_descriptors"), WITH_SUPERSPEED);
        assert_eq!(link(&fake).unwrap().possible, None, "the socket has no faster port");
        fake.file(&format!("{DEVICE}/port/peer/state"), "");
        assert_eq!(link(&fake).unwrap().possible.as_deref(), Some("USB 5 Gb/s"));
        fake.file(&format!("{DEVICE}/bos_descriptors"), &WITH_SUPERSPEED[..12]);
        assert_eq!(link(&fake).unwrap().possible, None, "the device is of USB 2");
    }

    #[test]
    fn the_device_above_the_interface_is_the_drives() {
        let fake = disk("5000", "uas");
        let device = BlockDevice::open(&fake.roots, "sdb").unwrap();
        assert!(device.usb_device().unwrap().ends_with("usb2/2-1/2-1.4"));
        fake.scsi_disk("pci0000:00/host0/0:0:0:0/block/sda", (8, 0), 1 << 30);
        assert_eq!(BlockDevice::open(&fake.roots, "sda").unwrap().usb_device(), None);
    }

    proptest! {
        #[test]
        fn any_descriptor_is_taken(bos in proptest::collection::vec(0u8..20, 0..60)) {
            let _ = has_superspeed(&bos);
        }
    }
}
