//! Who uses a device or anything built on it: mounts of every visible namespace, swap, holders, loop
//! devices.

use super::checks::{Use, uses};
use super::exports;
use super::family::Family;
use drivescope_machine::mounts::{Mount, parse, swaps};
use drivescope_machine::roots::{Roots, list_dir, read_text};
use drivescope_machine::stack::{FileTables, devices_of_mount};
use drivescope_model::gate::{Check, Outcome};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Every check of this file, in the order of the record.
pub(crate) fn check(roots: &Roots, family: &Family) -> Vec<Check> {
    let mut checks = mounts(roots, family);
    checks.extend(superblocks(roots, family));
    checks.extend(swap(roots, family));
    checks.extend(holders(roots, family));
    checks.extend(loops(roots, family));
    checks
}

/// The mount tables that can be read.
struct Tables {
    /// Whose table it is (`None`: ours), and the table.
    read: Vec<(Option<String>, Vec<Mount>)>,
    /// Processes whose table may not be read.
    hidden: usize,
}

/// One table per mount namespace: processes that share one show the same link.
fn tables(roots: &Roots) -> Tables {
    let namespace = |process: &str| fs::read_link(roots.proc.join(process).join("ns/mnt")).ok();
    let table = |process: &str| fs::read(roots.proc.join(process).join("mountinfo"));
    let mut seen: BTreeSet<PathBuf> = namespace("self").into_iter().collect();
    let mut tables = Tables { read: Vec::new(), hidden: 0 };
    if let Ok(own) = table("self") {
        tables.read.push((None, parse(&own)));
    }
    for process in processes(roots) {
        if namespace(&process).is_some_and(|link| !seen.insert(link)) {
            continue;
        }
        match table(&process) {
            Ok(text) => tables.read.push((Some(process), parse(&text))),
            Err(error) if has_ended(&error) => {}
            Err(_) => tables.hidden += 1,
        }
    }
    tables
}

/// Whether procfs is mounted so that it lists only the processes of this user (`hidepid` of proc(5)): then even
/// the first one is missing.
pub(crate) fn hides_processes(roots: &Roots) -> bool {
    let hides = |mount: &Mount| {
        let option = mount.option("hidepid");
        mount.kind == "proc" && option.is_some_and(|how| !["", "0", "off"].contains(&how.as_str()))
    };
    !roots.proc.join("1").exists() && drivescope_machine::mounts::mounts(roots).iter().any(hides)
}

/// Whether a file of a process cannot be read because the process is gone or a zombie: then it hides
/// nothing.
pub(crate) fn has_ended(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::SRCH | Errno::INVAL))
}

/// Where procfs describes processes. One whose first thread has ended shows nothing there while others of its
/// threads go on; then these are told too.
pub(crate) fn processes(roots: &Roots) -> Vec<String> {
    let mut names = list_dir(&roots.proc);
    names.retain(|name| name.bytes().all(|b| b.is_ascii_digit()));
    let lost_first = |name: &&String| {
        let namespace = fs::read_link(roots.proc.join(name).join("ns/mnt"));
        namespace.is_err_and(|error| has_ended(&error))
    };
    let threads = |name: &String| {
        let folder = format!("{name}/task");
        let threads = list_dir(&roots.proc.join(&folder));
        threads.into_iter().map(move |thread| format!("{folder}/{thread}")).collect::<Vec<_>>()
    };
    let threads: Vec<String> = names.iter().filter(lost_first).flat_map(threads).collect();
    names.extend(threads);
    names
}

fn mounts(roots: &Roots, family: &Family) -> Vec<Check> {
    let tables = tables(roots);
    let mut devices: BTreeMap<((u32, u32), String, String), Vec<String>> = BTreeMap::new();
    let mut found = Vec::new();
    let mut places = BTreeSet::new();
    for (process, table) in &tables.read {
        for mount in table {
            // Neither needs a loop device to mount a file.
            let is_by_fuse = mount.kind.starts_with("fuse") && mount.source.starts_with('/');
            let may_be_file = mount.kind == "erofs" || is_by_fuse;
            let is_file = || fs::metadata(&mount.source).is_ok_and(|file| family.has_file(&file));
            // Nobody is asked for nothing: what is mounted may lie on a server that never answers.
            if may_be_file && !family.files.is_empty() && is_file() {
                let (kind, point) = (&mount.kind, mount.mount_point.display());
                let what = format!("the file behind {} is mounted on {point}", family.target);
                found.push(Use::new(format!("{what} ({kind})"), format!("findmnt --types {kind}")));
            }
            let key = (mount.dev, mount.kind.clone(), mount.source.clone());
            let names = devices.entry(key).or_insert_with(|| devices_of_mount(roots, mount));
            for name in names.iter().filter(|name| family.has(name)) {
                let point = mount.mount_point.display().to_string();
                if places.insert((name.clone(), point.clone())) {
                    found.push(mounted(roots, family, name, mount, process.as_deref()));
                }
            }
        }
    }
    let none = format!("none in {} mount namespaces", tables.read.len());
    let mut checks = uses("mounts", found, none);
    let hidden = match tables.hidden {
        0 if hides_processes(roots) => Some("those of other users".to_string()),
        0 => None,
        count => Some(format!("{count} processes")),
    };
    if let (Some(hidden), [check]) = (hidden, checks.as_mut_slice())
        && check.outcome == Outcome::Ok
    {
        check.outcome = Outcome::Unknown;
        check
            .evidence
            .push_str(&format!("; {hidden} do not show theirs: the kernel's claim decides"));
        check.command = Some("sudo cat /proc/*/mountinfo".to_string());
    }
    checks
}

fn mounted(
    roots: &Roots,
    family: &Family,
    name: &str,
    mount: &Mount,
    process: Option<&str>,
) -> Use {
    let device = family.describe(roots, name);
    let point = mount.mount_point.display();
    match process {
        None => Use::new(
            format!("{device} is mounted on {point} ({})", mount.kind),
            format!("findmnt --source {}", roots.node(name).display()),
        ),
        Some(process) => Use::new(
            format!("{device} is mounted on {point} ({}) for process {process}", mount.kind),
            format!("cat /proc/{process}/mountinfo"),
        ),
    }
}

/// A file system that the kernel has open.
pub(crate) struct OpenFileSystem {
    kind: String,
    /// One of the devices it is on.
    pub device: String,
    /// What shows it.
    dir: PathBuf,
}

/// File systems the kernel has open, whoever mounted them: `/sys/fs` and `/proc/fs` are the same in every
/// container, and keep those that were unmounted lazily. Entries that are no devices are among them.
pub(crate) fn open_file_systems(roots: &Roots) -> Vec<OpenFileSystem> {
    let all = roots.sys.join("fs");
    let no_file_systems = ["bpf", "cgroup", "fuse", "pstore", "resctrl", "selinux", "smackfs"];
    let kinds = list_dir(&all).into_iter().filter(|kind| !no_file_systems.contains(&kind.as_str()));
    let mut found = Vec::new();
    for kind in kinds {
        for name in list_dir(&all.join(&kind)) {
            let dir = all.join(&kind).join(&name);
            // btrfs has a directory for each file system, with its devices in it.
            for device in list_dir(&dir.join("devices")) {
                let dir = dir.join("devices").join(&device);
                found.push(OpenFileSystem { kind: kind.clone(), device, dir });
            }
            found.push(OpenFileSystem { kind: kind.clone(), device: name, dir });
        }
    }
    let more = in_proc(roots)
        .into_iter()
        .filter(|open| !found.iter().any(|known: &OpenFileSystem| known.device == open.device));
    let more: Vec<OpenFileSystem> = more.collect();
    found.extend(more);
    found
}

/// Those of `/proc/fs`: ntfs3, and the journals of ext4 (`sdb1-8`, or `sdb1` where it has the device to itself).
fn in_proc(roots: &Roots) -> Vec<OpenFileSystem> {
    let all = roots.proc.join("fs");
    let mut found = Vec::new();
    for kind in list_dir(&all) {
        for name in list_dir(&all.join(&kind)) {
            let dir = all.join(&kind).join(&name);
            let owner = name.rsplit_once('-').map(|(owner, _)| owner.to_string());
            for device in std::iter::once(name).chain(owner) {
                found.push(OpenFileSystem { kind: kind.clone(), device, dir: dir.clone() });
            }
        }
    }
    found
}

fn superblocks(roots: &Roots, family: &Family) -> Vec<Check> {
    let ours = open_file_systems(roots).into_iter().filter(|open| family.has(&open.device));
    let found = ours.map(|OpenFileSystem { kind, device, dir }| {
        let device = family.describe(roots, &device);
        let evidence = format!("the kernel has the {kind} on {device} open");
        Use::new(evidence, format!("ls -d {}", dir.display()))
    });
    uses("file systems", found.collect(), "the kernel has none on it open")
}

fn swap(roots: &Roots, family: &Family) -> Vec<Check> {
    let tables = FileTables::read(roots);
    let mut found = Vec::new();
    for area in swaps(roots) {
        if fs::metadata(&area).is_ok_and(|file| family.has_file(&file)) {
            let evidence =
                format!("the file behind {} is the swap file {}", family.target, area.display());
            found.push(Use::new(evidence, "swapon --show"));
        }
        let (what, devices) = match roots.block_of_node(&area) {
            Some(device) => ("is a swap area in use".to_string(), vec![device]),
            None => {
                let what = format!("has the swap file {} on it", area.display());
                (what, tables.devices_of(roots, &area))
            }
        };
        for device in devices.iter().filter(|name| family.has(name)) {
            let device = family.describe(roots, device);
            found.push(Use::new(format!("{device} {what}"), "swapon --show"));
        }
    }
    uses("swap", found, "no swap area in use")
}

/// Device mapper, md, bcache and whatever else the kernel shows as built on the device, or gives to others.
fn holders(roots: &Roots, family: &Family) -> Vec<Check> {
    let mut found = Vec::new();
    for name in family.above.keys().filter(|name| !name.starts_with("loop")) {
        // Partitions of an array add nothing to the array.
        let Some(dir) = roots.block_dir(name).filter(|dir| !dir.join("partition").exists()) else {
            continue;
        };
        let device = family.describe(roots, name);
        let (what, command) = holder_kind(&dir, name);
        found.push(Use::new(format!("{device}: {what}"), command));
    }
    for name in family.same.iter().chain(&family.twins) {
        let Some(dir) = roots.block_dir(name) else { continue };
        // Also a caching device that no backing device uses yet.
        if dir.join("bcache").exists() && !dir.join("bcache/dev").exists() {
            let command = format!("ls {}", dir.join("bcache").display());
            found.push(Use::new(format!("{name} is registered with bcache"), command));
        }
    }
    found.extend(exports::of(roots, family));
    let node = roots.node(&family.target);
    uses("holders", found, format!("nothing is built on it (lsblk {})", node.display()))
}

/// What an upper device is, and the command that shows it.
fn holder_kind(dir: &Path, name: &str) -> (String, String) {
    let uuid = read_text(dir.join("dm/uuid")).unwrap_or_default();
    let dmsetup = format!("dmsetup info /dev/{name}");
    let level = read_text(dir.join("md/level"));
    if uuid.starts_with("LVM-") {
        ("an active logical volume of LVM".to_string(), dmsetup)
    } else if uuid.starts_with("CRYPT-") {
        ("an open encrypted volume".to_string(), dmsetup)
    } else if uuid.starts_with("mpath-") {
        ("a multipath device; name it instead of its path".to_string(), "multipath -ll".to_string())
    } else if name.starts_with("dm-") {
        ("a device-mapper device".to_string(), dmsetup)
    } else if name.starts_with("md") {
        let level = level.map(|level| format!(" ({level})")).unwrap_or_default();
        (format!("an md array{level}"), "cat /proc/mdstat".to_string())
    } else if name.starts_with("bcache") {
        ("a bcache device".to_string(), format!("ls /sys/block/{name}/bcache"))
    } else {
        ("built on it".to_string(), format!("lsblk --inverse /dev/{name}"))
    }
}

fn loops(roots: &Roots, family: &Family) -> Vec<Check> {
    let found = family.above.iter().filter_map(|(name, below)| {
        let dir = roots.block_dir(name)?;
        let file = read_text(dir.join("loop/backing_file"))?;
        let evidence = format!("the file of {name} lies on {below}: {file}");
        Some(Use::new(evidence, format!("losetup --list /dev/{name}")))
    });
    uses("loop devices", found.collect(), "no loop device has its file on it")
}
