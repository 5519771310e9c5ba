//! A folder on a simulated hard disk that drivescope serves in real time: there both programs meet the
//! same latencies, milliseconds that a busy machine does not move, instead of those of a shared disk.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The disk. Its model is one of the best proved ones.
pub const MODEL: &str = "wd40efrx";
/// Size of the file system, at the disk's outer edge: what was ever written stays in the contents.
const SIZE: &str = "4G";
/// How long the disk may take to appear.
const PATIENCE: Duration = Duration::from_secs(20);

/// A mounted ext4 on the disk; unmounted and ended when dropped.
pub struct Served {
    place: tempfile::TempDir,
    server: Child,
    mounted: bool,
}

impl Served {
    /// Serves the disk as a loop device, makes a file system on it and mounts that. Needs root and FUSE.
    pub fn start(drivescope: &Path) -> Result<Self, String> {
        let place = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
        for folder in ["drive", "files"] {
            std::fs::create_dir(place.path().join(folder))
                .map_err(|e| format!("cannot make a folder: {e}"))?;
        }
        let said = place.path().join("said");
        let output =
            std::fs::File::create(&said).map_err(|e| format!("cannot make a file: {e}"))?;
        let server = Command::new(drivescope)
            .args(["sim", "mount", "--block", "--backing"])
            .arg(place.path().join("contents"))
            .arg(MODEL)
            .arg(place.path().join("drive"))
            .stdout(output)
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|e| format!("cannot start drivescope: {e}"))?;
        let mut served = Self { place, server, mounted: false };
        let device = served.device(&said)?;
        // Without a journal nothing else writes, and without lazy tables nothing catches up later.
        let options = ["-q", "-O", "^has_journal", "-E", "lazy_itable_init=1"];
        run(Command::new("mkfs.ext4").args(options).arg(&device).arg(SIZE))?;
        run(Command::new("mount").args(["-o", "noatime"]).arg(&device).arg(served.folder()))?;
        served.mounted = true;
        Ok(served)
    }

    /// Where files go.
    pub fn folder(&self) -> PathBuf {
        self.place.path().join("files")
    }

    /// The loop device, once the server has said its name.
    fn device(&mut self, said: &Path) -> Result<PathBuf, String> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let text = std::fs::read_to_string(said).unwrap_or_default();
            let name = text.split_whitespace().find(|word| word.starts_with("/dev/loop"));
            if let Some(name) = name {
                return Ok(PathBuf::from(name));
            }
            if let Ok(Some(status)) = self.server.try_wait() {
                return Err(format!("the served disk ended with {status}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("the served disk did not appear".to_string())
    }
}

impl Served {
    /// A ring of io_uring lets go of its file some time after its program has ended.
    fn unmount(&self) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let result = run(Command::new("umount").arg(self.folder()));
            if result.is_ok() || start.elapsed() > PATIENCE {
                return result;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().to_string();
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("cannot start {program}: {error}")),
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let said = |result: Result<(), String>| {
            if let Err(why) = result {
                eprintln!("cannot end the served disk: {why}");
            }
        };
        if self.mounted {
            said(self.unmount());
        }
        // As Ctrl-C does, which lets it unmount and detach by itself.
        said(run(Command::new("kill").args(["-INT", &self.server.id().to_string()])));
        if let Err(error) = self.server.wait() {
            eprintln!("cannot wait for the served disk: {error}");
        }
    }
}
