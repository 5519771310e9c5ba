//! What the kernel itself gives to other machines and to virtual ones, without a claim and without any process
//! that has it open: by its NVMe target, its SCSI target, its USB gadget, its back end of Xen.

use crate::graph::Footprint;
use crate::roots::{Roots, list_dir, read_text};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the back end of Xen tells of its devices.
const XEN: &str = "bus/xen-backend/devices";

/// Parts of the kernel that say only in configfs what they give away: which, the module that does it, and where.
const TOLD_BY_CONFIGFS: [(&str, &str, &str); 3] = [
    ("NVMe target", "nvmet", "nvmet/subsystems"),
    ("SCSI target", "target_core_file", "target/core"),
    ("USB gadget", "usb_f_mass_storage", "usb_gadget"),
];

/// Something of a target that is given to others.
pub struct ExportOf {
    /// What of the target: `sda1`, `the file behind loop3`.
    pub what: String,
    /// By which part of the kernel.
    pub by: &'static str,
    /// The file that shows it.
    pub shown: PathBuf,
}

/// Every such use of the target or of what shares its bytes.
pub fn of_footprint(roots: &Roots, footprint: &Footprint) -> Vec<ExportOf> {
    let by_path = exports(roots).into_iter().filter_map(|Export { by, path, shown }| {
        Some(ExportOf { what: what_of(roots, footprint, &path)?, by, shown })
    });
    by_path.chain(xen(roots, footprint)).collect()
}

/// A part of the kernel that gives something away, and cannot be asked what.
pub struct HiddenExports {
    /// Which.
    pub by: &'static str,
    /// The directory that would tell.
    pub unread: PathBuf,
}

/// Who may give any device away unseen, since configfs is not mounted, or not in this container. A module that
/// nobody uses gives nothing away: each backstore, subsystem and function counts as a use of its module.
pub fn hidden(roots: &Roots) -> Vec<HiddenExports> {
    let is_used = |module: &str| {
        let dir = roots.sys.join("module").join(module);
        dir.is_dir() && read_text(dir.join("refcnt")).as_deref() != Some("0")
    };
    let silent = TOLD_BY_CONFIGFS.into_iter().filter_map(|(by, module, place)| {
        let unread = roots.sys.join("kernel/config").join(place);
        (is_used(module) && fs::read_dir(&unread).is_err()).then_some(HiddenExports { by, unread })
    });
    silent.collect()
}

/// What anything of this machine gives to others, and where that stands: what changes when one comes or goes.
pub fn all(roots: &Roots) -> Vec<(PathBuf, PathBuf)> {
    let all = roots.sys.join(XEN);
    let disks = list_dir(&all).into_iter().map(|name| {
        let shown = all.join(name).join("physical_device");
        (PathBuf::from(read_text(&shown).unwrap_or_default()), shown)
    });
    let unknown = hidden(roots).into_iter().map(|it| (PathBuf::from(it.by), it.unread));
    let told = exports(roots).into_iter().map(|export| (export.path, export.shown));
    told.chain(disks).chain(unknown).collect()
}

/// What is given by its path.
fn exports(roots: &Roots) -> Vec<Export> {
    let config = roots.sys.join("kernel/config");
    let mut found = nvme(&config.join("nvmet/subsystems"));
    found.extend(scsi(&config.join("target/core")));
    found.extend(gadgets(&config.join("usb_gadget")));
    found
}

/// Something that is given to others.
struct Export {
    by: &'static str,
    /// The device or file, as an administrator named it.
    path: PathBuf,
    /// What shows it.
    shown: PathBuf,
}

/// Whether a device has the target's bytes, or is what it is built of: whoever is given a whole disk may have the
/// volumes on it that this machine has found too.
fn is_ours(footprint: &Footprint, name: &str) -> bool {
    footprint.has(name) || footprint.below.contains(name)
}

/// What of the target a path means.
fn what_of(roots: &Roots, footprint: &Footprint, path: &Path) -> Option<String> {
    if let Some(name) = roots.block_of_node(path) {
        return is_ours(footprint, &name).then(|| footprint.describe(&name));
    }
    let is_file = fs::metadata(path).is_ok_and(|found| footprint.has_file(&found));
    if is_file {
        return Some(format!("the file behind {}", footprint.target));
    }
    // A whole controller, `/dev/nvme0`, with all its namespaces.
    let controller = path.file_name()?.to_str().filter(|name| name.starts_with("nvme"))?;
    let is_of_it = |name: &&String| name.starts_with(&format!("{controller}n"));
    footprint.members().chain(&footprint.below).find(is_of_it).map(|name| footprint.describe(name))
}

fn is_on(dir: &Path) -> bool {
    read_text(dir.join("enable")).as_deref() == Some("1")
}

/// `nvmet` of the kernel: namespaces, and whole controllers passed through.
fn nvme(subsystems: &Path) -> Vec<Export> {
    let places = list_dir(subsystems).into_iter().flat_map(|subsystem| {
        let dir = subsystems.join(subsystem);
        let namespaces = dir.join("namespaces");
        let listed = list_dir(&namespaces).into_iter().map(move |number| namespaces.join(number));
        listed.chain([dir.join("passthru")]).collect::<Vec<_>>()
    });
    let given = places.filter(|dir| is_on(dir)).filter_map(|dir| {
        let shown = dir.join("device_path");
        Some(Export { by: "NVMe target", path: PathBuf::from(read_text(&shown)?), shown })
    });
    given.collect()
}

/// The SCSI target (LIO): `udev_path` is what its tools keep there, `info` what the kernel has open.
fn scsi(backstores: &Path) -> Vec<Export> {
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
            Export { by: "SCSI target", path, shown }
        };
        paths.map(of).collect::<Vec<_>>()
    });
    given.collect()
}

/// Mass storage of the USB gadget.
fn gadgets(all: &Path) -> Vec<Export> {
    let mut given = Vec::new();
    for gadget in list_dir(all) {
        let functions = all.join(gadget).join("functions");
        for function in list_dir(&functions) {
            let dir = functions.join(function);
            for unit in list_dir(&dir).into_iter().filter(|name| name.starts_with("lun.")) {
                let shown = dir.join(unit).join("file");
                let path = read_text(&shown).map(PathBuf::from);
                given.extend(path.map(|path| Export { by: "USB gadget", path, shown }));
            }
        }
    }
    given
}

/// Disks of virtual machines of Xen, by their numbers in hexadecimal.
fn xen(roots: &Roots, footprint: &Footprint) -> Vec<ExportOf> {
    let all = roots.sys.join(XEN);
    let of = |name: String| {
        let shown = all.join(name).join("physical_device");
        let text = read_text(&shown)?;
        let (major, minor) = text.split_once(':')?;
        let number = |text| u32::from_str_radix(text, 16).ok();
        let device = roots.block_name((number(major)?, number(minor)?))?;
        let what = footprint.describe(&device);
        is_ours(footprint, &device).then_some(ExportOf { what, by: "Xen back end", shown })
    };
    list_dir(&all).into_iter().filter_map(of).collect()
}
