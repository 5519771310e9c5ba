//! Old ways of measuring that go through the page cache, run on a simulated drive: `dd` with small blocks, and
//! a script of tiny writes (seed 001). What they show is host and drive together, so they take both.
//!
//! ```text
//! let times = dd_buffered(drive, &HostParams::laptop_2015(), &Dd::SEED_001)?;    // seconds written, read
//! let elapsed_s = tiny_writes(drive, &HostParams::laptop_2015(), &TinyWrites::seed_001(1000))?;
//! ```

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::file_target::{FileTarget, Mode};
use super::files::{FileError, FileId, ROOT};
use super::fs_params::FsParams;
use super::params::HostParams;
use crate::device::{Device, Nanos};
use crate::param_problem::ParamProblem;

/// Blocks in which a file is made that is only to be there.
const FILLING_BYTES: u64 = 1 << 20;
/// Time between making the file and using it: the drive has put everything in its place.
const SETTLE_NS: Nanos = 60_000_000_000;

/// Why an instrument could not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstrumentError {
    /// The host or the file system cannot be so.
    #[error(transparent)]
    Host(#[from] ParamProblem),
    /// The file does not fit, or the drive failed.
    #[error("the test file: {0}")]
    File(#[from] FileError),
}

/// `dd if=/dev/zero of=FILE bs=… count=…`, then `dd if=FILE of=/dev/null bs=…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dd {
    /// Bytes in a block.
    pub block_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
}

impl Dd {
    /// As seed 001 ran it: a million blocks of 512 bytes.
    pub const SEED_001: Self = Self { block_bytes: 512, blocks: 1_000_000 };
}

/// What the two calls of `dd` took, s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DdTimes {
    /// Writing the file; nothing is flushed at the end.
    pub write_s: f64,
    /// Reading it, from the drive and not from memory.
    pub read_s: f64,
}

/// A script that writes a few bytes at random places of an existing file, one system call to seek and one to
/// write each time; no flush at the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TinyWrites {
    /// Size of the file.
    pub file_bytes: u64,
    /// Bytes in each write.
    pub write_bytes: u64,
    /// Number of writes.
    pub writes: u64,
    /// Chooses the places.
    pub seed: u64,
    /// Time from the call of the script to its first write, ms.
    pub start_ms: f64,
    /// Time that the script itself takes for each write, µs.
    pub script_us: f64,
}

impl TinyWrites {
    /// As seed 001 ran it: 18 bytes at a time into a file of 512 MB, 1,000 times on the disk and 100,000 times
    /// on the laptop's SSD, in Python. Its times are what `time` printed of the two runs (0.12 and 1.87 s in the
    /// script, 0.19 and 2.84 s in the system): 17.7 µs of script a write, and 265 ms of both before the first.
    #[must_use]
    pub const fn seed_001(writes: u64) -> Self {
        Self {
            file_bytes: 512_000_000,
            write_bytes: 18,
            writes,
            seed: 1,
            start_ms: 265.0,
            script_us: 17.7,
        }
    }
}

/// Runs both calls of `dd` on a fresh drive with an empty file system. Between them everything is written
/// back and dropped from memory: seed 001 read its disk at the disk's own rate, so the file was not in memory.
///
/// # Errors
/// A parameter of the host that cannot be, a drive too small for the file, or a failed request.
pub fn dd_buffered<D: Device>(
    drive: D,
    host: &HostParams,
    dd: &Dd,
) -> Result<DdTimes, InstrumentError> {
    let mut target = mounted(drive, host)?;
    let file = target.create(ROOT)?;
    let began = target.now();
    for block in 0..dd.blocks {
        target.other_call();
        target.write(file, block * dd.block_bytes, dd.block_bytes, Mode::Buffered)?;
    }
    let write_s = seconds(target.now() - began);
    settle(&mut target, file)?;
    let began = target.now();
    for block in 0..dd.blocks {
        target.read(file, block * dd.block_bytes, dd.block_bytes, Mode::Buffered)?;
        target.other_call();
    }
    Ok(DdTimes { write_s, read_s: seconds(target.now() - began) })
}

/// Runs the script on a fresh drive with an empty file system, its file written before and not in memory;
/// what it took, s.
///
/// # Errors
/// A parameter of the host that cannot be, a drive too small for the file, or a failed request.
pub fn tiny_writes<D: Device>(
    drive: D,
    host: &HostParams,
    script: &TinyWrites,
) -> Result<f64, InstrumentError> {
    let mut target = mounted(drive, host)?;
    let file = target.create(ROOT)?;
    let mut at = 0;
    while at < script.file_bytes {
        let len = FILLING_BYTES.min(script.file_bytes - at);
        target.write(file, at, len, Mode::Buffered)?;
        at += len;
    }
    settle(&mut target, file)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(script.seed);
    let last = script.file_bytes.saturating_sub(script.write_bytes);
    let (start, each) = (script.start_ms * 1e6, script.script_us * 1e3);
    let began = target.now();
    target.idle(start.round() as Nanos);
    for _ in 0..script.writes {
        target.idle(each.round() as Nanos);
        target.other_call();
        let at = random.random_range(0..=last);
        target.write(file, at, script.write_bytes, Mode::Buffered)?;
    }
    Ok(seconds(target.now() - began))
}

fn mounted<D: Device>(drive: D, host: &HostParams) -> Result<FileTarget<D>, ParamProblem> {
    let fs = FsParams::for_drive(drive.capacity_bytes());
    FileTarget::new(host, &fs, drive)
}

/// The file reaches the drive and leaves the memory.
fn settle<D: Device>(target: &mut FileTarget<D>, file: FileId) -> Result<(), FileError> {
    target.sync(file)?;
    target.evict(file)?;
    target.idle(SETTLE_NS);
    Ok(())
}

fn seconds(ns: Nanos) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{BUILT_IN, Model, Start};

    fn drive(name: &str) -> impl Device {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap();
        Model::parse(name, text).unwrap().build(&Start { seed: 1, ..Start::default() }).unwrap()
    }

    /// Against the published figure, in per cent.
    fn near(seen: f64, published: f64, tolerance_pct: f64) {
        let off = 100.0 * (seen / published - 1.0);
        assert!(off.abs() <= tolerance_pct, "{seen} against {published}: {off:+.1} %");
    }

    #[test]
    fn seed_001_dd_on_the_laptop() {
        let host = HostParams::laptop_2015();
        let dd = dd_buffered(drive("laptop-ssd-2015"), &host, &Dd::SEED_001).unwrap();
        near(dd.write_s, 4.948_839, 5.0);
        near(dd.read_s, 3.273_717, 5.0);
    }

    #[test]
    fn seed_001_dd_on_the_disk() {
        let host = HostParams::laptop_2015();
        let dd = dd_buffered(drive("easystore-2tb"), &host, &Dd::SEED_001).unwrap();
        near(dd.write_s, 5.133_201, 5.0);
        near(dd.read_s, 4.813_426, 5.0);
    }

    #[test]
    fn seed_001_tiny_writes_on_the_laptop() {
        let script = TinyWrites::seed_001(100_000);
        let host = HostParams::laptop_2015();
        near(tiny_writes(drive("laptop-ssd-2015"), &host, &script).unwrap(), 14.368, 5.0);
    }

    #[test]
    fn seed_001_tiny_writes_on_the_disk() {
        let script = TinyWrites::seed_001(1000);
        let host = HostParams::laptop_2015();
        near(tiny_writes(drive("easystore-2tb"), &host, &script).unwrap(), 9.278, 5.0);
    }

    #[test]
    fn a_file_that_does_not_fit_says_so() {
        let dd = Dd { block_bytes: 3 << 40, blocks: 1 };
        let error = dd_buffered(drive("easystore-2tb"), &HostParams::default(), &dd).unwrap_err();
        assert_eq!(error, InstrumentError::File(FileError::NoSpace));
    }
}
