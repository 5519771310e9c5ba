//! One pass over everything the gate looks at, in the order of the record.

use super::checks::{ok, refused};
use super::contents::{self, DeviceContents};
use super::exclusive_claim::{ExclusiveClaim, open_device};
use super::kernel_calls::{Access, DescriptorFacts, DeviceNode, KernelCalls};
use super::{
    GateRequest, aliases, device_identity, flush, identify_check, other_programs, pools,
    protected_paths, rest_of_drive, sibling_partitions, use_checks,
};
use crate::error::DEVICE_RULES;
use drivescope_machine::graph::{BlockGraph, Footprint};
use drivescope_machine::roots::{Roots, read_text};
use drivescope_model::WriteLevel;
use drivescope_model::gate::{Check, DeviceIdentity, Outcome};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An invisible user may be a program killed a moment ago, whose last requests are still pending: allow three seconds.
const CLAIM_ATTEMPTS: u32 = 30;

/// Largest sector in which the engines and the journal write.
const SECTOR_BYTES_MAX: u32 = 4096;

#[derive(Debug, Default)]
pub(super) struct Inspection {
    /// All checks except those that depend on a confirmation.
    pub checks: Vec<Check>,
    pub device: Option<DeviceIdentity>,
    pub contents: DeviceContents,
    /// The claim, if the kernel gave it.
    pub claim: Option<ExclusiveClaim>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A test is to write to it.
    Test,
    /// The device's own contents are to go back to it: what it holds now is not examined.
    Restore,
}

/// Looks at the device of a request through a claim of this kind.
pub(super) fn inspect(
    kernel: &dyn KernelCalls,
    roots: &Roots,
    request: &GateRequest,
    access: Access,
    purpose: Purpose,
) -> Inspection {
    let mut found = Inspection::default();
    let (place, reader, facts) = match open(kernel, roots, request) {
        Ok(opened) => opened,
        Err(check) => {
            found.checks.push(*check);
            return found;
        }
    };
    if let Some(check) = without_procfs(roots) {
        found.checks.push(check);
        return found;
    }
    let Some(mut device) = device_identity::read(roots, &place, &facts) else {
        let number = format!("{}:{}", facts.number.0, facts.number.1);
        let evidence = format!("the kernel does not describe device {number} in /sys");
        found.checks.push(refused("identity", evidence, &format!("ls /sys/dev/block/{number}")));
        return found;
    };
    let answer = identify_check::check(kernel, roots, &reader, &mut device);
    let graph = &BlockGraph::read(roots);
    let footprint = graph.footprint(&device.name);
    found.checks.push(ok("path", format!("{} is {}", request.path.display(), device.path)));
    found.checks.push(device_identity::check(roots, &device));
    found.checks.push(answer);
    found.checks.push(writable(graph, &footprint, &device, &facts));
    found.checks.push(range(request, &device));
    let labelled = pools::members(graph, &device.name, &reader, facts.size_bytes);
    let uses = use_checks::check(graph, &footprint, &labelled);
    let is_explained = uses.iter().any(|check| check.outcome == Outcome::Refused);
    // Before the target is claimed: a claimed partition makes its disk busy.
    found.checks.extend(rest_of_drive::check(kernel, graph, &footprint, request.level));
    let (checks, mut claimed) = aliases::claim(kernel, graph, &footprint, &[]);
    found.checks.extend(checks);
    if !access.writes() {
        // Two looks at once at devices that share bytes must not wait for each other.
        claimed.clear();
    }
    let held = take(kernel, &mut found.checks, &place, &facts, access, is_explained);
    if let Some(device_file) = held {
        found.claim = lock(kernel, roots, &mut found.checks, &footprint, device_file)
            .map(|claim| ExclusiveClaim { aliases: claimed, ..claim });
    }
    // A program may write until it closes the device.
    let others = other_programs::check(roots, &footprint);
    if access.writes() && found.claim.is_some() {
        found.checks.extend(flush::check(kernel, roots, &footprint));
    }
    found.checks.extend(uses);
    found.checks.extend(others);
    found.checks.push(sibling_partitions::check(graph, &footprint));
    if purpose == Purpose::Test {
        let own = &request.own;
        found.checks.extend(protected_paths::check(graph, &footprint, request.level, own));
        found.contents = contents::look(graph, &device.name, &reader, facts.size_bytes);
    }
    found.checks.push(same_place(kernel, request, &place));
    found.device = Some(device);
    found
}

/// The check `mounts` when not even our own mounts are visible: then no user of any device is.
fn without_procfs(roots: &Roots) -> Option<Check> {
    let table = roots.proc.join("self/mountinfo");
    let why = std::fs::File::open(&table).err()?;
    let evidence = format!(
        "cannot read {} ({why}) to see who uses the device; run mount -t proc proc /proc",
        table.display()
    );
    Some(refused("mounts", evidence, "ls /proc/self"))
}

fn open(
    kernel: &dyn KernelCalls,
    roots: &Roots,
    request: &GateRequest,
) -> Result<(DeviceNode, File, DescriptorFacts), Box<Check>> {
    let refuse = |errno, command: &str| {
        let evidence = cannot_open(&request.path, errno);
        Box::new(refused("path", evidence, &format!("{command} {}", request.path.display())))
    };
    if request.level < WriteLevel::SameBytes {
        let evidence = format!("{} needs no raw write; open it for reading", request.level.name());
        return Err(Box::new(refused("level", evidence, "drivescope tests")));
    }
    let place = kernel.resolve(&request.path).map_err(|errno| refuse(errno, "ls -lL"))?;
    let graph = BlockGraph::read(roots);
    let stack = roots.block_name(place.number).map(|name| graph.stack_of_device(&name));
    if let Some(upper) = stack.as_ref().and_then(|stack| graph.suspended_in(stack)) {
        let node = roots.node(upper);
        let evidence = format!("{0} is suspended; run dmsetup resume {0}", node.display());
        let command = format!("dmsetup info {}", node.display());
        return Err(Box::new(refused("path", evidence, &command)));
    }
    let file = kernel.open(&place.node, Access::Read).map_err(|e| refuse(e, "lsblk"))?;
    let facts = kernel.facts(&file).map_err(|errno| refuse(errno, "lsblk"))?;
    if facts.number != place.number {
        return Err(Box::new(refused("path", swapped(&request.path), "ls -lL")));
    }
    Ok((place, file, facts))
}

fn swapped(path: &Path) -> String {
    format!("{} led to another device a moment ago; name the device itself", path.display())
}

fn cannot_open(path: &Path, errno: Errno) -> String {
    let path = path.display();
    match errno {
        Errno::NOENT | Errno::NOTDIR => format!("no such path: {path}; see drivescope list"),
        Errno::NOTBLK => format!("{path} is not a block device; raw writes need one"),
        Errno::NOMEDIUM => format!("there is no medium in {path}; insert one"),
        Errno::ACCESS => format!("no permission to open {path}; run with sudo"),
        // The kernel's own permissions say EACCES; this is what the device cgroup says, to root too.
        Errno::PERM => format!("cannot open {path}: {DEVICE_RULES}"),
        Errno::LOOP => format!("{path} became a link while it was opened; name the device itself"),
        Errno::NXIO | Errno::NODEV => {
            format!("{path} has no device behind it; is it still attached?")
        }
        errno => format!("cannot open {path}: {}; see dmesg", std::io::Error::from(errno)),
    }
}

/// The check `writable`: size, write protection, medium.
fn writable(
    graph: &BlockGraph,
    footprint: &Footprint,
    device: &DeviceIdentity,
    facts: &DescriptorFacts,
) -> Check {
    let path = &device.path;
    let command = format!("lsblk --output NAME,RO,SIZE {path}");
    let is_protected = |name: &&String| {
        graph.dir(name).is_some_and(|dir| read_text(dir.join("ro")).as_deref() == Some("1"))
    };
    if facts.size_bytes == 0 {
        return refused("writable", format!("{path} has no size; insert a medium"), &command);
    }
    // A read-only partition must not be written by way of its disk either.
    let mut concerned = footprint.below.iter().chain(&footprint.own);
    let protected = concerned.find(is_protected).map(|name| graph.roots().node(name));
    if let Some(node) = protected.or_else(|| facts.read_only.then(|| path.into())) {
        let node = node.display();
        let evidence =
            format!("{node} is read-only; look for a switch, or blockdev --setrw {node}");
        return refused("writable", evidence, &command);
    }
    if device.logical_sector_bytes > SECTOR_BYTES_MAX {
        let sector = device.logical_sector_bytes;
        let evidence =
            format!("its sectors have {sector} bytes; writing supports at most {SECTOR_BYTES_MAX}");
        return refused("writable", evidence, &format!("blockdev --getss {path}"));
    }
    ok("writable", "the device takes writes")
}

/// The check `range`.
fn range(request: &GateRequest, device: &DeviceIdentity) -> Check {
    let size = device.size_bytes;
    let range = request.range.clone().unwrap_or(0..size);
    let sector = u64::from(device.logical_sector_bytes.max(1));
    let is_whole = range.start.is_multiple_of(sector) && range.end.is_multiple_of(sector);
    let evidence = format!("bytes {} to {} of {size}", range.start, range.end);
    if range.is_empty() || range.end > size || !is_whole {
        let command = format!("blockdev --getsize64 --getss {}", device.path);
        let why = format!("{evidence} are not whole {sector}-byte sectors within the device");
        return refused("range", why, &command);
    }
    ok("range", evidence)
}

/// The check `claim`: the kernel gives it to one at a time, also against users that are not visible.
fn take(
    kernel: &dyn KernelCalls,
    checks: &mut Vec<Check>,
    place: &DeviceNode,
    facts: &DescriptorFacts,
    access: Access,
    is_explained: bool,
) -> Option<File> {
    let node = place.node.display();
    let command = format!("lsblk {node}; sudo grep -s {node} /proc/*/mountinfo /proc/swaps");
    let mut opened = kernel.open(&place.node, access);
    for _ in 0..CLAIM_ATTEMPTS {
        if is_explained || !matches!(opened, Err(Errno::BUSY)) {
            break;
        }
        kernel.wait();
        opened = kernel.open(&place.node, access);
    }
    let (check, file) = match opened {
        Ok(file) => match kernel.facts(&file) {
            Ok(now) if now == *facts => {
                (ok("claim", "the kernel granted exclusive access"), Some(file))
            }
            Ok(_) => (refused("claim", swapped(&place.node), &command), None),
            Err(errno) => (refused("claim", cannot_open(&place.node, errno), &command), None),
        },
        Err(Errno::BUSY) if is_explained => {
            (refused("claim", "the kernel reports it in use (see below)", &command), None)
        }
        Err(Errno::BUSY) => {
            let evidence = "it or one of its partitions is in use by something not visible here: \
                            another container or namespace, an imported pool, another program's claim";
            (refused("claim", evidence, &command), None)
        }
        Err(errno @ (Errno::ROFS | Errno::ACCESS | Errno::PERM)) if access != Access::Read => {
            let why = match errno {
                Errno::PERM => DEVICE_RULES.to_string(),
                errno => std::io::Error::from(errno).to_string(),
            };
            let evidence = format!("cannot open {node} for writing: {why}");
            (refused("claim", evidence, &command), None)
        }
        Err(errno) => (refused("claim", cannot_open(&place.node, errno), &command), None),
    };
    checks.push(check);
    file
}

/// The check `lock`: on the whole disk, as programs that follow systemd's BLOCK_DEVICE_LOCKING take
/// it; udev then leaves the device alone.
fn lock(
    kernel: &dyn KernelCalls,
    roots: &Roots,
    checks: &mut Vec<Check>,
    footprint: &Footprint,
    device: File,
) -> Option<ExclusiveClaim> {
    let disk = footprint.disk.as_deref().unwrap_or(&footprint.target);
    let node = roots.node(disk);
    let on_disk = open_device(kernel, roots, disk, Access::Read);
    let on_disk = match (&footprint.disk, on_disk) {
        // The lock belongs to a node: another node of the device has another lock.
        (None, Ok(usual)) => Ok(Some(usual).filter(|usual| !is_same_node(usual, &device))),
        (None, Err(_)) => Ok(None),
        (Some(_), of_disk) => of_disk.map(Some),
    };
    let locked = on_disk.and_then(|other| {
        if footprint.disk.is_none() {
            kernel.lock(&device)?;
        }
        other.as_ref().map_or(Ok(()), |other| kernel.lock(other))?;
        Ok(ExclusiveClaim { device, _lock: other, aliases: Vec::new() })
    });
    let command = format!("lslocks; fuser -v {}", node.display());
    let (check, held) = match locked {
        Ok(held) => (ok("lock", format!("advisory lock on {} taken", node.display())), Some(held)),
        Err(Errno::WOULDBLOCK) => {
            let evidence = format!("another program holds the lock on {}", node.display());
            (refused("lock", evidence, &command), None)
        }
        Err(errno) => (refused("lock", cannot_open(&node, errno), &command), None),
    };
    checks.push(check);
    held
}

fn is_same_node(one: &File, other: &File) -> bool {
    fn node(file: &File) -> Option<(u64, u64)> {
        file.metadata().map(|found| (found.dev(), found.ino())).ok()
    }
    node(one).is_some_and(|it| node(other) == Some(it))
}

/// The check `same device`: the path still leads where it led when the look began.
fn same_place(kernel: &dyn KernelCalls, request: &GateRequest, place: &DeviceNode) -> Check {
    match kernel.resolve(&request.path) {
        Ok(now) if now == *place => ok("same device", "the path still leads to it"),
        _ => {
            let command = format!("ls -lL {}", request.path.display());
            refused("same device", swapped(&request.path), &command)
        }
    }
}

/// The check `as shown`: the claimed device is the one that the user saw in the report.
pub(super) fn is_as_shown(
    shown: Option<&DeviceIdentity>,
    claimed: Option<&DeviceIdentity>,
) -> Check {
    let difference = match (shown, claimed) {
        (Some(shown), Some(claimed)) => device_identity::difference(shown, claimed),
        _ => Some("it could not be opened twice".to_string()),
    };
    match difference {
        None => ok("as shown", "the claimed device is the one shown"),
        Some(why) => refused("as shown", format!("not the device that was shown: {why}"), "lsblk"),
    }
}
