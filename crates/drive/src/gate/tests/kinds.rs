//! Kinds of devices that can be a target, and what puts them to use.

use super::machine::{Machine, PART, SIZE};
use super::pools::label;
use std::fs;

/// A blank device of some kind. One that has no partitions of its own has its own name for `part`.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub disk: &'static str,
    pub number: (u32, u32),
    pub part: &'static str,
    pub part_number: (u32, u32),
    make: fn(&Machine),
}

const fn kind(
    (disk, number): (&'static str, (u32, u32)),
    (part, part_number): (&'static str, (u32, u32)),
    make: fn(&Machine),
) -> Kind {
    Kind { disk, number, part, part_number, make }
}

/// The kind of most tests.
pub const SDB: Kind = kind(("sdb", (8, 16)), ("sdb1", (8, 17)), Machine::sata_disk);

pub const KINDS: [Kind; 7] = [
    SDB,
    kind(("nvme1n1", (259, 4)), ("nvme1n1p1", (259, 5)), |m| nvme(m, "nvme1n1", (259, 4), 1)),
    kind(("vdb", (254, 16)), ("vdb1", (254, 17)), |m| {
        m.disk_at("pci0000:00/virtio2/block/vdb", (254, 16));
        m.fake.link("sys/devices/pci0000:00/virtio2/block/vdb/device", "../..");
        m.fake.file("sys/devices/pci0000:00/virtio2/vendor", "0x1af4");
        m.fake.attrs("vdb", &[("serial", "disk-1")]);
    }),
    kind(("mmcblk1", (179, 8)), ("mmcblk1p1", (179, 9)), |m| {
        for (name, minor) in [("mmcblk1", 8), ("mmcblk1boot0", 16), ("mmcblk1boot1", 24)] {
            m.disk_at(&format!("platform/mmc1/mmc1:0001/block/{name}"), (179, minor));
            let link = format!("sys/devices/platform/mmc1/mmc1:0001/block/{name}/device");
            m.fake.link(&link, "../..");
        }
        for boot in ["mmcblk1boot0", "mmcblk1boot1"] {
            m.fake.attrs(boot, &[("size", "8192")]);
        }
        m.fake.file("sys/devices/platform/mmc1/mmc1:0001/name", "DF4032");
        m.fake.file("sys/devices/platform/mmc1/mmc1:0001/serial", "0x01234567");
    }),
    kind(("loop5", (7, 5)), ("loop5p1", (259, 9)), |m| m.loop_over(5, "/srv/disk.img")),
    kind(("md5", (9, 5)), ("md5p1", (259, 10)), |m| {
        m.upper("md5", (9, 5), &["sde"], &[("md/level", "raid1")]);
    }),
    kind(("dm-5", (253, 5)), ("dm-5", (253, 5)), |m| {
        m.upper("dm-5", (253, 5), &["sde"], &[("dm/uuid", "LVM-free")]);
    }),
];

/// A namespace of the second NVMe drive, as a kernel without native multipath shows it.
pub fn nvme(machine: &Machine, name: &str, number: (u32, u32), namespace: u32) {
    let controller = "pci0000:00/0000:00:1d.0/nvme/nvme1";
    machine.disk_at(&format!("{controller}/{name}"), number);
    machine.fake.link(&format!("sys/devices/{controller}/{name}/device"), "..");
    machine.fake.attrs(name, &[("wwid", &format!("eui.0025385b0000000{namespace}"))]);
    machine.fake.file(&format!("sys/devices/{controller}/model"), "IMAGINED NVME 500GB");
    machine.fake.file(&format!("sys/devices/{controller}/serial"), "S5TEST");
}

impl Machine {
    pub fn of(kind: &Kind) -> Self {
        let mut machine = Self::without_target(*kind);
        (kind.make)(&machine);
        machine.target = kind.disk;
        machine
    }

    pub fn has_parts(&self) -> bool {
        self.kind.part != self.kind.disk
    }

    /// Gives the target its first partition, where it can have any.
    pub fn with_part(&self) -> &'static str {
        if self.has_parts() {
            self.part(self.kind.disk, 1, self.kind.part_number, PART);
        }
        self.kind.part
    }

    pub fn with_second_part(&self) -> String {
        let (major, minor) = self.kind.part_number;
        let start = PART.0 + PART.1;
        self.part(self.kind.disk, 2, (major, minor + 100), (start, SIZE - start));
        let stem = self.kind.part.strip_suffix('1').unwrap();
        format!("{stem}2")
    }

    /// `text` with the names of the target for `DISK` and `PART`.
    pub fn named(&self, text: &str) -> String {
        text.replace("DISK", self.kind.disk).replace("PART", self.kind.part)
    }

    pub fn mapping(&self, minor: u32, label: &str, uuid: &str, below: &[&str]) {
        let attrs = [("dm/name", label), ("dm/uuid", uuid)];
        self.upper(&format!("dm-{minor}"), (253, minor), below, &attrs);
    }

    /// A loop device over a file, or straight on a device.
    pub fn loop_over(&self, minor: u32, file: &str) {
        self.upper(&format!("loop{minor}"), (7, minor), &[], &[("loop/backing_file", file)]);
    }

    /// A namespace of the kernel's NVMe target, given to others while it is on.
    pub fn export(&self, device: &str, is_on: bool) {
        let namespace = "sys/kernel/config/nvmet/subsystems/nqn.1/namespaces/1";
        self.fake.file(&format!("{namespace}/device_path"), format!("/dev/{device}"));
        self.fake.file(&format!("{namespace}/enable"), u8::from(is_on).to_string());
    }

    fn add_mount(&self, process: &str, device: &str, point: &str, kind: &str) {
        let path = self.fake.path(&format!("proc/{process}/mountinfo"));
        let table = fs::read_to_string(&path).unwrap_or_default();
        let (major, minor) = self.fake.roots.block_number(device).unwrap();
        let id = table.lines().count() + 2;
        let line = format!("{id} 1 {major}:{minor} / {point} rw - {kind} /dev/{device} rw\n");
        self.fake.file(&format!("proc/{process}/mountinfo"), table + &line);
    }

    /// What the kernel shows everyone of an open file system: for most kinds a directory.
    pub fn open_file_system(&self, device: &str, kind: &str) {
        match kind {
            "ext4" | "xfs" | "f2fs" => self.fake.file(&format!("sys/fs/{kind}/{device}/x"), "1"),
            "ntfs3" => self.fake.file(&format!("proc/fs/ntfs3/{device}/volinfo"), "1"),
            _ => {}
        }
    }

    /// Mounts a device as the first process and this program see it.
    pub fn mounted(&self, device: &str, point: &str, kind: &str) {
        self.add_mount("self", device, point, kind);
        self.open_file_system(device, kind);
    }

    /// Mounts a device as only another process sees it.
    pub fn mounted_for(&self, process: &str, device: &str, point: &str, kind: &str) {
        self.add_mount(process, device, point, kind);
        self.open_file_system(device, kind);
    }

    /// Mounts the device of this program's own directory `name`, as a container has a volume mounted.
    pub fn mounted_at_own(&self, name: &str, device: &str) {
        self.fake.file(&format!("{name}/x"), "");
        let place = self.fake.path(name).canonicalize().unwrap();
        self.mounted(device, &place.display().to_string(), "vfat");
    }

    /// An area of swap in use: a device or a file.
    pub fn swap(&self, area: &str) {
        let lines = format!("Filename Type Size Used Priority\n{area} partition 8 0 -2\n");
        self.fake.file("proc/swaps", lines);
    }

    /// Writes the label of a pool to the first partition, or to the disk.
    pub fn label_of_pool(&self, pool: &str, is_on_part: bool) {
        let start = if is_on_part && self.has_parts() { PART.0 } else { 0 };
        self.write(self.kind.disk, start, &label(pool));
    }
}
