//! The drive at the bottom of a target, and the networks on the way there.

use super::Target;
use crate::simulated::spec::name_served;
use drivescope_machine::counters::{self, DeviceCounters};
use drivescope_machine::graph::{BlockGraph, Stack};
use drivescope_machine::list::{ListOptions, drive_named, health_of, network_below};
use drivescope_machine::other_measurements::on_same_drive;
use drivescope_machine::roots::read_text;
use drivescope_model::drive::Drive;
use drivescope_model::health::Health;
use drivescope_model::target::TargetKind;

/// The drive below: the only disk, or the device that is made of all disks, which has neither the link nor the
/// rotation of one of them; none where a file system itself spreads over them.
pub(super) fn drive_below(graph: &BlockGraph, stack: &Stack) -> Option<Drive> {
    let described = |name: &str| {
        let mut drive = drive_named(graph.roots(), name, &ListOptions { smart: true })?;
        name_served(&mut drive);
        Some(drive)
    };
    let (first, others) = stack.whole_disks.split_first()?;
    if others.is_empty() {
        return described(first);
    }
    let paths = graph.other_paths_to(first);
    if others.iter().all(|other| paths.contains(other)) {
        // One drive on several paths, which together carry more than one of them.
        return described(first).map(|drive| Drive { link: None, ..drive });
    }
    described(made_of_all(graph, stack)?)
}

pub(super) fn tops(graph: &BlockGraph, stack: &Stack) -> Vec<String> {
    let below: Vec<String> = stack
        .names
        .iter()
        .flat_map(|name| graph.stack_of_device(name).names.into_iter().skip(1))
        .collect();
    stack.names.iter().filter(|name| !below.contains(name)).cloned().collect()
}

/// The lowest device of a stack that has all its disks below it.
fn made_of_all<'s>(graph: &BlockGraph, stack: &'s Stack) -> Option<&'s str> {
    let all = sorted(&stack.whole_disks);
    let has_all = |name: &&String| sorted(&graph.stack_of_device(name).whole_disks) == all;
    stack.names.iter().rev().find(has_all).map(String::as_str)
}

fn sorted(disks: &[String]) -> Vec<String> {
    let mut disks = disks.to_vec();
    disks.sort();
    disks
}

impl Target {
    /// The kernel's counters of the uppermost block device: what left the file system. Of several below a file
    /// system that spreads over them, all of them together.
    pub fn top_counters(&self) -> Option<DeviceCounters> {
        let each = self.tops.iter().map(|name| counters::read(&self.roots, name));
        each.collect::<Option<Vec<_>>>()?.into_iter().reduce(DeviceCounters::beside)
    }

    /// What the kernel does to an array below the target by itself, if anything: `md0 is being rebuilt (recover)`.
    /// The counters do not include its requests.
    pub fn array_at_work(&self) -> Option<String> {
        self.stack.names.iter().find_map(|name| {
            let action = read_text(self.roots.block_dir(name)?.join("md/sync_action"))?;
            let what = match action.as_str() {
                "resync" | "recover" => "rebuilt",
                "check" | "repair" => "checked",
                "reshape" => "reshaped",
                _ => return None,
            };
            Some(format!("{name} is being {what} ({action}); see /proc/mdstat"))
        })
    }

    /// What SMART reports of the drive now; `None` if it reported nothing before, or does not answer.
    pub fn health_now(&self) -> Option<Health> {
        let drive = self.drive().filter(|drive| drive.health.is_known())?;
        let now = match &self.simulated {
            Some((spec, _)) => spec.smart.as_ref()?.after.clone(),
            None => health_of(&self.roots, drive),
        };
        now.is_known().then_some(now)
    }

    pub fn measured_by_others(&self) -> Option<String> {
        let is_real = self.simulated.is_none();
        is_real.then(|| on_same_drive(&BlockGraph::read(&self.roots), &self.stack)).flatten()
    }

    /// The block device that was named, if it has partitions of its own and lies on the drive below, or on a file
    /// of it: a loop device, an array.
    pub fn own_table(&self) -> Option<Drive> {
        let named = self.stack.names.first().filter(|_| self.info().kind == TargetKind::Block)?;
        if self.drive().is_some_and(|drive| drive.name == *named) {
            return None;
        }
        drive_named(&self.roots, named, &ListOptions { smart: false })
            .filter(|drive| !drive.partitions.is_empty())
    }

    /// Every disk at the bottom, without its health; a simulated one as its model describes it.
    pub fn disks(&self) -> Vec<Drive> {
        match self.stack.whole_disks.as_slice() {
            [] | [_] => self.drive.iter().cloned().collect(),
            several => several
                .iter()
                .filter_map(|name| drive_named(&self.roots, name, &ListOptions { smart: false }))
                .collect(),
        }
    }

    /// Sleeping members of arrays, volume groups and caches on the block device that was named, each in words. udev
    /// starts them as soon as it sees them, with whatever they hold then.
    pub fn sleeping_members(&self) -> Vec<String> {
        let named = self.stack.names.first().filter(|_| self.info().kind == TargetKind::Block);
        let (Some(name), Some(drive)) = (named, self.drive()) else { return Vec::new() };
        let whole = std::iter::once((&drive.name, &drive.content));
        let parts = drive.partitions.iter().map(|part| (&part.name, &part.content));
        let of_target = whole.chain(parts).filter(|(part, _)| drive.name == *name || *part == name);
        let member = |(part, content): (&String, &Option<String>)| {
            let of = match content.as_deref()? {
                "linux_raid_member" | "isw_raid_member" | "ddf_raid_member" => "an md array",
                "LVM2_member" => "a volume group of LVM",
                "bcache" => "a bcache device",
                _ => return None,
            };
            Some(format!("{part} is a sleeping part of {of}"))
        };
        of_target.filter_map(member).collect()
    }

    /// Devices below the target that are reached over a network, each in words: `nbd0 (network)`.
    pub fn networks(&self) -> Vec<String> {
        let over = |name: &String| {
            let network = network_below(&self.roots, name)?;
            Some(format!("{name} ({network})"))
        };
        self.stack.names.iter().filter_map(over).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_machine::roots::fake::Fake;
    use drivescope_model::drive::DriveKind;

    /// A target on `/dev/NAME` of a machine.
    fn target_on(fake: &Fake, name: &str, dev: &str) -> Target {
        target_in(fake, dev, &format!("ext4 /dev/{name}"))
    }

    /// A target in a file system with this number, type and source.
    fn target_in(fake: &Fake, dev: &str, system: &str) -> Target {
        let point = fake.path("").canonicalize().unwrap();
        fake.mounts(&[
            "1 0 8:99 / / rw - ext4 /dev/none rw",
            &format!("2 1 {dev} / {} rw - {system} rw", point.display()),
        ]);
        Target::find(&point, &fake.roots).unwrap()
    }

    fn sata_disks() -> Fake {
        let fake = Fake::new();
        for (letter, minor, ata) in [("a", 0, 1), ("b", 16, 2)] {
            let place = format!(
                "pci0000:00/ata{ata}/host{ata}/target{ata}:0:0/{ata}:0:0:0/block/sd{letter}"
            );
            fake.scsi_disk(&place, (8, minor), 8 << 30);
            fake.partition(&format!("sd{letter}"), 1, (8, minor + 1), 2048, 4096);
            fake.file(&format!("sys/class/ata_link/link{ata}/sata_spd"), "6.0 Gbps");
        }
        fake
    }

    #[test]
    fn array_has_no_link_or_disk_name() {
        let fake = sata_disks();
        let alone = target_on(&fake, "sda1", "8:1");
        let drive = alone.drive().unwrap();
        assert_eq!(drive.name, "sda");
        assert_eq!(
            drive.link.as_ref().map(|link| link.payload_mb_s),
            Some(600.0),
            "the case must be one"
        );
        fake.upper("md0", (9, 0), 16 << 30, &["sda1", "sdb1"]);
        fake.upper("dm-0", (253, 0), 16 << 30, &["md0"]);
        let array = target_on(&fake, "dm-0", "253:0");
        assert_eq!(array.stack().names, ["dm-0", "md0", "sda1", "sda", "sdb1", "sdb"]);
        let drive = array.drive().unwrap();
        assert_eq!((drive.name.as_str(), drive.kind), ("md0", DriveKind::Composite));
        assert_eq!((drive.capacity_bytes, &drive.link, drive.rpm), (16 << 30, &None, None));
        let disks: Vec<String> = array.disks().into_iter().map(|disk| disk.name).collect();
        assert_eq!(disks, ["sda", "sdb"]);
        for (action, expected) in [
            ("idle", None),
            ("frozen", None),
            ("resync", Some("md0 is being rebuilt (resync); see /proc/mdstat")),
            ("check", Some("md0 is being checked (check); see /proc/mdstat")),
        ] {
            fake.attrs("md0", &[("md/sync_action", action)]);
            assert_eq!(array.array_at_work().as_deref(), expected, "{action}");
        }
    }

    #[test]
    fn file_system_over_several_disks_has_no_drive() {
        let fake = sata_disks();
        for name in ["sda1", "sdb1"] {
            fake.file(&format!("sys/fs/btrfs/uuid/devices/{name}/x"), "");
        }
        let target = target_in(&fake, "0:40", "btrfs /dev/sda1");
        assert_eq!(target.stack().whole_disks, ["sda", "sdb"]);
        assert_eq!(target.drive(), None);
        assert_eq!(target.disks().len(), 2);
    }

    /// Of two partitions of one disk, only the first one's bytes were counted: the rest was missing, as if a
    /// cache had answered.
    #[test]
    fn traffic_of_all_file_system_devices_is_summed() {
        let fake = sata_disks();
        fake.partition("sda", 2, (8, 2), 8192, 4096);
        let stat =
            |read: u64, busy_ms: u64| format!("{read} 0 {} 0 0 0 0 0 1 {busy_ms} 0", read * 8);
        for (name, read, busy_ms) in
            [("sda1", 1, 10), ("sda2", 2, 20), ("sdb1", 4, 40), ("sda", 99, 99)]
        {
            fake.attrs(name, &[("stat", &stat(read, busy_ms))]);
        }
        for (others, read, busy_ms) in
            [(vec![], 1, 10), (vec!["sda2"], 3, 30), (vec!["sda2", "sdb1"], 7, 70)]
        {
            for name in ["sda1"].iter().chain(&others) {
                fake.file(&format!("sys/fs/btrfs/uuid/devices/{name}/x"), "");
            }
            let top = target_in(&fake, "0:40", "btrfs /dev/sda1").top_counters().unwrap();
            assert_eq!((top.reads, top.read_bytes), (read, read * 4096), "{others:?}");
            let in_flight = 1 + others.len() as u64;
            assert_eq!((top.busy_ms, top.in_flight), (busy_ms, in_flight), "{others:?}");
        }
    }

    /// A container on a host with ZFS sees neither the pool's disks nor udev: its cache was taken for a drive.
    #[test]
    fn zfs_is_proven_by_its_disks_counters_only() {
        let fake = sata_disks();
        let point = fake.path("").canonicalize().unwrap();
        let found = || Target::find(&point, &fake.roots).unwrap();
        for kind in ["ecryptfs", "zfs"] {
            fake.mounts(&[&format!("2 1 0:40 / {} rw - {kind} tank/data rw", point.display())]);
            let evidence = format!("no device below {kind} at {}", point.display());
            assert_eq!((found().unproven(), found().top_counters()), (Some(evidence), None));
        }
        for (name, number) in [("sda1", "8:1"), ("sdb1", "8:17")] {
            let member = "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank\n";
            fake.file(&format!("run/udev/data/b{number}"), member);
            fake.attrs(name, &[("stat", "1 0 8 0 0 0 0 0 0 5 0")]);
        }
        assert_eq!(found().unproven(), None);
        // A mirror: what did not pass both disks together came from memory.
        assert_eq!(found().stack().whole_disks, ["sda", "sdb"]);
        assert_eq!(found().top_counters().map(|top| top.reads), Some(2));
        assert!(!found().drives_are_uncounted());
        // What a volume is asked passes its own counters, wherever the answer comes from.
        fake.disk("virtual/block/zd16", (230, 16), 1 << 30);
        fake.partition("zd16", 1, (230, 17), 2048, 4096);
        fake.attrs("zd16p1", &[("stat", "1 0 8 0 0 0 0 0 0 5 0")]);
        let volume = target_on(&fake, "zd16p1", "230:17");
        let evidence = "zd16 is a ZFS volume, which has its own cache";
        assert_eq!(volume.unproven().as_deref(), Some(evidence));
    }

    #[test]
    fn multipath_drive_keeps_its_name_without_link() {
        let fake = sata_disks();
        for (disk, ata) in [("sda", 1), ("sdb", 2)] {
            let device = format!("pci0000:00/ata{ata}/host{ata}/target{ata}:0:0/{ata}:0:0:0");
            fake.file(&format!("sys/devices/{device}/wwid"), "naa.5000c500a0000001");
            fake.file(&format!("sys/devices/{device}/model"), "ST4000NM");
            assert!(fake.roots.block_dir(disk).is_some());
        }
        fake.upper("dm-0", (253, 0), 8 << 30, &["sda", "sdb"]);
        let drive = target_on(&fake, "dm-0", "253:0").drive().unwrap().clone();
        assert_eq!((drive.model.as_deref(), &drive.link), (Some("ST4000NM"), &None));
    }

    #[test]
    fn members_that_udev_would_start_are_named() {
        let fake = sata_disks();
        fake.file("run/udev/data/b8:1", "E:ID_FS_TYPE=linux_raid_member\n");
        fake.file("run/udev/data/b8:16", "E:ID_FS_TYPE=ext4\n");
        let below = |name: &str| {
            let graph = BlockGraph::read(&fake.roots);
            let stack = graph.stack_of_device(name);
            let mut target = target_on(&fake, "sdb", "8:16");
            target.drive = drive_below(&graph, &stack);
            target.info.kind = TargetKind::Block;
            target.stack = stack;
            target.sleeping_members()
        };
        let expected = ["sda1 is a sleeping part of an md array"];
        assert_eq!(below("sda1"), expected);
        assert_eq!(below("sda"), expected);
        assert!(below("sdb").is_empty());
    }

    #[test]
    fn networks_below_are_named_once_each() {
        let fake = sata_disks();
        fake.disk("virtual/block/nbd0", (43, 0), 1 << 30);
        fake.partition("nbd0", 1, (259, 7), 2048, 4096);
        let place = "platform/host5/session2/target5:0:0/5:0:0:0/block/sdc";
        fake.scsi_disk(place, (8, 32), 1 << 30);
        fake.disk("virtual/nvme-fabrics/ctl/nvme1/nvme1n1", (259, 0), 1 << 30);
        fake.link("sys/devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1/device", "..");
        let transport = "sys/devices/virtual/nvme-fabrics/ctl/nvme1/transport";
        let networks = |name: &str, dev: &str| target_on(&fake, name, dev).networks();
        assert_eq!(networks("nbd0p1", "259:7"), ["nbd0 (network)"]);
        assert_eq!(networks("sdc", "8:32"), ["sdc (iscsi)"]);
        for (over, named) in
            [("tcp", true), ("rdma", true), ("fc", true), ("loop", false), ("pcie", false)]
        {
            fake.file(transport, over);
            assert_eq!(!networks("nvme1n1", "259:0").is_empty(), named, "{over}");
        }
        assert!(networks("sda1", "8:1").is_empty());
        // A replicated device has a disk of this machine below it.
        fake.upper("drbd0", (147, 0), 1 << 30, &["sda1"]);
        assert_eq!(networks("drbd0", "147:0"), ["drbd0 (network)"]);
        fake.upper("dm-1", (253, 1), 1 << 30, &["sdc", "sda"]);
        assert_eq!(networks("dm-1", "253:1"), ["sdc (iscsi)"]);
    }
}
