//! What the kernel itself gives to other machines and to virtual ones, without a claim and without any process
//! that has it open: by its NVMe target, its SCSI target, its USB gadget, its back end of Xen.

use super::checks::Use;
use super::family::Family;
use drivescope_machine::roots::{Roots, list_dir, read_text};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the back end of Xen tells of its devices.
const XEN: &str = "bus/xen-backend/devices";

/// Every such use of the target or of what shares its bytes.
pub(super) fn of(roots: &Roots, family: &Family) -> Vec<Use> {
    let by_path = given(roots).into_iter().filter_map(|Given { by, path, shown }| {
        let what = what_of(roots, family, &path)?;
        Some(told(&what, by, &shown))
    });
    by_path.chain(xen(roots, family)).collect()
}

/// Where each such use of anything of this machine stands, and what it gives: what changes when one comes or goes.
pub(super) fn places(roots: &Roots) -> Vec<(PathBuf, PathBuf)> {
    let all = roots.sys.join(XEN);
    let disks = list_dir(&all).into_iter().map(|name| {
        let shown = all.join(name).join("physical_device");
        (PathBuf::from(read_text(&shown).unwrap_or_default()), shown)
    });
    given(roots).into_iter().map(|given| (given.path, given.shown)).chain(disks).collect()
}

/// What is given by its path.
fn given(roots: &Roots) -> Vec<Given> {
    let config = roots.sys.join("kernel/config");
    let mut given = nvme(&config.join("nvmet/subsystems"));
    given.extend(scsi(&config.join("target/core")));
    given.extend(gadgets(&config.join("usb_gadget")));
    given
}

/// Something that is given to others.
struct Given {
    by: &'static str,
    /// The device or file, as an administrator named it.
    path: PathBuf,
    /// What shows it.
    shown: PathBuf,
}

fn told(what: &str, by: &str, shown: &Path) -> Use {
    let shown = shown.display();
    Use::new(format!("{what} is given to others by the kernel's {by}"), format!("cat {shown}"))
}

/// Whether a device has the target's bytes, or is what it is built of: whoever is given a whole disk may have the
/// volumes on it that this machine has found too.
fn is_ours(family: &Family, name: &str) -> bool {
    family.has(name) || family.below.contains(name)
}

/// What of the target a path means.
fn what_of(roots: &Roots, family: &Family, path: &Path) -> Option<String> {
    if let Some(name) = roots.block_of_node(path) {
        return is_ours(family, &name).then(|| family.describe(roots, &name));
    }
    let is_file = fs::metadata(path).is_ok_and(|found| family.has_file(&found));
    if is_file {
        return Some(format!("the file behind {}", family.target));
    }
    // A whole controller, `/dev/nvme0`, with all its namespaces.
    let controller = path.file_name()?.to_str().filter(|name| name.starts_with("nvme"))?;
    let is_of_it = |name: &&String| name.starts_with(&format!("{controller}n"));
    family.members().chain(&family.below).find(is_of_it).map(|name| family.describe(roots, name))
}

fn is_on(dir: &Path) -> bool {
    read_text(dir.join("enable")).as_deref() == Some("1")
}

/// `nvmet` of the kernel: namespaces, and whole controllers passed through.
fn nvme(subsystems: &Path) -> Vec<Given> {
    let places = list_dir(subsystems).into_iter().flat_map(|subsystem| {
        let dir = subsystems.join(subsystem);
        let namespaces = dir.join("namespaces");
        let listed = list_dir(&namespaces).into_iter().map(move |number| namespaces.join(number));
        listed.chain([dir.join("passthru")]).collect::<Vec<_>>()
    });
    let given = places.filter(|dir| is_on(dir)).filter_map(|dir| {
        let shown = dir.join("device_path");
        Some(Given { by: "NVMe target", path: PathBuf::from(read_text(&shown)?), shown })
    });
    given.collect()
}

/// The SCSI target (LIO): `udev_path` is what its tools keep there, `info` what the kernel has open.
fn scsi(backstores: &Path) -> Vec<Given> {
    let all = list_dir(backstores).into_iter().flat_map(|kind| {
        let dir = backstores.join(kind);
        list_dir(&dir).into_iter().map(move |name| dir.join(name)).collect::<Vec<_>>()
    });
    let given = all.filter(|dir| is_on(dir)).flat_map(|dir| {
        let info = read_text(dir.join("info")).unwrap_or_default();
        let opened = info.split_once("File: ").and_then(|(_, rest)| rest.split("  ").next());
        let named = read_text(dir.join("udev_path")).map(|path| (path, "udev_path"));
        let paths = named.into_iter().chain(opened.map(|path| (path.trim().to_string(), "info")));
        let of = |(path, shown)| {
            let (path, shown) = (PathBuf::from(path), dir.join(shown));
            Given { by: "SCSI target", path, shown }
        };
        paths.map(of).collect::<Vec<_>>()
    });
    given.collect()
}

/// Mass storage of the USB gadget.
fn gadgets(all: &Path) -> Vec<Given> {
    let mut given = Vec::new();
    for gadget in list_dir(all) {
        let functions = all.join(gadget).join("functions");
        for function in list_dir(&functions) {
            let dir = functions.join(function);
            for unit in list_dir(&dir).into_iter().filter(|name| name.starts_with("lun.")) {
                let shown = dir.join(unit).join("file");
                let path = read_text(&shown).map(PathBuf::from);
                given.extend(path.map(|path| Given { by: "USB gadget", path, shown }));
            }
        }
    }
    given
}

/// Disks of virtual machines of Xen, by their numbers in hexadecimal.
fn xen(roots: &Roots, family: &Family) -> Vec<Use> {
    let all = roots.sys.join(XEN);
    let of = |name: String| {
        let shown = all.join(name).join("physical_device");
        let text = read_text(&shown)?;
        let (major, minor) = text.split_once(':')?;
        let number = |text| u32::from_str_radix(text, 16).ok();
        let device = roots.block_name((number(major)?, number(minor)?))?;
        is_ours(family, &device)
            .then(|| told(&family.describe(roots, &device), "back end of Xen", &shown))
    };
    list_dir(&all).into_iter().filter_map(of).collect()
}
