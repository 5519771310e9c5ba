//! Stacks of imagined machines, and of this one.

use super::*;
use crate::mounts::mounts;
use crate::roots::Roots;
use crate::roots::fake::Fake;

const GIB: u64 = 1 << 30;

fn stack_of_device(roots: &Roots, number: (u32, u32)) -> Stack {
    let name = roots.block_name(number);
    name.map(|name| stack_of_name(roots, &name)).unwrap_or_default()
}

fn stack_of_name(roots: &Roots, name: &str) -> Stack {
    BlockGraph::read(roots).stack_of_device(name)
}

fn stack_of_mount(roots: &Roots, mount: &Mount) -> Stack {
    let graph = BlockGraph::read(roots);
    graph.stack_of_all(&graph.mounts, [mount], &[])
}

fn stack_of_path(roots: &Roots, path: &Path) -> Stack {
    BlockGraph::read(roots).stack_of_path(path)
}

fn stack_of_data(roots: &Roots, path: &Path) -> Stack {
    BlockGraph::read(roots).stack_of_data(path)
}

fn system_disks(roots: &Roots) -> Vec<String> {
    BlockGraph::read(roots).system_disks()
}

#[test]
fn names_go_from_the_top_to_each_disk_once() {
    type Case = (&'static str, fn(&Fake), &'static [&'static str], &'static [&'static str]);
    let cases: [Case; 5] = [
        ("sda1", |_| {}, &["sda1", "sda"], &["sda"]),
        (
            "md0",
            |fake| fake.upper("md0", (9, 0), GIB, &["sda1", "sdb1"]),
            &["md0", "sda1", "sda", "sdb1", "sdb"],
            &["sda", "sdb"],
        ),
        (
            "dm-0",
            |fake| fake.upper("dm-0", (253, 0), GIB, &["sda1", "sda2"]),
            &["dm-0", "sda1", "sda", "sda2"],
            &["sda"],
        ),
        (
            "bcache0",
            |fake| {
                fake.upper("bcache0", (252, 0), GIB, &["sda1"]);
                fake.file("sys/devices/pci0000:00/block/sdb/sdb1/bcache/state", "");
                let caching = fake.roots.block_dir("sdb1").unwrap().join("bcache");
                fake.link("sys/class/block/bcache0/bcache/cache/cache0", caching);
            },
            &["bcache0", "sda1", "sda", "sdb1", "sdb"],
            &["sda", "sdb"],
        ),
        (
            "loop0",
            |fake| {
                fake.loop_device(0, GIB, "/srv/disk image (deleted)");
                fake.mounts(&["1 0 8:1 / / rw - ext4 /dev/sda1 rw"]);
            },
            &["loop0", "sda1", "sda"],
            &["sda"],
        ),
    ];
    for (name, arrange, names, whole_disks) in cases {
        let fake = Fake::two_disks();
        arrange(&fake);
        let stack = stack_of_name(&fake.roots, name);
        assert_eq!(stack.names, names, "{name}");
        assert_eq!(stack.whole_disks, whole_disks, "{name}");
        assert_eq!(stack.memory_backed, None, "{name}");
    }
}

#[test]
fn devices_are_found_by_number_and_name() {
    let fake = Fake::two_disks();
    assert_eq!(stack_of_device(&fake.roots, (8, 1)).names, ["sda1", "sda"]);
    assert_eq!(stack_of_device(&fake.roots, (9, 9)), Stack::default());
    assert_eq!(stack_of_name(&fake.roots, "../sda"), Stack::default());
}

/// The system does not start without them.
#[test]
fn side_devices_of_system_file_systems_are_system() {
    let fake = Fake::two_disks();
    fake.disk("pci0000:00/block/sdc", (8, 32), GIB);
    fake.mounts(&[
        "1 0 8:1 / / rw - xfs /dev/sda1 rw,logdev=/dev/sdb2,noquota",
        "2 1 8:2 / /boot rw - ext4 /dev/sda2 rw",
    ]);
    assert_eq!(system_disks(&fake.roots), ["sda", "sdb"]);
    fake.file("sys/fs/ext4/sda2/journal_task", "77\n");
    fake.file("proc/77/comm", "jbd2/sda2-8\n");
    assert_eq!(system_disks(&fake.roots), ["sda", "sdb"]);
    fake.file("proc/77/comm", "jbd2/sdc\n");
    assert_eq!(system_disks(&fake.roots), ["sda", "sdb", "sdc"]);
    // What is measured in a directory are the drives of its files.
    let here = fake.path("").canonicalize().unwrap();
    assert_eq!(stack_of_path(&fake.roots, &here).whole_disks, ["sda", "sdb"]);
    assert_eq!(stack_of_data(&fake.roots, &here).whole_disks, ["sda"]);
}

#[test]
fn system_is_found_below_encryption_boot_and_swap() {
    let fake = Fake::two_disks();
    fake.upper("dm-0", (253, 0), GIB, &["sda2"]);
    fake.disk("pci0000:00/block/sdc", (8, 32), GIB);
    fake.disk("pci0000:00/block/sdd", (8, 48), GIB);
    fake.mounts(&[
        "1 0 253:0 / / rw - ext4 /dev/mapper/root rw",
        "2 1 8:17 / /boot rw - ext4 /dev/sdb1 rw",
        "3 1 8:48 / /data rw - ext4 /dev/sdd rw",
    ]);
    assert_eq!(system_disks(&fake.roots), ["sda", "sdb"]);
    fake.file("proc/swaps", "Filename Type Size Used Priority\n/dev/sdc partition 8 0 -2\n");
    assert_eq!(system_disks(&fake.roots), ["sda", "sdb", "sdc"]);
    fake.file("proc/swaps", "Filename Type Size Used Priority\n/data/swap file 8 0 -2\n");
    assert_eq!(system_disks(&fake.roots), ["sda", "sdb", "sdd"]);
}

#[test]
fn container_bind_mounts_show_the_system() {
    let fake = Fake::two_disks();
    fake.mounts(&[
        "1 0 0:50 / / rw - overlay overlay rw,lowerdir=/var/absent/l,upperdir=/var/absent/u",
        "2 1 8:2 /docker/hosts /etc/hosts rw - ext4 /dev/sda2 rw",
    ]);
    assert_eq!(system_disks(&fake.roots), ["sda"]);
    fake.file("proc/1/mountinfo", "1 0 8:17 / / rw - ext4 /dev/sdb1 rw\n");
    assert_eq!(system_disks(&fake.roots), ["sda", "sdb"]);
}

#[test]
fn loop_device_over_a_network_is_not_memory() {
    fn below(stack: &Stack) -> Option<String> {
        stack.loop_system.as_ref().map(|mount| mount.kind.clone())
    }
    let fake = Fake::two_disks();
    fake.loop_device(0, GIB, "/dev/sdb2");
    fake.loop_device(1, GIB, "/net/image");
    fake.mounts(&[
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "2 1 0:5 / /dev rw - devtmpfs devtmpfs rw",
        "3 1 0:60 / /net rw - nfs4 srv:/export rw",
    ]);
    let device = stack_of_name(&fake.roots, "loop0");
    assert_eq!(device.names, ["loop0", "sdb2", "sdb"]);
    assert_eq!(device.memory_backed, None);
    let network = stack_of_name(&fake.roots, "loop1");
    assert_eq!(network.names, ["loop1"]);
    assert_eq!(network.whole_disks, ["loop1"]);
    assert_eq!((below(&device), below(&network).is_some()), (None, true));
    assert_eq!(network.memory_backed, None);
}

#[test]
fn memory_is_named_wherever_it_hides() {
    let fake = Fake::new();
    fake.disk("virtual/block/zram0", (253, 0), GIB);
    fake.disk("virtual/block/ram3", (1, 3), GIB);
    fake.disk("virtual/block/nullb0", (251, 0), GIB);
    fake.scsi_disk("pseudo_0/host1/1:0:0:0/block/sdx", (65, 0), GIB);
    fake.file("sys/devices/pseudo_0/host1/1:0:0:0/model", "scsi_debug      \n");
    fake.loop_device(3, GIB, "/dev/shm/x");
    fake.loop_device(4, GIB, "/mnt/x");
    fake.mounts(&[
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "2 1 0:5 / /dev/shm rw - tmpfs tmpfs rw",
        "3 1 253:0 / /mnt rw - ext4 /dev/zram0 rw",
    ]);
    for (name, evidence) in [
        ("zram0", "zram0 is compressed memory"),
        ("ram3", "ram3 is a RAM disk"),
        ("nullb0", "nullb0 is a null device"),
        ("sdx", "sdx is scsi_debug"),
        ("loop3", "loop3 is a file on tmpfs /dev/shm"),
        ("loop4", "zram0 is compressed memory"),
    ] {
        let stack = stack_of_name(&fake.roots, name);
        let got = stack.memory_backed.unwrap_or_default();
        assert!(got.starts_with(evidence), "{name}: {got}");
    }
    assert_eq!(stack_of_name(&fake.roots, "loop3").whole_disks, ["loop3"]);
    assert_eq!(stack_of_name(&fake.roots, "loop4").whole_disks, ["zram0"]);
}

#[test]
fn names_that_only_begin_like_memory_are_not() {
    let fake = Fake::new();
    fake.file("proc/devices", "Block devices:\n251 nullb\n");
    for (minor, name) in (0..).zip(["zramdisk", "rambo0", "ram", "nullb"]) {
        fake.disk(&format!("virtual/block/{name}"), (252, minor), GIB);
        assert_eq!(memory_evidence(&fake.roots, name), None, "{name}");
    }
    // Made by configfs, where its maker chooses the name.
    fake.disk("virtual/block/fast", (251, 0), GIB);
    assert!(memory_evidence(&fake.roots, "fast").unwrap().contains("null device"));
}

#[test]
fn btrfs_is_found_with_all_its_devices() {
    let fake = Fake::two_disks();
    for device in ["sda1", "sdb2"] {
        let target = fake.roots.block_dir(device).unwrap();
        fake.link(&format!("sys/fs/btrfs/0b-1/devices/{device}"), target);
    }
    fake.mounts(&["1 0 0:40 /@ / rw - btrfs /dev/sdb2 rw,subvol=/@"]);
    let stack = stack_of_mount(&fake.roots, &mounts(&fake.roots)[0]);
    assert_eq!(stack.names, ["sda1", "sda", "sdb2", "sdb"]);
    assert_eq!(system_disks(&fake.roots), ["sda", "sdb"]);
}

#[test]
fn zfs_and_bcachefs_devices_are_found() {
    let fake = Fake::two_disks();
    let member = "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank\n";
    fake.file("run/udev/data/b8:2", member);
    fake.file("run/udev/data/b8:18", member);
    fake.file("run/udev/data/b8:1", "E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=other\n");
    fake.mounts(&[
        "1 0 0:40 / / rw - zfs tank/root rw",
        "2 1 0:41 / /b rw - bcachefs /dev/sda1:/dev/sdb1 rw",
    ]);
    let table = mounts(&fake.roots);
    assert_eq!(stack_of_mount(&fake.roots, &table[0]).names, ["sda2", "sda", "sdb2", "sdb"]);
    assert_eq!(stack_of_mount(&fake.roots, &table[1]).names, ["sda1", "sda", "sdb1", "sdb"]);
}

#[test]
fn overlay_is_as_volatile_as_its_upper_layer() {
    let fake = Fake::two_disks();
    let (upper, lower) = (fake.path("upper"), fake.path("lower"));
    fs::create_dir(&upper).unwrap();
    fs::create_dir(&lower).unwrap();
    let overlay = format!(
        "2 1 0:50 / /merged rw - overlay overlay rw,lowerdir={},upperdir={}",
        lower.display(),
        upper.display()
    );
    let memory = format!("3 1 0:51 / {} rw - tmpfs tmpfs rw", upper.display());
    let root = "1 0 8:1 / / rw - ext4 /dev/sda1 rw";
    fake.mounts(&[root, &overlay]);
    let stack = stack_of_mount(&fake.roots, &mounts(&fake.roots)[1]);
    assert_eq!(stack.names, ["sda1", "sda"]);
    assert_eq!(stack.memory_backed, None);
    fake.mounts(&[root, "2 1 0:50 / /m rw - overlay overlay rw,lowerdir=l,upperdir=src"]);
    let stack = stack_of_mount(&fake.roots, &mounts(&fake.roots)[1]);
    let unseen =
        Some("/m is an overlay; its layer for new files is not visible from here".to_string());
    assert_eq!(stack, Stack { unsynced: unseen, ..Stack::default() });
    fake.mounts(&[root, &overlay, &memory]);
    let stack = stack_of_mount(&fake.roots, &mounts(&fake.roots)[1]);
    assert!(stack.memory_backed.unwrap().starts_with("tmpfs "));
}

#[test]
fn overlay_layer_with_the_data_counts() {
    let fake = Fake::two_disks();
    for dir in ["upper", "lower", "merged"] {
        fs::create_dir(fake.path(dir).join("")).unwrap();
    }
    // What the overlay shows is stood for by files of the same names.
    for file in ["upper/new", "lower/old", "merged/new", "merged/old"] {
        fs::write(fake.path(file), "x").unwrap();
    }
    let at = |dir: &str| fake.path("").canonicalize().unwrap().join(dir).display().to_string();
    let overlay = |upper: &str| {
        format!(
            "2 1 0:50 / {} rw - overlay overlay rw,lowerdir={},upperdir={upper}",
            at("merged"),
            at("lower")
        )
    };
    let upper = format!("3 1 8:18 / {} rw - ext4 /dev/sdb2 rw", at("upper"));
    let memory = format!("3 1 0:51 / {} rw - tmpfs tmpfs rw", at("upper"));
    let stack_at = |path: &str, lines: &[&str]| {
        let root = "1 0 8:1 / / rw - ext4 /dev/sda1 rw";
        fake.mounts(&[&[root], lines].concat());
        stack_of_data(&fake.roots, &fake.path(path))
    };
    let seen = overlay(&at("upper"));
    for (path, disk, words) in [
        ("merged", "sdb", "new files go to its layer"),
        ("merged/new", "sdb", "the file lies in its layer"),
        ("merged/old", "sda", "the file lies in its layer"),
    ] {
        let stack = stack_at(path, &[&seen, &upper]);
        assert_eq!(stack.whole_disks, [disk], "{path}");
        assert_eq!(stack.memory_backed, None, "{path}");
        let said = stack.overlay.unwrap();
        assert!(said.contains(words) && said.ends_with(&format!(" on {disk}")), "{said}");
    }
    let stack = stack_at("merged", &[&seen, &memory]);
    assert!(stack.names.is_empty() && stack.memory_backed.is_some(), "{stack:?}");
    for path in ["merged", "merged/old"] {
        let stack = stack_at(path, &[&overlay("/host/only/upper")]);
        assert!(stack.names.is_empty(), "the drive of a lower layer only: {stack:?}");
        assert!(stack.overlay.unwrap().contains("not visible from here"));
    }
    assert_eq!(stack_at("lower", &[&seen]).overlay, None);
}

#[test]
fn a_path_leads_to_its_file_system() {
    let fake = Fake::two_disks();
    let point = fake.path("").canonicalize().unwrap();
    fake.mounts(&[
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        &format!("2 1 8:18 / {} rw - ext4 /dev/sdb2 rw", point.display()),
    ]);
    assert_eq!(stack_of_path(&fake.roots, &fake.path("sys")).names, ["sdb2", "sdb"]);
    assert_eq!(stack_of_path(&fake.roots, &fake.path("absent")), Stack::default());
}

#[test]
fn the_drive_of_this_machines_root_is_found() {
    let roots = Roots::host();
    let table = mounts(&roots);
    let Some(root) = mount_at(&table, Path::new("/")) else { return };
    // In a container `/` may be on no device that is to be seen.
    if root.dev.0 == 0 || roots.block_name(root.dev).is_none() {
        return;
    }
    let stack = stack_of_path(&roots, Path::new("/"));
    assert!(!stack.whole_disks.is_empty(), "{stack:?}");
    assert_eq!(stack, stack_of_device(&roots, root.dev));
    let system = system_disks(&roots);
    assert!(stack.whole_disks.iter().all(|disk| system.contains(disk)), "{system:?}");
}

#[test]
fn program_over_memory_is_recognized_by_its_source() {
    let fake = Fake::new();
    let [memory, plain, passed] = ["memory", "plain", "passed"].map(|name| {
        std::fs::create_dir_all(fake.path(name)).unwrap();
        fake.path(name).canonicalize().unwrap().display().to_string()
    });
    for (source, evidence) in [
        (
            memory.as_str(),
            Some(format!("{passed} passes on {memory}, which tmpfs keeps in memory")),
        ),
        (&plain, None),
        ("ann@server:/srv", None),
    ] {
        fake.mounts(&[
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
            &format!("2 1 0:30 / {memory} rw - tmpfs tmpfs rw"),
            &format!("3 1 0:31 / {passed} rw - fuse.bindfs {source} rw"),
        ]);
        let stack = stack_of_path(&fake.roots, Path::new(&passed));
        assert_eq!(stack.memory_backed, evidence, "{source}");
    }
}

#[test]
fn file_on_a_served_drive_is_simulated() {
    fn model(stack: &Stack) -> Option<String> {
        stack.served_model.clone()
    }
    let fake = Fake::new();
    fake.loop_device(0, GIB, "/srv/drive/disk.img");
    fake.loop_device(1, GIB, "/srv/other/disk.img");
    fake.mounts(&[
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "2 1 0:50 / /srv/drive rw - fuse drivescope-sim:wd40efrx rw",
        "3 1 0:51 / /srv/other rw - fuse sshfs rw",
        "4 1 7:0 / /data rw - ext4 /dev/loop0 rw",
    ]);
    assert_eq!(model(&stack_of_name(&fake.roots, "loop0")).as_deref(), Some("wd40efrx"));
    assert_eq!(model(&stack_of_name(&fake.roots, "loop1")), None);
    let table = mounts(&fake.roots);
    let data = table.iter().find(|mount| mount.mount_point == Path::new("/data")).unwrap();
    assert_eq!(model(&stack_of_mount(&fake.roots, data)).as_deref(), Some("wd40efrx"));
    let drive = |name: &str| {
        let drive =
            crate::list::drive_named(&fake.roots, name, &crate::list::ListOptions { smart: false });
        drive.map(|drive| (drive.kind, drive.model)).unwrap()
    };
    let kind = drivescope_model::drive::DriveKind::Simulated;
    assert_eq!(drive("loop0"), (kind, Some("wd40efrx".to_string())));
    assert_eq!(drive("loop1").1, None);
}
