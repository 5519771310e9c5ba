//! A file on a simulated drive: what a program sees that works through a host's page cache and file system.

use super::counted::Counted;
use super::{AnyDrive, Served, SimulatedDrive};
use drivescope_machine::counters::DeviceCounters;
use drivescope_sim::ParamProblem;
use drivescope_sim::device::{Nanos, SimDevice, SimRequest};
use drivescope_sim::host::{HostParams, OneFileSystem, PAGE_BYTES, PageCache};

#[derive(Debug, thiserror::Error)]
#[error("no file of this size fits on the simulated drive: {0}; give a smaller --size or fill=")]
pub struct FileProblem(#[from] ParamProblem);

impl SimulatedDrive {
    /// A new file of `size_bytes`, its space reserved and nothing written, on a `drive` whose file system has given the
    /// share `taken` (0 to 1) of the drive to other files before; its time begins at `now`. It uses the page cache of
    /// `host`.
    ///
    /// Errors: no such file fits on the drive.
    pub fn with_file(
        drive: AnyDrive,
        host: &HostParams,
        taken: f64,
        size_bytes: u64,
        now: Nanos,
    ) -> Result<Self, FileProblem> {
        let taken_bytes = (drive.capacity_bytes() as f64 * taken) as u64;
        let system = OneFileSystem::new(Counted::new(drive), taken_bytes, size_bytes)?;
        Ok(Self::serving(Box::new(PageCache::new(host, system)?), now))
    }
}

impl Served for PageCache<OneFileSystem<Counted>> {
    fn submit_direct(&mut self, now: Nanos, request: SimRequest) {
        Self::submit_direct(self, now, request);
    }

    fn open_by_slot(&mut self) {
        self.open_by_id();
    }

    fn evict(&mut self) {
        Self::evict(self, 0, self.capacity_bytes());
    }

    fn counters(&self) -> Option<DeviceCounters> {
        Some(self.inner().inner().counters())
    }

    fn resident_share(&self) -> Option<f64> {
        let (held, _) = self.pages_held();
        Some(held as f64 / (self.capacity_bytes() / PAGE_BYTES).max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io_op::IoOp;
    use crate::simulated::Answer;
    use crate::simulated::spec::Spec;
    use drivescope_model::target::IoMode;

    const MIB: u64 = 1 << 20;

    fn file() -> SimulatedDrive {
        Spec::parse("sim:wd20ears").unwrap().build_with_file(64 * MIB, 1_000).unwrap()
    }

    /// The time of one request, ns, or its errno.
    fn call(
        drive: &SimulatedDrive,
        mode: IoMode,
        op: IoOp,
        at: u64,
        len: u32,
    ) -> Result<Nanos, i32> {
        let (before, mut answers): (Nanos, Vec<Answer>) = (drive.now(), Vec::new());
        drive.submit(mode, op, at, len, 0);
        drive.wait_until(Nanos::MAX, &mut answers);
        match answers[..] {
            [(0, result)] if result >= 0 => Ok(drive.now() - before),
            [(0, errno)] => Err(errno),
            _ => panic!("one answer was expected: {answers:?}"),
        }
    }

    #[test]
    fn reads_are_cold_then_warm_then_cold_again() {
        let drive = file();
        assert_eq!(
            (drive.now(), drive.capacity_bytes(), drive.sector_bytes()),
            (1_000, 64 * MIB, 512)
        );
        drive.begin(1);
        for i in 0..64 {
            let direct = IoMode::Direct;
            call(&drive, direct, IoOp::Write, i * MIB, MIB as u32).unwrap();
        }
        assert_eq!(drive.resident_share(), Some(0.0));
        let read = |at, mode| call(&drive, mode, IoOp::Read, at, 4096).unwrap();
        let cold = read(17 * MIB, IoMode::Buffered);
        let warm = read(17 * MIB, IoMode::Buffered);
        assert!(warm < 10_000 && cold > 100 * warm, "{cold} and {warm} ns");
        assert!(read(17 * MIB, IoMode::Direct) > 10 * warm, "past the cache");
        assert!(drive.resident_share().unwrap() > 0.0);
        drive.evict();
        assert_eq!(drive.resident_share(), Some(0.0));
        assert!(read(40 * MIB + 4096, IoMode::Buffered) > 100 * warm);
        drive.end();
    }

    #[test]
    fn tiny_write_stays_in_memory_until_a_sync() {
        let drive = file();
        drive.begin(1);
        let mode = IoMode::Buffered;
        let write = call(&drive, mode, IoOp::Write, 100, 16).unwrap();
        let sync = call(&drive, mode, IoOp::Sync, 0, 0).unwrap();
        assert!(write < 10_000 && sync > 1_000_000, "{write} and {sync} ns");
        drive.end();
        drive.flush().unwrap();
    }

    /// Time to read a file of 256 MiB in order, ms.
    fn sequential_ms(text: &str) -> f64 {
        let drive = Spec::parse(text).unwrap().build_with_file(256 * MIB, 0).unwrap();
        drive.begin(1);
        let at = |op| {
            (0..256)
                .map(|i| call(&drive, IoMode::Direct, op, i * MIB, MIB as u32).unwrap())
                .sum::<u64>()
        };
        at(IoOp::Write);
        let time = at(IoOp::Read);
        drive.end();
        time as f64 / 1e6
    }

    #[test]
    fn file_on_a_fuller_disk_is_slower() {
        let (empty, full) = (sequential_ms("sim:wd40ezrz"), sequential_ms("sim:wd40ezrz?fill=0.8"));
        // 175 to 78 MB/s: at 80 % of the addresses 105
        assert!((1.5..1.8).contains(&(full / empty)), "{empty} and {full} ms");
        let spec = Spec::parse("sim:wd40ezrz?fill=1").unwrap();
        let error = spec.build_with_file(256 * MIB, 0).unwrap_err().to_string();
        assert!(error.contains("smaller --size or fill="), "{error}");
    }

    #[test]
    fn range_outside_the_file_is_refused() {
        let drive = file();
        drive.begin(1);
        for (at, len) in [(64 * MIB, 16), (64 * MIB - 8, 16)] {
            let result = call(&drive, IoMode::Buffered, IoOp::Write, at, len);
            assert_eq!(result, Err(-rustix::io::Errno::INVAL.raw_os_error()));
        }
        drive.end();
        let spec = Spec::parse("sim:wd20ears").unwrap();
        let error = spec.build_with_file(1 << 41, 0).unwrap_err().to_string();
        assert!(error.contains("smaller --size"), "{error}");
    }
}
