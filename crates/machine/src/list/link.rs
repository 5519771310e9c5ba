//! The link between host and drive, and whether it could be faster.
//!
//! `payload_mb_s` is what remains of the line rate after line coding (8b/10b, 64b/66b-like codes,
//! FLIT framing): no drive can be faster, whatever its protocol costs on top.

use crate::ata;
use crate::block_device::{BlockDevice, numbered};
use crate::identity::ReportedIdentity;
use crate::roots::{list_dir, read_text};
use drivescope_model::drive::Link;
use std::fs;
use std::path::{Path, PathBuf};

mod usb;

/// The link of a drive; `None` where there is none to speak of (virtual, loop, memory cards) or the
/// kernel does not tell.
pub fn link(device: &BlockDevice, transport: &str, identity: &ReportedIdentity) -> Option<Link> {
    match transport {
        "sata" => sata(device, identity).or_else(|| sas(device, "SATA")),
        "sas" => sas(device, "SAS"),
        "nvme" => pci(device),
        "usb" => usb::usb(device),
        _ => None,
    }
}

/// SATA: `sata_spd` of the link is `1.5 Gbps`, `3.0 Gbps`, `6.0 Gbps` or `<unknown>`.
fn sata(device: &BlockDevice, identity: &ReportedIdentity) -> Option<Link> {
    let place = ata::place(device)?;
    let speed = |attr: &str| sata_generation(&read_text(place.link.join(attr))?);
    let now = speed("sata_spd")?;
    // hw_sata_spd_limit is known only where the firmware of the host set one. A limit below that
    // was set by the kernel after errors: then the link once ran at least one generation faster.
    let host = speed("hw_sata_spd_limit");
    let fallen = speed("sata_spd_limit")
        .filter(|limit| {
            let falls =
                read_text(place.device.join("spdn_cnt")).and_then(|n| n.parse::<u32>().ok());
            host.is_some_and(|host| *limit < host) || falls.is_some_and(|count| count > 0)
        })
        .map(|limit| limit + 1);
    let both = host.zip(identity.sata_generation).map(|(host, drive)| host.min(drive));
    let possible = both.or(fallen).filter(|best| *best > now && *best <= 3);
    Some(Link {
        name: sata_name(now),
        payload_mb_s: 150.0 * f64::from(1 << (now - 1)),
        possible: possible.map(sata_name),
    })
}

/// Generation 1, 2 or 3 of a speed as libata writes it.
fn sata_generation(speed: &str) -> Option<u32> {
    match speed {
        "1.5 Gbps" => Some(1),
        "3.0 Gbps" => Some(2),
        "6.0 Gbps" => Some(3),
        _ => None,
    }
}

fn sata_name(generation: u32) -> String {
    format!("SATA {:.1} Gb/s", 1.5 * f64::from(1 << (generation - 1)))
}

/// A drive on a SAS adapter: the phys of the port that leads to its end device.
fn sas(device: &BlockDevice, protocol: &str) -> Option<Link> {
    let end = device.ancestor(|name| name.starts_with("end_device-"))?;
    let port = end.parent()?;
    let rates: Vec<f64> = list_dir(port)
        .iter()
        .filter(|name| name.starts_with("phy-"))
        .filter_map(|phy| {
            let class = device.roots.sys.join("class/sas_phy");
            let rate = read_text(class.join(phy).join("negotiated_linkrate"))?;
            rate.strip_suffix(" Gbit")?.parse().ok()
        })
        .collect();
    let rate = *rates.first()?;
    // Several phys lead to a wide port; it carries what all of them carry.
    let width = if rates.len() > 1 { format!(" x{}", rates.len()) } else { String::new() };
    Some(Link {
        name: format!("{protocol} {rate:.1} Gb/s{width}"),
        payload_mb_s: rates.iter().map(|rate| sas_payload_mb_s(*rate)).sum(),
        possible: None,
    })
}

/// Up to 12 Gb/s 8b/10b, at 22.5 Gb/s (SAS-4) 128b/150b.
fn sas_payload_mb_s(gbit: f64) -> f64 {
    let (data, coded) = if gbit > 12.0 { (128.0, 150.0) } else { (8.0, 10.0) };
    payload_mb_s(gbit, data, coded)
}

/// MB/s of a serial line with `gbit` Gbit/s on the wire, of whose `coded` bits `data` carry data.
fn payload_mb_s(gbit: f64, data: f64, coded: f64) -> f64 {
    gbit * 1000.0 * data / coded / 8.0
}

/// A PCI Express link: transfer rate of a lane in GT/s, and lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lanes {
    rate: f64,
    width: u32,
}

impl Lanes {
    /// `current` or `max` attributes of a PCI device or port: `8.0 GT/s PCIe` and `4`.
    fn of(dir: &Path, which: &str) -> Option<Self> {
        let speed = read_text(dir.join(format!("{which}_link_speed")))?;
        let rate = speed.split_whitespace().next()?.parse().ok()?;
        let width = read_text(dir.join(format!("{which}_link_width")))?.parse().ok()?;
        // An unconnected port reports width 0, an unknown width is 255.
        (1..=32).contains(&width).then_some(Self { rate, width }).filter(|l| l.version().is_some())
    }

    fn version(self) -> Option<&'static str> {
        [(2.5, "1.0"), (5.0, "2.0"), (8.0, "3.0"), (16.0, "4.0"), (32.0, "5.0"), (64.0, "6.0")]
            .into_iter()
            .find_map(|(rate, version)| (rate == self.rate).then_some(version))
    }

    fn name(self) -> Option<String> {
        Some(format!("PCIe {} x{}", self.version()?, self.width))
    }

    /// 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s; from 64 GT/s on FLITs of 256 bytes carry 236.
    fn payload_mb_s(self) -> f64 {
        let (data, coded) = match self.rate {
            rate if rate < 8.0 => (8.0, 10.0),
            rate if rate < 64.0 => (128.0, 130.0),
            _ => (236.0, 256.0),
        };
        payload_mb_s(self.rate, data, coded) * f64::from(self.width)
    }
}

/// Payload of the link that leads up from a PCI device or bridge.
pub(crate) fn pci_payload_mb_s(dir: &Path) -> Option<f64> {
    Some(Lanes::of(dir, "current")?.payload_mb_s())
}

/// Payload of the link that leads up from a USB device, hub or root hub.
pub(crate) fn usb_payload_mb_s(dir: &Path) -> Option<f64> {
    let lanes = read_text(dir.join("rx_lanes"));
    usb::rate_and_payload(&read_text(dir.join("speed"))?, lanes.as_deref()).map(|it| it.1)
}

fn pci(device: &BlockDevice) -> Option<Link> {
    let controller = nvme_controller(device)?;
    let card = controller.ancestors().find(|dir| is_pci_function(dir))?;
    let now = Lanes::of(card, "current")?;
    let port = card.parent().filter(|dir| is_pci_function(dir));
    let best = Lanes::of(card, "max").zip(port.and_then(|port| Lanes::of(port, "max"))).map(
        |(card, port)| Lanes { rate: card.rate.min(port.rate), width: card.width.min(port.width) },
    );
    let possible = best.filter(|best| best.payload_mb_s() > now.payload_mb_s());
    Some(Link {
        name: now.name()?,
        payload_mb_s: now.payload_mb_s(),
        possible: possible.and_then(Lanes::name),
    })
}

/// Directory of the controller of an NVMe namespace, links resolved. A subsystem that is open to
/// several controllers holds its namespaces itself, and links to the controllers.
pub fn nvme_controller(device: &BlockDevice) -> Option<PathBuf> {
    if let Some(direct) = device.ancestor(is_controller) {
        return Some(direct.to_path_buf());
    }
    let subsystem = fs::canonicalize(device.dir.join("device")).ok()?;
    let first = list_dir(&subsystem).into_iter().find(|name| is_controller(name))?;
    fs::canonicalize(subsystem.join(first)).ok()
}

fn is_controller(name: &str) -> bool {
    numbered(name, "nvme").is_some()
}

/// `0000:02:00.0`: domain, bus, device and function.
pub(crate) fn is_pci_function(dir: &Path) -> bool {
    let Some(name) = dir.file_name().and_then(|n| n.to_str()) else { return false };
    let parts: Vec<&str> = name.split([':', '.']).collect();
    parts.len() == 4
        && parts.iter().zip([4, 2, 2, 1]).all(|(part, digits)| {
            part.len() >= digits && part.bytes().all(|b| b.is_ascii_hexdigit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ata_image::{text_of, words};
    use crate::roots::fake::Fake;

    fn link_of(fake: &Fake, name: &str, transport: &str) -> Option<Link> {
        let device = BlockDevice::open(&fake.roots, name).unwrap();
        link(&device, transport, &ReportedIdentity::of(&device))
    }

    /// A SATA disk on port 3: speeds of the link, generations the drive can (bits).
    fn sata_link(now: &str, limit: &str, host: &str, drive: u16, falls: &str) -> Option<Link> {
        let fake = Fake::new();
        fake.scsi_disk("pci0000:00/ata3/host2/target2:0:0/2:0:0:0/block/sda", (8, 0), 1 << 30);
        fake.file("sys/class/ata_link/link3/sata_spd", now);
        fake.file("sys/class/ata_link/link3/sata_spd_limit", limit);
        fake.file("sys/class/ata_link/link3/hw_sata_spd_limit", host);
        fake.file("sys/class/ata_device/dev3.0/id", text_of(&words("DISK", "S1", 7200, drive)));
        fake.file("sys/class/ata_device/dev3.0/spdn_cnt", falls);
        link_of(&fake, "sda", "sata")
    }

    #[test]
    fn sata_link_has_a_rate_and_maximum() {
        const GEN3: u16 = 0b1110;
        const GEN2: u16 = 0b0110;
        let (slow, half, full, unknown) = ("1.5 Gbps", "3.0 Gbps", "6.0 Gbps", "<unknown>");
        for (now, limit, host, drive, falls, expected) in [
            (full, full, full, GEN3, "0", ("SATA 6.0 Gb/s", 600.0, None)),
            (half, full, full, GEN3, "0", ("SATA 3.0 Gb/s", 300.0, Some("SATA 6.0 Gb/s"))),
            (half, full, full, GEN2, "0", ("SATA 3.0 Gb/s", 300.0, None)),
            (half, half, half, GEN3, "0", ("SATA 3.0 Gb/s", 300.0, None)),
            (half, unknown, unknown, GEN3, "0", ("SATA 3.0 Gb/s", 300.0, None)),
            (slow, slow, unknown, GEN3, "2", ("SATA 1.5 Gb/s", 150.0, Some("SATA 3.0 Gb/s"))),
        ] {
            let link = sata_link(now, limit, host, drive, falls).unwrap();
            let got = (link.name.as_str(), link.payload_mb_s, link.possible.as_deref());
            assert_eq!(got, expected, "{now} {limit} {host} {drive}");
        }
        assert_eq!(sata_link(unknown, unknown, unknown, 0, "0"), None);
    }

    /// An NVMe drive behind a port: rates and widths, now, at most, and at most of the port.
    fn nvme_link(now: (&str, &str), card: (&str, &str), port: Option<(&str, &str)>) -> Link {
        let fake = Fake::new();
        let (port_dir, card_dir) =
            ("pci0000:00/0000:00:1d.0", "pci0000:00/0000:00:1d.0/0000:02:00.0");
        fake.disk(&format!("{card_dir}/nvme/nvme0/nvme0n1"), (259, 0), 1 << 30);
        for (dir, which, lanes) in [
            (card_dir, "current", Some(now)),
            (card_dir, "max", Some(card)),
            (port_dir, "max", port),
        ] {
            if let Some((speed, width)) = lanes {
                fake.file(&format!("sys/devices/{dir}/{which}_link_speed"), speed);
                fake.file(&format!("sys/devices/{dir}/{which}_link_width"), width);
            }
        }
        link_of(&fake, "nvme0n1", "nvme").unwrap()
    }

    #[test]
    fn pci_express_link_has_version_lanes_and_maximum() {
        let (gen3, gen4) = ("8.0 GT/s PCIe", "16.0 GT/s PCIe");
        let (x2, x4) = ((gen3, "2"), (gen3, "4"));
        for (now, card, port, name, payload, possible) in [
            (x4, x4, Some(x4), "PCIe 3.0 x4", 3938.46, None),
            (x2, x4, Some(x4), "PCIe 3.0 x2", 1969.23, Some("PCIe 3.0 x4")),
            (x2, x4, Some(x2), "PCIe 3.0 x2", 1969.23, None),
            (x4, (gen4, "4"), Some((gen4, "16")), "PCIe 3.0 x4", 3938.46, Some("PCIe 4.0 x4")),
            (x4, (gen4, "4"), None, "PCIe 3.0 x4", 3938.46, None),
            (("5 GT/s", "1"), x4, Some(("5 GT/s", "1")), "PCIe 2.0 x1", 500.0, None),
            (("2.5 GT/s PCIe", "4"), x4, None, "PCIe 1.0 x4", 1000.0, None),
            (("32.0 GT/s PCIe", "4"), ("32.0 GT/s PCIe", "4"), None, "PCIe 5.0 x4", 15753.85, None),
            (("64.0 GT/s PCIe", "4"), ("64.0 GT/s PCIe", "4"), None, "PCIe 6.0 x4", 29500.0, None),
        ] {
            let link = nvme_link(now, card, port);
            assert_eq!(link.name, name);
            assert!((link.payload_mb_s - payload).abs() < 0.01, "{name}: {}", link.payload_mb_s);
            assert_eq!(link.possible.as_deref(), possible, "{name}");
        }
    }

    #[test]
    fn multipath_namespace_finds_its_first_controller() {
        let fake = Fake::new();
        let card = "sys/devices/pci0000:00/0000:02:00.0";
        fake.disk("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", (259, 0), 1 << 30);
        fake.link("sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/device", "..");
        fake.file(&format!("{card}/nvme/nvme0/transport"), "pcie");
        fake.file(&format!("{card}/current_link_speed"), "16.0 GT/s PCIe");
        fake.file(&format!("{card}/current_link_width"), "4");
        let controller = fake.path(&format!("{card}/nvme/nvme0"));
        fake.link("sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0", controller);
        assert_eq!(link_of(&fake, "nvme0n1", "nvme").unwrap().name, "PCIe 4.0 x4");
    }

    #[test]
    fn sas_ports_add_up_their_phys() {
        let fake = Fake::new();
        let place = "pci0000:00/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sda";
        fake.scsi_disk(place, (8, 0), 1 << 30);
        assert_eq!(link_of(&fake, "sda", "sas"), None);
        let add = |phy: &str, rate: &str| {
            fake.link(&format!("sys/devices/pci0000:00/host0/port-0:0/{phy}"), "../../..");
            fake.file(&format!("sys/class/sas_phy/{phy}/negotiated_linkrate"), rate);
        };
        add("phy-0:0", "12.0 Gbit");
        add("phy-0:3", "Unknown");
        let link = link_of(&fake, "sda", "sas").unwrap();
        assert_eq!((link.name.as_str(), link.payload_mb_s), ("SAS 12.0 Gb/s", 1200.0));
        assert_eq!(link_of(&fake, "sda", "sata").unwrap().name, "SATA 12.0 Gb/s");
        add("phy-0:1", "12.0 Gbit");
        let wide = link_of(&fake, "sda", "sas").unwrap();
        assert_eq!((wide.name.as_str(), wide.payload_mb_s), ("SAS 12.0 Gb/s x2", 2400.0));
        assert!((sas_payload_mb_s(22.5) - 2400.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_to_speak_of_has_no_link() {
        let fake = Fake::new();
        fake.disk("pci0000:00/virtio1/block/vda", (254, 0), 1 << 30);
        for transport in ["virtio", "sata", "sas", "nvme", "usb", "mmc", "loop"] {
            assert_eq!(link_of(&fake, "vda", transport), None, "{transport}");
        }
        assert!(is_pci_function(Path::new("/x/0000:02:00.0")));
        assert!(!is_pci_function(Path::new("/x/2:0:0:0")));
        assert!(!is_pci_function(Path::new("/x/pci0000:00")));
    }
}
