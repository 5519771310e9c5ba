//! A fresh file system in an image, mounted past the page cache of the one that holds it. Needs root.

use crate::programs::run;
use std::path::{Path, PathBuf};

/// A mounted file system; unmounted and removed when dropped.
pub struct Mounted {
    image: PathBuf,
    device: Option<String>,
    folder: tempfile::TempDir,
    is_mounted: bool,
}

impl Mounted {
    /// Makes a file system of this kind in an image in `folder`. Errors: why it is not possible here.
    pub fn make(kind: &str, folder: &Path, size_mib: u64) -> Result<Self, String> {
        let image = folder.join(format!("drivescope-compare-{kind}-{}.img", std::process::id()));
        let at = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
        let mut mounted = Self { image, device: None, folder: at, is_mounted: false };
        let image = mounted.image.display().to_string();
        // Written once: converting unwritten extents below would slow the first writes.
        super::fio::lay_out(&mounted.image, size_mib)?;
        let device = run("losetup", &["--find", "--show", "--direct-io=on", &image])?;
        mounted.device = Some(device.clone());
        // No discards, now or when files are removed: the file system below would have to allocate again.
        let (options, mount_options): (&[&str], _) = match kind {
            "ext4" => {
                let at_once = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
                (&["-Fq", "-E", at_once], "nodiscard")
            }
            _ => (&["-fq", "-K"], "nodiscard"),
        };
        run(&format!("mkfs.{kind}"), &[options, &[device.as_str()]].concat())?;
        let at = mounted.folder.path().display().to_string();
        run("mount", &["-t", kind, "-o", mount_options, &device, &at])?;
        mounted.is_mounted = true;
        Ok(mounted)
    }

    /// Where it is mounted.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The kernel lets go of a program's io_uring files only a while after its end; until then a mount is busy.
fn unmounts(folder: &str) -> bool {
    (0..20).any(|_| {
        let is_done = run("umount", &[folder]).is_ok();
        if !is_done {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        is_done
    })
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let folder = self.folder.path().display().to_string();
        let unmounted = !self.is_mounted || unmounts(&folder);
        let detached =
            self.device.as_ref().is_none_or(|it| run("losetup", &["--detach", it]).is_ok());
        let removed = std::fs::remove_file(&self.image).is_ok();
        if !(unmounted && detached && removed) {
            eprintln!("cannot remove {} and {folder}; remove them by hand", self.image.display());
        }
    }
}
