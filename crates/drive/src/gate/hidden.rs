//! Where the running system cannot be seen, what is below a target must be free as a whole.

use super::checks::{ok, refused};
use super::family::Family;
use super::kernel::{Access, Kernel};
use crate::roots::Roots;
use drivescope_model::WriteLevel;
use drivescope_model::gate::Check;
use rustix::io::Errno;
use std::fs;

/// Number of the machine's first namespace of processes (`PROC_PID_INIT_INO` of the kernel's proc_ns.h):
/// who is in it sees the machine's own first process, and with it the mounts of the running system.
const FIRST_PROCESSES: &str = "pid:[4026531836]";
/// How often a busy disk is looked at; udev opens each for a moment.
const ATTEMPTS: u32 = 5;

/// The check `rest of the drive`, for levels that replace contents.
///
/// In a container the running system may lie on a sibling of the target, or on another volume of the same
/// group, without any sign. The kernel lets nobody claim a disk of which anything is in use.
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
    let disks: Vec<&String> = family.below.iter().filter(is_disk).collect();
    if level < WriteLevel::Restore || disks.is_empty() || sees_the_machine(roots) {
        return None;
    }
    let blocked = disks.iter().find_map(|disk| Some((disk, claim(kernel, roots, disk).err()?)));
    Some(match blocked {
        None => ok("rest of the drive", "nothing else on it is in use"),
        Some((disk, errno)) => {
            let why = match errno {
                Errno::BUSY => format!("something else on {disk} is in use"),
                errno => format!("{disk} cannot be claimed ({})", std::io::Error::from(errno)),
            };
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

/// Whether the mounts of the machine's first process can be read.
fn sees_the_machine(roots: &Roots) -> bool {
    let namespace = fs::read_link(roots.proc.join("self/ns/pid"));
    namespace.is_ok_and(|name| name.as_os_str() == FIRST_PROCESSES)
        && fs::read(roots.proc.join("1/mountinfo")).is_ok()
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
