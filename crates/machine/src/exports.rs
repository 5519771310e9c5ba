//! What the kernel itself gives to other machines and to virtual ones, without a claim and without any process
//! that has it open: by its NVMe target, its SCSI target, its USB gadget, its back end of Xen.
//!
//! Most of these are known by the path that an administrator gave. The kernel opened what was there at that moment,
//! and keeps it whatever the path means now: what cannot be traced to a device for certain may be any.

mod traced;

use crate::graph::Footprint;
use crate::roots::{Roots, list_dir, read_text};
use std::fs;
use std::path::{Path, PathBuf};
use traced::{Trace, trace};

const XEN: &str = "bus/xen-backend/devices";

/// Parts of the kernel that only configfs describes: name, module, and the directory of their exports.
const CONFIGFS_ONLY: [(&str, &str, &str); 3] = [
    ("NVMe target", "nvmet", "nvmet/subsystems"),
    ("SCSI target", "target_core_file", "target/core"),
    ("USB gadget", "usb_f_mass_storage", "usb_gadget"),
];

/// A part of a target that the kernel exports.
pub struct ExportOf {
    /// What of the target: `sda1`, `the file behind loop3`.
    pub what: String,
    /// The part of the kernel that exports it.
    pub by: &'static str,
    pub shown: PathBuf,
}

/// An export whose device is unknown: it may be any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntracedExport {
    pub by: &'static str,
    /// How that part names it: `namespace 1 of nqn.lab`.
    pub name: String,
    /// The path as an administrator gave it.
    pub path: PathBuf,
    pub why: String,
    /// The command that ends it.
    pub end: String,
    pub shown: PathBuf,
}

/// Exports of the target or of what shares its bytes.
pub fn of_footprint(roots: &Roots, footprint: &Footprint) -> Vec<ExportOf> {
    let by_path = exports(roots).into_iter().filter_map(|export| {
        let what = export.of_target(roots, footprint)?;
        Some(ExportOf { what, by: export.by, shown: export.shown })
    });
    by_path.chain(xen(roots, footprint)).collect()
}

/// Exports whose device is not known: they may be of the target.
pub fn untraced(roots: &Roots, footprint: &Footprint) -> Vec<UntracedExport> {
    let all =
        exports(roots).into_iter().filter(|export| export.of_target(roots, footprint).is_none());
    let mut same_bytes = footprint.own.iter().chain(footprint.on_same_drives());
    let is_on_loop = same_bytes.any(|name| name.starts_with("loop"));
    let may_be_ours = all.filter_map(|Export { by, name, path, number, end, shown }| {
        // The kernel reported the device itself.
        if number.is_some() {
            return None;
        }
        match trace(roots, &path) {
            Trace::Device(_) | Trace::Controller(_) => None,
            Trace::File(_) if !is_on_loop => None,
            Trace::File(_) => Some("another file may have had that name then".to_string()),
            Trace::Unsure { why, .. } => Some(why),
        }
        .map(|why| UntracedExport { by, name, path, why, end, shown })
    });
    may_be_ours.collect()
}

/// A part of the kernel that may export devices, but does not show which.
pub struct HiddenExports {
    pub by: &'static str,
    pub unread: PathBuf,
}

/// Who may give any device away unseen, since configfs is not mounted, or not in this container, or something else is
/// mounted over it. A module without uses gives nothing away: each backstore, subsystem and function counts as a
/// use of its module.
pub fn hidden(roots: &Roots) -> Vec<HiddenExports> {
    let is_used = |module: &str| {
        let dir = roots.sys.join("module").join(module);
        dir.is_dir() && read_text(dir.join("refcnt")).as_deref() != Some("0")
    };
    let hidden = CONFIGFS_ONLY.into_iter().filter_map(|(by, module, place)| {
        let unread = roots.sys.join("kernel/config").join(place);
        let is_readable = roots.is_configfs(&unread) && fs::read_dir(&unread).is_ok();
        (is_used(module) && !is_readable).then_some(HiddenExports { by, unread })
    });
    hidden.collect()
}

/// Every export of this machine and its device: this changes when one comes or goes.
pub fn all(roots: &Roots) -> Vec<(PathBuf, PathBuf)> {
    let all = roots.sys.join(XEN);
    let disks = list_dir(&all).into_iter().map(|name| {
        let shown = all.join(name).join("physical_device");
        (PathBuf::from(read_text(&shown).unwrap_or_default()), shown)
    });
    let unknown = hidden(roots).into_iter().map(|it| (PathBuf::from(it.by), it.unread));
    let traced = exports(roots).into_iter().map(|export| (export.path, export.shown));
    traced.chain(disks).chain(unknown).collect()
}

fn exports(roots: &Roots) -> Vec<Export> {
    let config = roots.sys.join("kernel/config");
    let mut found = nvme(&config.join("nvmet/subsystems"));
    found.extend(scsi(&config.join("target/core")));
    found.extend(gadgets(&config.join("usb_gadget")));
    found
}

struct Export {
    by: &'static str,
    name: String,
    /// The device or file, as an administrator named it; empty if unknown.
    path: PathBuf,
    /// The device, if the kernel reports its number.
    number: Option<(u32, u32)>,
    end: String,
    shown: PathBuf,
}

impl Export {
    /// Which part of the target is exported, if any is known to be.
    fn of_target(&self, roots: &Roots, footprint: &Footprint) -> Option<String> {
        if let Some(number) = self.number {
            let device = roots.block_name(number)?;
            return is_ours(footprint, &device).then(|| footprint.describe(&device));
        }
        match trace(roots, &self.path) {
            Trace::Device(name) | Trace::Unsure { now: Some(name), .. } => {
                is_ours(footprint, &name).then(|| footprint.describe(&name))
            }
            Trace::File(found) => {
                let is_file = footprint.has_file(&found);
                is_file.then(|| format!("the file behind {}", footprint.target))
            }
            // A whole controller, `/dev/nvme0`, with all its namespaces.
            Trace::Controller(name) => {
                let is_of_it = |member: &&String| member.starts_with(&format!("{name}n"));
                let member = footprint.members().chain(&footprint.below).find(is_of_it);
                member.map(|name| footprint.describe(name))
            }
            Trace::Unsure { now: None, .. } => None,
        }
    }
}

/// Whether a device has the target's bytes, or is what it is built of: whoever is given a whole disk may have the
/// volumes on it that this machine has found too.
fn is_ours(footprint: &Footprint, name: &str) -> bool {
    footprint.has(name) || footprint.below.contains(name)
}

/// Whether it is enabled; also where the file cannot be read.
fn is_on(dir: &Path) -> bool {
    dir.is_dir() && read_text(dir.join("enable")).as_deref() != Some("0")
}

/// `nvmet` of the kernel: namespaces, and whole controllers passed through.
fn nvme(subsystems: &Path) -> Vec<Export> {
    let mut given = Vec::new();
    for subsystem in list_dir(subsystems) {
        let dir = subsystems.join(&subsystem);
        let namespaces = dir.join("namespaces");
        let listed = list_dir(&namespaces).into_iter();
        let places = listed.map(|number| (format!("namespace {number}"), namespaces.join(number)));
        let places = places.chain([("passthru".to_string(), dir.join("passthru"))]);
        given.extend(places.filter(|(_, dir)| is_on(dir)).map(|(what, dir)| {
            let shown = dir.join("device_path");
            Export {
                by: "NVMe target",
                name: format!("{what} of {subsystem}"),
                path: PathBuf::from(read_text(&shown).unwrap_or_default()),
                number: None,
                end: format!("echo 0 > {}", dir.join("enable").display()),
                shown,
            }
        }));
    }
    given
}

/// The SCSI target (LIO). `info` is what the kernel has open: of a file its path, of a block device its number.
/// `udev_path` is what its tools keep there, which may be anything, and counts only where it is of the target.
fn scsi(backstores: &Path) -> Vec<Export> {
    let mut given = Vec::new();
    for kind in list_dir(backstores) {
        let plugin = kind.split('_').next().unwrap_or_default();
        for name in list_dir(&backstores.join(&kind)) {
            let dir = backstores.join(&kind).join(&name);
            if !is_on(&dir) {
                continue;
            }
            let info = read_text(dir.join("info")).unwrap_or_default();
            let opened = info.split_once("File: ").and_then(|(_, rest)| rest.split("  ").next());
            let number = scsi_number(&info).filter(|_| plugin == "iblock");
            let named = read_text(dir.join("udev_path"));
            let of = |path: &str, number, shown| Export {
                by: "SCSI target",
                name: format!("{kind}/{name}"),
                path: PathBuf::from(path),
                number,
                end: format!("targetcli /backstores/{} delete {name}", targetcli_name(plugin)),
                shown: dir.join(shown),
            };
            match plugin {
                "iblock" => given.push(of(named.as_deref().unwrap_or_default(), number, "info")),
                "fileio" => given.push(of(opened.unwrap_or_default().trim(), None, "info")),
                // The others claim what they open, have a process that does, or keep it in memory.
                _ => {}
            }
        }
    }
    given
}

/// `Major: 8 Minor: 16` of a block device's backstore.
fn scsi_number(info: &str) -> Option<(u32, u32)> {
    let after = |label| info.split_once(label)?.1.split_whitespace().next()?.parse().ok();
    Some((after("Major: ")?, after("Minor: ")?))
}

fn targetcli_name(plugin: &str) -> &str {
    if plugin == "iblock" { "block" } else { plugin }
}

fn gadgets(all: &Path) -> Vec<Export> {
    let mut given = Vec::new();
    for gadget in list_dir(all) {
        let functions = all.join(&gadget).join("functions");
        for function in list_dir(&functions) {
            let dir = functions.join(&function);
            for unit in list_dir(&dir).into_iter().filter(|name| name.starts_with("lun.")) {
                let shown = dir.join(&unit).join("file");
                let Some(path) = read_text(&shown).map(PathBuf::from) else { continue };
                given.push(Export {
                    by: "USB gadget",
                    name: format!("{unit} of {function} of {gadget}"),
                    path,
                    number: None,
                    end: format!("echo > {}", shown.display()),
                    shown,
                });
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
