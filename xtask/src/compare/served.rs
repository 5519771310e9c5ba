//! A folder on a simulated hard disk that drivescope serves in real time: there both programs meet the
//! same latencies, milliseconds that a busy machine does not move, instead of those of a shared disk.

use crate::programs::printed;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The disk. Its model is one of the best proved ones.
pub const MODEL: &str = "wd40efrx";
/// Size of the file system, at the disk's outer edge: what was ever written stays in the contents.
const SIZE: &str = "4G";
/// The file for its standard output.
const SAID: &str = "said";
/// How long the disk may take to appear.
const PATIENCE: Duration = Duration::from_secs(20);

/// A served drive, perhaps with a mounted ext4 on it; unmounted and ended when dropped.
pub struct ServedDisk {
    place: tempfile::TempDir,
    server: Child,
    device: PathBuf,
    mounted: bool,
}

impl ServedDisk {
    /// Serves a model as a loop device, makes a file system on it and mounts that. Needs root and FUSE.
    pub fn with_file_system(drivescope: &Path, model: &str) -> Result<Self, String> {
        let mut served = Self::start(drivescope, model)?;
        // Without a journal nothing else writes, and without lazy tables nothing catches up later.
        let options = ["-q", "-O", "^has_journal", "-E", "lazy_itable_init=0"];
        printed(Command::new("mkfs.ext4").args(options).arg(&served.device).arg(SIZE))?;
        let mut mount = Command::new("mount");
        printed(mount.args(["-o", "noatime"]).arg(&served.device).arg(served.folder()))?;
        served.mounted = true;
        Ok(served)
    }

    /// Serves a model as a loop device. Needs root and FUSE.
    pub fn start(drivescope: &Path, model: &str) -> Result<Self, String> {
        let place = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
        // Servers of databases run as users of their own, which must come through.
        std::fs::set_permissions(place.path(), Permissions::from_mode(0o755))
            .map_err(|e| format!("cannot open a folder to others: {e}"))?;
        for folder in ["drive", "files"] {
            std::fs::create_dir(place.path().join(folder))
                .map_err(|e| format!("cannot make a folder: {e}"))?;
        }
        let output = std::fs::File::create(place.path().join(SAID))
            .map_err(|e| format!("cannot make a file: {e}"))?;
        let server = Command::new(drivescope)
            .args(["sim", "mount", "--block", "--backing"])
            .arg(place.path().join("contents"))
            .arg(model)
            .arg(place.path().join("drive"))
            .stdout(output)
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|e| format!("cannot start drivescope: {e}"))?;
        let mut served = Self { place, server, device: PathBuf::new(), mounted: false };
        served.device = served.find_device()?;
        Ok(served)
    }

    /// The block device.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// The served file.
    pub fn file(&self) -> PathBuf {
        self.place.path().join("drive/disk.img")
    }

    /// Ends it, and gives what it printed.
    pub fn end(mut self) -> Result<String, String> {
        self.stop();
        let said = self.place.path().join(SAID);
        std::fs::read_to_string(said).map_err(|e| format!("cannot read its report: {e}"))
    }

    /// The folder for files.
    pub fn folder(&self) -> PathBuf {
        self.place.path().join("files")
    }

    /// The loop device, once the server has printed its name.
    fn find_device(&mut self) -> Result<PathBuf, String> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let text = std::fs::read_to_string(self.place.path().join(SAID)).unwrap_or_default();
            let name = text.split_whitespace().find(|word| word.starts_with("/dev/loop"));
            // The last of its first lines: then the path has been measured, too.
            if let Some(name) = name.filter(|_| text.contains("path through the block device")) {
                return Ok(PathBuf::from(name));
            }
            if let Ok(Some(status)) = self.server.try_wait() {
                return Err(format!("the served disk ended with {status}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("the served disk did not appear".to_string())
    }

    /// A ring of io_uring lets go of its file some time after its program has ended.
    fn unmount(&self) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let result = printed(Command::new("umount").arg(self.folder()));
            if result.is_ok() || start.elapsed() > PATIENCE {
                return result.map(drop);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Ends it like Ctrl-C, so that it unmounts and detaches by itself; once.
    fn stop(&mut self) {
        fn said(result: Result<(), String>) {
            if let Err(why) = result {
                eprintln!("cannot end the served disk: {why}");
            }
        }
        if std::mem::take(&mut self.mounted) {
            said(self.unmount());
        }
        if matches!(self.server.try_wait(), Ok(Some(_))) {
            return;
        }
        let mut interrupt = Command::new("kill");
        said(printed(interrupt.args(["-INT", &self.server.id().to_string()])).map(drop));
        if let Err(error) = self.server.wait() {
            eprintln!("cannot wait for the served disk: {error}");
        }
    }
}

impl Drop for ServedDisk {
    fn drop(&mut self) {
        self.stop();
    }
}
