//! Traces the path of an export to the device that the kernel has open for it.

use crate::roots::Roots;
use std::fs::{self, Metadata};
use std::path::Path;

/// The device that was opened by a path, at an unknown time and perhaps in another mount namespace.
pub(super) enum Trace {
    /// The block device with this kernel name: the path is its usual node.
    Device(String),
    Controller(String),
    /// A regular file, without a link on the way to it.
    File(Metadata),
    /// The path may have led to any device.
    Unsure {
        /// The block device to which the path leads now.
        now: Option<String>,
        why: String,
    },
}

pub(super) fn trace(roots: &Roots, path: &Path) -> Trace {
    if !path.is_absolute() {
        return unsure(None, "its path is not absolute");
    }
    if let Some(name) = roots.block_of_node(path) {
        // Other names are links, or nodes that a user made: they can be given to another device at any time.
        let usual = Path::new("/dev").join(name.replace('!', "/"));
        if usual == path && !is_link(&roots.node(&name)) {
            return Trace::Device(name);
        }
        let why = format!("that name leads to {} now, but may have led elsewhere", usual.display());
        return unsure(Some(name), &why);
    }
    if let Some(name) = controller(roots, path) {
        return Trace::Controller(name);
    }
    match (fs::metadata(path), fs::canonicalize(path)) {
        (Ok(found), Ok(real)) if found.is_file() && real == path => Trace::File(found),
        (Ok(found), _) if found.is_file() => {
            unsure(None, "there is a link in its path, which may have led elsewhere")
        }
        _ => {
            unsure(None, "its path does not lead to a device or file from here, or no longer does")
        }
    }
}

fn unsure(now: Option<String>, why: &str) -> Trace {
    Trace::Unsure { now, why: why.to_string() }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// `nvme0` of `/dev/nvme0`, the character device of a whole controller.
fn controller(roots: &Roots, path: &Path) -> Option<String> {
    let name = path.strip_prefix("/dev").ok()?.to_str()?;
    let number = name.strip_prefix("nvme")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let node = roots.dev.join(name);
    (is_number && fs::symlink_metadata(&node).is_ok_and(|it| !it.is_symlink()))
        .then(|| name.to_string())
}
