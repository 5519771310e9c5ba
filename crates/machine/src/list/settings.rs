//! How the kernel uses a drive, and what it may do to save power.

use crate::ata;
use crate::block_device::{BlockDevice, numbered};
use crate::roots::{file_name, read_number, read_text, read_u64};
use drivescope_model::drive::DriveSettings;

pub fn settings(device: &BlockDevice) -> DriveSettings {
    let is_nvme = device.name.starts_with("nvme");
    DriveSettings {
        queue_requests: device.number_attr("queue/nr_requests"),
        drive_requests: device.number_attr("device/queue_depth"),
        read_ahead_kib: device.number_attr("queue/read_ahead_kb"),
        writeback_latency_us: device.number_attr("queue/wbt_lat_usec"),
        // -1 where the machine has one node only.
        numa_node: device.ancestors().find_map(|dir| read_number(dir.join("numa_node"))),
        apm_level: ata::identify(device).and_then(|identify| identify.apm_level),
        link_power_policy: link_power_policy(device),
        suspend: device.attr("device/power/control"),
        nvme_wake_up_max_us: is_nvme.then(|| nvme_wake_up(device)).flatten(),
        loop_direct_io: device.attr("loop/dio").map(|flag| flag == "1"),
    }
}

/// The policy of the SCSI host that represents the libata port.
fn link_power_policy(device: &BlockDevice) -> Option<String> {
    let host = device.ancestor(|name| numbered(name, "host").is_some())?;
    let class = device.roots.sys.join("class/scsi_host").join(file_name(host)?);
    read_text(class.join("link_power_management_policy"))
}

fn nvme_wake_up(device: &BlockDevice) -> Option<u64> {
    let parameters = device.roots.sys.join("module/nvme_core/parameters");
    read_u64(parameters.join("default_ps_max_latency_us"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;

    fn of(fake: &Fake, name: &str) -> DriveSettings {
        settings(&BlockDevice::open(&fake.roots, name).unwrap())
    }

    #[test]
    fn settings_are_read_from_the_kernel() {
        let fake = Fake::new();
        let place = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
        fake.disk(&format!("{place}/block/sda"), (8, 0), 8 << 30);
        assert_eq!(of(&fake, "sda"), DriveSettings::default());
        for (attr, text) in [
            ("queue/nr_requests", "64"),
            ("queue/read_ahead_kb", "128"),
            ("queue/wbt_lat_usec", "75000"),
            ("device/queue_depth", "32"),
            ("device/power/control", "on"),
        ] {
            fake.file(&format!("sys/devices/{place}/block/sda/{attr}"), text);
        }
        fake.file("sys/devices/pci0000:00/0000:00:17.0/numa_node", "1");
        fake.file("sys/class/scsi_host/host2/link_power_management_policy", "max_performance");
        fake.file("sys/module/nvme_core/parameters/default_ps_max_latency_us", "0");
        let expected = DriveSettings {
            queue_requests: Some(64),
            drive_requests: Some(32),
            read_ahead_kib: Some(128),
            writeback_latency_us: Some(75_000),
            numa_node: Some(1),
            link_power_policy: Some("max_performance".into()),
            suspend: Some("on".into()),
            ..DriveSettings::default()
        };
        assert_eq!(of(&fake, "sda"), expected);
        // A machine with one node says -1.
        fake.file("sys/devices/pci0000:00/0000:00:17.0/numa_node", "-1");
        assert_eq!(of(&fake, "sda").numa_node, None);
        fake.disk("pci0000:00/nvme/nvme0/nvme0n1", (259, 0), 8 << 30);
        assert_eq!(of(&fake, "nvme0n1").nvme_wake_up_max_us, Some(0));
        fake.disk("virtual/block/loop0", (7, 0), 8 << 30);
        fake.file("sys/devices/virtual/block/loop0/loop/dio", "1");
        assert_eq!(of(&fake, "loop0").loop_direct_io, Some(true));
    }
}
