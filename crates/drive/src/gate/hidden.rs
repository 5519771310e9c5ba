//! Where the running system cannot be seen, what is below a target must be free as a whole.

use super::checks::{ok, refused};
use super::family::{Family, partitions};
use super::kernel::{Access, Kernel};
use drivescope_machine::roots::{Roots, list_dir};
use drivescope_model::WriteLevel;
use drivescope_model::gate::Check;
use rustix::io::Errno;
use std::fs;
use std::path::PathBuf;

/// Number of the machine's first namespace of processes (`PROC_PID_INIT_INO` of the kernel's proc_ns.h):
/// who is in it sees the machine's own first process, and with it the mounts of the running system.
const FIRST_PROCESSES: &str = "pid:[4026531836]";
/// How often a busy disk is looked at; udev opens each for a moment.
const ATTEMPTS: u32 = 5;

/// The check `rest of the drive`, for levels that replace contents.
///
/// In a container the running system may lie on a sibling of the target, or on another volume of the same
/// group, without any sign. The kernel lets nobody claim a disk of which anything is in use. A disk that is in
/// use by what the target is made of (device mapper, md) is not free for that reason alone: then everything
/// else on it is asked one by one.
pub(crate) fn check(
    kernel: &dyn Kernel,
    roots: &Roots,
    family: &Family,
    level: WriteLevel,
) -> Option<Check> {
    let is_disk = |name: &&String| {
        **name != family.target
            && roots.block_dir(name).is_none_or(|dir| !dir.join("partition").exists())
    };
    let disks: Vec<&String> = family.on_same_drives().filter(is_disk).collect();
    if level < WriteLevel::Restore || disks.is_empty() || sees_the_machine(roots) {
        return None;
    }
    let blocked = disks.iter().find_map(|disk| blocked(kernel, roots, family, disk));
    Some(match blocked {
        None => ok("rest of the drive", "nothing else on it is in use"),
        Some(why) => {
            let evidence = format!(
                "{why}, and from here (a container, or not root) the running system cannot be seen: it \
                 may lie there; write from the host, as root"
            );
            refused(
                "rest of the drive",
                evidence,
                "readlink /proc/self/ns/pid; ls /proc/1/mountinfo",
            )
        }
    })
}

/// What keeps the rest of a disk from being claimed.
fn blocked(kernel: &dyn Kernel, roots: &Roots, family: &Family, disk: &str) -> Option<String> {
    let why = |name: &String, errno| match errno {
        Errno::BUSY if name == disk => format!("something else on {disk} is in use"),
        Errno::BUSY => format!("{name} on {disk} is in use"),
        errno => format!("{name} cannot be claimed ({})", std::io::Error::from(errno)),
    };
    match claim(kernel, roots, disk) {
        Ok(()) => None,
        Err(Errno::BUSY) if is_held_for_target(roots, family, disk) => {
            others_on(roots, family, disk)
                .into_iter()
                .find_map(|other| Some(why(&other, claim(kernel, roots, &other).err()?)))
        }
        Err(errno) => Some(why(&disk.to_string(), errno)),
    }
}

fn holders(roots: &Roots, name: &str) -> Vec<String> {
    roots.block_dir(name).map(|dir| list_dir(&dir.join("holders"))).unwrap_or_default()
}

/// Whether what the target is made of holds the disk or a partition of it. Nobody else can claim what is held:
/// other users of it are holders too.
fn is_held_for_target(roots: &Roots, family: &Family, disk: &str) -> bool {
    let mut names = partitions(roots, disk);
    names.push(disk.to_string());
    let is_ours = |holder: &String| family.below.contains(holder);
    names.iter().any(|name| holders(roots, name).iter().any(is_ours))
}

/// Partitions of a disk and whatever is built on it, besides the target and what it is made of. What others
/// hold is left out for these, which are among them.
fn others_on(roots: &Roots, family: &Family, disk: &str) -> Vec<String> {
    let is_other = |name: &&String| {
        !family.below.contains(*name) && !family.has(name) && holders(roots, name).is_empty()
    };
    Family::of(roots, disk).members().filter(is_other).cloned().collect()
}

/// Whether the mounts of the machine's first process can be read.
fn sees_the_machine(roots: &Roots) -> bool {
    namespace(roots).is_some_and(|name| name.as_os_str() == FIRST_PROCESSES)
        && fs::read(roots.proc.join("1/mountinfo")).is_ok()
}

/// Whether the processes of the machine are listed, and not only those of a container, as far as anybody can tell.
pub(super) fn sees_first_processes(roots: &Roots) -> bool {
    namespace(roots).is_none_or(|name| name.as_os_str() == FIRST_PROCESSES)
}

fn namespace(roots: &Roots) -> Option<PathBuf> {
    fs::read_link(roots.proc.join("self/ns/pid")).ok()
}

/// Claims a disk for a moment.
fn claim(kernel: &dyn Kernel, roots: &Roots, disk: &str) -> Result<(), Errno> {
    let node = roots.node(disk);
    let mut result = Err(Errno::BUSY);
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            kernel.wait();
        }
        result = kernel.open(&node, Access::ReadExclusive).and_then(|file| {
            let is_it = Some(kernel.facts(&file)?.number) == roots.block_number(disk);
            if is_it { Ok(()) } else { Err(Errno::NODEV) }
        });
        if result != Err(Errno::BUSY) {
            break;
        }
    }
    result
}
