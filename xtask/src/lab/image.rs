//! The guest: Debian's kernel and root file system, made once of its packages, and the static program.

use super::share;
use crate::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the guest runs besides drivescope.
const PACKAGES: &str = "linux-image-amd64,udev,kmod,mdadm,lvm2,cryptsetup-bin,bcache-tools,btrfs-progs,e2fsprogs,\
    xfsprogs,thin-provisioning-tools,multipath-tools,fdisk,fio";
/// The release whose kernel the cases are written for.
const RELEASE: &str = "bookworm";
/// The first process of the root file system: everything else comes from the shared folder.
const INIT: &str = "#!/bin/sh\nmodprobe 9pnet_virtio\nmodprobe 9p\n\
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 lab /lab\nexec sh /lab/start.sh\n";
/// Enough for the packages and what cases put there.
const ROOT_SIZE: &str = "2G";
/// Programs that the host needs, and Debian's packages of them.
const TOOLS: [(&str, &str); 3] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("mmdebstrap", "mmdebstrap"),
    ("mkfs.ext4", "e2fsprogs"),
];
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Files that every boot needs.
#[derive(Debug)]
pub struct Guest {
    /// Below `target`; runs have folders of their own in it.
    pub folder: PathBuf,
    /// Needs nothing of the guest.
    pub program: PathBuf,
}

impl Guest {
    /// Makes what is missing. An error names tools that the machine lacks.
    pub fn new() -> Result<Self, String> {
        check_tools()?;
        let folder = workspace::root().join("target/lab");
        std::fs::create_dir_all(&folder)
            .map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        let guest = Self { program: build_program(&folder)?, folder };
        guest.make_root()?;
        Ok(guest)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The root file system, unless it is there and of the same packages.
    fn make_root(&self) -> Result<(), String> {
        let recipe = format!("{RELEASE} {PACKAGES} {ROOT_SIZE}\n{INIT}");
        let made = self.file("recipe");
        if std::fs::read_to_string(&made).is_ok_and(|of| of == recipe) {
            return Ok(());
        }
        eprintln!("making the guest of Debian's packages, once (minutes)");
        let [root, kernel, initrd, init] =
            ["root.img", "vmlinuz", "initrd", "init"].map(|name| self.file(name));
        share::write(&init, INIT)?;
        // A plain view of the tree: while a hook runs, /proc and /sys are mounted in it.
        let hook = format!(
            "--customize-hook=set -e; mkdir \"$1/lab\"; install -m 755 {init} \"$1/sbin/lab-init\"; \
             cp \"$1\"/boot/vmlinuz-* {kernel}; cp \"$1\"/boot/initrd.img-* {initrd}; rm -f {root}; \
             mkdir \"$1.plain\"; mount --bind \"$1\" \"$1.plain\"; \
             mkfs.ext4 -q -L lab-root -O ^has_journal -d \"$1.plain\" {root} {ROOT_SIZE}; \
             umount \"$1.plain\"; rmdir \"$1.plain\"",
            init = quoted(&init)?,
            kernel = quoted(&kernel)?,
            initrd = quoted(&initrd)?,
            root = quoted(&root)?,
        );
        let mut make = Command::new("mmdebstrap");
        make.args(["--quiet", "--variant=minbase", "--format=null", "--dpkgopt=force-unsafe-io"]);
        make.args([
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
        ]);
        make.args([&format!("--include={PACKAGES}"), &hook, RELEASE, "-"]);
        run_quietly(make)?;
        share::write(&made, &recipe)
    }
}

fn check_tools() -> Result<(), String> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(
            "the lab's guest is an x86-64 machine, and drivescope is built here for another"
                .to_string(),
        );
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    let missing = |tool: &str| !folders.iter().any(|folder| folder.join(tool).exists());
    let lacking: Vec<&str> =
        TOOLS.iter().filter(|(tool, _)| missing(tool)).map(|(_, package)| *package).collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => {
            Err(format!("the lab needs Debian's packages: apt-get install {}", lacking.join(" ")))
        }
    }
}

/// A static build, which asks nothing of the guest's libraries.
fn build_program(folder: &Path) -> Result<PathBuf, String> {
    let builds = folder.join("build");
    let mut build = Command::new("cargo");
    build
        .args(["build", "--quiet", "--package", "drivescope", "--target", TARGET, "--target-dir"])
        .arg(&builds);
    build.env("RUSTFLAGS", "-C target-feature=+crt-static").current_dir(workspace::root());
    run_quietly(build)?;
    Ok(builds.join(TARGET).join("debug/drivescope"))
}

/// Runs a command whose standard error is of interest.
pub fn run_quietly(mut command: Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|e| format!("cannot run {name}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed: {status}")) }
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> Result<String, String> {
    match path.to_str() {
        Some(text) if !text.contains('\'') => Ok(format!("'{text}'")),
        _ => Err(format!("{}: the lab needs a path without quotation marks", path.display())),
    }
}
