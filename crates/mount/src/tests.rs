//! Served drives as programs see them. These need root and /dev/fuse; without them they say so, and
//! fail instead where `DRIVESCOPE_TESTS_MUST_RUN` is set.

mod block;
mod faults;
mod file;
mod precision;
mod remains;
#[path = "../../../tests/support/skip.rs"]
mod skip;

use super::testing::{Fixed, Seen};
use super::{ServeError, ServeOptions, ServeReport, Server};
use rustix::fs::{Mode, OFlags};
use skip::skip_loudly;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;
const CAPACITY: u64 = 256 << 20;
const SLOW: Duration = Duration::from_millis(8);

fn can_run(block: bool) -> bool {
    let reasons = [
        (!rustix::process::geteuid().is_root(), "not root"),
        (!Path::new("/dev/fuse").exists(), "no /dev/fuse"),
        (block && !Path::new("/dev/loop-control").exists(), "no /dev/loop-control"),
    ];
    let reason = reasons.into_iter().find(|(is_so, _)| *is_so);
    reason.map(|(_, reason)| skip_loudly(reason)).is_none()
}

#[track_caller]
pub(crate) fn wait_until(never: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        // A machine that does other things is slow; only what hangs takes this long.
        assert!(start.elapsed() < Duration::from_secs(600), "{never}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A directory of one test's own, with a mount point and a backing file in it.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// For a test of a file; `None` where it cannot run.
    fn for_file() -> Option<Self> {
        can_run(false).then(Self::new)
    }

    fn for_device() -> Option<Self> {
        can_run(true).then(Self::new)
    }

    fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.mount_point()).unwrap();
        place
    }

    fn mount_point(&self) -> PathBuf {
        self.dir.path().join("mnt")
    }

    fn options(&self) -> ServeOptions {
        options_in(self.dir.path())
    }

    fn serve(&self, device: Fixed) -> Server {
        serve(device, &self.options())
    }

    fn serve_block(&self, device: Fixed) -> Server {
        serve(device, &ServeOptions { block: true, ..self.options() })
    }

    fn is_mounted(&self) -> bool {
        let table = std::fs::read_to_string("/proc/self/mounts").unwrap();
        table.contains(self.mount_point().to_str().unwrap())
    }
}

/// Serves the drive. A process that another test has just forked still holds the lock of a backing file for an instant,
/// after its server has ended: that refusal alone is waited for.
#[track_caller]
fn serve(device: Fixed, options: &ServeOptions) -> Server {
    let begin = Instant::now();
    loop {
        match Server::start(Box::new(device.clone()), options) {
            Err(ServeError::BackingStore { why, .. })
                if why.contains("another server uses it")
                    && begin.elapsed() < Duration::from_secs(5) =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            started => return started.unwrap(),
        }
    }
}

fn options_in(dir: &Path) -> ServeOptions {
    ServeOptions {
        model: "test".into(),
        mount_point: dir.join("mnt"),
        backing: dir.join("backing"),
        block: false,
        sector_bytes: 512,
        rotational: true,
        trim: true,
        gone_at: None,
        fake: None,
    }
}

/// A mounted file system; unmounted when dropped.
struct MountedFs(PathBuf);

impl MountedFs {
    fn mount(arguments: &[&str], on: &Path) -> Self {
        run("mount", &[arguments, &[on.to_str().unwrap()]].concat());
        Self(on.to_path_buf())
    }
}

impl Drop for MountedFs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn instant() -> Fixed {
    Fixed::new(CAPACITY, 512, 0, 1)
}

fn slow(parallel: usize) -> Fixed {
    Fixed::new(CAPACITY, 512, SLOW.as_nanos() as u64, parallel)
}

/// `len` zeros where direct I/O accepts them: at the place the range gives.
fn aligned(len: usize) -> (Vec<u8>, std::ops::Range<usize>) {
    let memory = vec![0; len + 4096];
    let skip = memory.as_ptr().align_offset(4096);
    (memory, skip..skip + len)
}

fn read_direct(file: &std::fs::File, at: u64, len: usize) -> std::io::Result<usize> {
    let (mut memory, place) = aligned(len);
    file.read_at(&mut memory[place], at)
}

/// Writes `len` zeros with one request of direct I/O.
fn write_direct(file: &std::fs::File, at: u64, len: usize) -> std::io::Result<usize> {
    let (memory, place) = aligned(len);
    file.write_at(&memory[place], at)
}

fn open(path: &Path) -> std::fs::File {
    std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn open_direct(path: &Path) -> std::fs::File {
    let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).unwrap().into()
}

fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| seed.wrapping_add((i / 512) as u8).wrapping_mul(31)).collect()
}

fn name_of(node: &Path) -> &str {
    node.file_name().unwrap().to_str().unwrap()
}

fn errno_of<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

/// Reads with `depth` threads at a time, until the model has seen that many at a time.
fn reach_depth(path: &Path, depth: usize, seen: &Seen) -> usize {
    let file = open_direct(path);
    let reached = || seen.most_in_flight.load(Ordering::Relaxed);
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for thread in 0..depth {
                let file = &file;
                scope.spawn(move || {
                    for n in 0..4 {
                        // Not side by side, so that no two requests are merged.
                        let at = ((thread * 4 + n) * 2 * 4096) as u64;
                        assert_eq!(read_direct(file, at, 4096).unwrap(), 4096);
                    }
                });
            }
        });
        if reached() >= depth {
            break;
        }
    }
    reached()
}

/// Runs a program; gives its standard output, or fails with what it said.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {}: {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

fn has(program: &str) -> bool {
    Command::new(program).arg("-V").output().is_ok()
}
