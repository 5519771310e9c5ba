//! What the data of several drives pass through together: hubs and controllers of USB, port multipliers of SATA,
//! expanders and adapters of SAS, links of PCIe, or one drive that holds them all.

use crate::block_device::BlockDevice;
use crate::graph::Stack;
use crate::list::link::{is_pci_function, pci_payload_mb_s, usb_payload_mb_s};
use crate::roots::{Roots, file_name};
use drivescope_model::together::SharedPath;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What two or more of these targets share, the narrowest first; of what the same targets share, the narrowest part,
/// or the nearest to the drives where no speed is known.
pub fn of(roots: &Roots, stacks: &[&Stack]) -> Vec<SharedPath> {
    let mut users: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for (at, stack) in stacks.iter().enumerate() {
        let mut places: Vec<PathBuf> =
            stack.whole_disks.iter().flat_map(|disk| places(roots, disk)).collect();
        places.sort();
        places.dedup();
        places.into_iter().for_each(|place| users.entry(place).or_default().push(at));
    }
    let mut shared: BTreeMap<Vec<usize>, SharedPath> = BTreeMap::new();
    // The places nearest to the drives come last, and win.
    for (place, targets) in users.into_iter().filter(|(_, targets)| targets.len() > 1) {
        let Some((name, payload_mb_s)) = part(&place) else { continue };
        let known = shared.get(&targets).and_then(|it| it.payload_mb_s);
        let is_wider = known.is_some_and(|known| payload_mb_s.is_none_or(|new| new > known));
        if !is_wider {
            shared.insert(targets.clone(), SharedPath { name, targets, payload_mb_s });
        }
    }
    let mut shared: Vec<SharedPath> = shared.into_values().collect();
    let width = |path: &SharedPath| path.payload_mb_s.unwrap_or(f64::INFINITY);
    shared.sort_by(|one, other| width(one).total_cmp(&width(other)));
    shared
}

/// The directory of a disk in sysfs, and those above it.
fn places(roots: &Roots, disk: &str) -> Vec<PathBuf> {
    let Some(device) = BlockDevice::open(roots, disk) else { return Vec::new() };
    device.ancestors().map(Path::to_path_buf).collect()
}

/// What a directory of sysfs stands for, and the payload of its link upwards; `None` for those that carry no data.
fn part(dir: &Path) -> Option<(String, Option<f64>)> {
    let name = file_name(dir)?;
    let above = || dir.parent().and_then(file_name).unwrap_or_default();
    if dir.join("size").exists() && dir.join("dev").exists() {
        return Some((format!("the drive {name}"), None));
    }
    if is_pci_function(dir) {
        return Some(match pci_payload_mb_s(dir) {
            Some(payload) => (format!("the PCIe link of {name}"), Some(payload)),
            None => (format!("the controller {name}"), None),
        });
    }
    if name.starts_with("usb") {
        return Some((format!("the USB controller {}", above()), usb_payload_mb_s(dir)));
    }
    if is_usb_device(&name) {
        return Some((format!("the USB hub {name}"), usb_payload_mb_s(dir)));
    }
    if name.starts_with("ata") {
        return Some((format!("the SATA port {name} (a port multiplier)"), None));
    }
    if name.starts_with("expander-") {
        return Some((format!("the SAS {}", name.replacen('-', " ", 1)), None));
    }
    (name.starts_with("nvme") && above() == "nvme")
        .then(|| (format!("the NVMe drive {name}"), None))
}

/// `2-1.4`, and not its interface `2-1.4:1.0`.
fn is_usb_device(name: &str) -> bool {
    let ports = name.split_once('-').filter(|(bus, _)| is_number(bus));
    ports.is_some_and(|(_, ports)| ports.split('.').all(is_number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::BlockGraph;
    use crate::roots::fake::Fake;

    fn shared(fake: &Fake, disks: &[&str]) -> Vec<(String, Vec<usize>, Option<f64>)> {
        let graph = BlockGraph::read(&fake.roots);
        let stacks: Vec<Stack> = disks.iter().map(|disk| graph.stack_of_device(disk)).collect();
        let stacks: Vec<&Stack> = stacks.iter().collect();
        let found = of(&fake.roots, &stacks);
        found.into_iter().map(|it| (it.name, it.targets, it.payload_mb_s)).collect()
    }

    #[test]
    fn disks_of_a_usb_hub_share_it_and_its_controller() {
        let fake = Fake::new();
        let bus = "pci0000:00/0000:00:14.0/usb2";
        let disk = |port: &str, host: u32, name: &str| {
            format!("{bus}/{port}:1.0/host{host}/target{host}:0:0/{host}:0:0:0/block/{name}")
        };
        fake.scsi_disk(&disk("2-1/2-1.1/2-1.1", 4, "sda"), (8, 0), 1 << 30);
        fake.scsi_disk(&disk("2-1/2-1.2/2-1.2", 5, "sdb"), (8, 16), 1 << 30);
        fake.scsi_disk(&disk("2-3/2-3", 6, "sdc"), (8, 32), 1 << 30);
        fake.file(&format!("sys/devices/{bus}/speed"), "10000");
        fake.file(&format!("sys/devices/{bus}/2-1/speed"), "5000");
        let found = shared(&fake, &["sda", "sdb", "sdc"]);
        let hub = ("the USB hub 2-1".to_string(), vec![0, 1], Some(500.0));
        assert_eq!(found[0], hub);
        assert_eq!(
            (found[1].0.as_str(), &found[1].1),
            ("the USB controller 0000:00:14.0", &vec![0, 1, 2])
        );
    }

    #[test]
    fn disks_of_an_expander_share_the_link_of_their_adapter() {
        let fake = Fake::new();
        let card = "pci0000:00/0000:00:01.0/0000:01:00.0";
        for (at, name) in ["sda", "sdb"].into_iter().enumerate() {
            let end = format!("port-0:0/expander-0:0/port-0:0:{at}/end_device-0:0:{at}");
            let place = format!("{card}/host0/{end}/target0:0:{at}/0:0:{at}:0/block/{name}");
            fake.scsi_disk(&place, (8, 16 * at as u32), 1 << 30);
        }
        assert_eq!(shared(&fake, &["sda", "sdb"])[0].0, "the SAS expander 0:0");
        fake.file(&format!("sys/devices/{card}/current_link_speed"), "8.0 GT/s PCIe");
        fake.file(&format!("sys/devices/{card}/current_link_width"), "8");
        let found = shared(&fake, &["sda", "sdb"]);
        assert_eq!((found.len(), found[0].0.as_str()), (1, "the PCIe link of 0000:01:00.0"));
    }

    #[test]
    fn disks_of_a_port_multiplier_share_its_port() {
        let fake = Fake::new();
        for (at, name) in ["sda", "sdb"].into_iter().enumerate() {
            let place = format!("pci0000:00/ata3/host2/target2:{at}:0/2:{at}:0:0/block/{name}");
            fake.scsi_disk(&place, (8, 16 * at as u32), 1 << 30);
        }
        assert_eq!(shared(&fake, &["sda", "sdb"])[0].0, "the SATA port ata3 (a port multiplier)");
        fake.scsi_disk("pci0000:00/ata4/host3/target3:0:0/3:0:0:0/block/sdc", (8, 32), 1 << 30);
        assert_eq!(shared(&fake, &["sda", "sdc"]), []);
    }

    #[test]
    fn files_on_one_disk_share_the_disk() {
        let fake = Fake::two_disks();
        let found = shared(&fake, &["sda1", "sda2", "sdb"]);
        assert_eq!((found[0].0.as_str(), &found[0].1), ("the drive sda", &vec![0, 1]));
    }
}
