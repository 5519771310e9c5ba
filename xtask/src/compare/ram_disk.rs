//! Block devices of memory, filled with data that do not compress: zram, and loop on tmpfs.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const CONTROL: &str = "/sys/class/zram-control";
/// Always tmpfs.
const SHM: &str = "/dev/shm";

/// A device of our own; removed when dropped.
pub struct RamDisk {
    kind: RamDiskKind,
    path: PathBuf,
}

enum RamDiskKind {
    /// With its number.
    Zram(u32),
    /// With its file.
    Loop(PathBuf),
}

impl RamDisk {
    /// A zram device of `size_mib`, written once in full. Needs root.
    pub fn zram(size_mib: u64) -> Result<Self, String> {
        let number = std::fs::read_to_string(Path::new(CONTROL).join("hot_add"))
            .map_err(say("add a zram device (root only)"))?;
        let number = number.trim().parse().map_err(|_| format!("zram answered {number}"))?;
        let path = PathBuf::from(format!("/dev/zram{number}"));
        let disk = Self { kind: RamDiskKind::Zram(number), path };
        let size = format!("/sys/block/zram{number}/disksize");
        std::fs::write(size, format!("{size_mib}M")).map_err(say("size the zram device"))?;
        fill(&disk.path, size_mib).map_err(say("fill the zram device"))?;
        Ok(disk)
    }

    /// A loop device over a file in memory. Needs root.
    pub fn loop_on_tmpfs(size_mib: u64) -> Result<Self, String> {
        let file = Path::new(SHM).join(format!("drivescope-compare-{}", std::process::id()));
        std::fs::File::create(&file).map_err(say("create a file in memory"))?;
        let attached = fill(&file, size_mib)
            .map_err(say("fill a file in memory"))
            .and_then(|()| attach(&file));
        match attached {
            Ok(path) => Ok(Self { kind: RamDiskKind::Loop(file), path }),
            Err(why) => {
                let _ = std::fs::remove_file(&file);
                Err(why)
            }
        }
    }

    /// Its device node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is, for the table.
    pub fn name(&self) -> &'static str {
        match self.kind {
            RamDiskKind::Zram(_) => "zram",
            RamDiskKind::Loop(_) => "loop on tmpfs",
        }
    }
}

fn say(what: &'static str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("cannot {what}: {error}")
}

fn fill(path: &Path, size_mib: u64) -> std::io::Result<()> {
    let mut random = std::fs::File::open("/dev/urandom")?;
    let mut device = std::fs::OpenOptions::new().write(true).open(path)?;
    let mut block = vec![0u8; 1 << 20];
    for _ in 0..size_mib {
        random.read_exact(&mut block)?;
        device.write_all(&block)?;
    }
    device.sync_all()
}

fn attach(file: &Path) -> Result<PathBuf, String> {
    let output = Command::new("losetup")
        .args(["--find", "--show"])
        .arg(file)
        .output()
        .map_err(say("start losetup"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

impl Drop for RamDisk {
    fn drop(&mut self) {
        // Whoever looks at new devices may still hold this one for a moment.
        for _ in 0..20 {
            if self.remove() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        eprintln!("cannot remove {}; remove it by hand", self.path.display());
    }
}

impl RamDisk {
    fn remove(&self) -> bool {
        match &self.kind {
            RamDiskKind::Zram(number) => {
                let control = Path::new(CONTROL).join("hot_remove");
                std::fs::write(control, number.to_string()).is_ok()
            }
            RamDiskKind::Loop(file) => {
                let detached = Command::new("losetup").arg("--detach").arg(&self.path).status();
                detached.is_ok_and(|status| status.success()) && std::fs::remove_file(file).is_ok()
            }
        }
    }
}
