//! A block device of memory: zram, filled with data that do not compress.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const CONTROL: &str = "/sys/class/zram-control";

/// A zram device of our own; removed when dropped.
pub struct RamDisk {
    number: u32,
    path: PathBuf,
}

impl RamDisk {
    /// A new device of `size_mib`, written once in full. Needs root.
    pub fn create(size_mib: u64) -> Result<Self, String> {
        let say = |what: &'static str| move |e: std::io::Error| format!("cannot {what}: {e}");
        let number = std::fs::read_to_string(Path::new(CONTROL).join("hot_add"))
            .map_err(say("add a zram device (root only)"))?;
        let number = number.trim().parse().map_err(|_| format!("zram answered {number}"))?;
        let disk = Self { number, path: PathBuf::from(format!("/dev/zram{number}")) };
        let size = format!("/sys/block/zram{number}/disksize");
        std::fs::write(size, format!("{size_mib}M")).map_err(say("size the zram device"))?;
        disk.fill(size_mib).map_err(say("fill the zram device"))?;
        Ok(disk)
    }

    fn fill(&self, size_mib: u64) -> std::io::Result<()> {
        let mut random = std::fs::File::open("/dev/urandom")?;
        let mut device = std::fs::OpenOptions::new().write(true).open(&self.path)?;
        let mut block = vec![0u8; 1 << 20];
        for _ in 0..size_mib {
            random.read_exact(&mut block)?;
            device.write_all(&block)?;
        }
        device.sync_all()
    }

    /// Its device node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is, for the table.
    pub fn kind(&self) -> &'static str {
        "zram"
    }
}

impl Drop for RamDisk {
    fn drop(&mut self) {
        // Whoever looks at new devices may still hold this one for a moment.
        for _ in 0..20 {
            let control = Path::new(CONTROL).join("hot_remove");
            if std::fs::write(control, self.number.to_string()).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        eprintln!("cannot remove {}; remove it by hand", self.path.display());
    }
}
