//! The guest: Debian's kernel and root file system, made once of its packages, and the program.

use super::share;
use crate::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The guest's programs besides drivescope.
const PACKAGES: &str = "linux-image-amd64,udev,kmod,mdadm,lvm2,cryptsetup-bin,bcache-tools,btrfs-progs,e2fsprogs,\
    xfsprogs,thin-provisioning-tools,multipath-tools,fdisk,fio,smartmontools";
/// The release whose kernel the cases are written for, and its C library.
const RELEASE: &str = "bookworm";
const GUEST_GLIBC: [u32; 2] = [2, 36];
/// Drivers that no case needs: two thirds of the kernel's files.
const UNUSED_DRIVERS: &str = "drivers/accessibility,drivers/bluetooth,drivers/comedi,drivers/gpu,\
    drivers/hid,drivers/hwmon,drivers/iio,drivers/infiniband,drivers/input,drivers/leds,drivers/media,drivers/mfd,\
    drivers/net,drivers/platform,drivers/staging,drivers/thunderbolt,drivers/video,fs/ceph,fs/nfs,fs/ocfs2,\
    net/bluetooth,net/netfilter,net/sched,net/wireless,sound";
/// Modules that find the root: an initial file system of these alone is made in a moment.
const ROOT_MODULES: &str = "virtio_pci\nvirtio_blk\next4\n";
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
    /// The guest has all that it needs.
    pub program: PathBuf,
}

impl Guest {
    /// Makes what is missing; the program too, unless one is given. An error names tools that the machine lacks.
    pub fn new(program: Option<&Path>) -> Result<Self, String> {
        check_tools()?;
        let folder = workspace::root().join("target/lab");
        std::fs::create_dir_all(&folder)
            .map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        let guest = Self { program: program_in(&folder, program)?, folder };
        guest.make_root()?;
        Ok(guest)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The root file system, unless it is there and of the same packages.
    fn make_root(&self) -> Result<(), String> {
        let recipe =
            format!("{RELEASE} {PACKAGES} {ROOT_SIZE} {UNUSED_DRIVERS} {ROOT_MODULES}{INIT}");
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
        let modules = format!(
            "--essential-hook=set -e; cd \"$1\"; mkdir -p etc/initramfs-tools/conf.d \
             usr/share/initramfs-tools/modules.d; \
             echo MODULES=list > etc/initramfs-tools/conf.d/lab; \
             printf '{ROOT_MODULES}' > usr/share/initramfs-tools/modules.d/lab"
        );
        let mut make = Command::new("mmdebstrap");
        make.args(["--quiet", "--variant=minbase", "--format=null", "--dpkgopt=force-unsafe-io"]);
        let drivers = UNUSED_DRIVERS.split(',').map(|it| format!("/lib/modules/*/kernel/{it}/*"));
        let texts = ["doc", "locale", "man", "i18n"].map(|it| format!("/usr/share/{it}/*"));
        make.args(drivers.chain(texts).map(|it| format!("--dpkgopt=path-exclude={it}")));
        make.args([&format!("--include={PACKAGES}"), &modules, &hook, RELEASE, "-"]);
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
    if lacking.is_empty() {
        Ok(())
    } else {
        Err(format!("the lab needs Debian's packages: apt-get install {}", lacking.join(" ")))
    }
}

/// The program without what debuggers need.
fn program_in(folder: &Path, built: Option<&Path>) -> Result<PathBuf, String> {
    let runs_there = host_glibc().is_some_and(|host| host <= GUEST_GLIBC);
    let built = match built {
        Some(_) if !runs_there => {
            return Err("the guest's C library is older than this machine's: without --program the lab builds a \
                        static program"
                .to_string());
        }
        Some(built) => built.to_path_buf(),
        None => build(folder, runs_there)?,
    };
    let program = folder.join("drivescope");
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").args([&program, &built]);
    run_quietly(strip).map(|()| program)
}

/// The program as `cargo build` makes it, or static for a guest whose C library is older.
fn build(folder: &Path, runs_there: bool) -> Result<PathBuf, String> {
    let mut build = Command::new("cargo");
    build.args(["build", "--quiet", "--package", "drivescope", "--target-dir"]);
    build.current_dir(workspace::root());
    let built = if runs_there {
        let builds = workspace::root().join("target");
        build.arg(&builds);
        builds.join("debug/drivescope")
    } else {
        let builds = folder.join("build");
        build.arg(&builds).args(["--target", TARGET]);
        build.env("RUSTFLAGS", "-C target-feature=+crt-static");
        builds.join(TARGET).join("debug/drivescope")
    };
    run_quietly(build).map(|()| built)
}

/// The version of this machine's C library; none with another one.
fn host_glibc() -> Option<[u32; 2]> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some([major.parse().ok()?, minor.parse().ok()?])
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
