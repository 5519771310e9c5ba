//! What the way to a served drive costs by itself: the kernel, FUSE, the loop device, and waking up the
//! program that waits.
//!
//! It is measured when the serving begins, by reading one place of the drive that the server answers at
//! once, past the model. What a program sees of a request is then the model's time, this, and the
//! [lateness](super::ServeReport) of the reply.

use super::isolated_thread::run_isolated;
use drivescope_machine::roots::open_to_read;
use rustix::fs::OFlags;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of each probing read, those of the usual small request.
const LEN: usize = 4096;
/// Reads that count; a 99th percentile needs no fewer.
const READS: usize = 100;
/// Reads before, in which the path warms up.
const WARM_UP: usize = 10;
/// Time between two reads: a program that waits for a drive leaves the processors to others meanwhile, or
/// asleep, and so the path costs it more than one that asks again at once.
const PAUSE: Duration = Duration::from_millis(1);
/// A path that is slower than thought is measured with fewer reads.
const TIME_MAX: Duration = Duration::from_millis(500);
const NOWHERE: u64 = u64::MAX;

/// Time of one small request without the drive's own, as the program that makes it sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathOverhead {
    pub p50_ns: u64,
    pub p99_ns: u64,
}

impl fmt::Display for PathOverhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p50 {}, p99 {}", micros(self.p50_ns), micros(self.p99_ns))
    }
}

/// `7.3 µs`, `140 µs`, `12.4 ms`.
pub(super) fn micros(nanos: u64) -> String {
    let us = nanos as f64 / 1e3;
    match us {
        us if us < 99.95 => format!("{us:.1} µs"),
        us if us < 9_999.5 => format!("{us:.0} µs"),
        us => format!("{:.1} ms", us / 1e3),
    }
}

/// The place that is answered at once while the overhead is measured.
#[derive(Debug)]
pub(super) struct PathProbe(AtomicU64);

impl PathProbe {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(NOWHERE))
    }

    /// Whether a read is one of the probing ones.
    pub(super) fn is_asked(&self, offset: u64, len: u64) -> bool {
        len == LEN as u64 && self.0.load(Ordering::Acquire) == offset
    }

    /// From now on reads of this place are answered at once.
    pub(super) fn begin(&self, place: u64) {
        self.0.store(place, Ordering::Release);
    }

    /// Measures the way through `path`, the served file or the block device on it. `None` where it cannot be read: its
    /// users then report that.
    pub(super) fn measure(&self, path: &Path, capacity: u64) -> Option<PathOverhead> {
        // Inside, away from the places of file-system signatures.
        let at = (capacity / 13 * 5) / LEN as u64 * LEN as u64;
        self.begin(at);
        let times = run_isolated(&[], || {
            let file = open_to_read(path, OFlags::DIRECT).ok()?;
            Some(times(|memory| rustix::io::pread(&file, memory, at) == Ok(LEN)))
        });
        self.begin(NOWHERE);
        summary(times.ok()??)
    }
}

/// How long each of the reads took, in nanoseconds; none if one fails.
fn times(mut read: impl FnMut(&mut [u8]) -> bool) -> Vec<u64> {
    let mut memory = vec![0; 2 * LEN];
    let skip = memory.as_ptr().align_offset(LEN);
    let begin = Instant::now();
    let mut times = Vec::with_capacity(READS);
    for n in 0..WARM_UP + READS {
        std::thread::sleep(PAUSE);
        let start = Instant::now();
        if !read(&mut memory[skip..skip + LEN]) {
            return Vec::new();
        }
        if n >= WARM_UP {
            times.push(start.elapsed().as_nanos() as u64);
        }
        if begin.elapsed() > TIME_MAX {
            break;
        }
    }
    times
}

fn summary(mut times: Vec<u64>) -> Option<PathOverhead> {
    times.sort_unstable();
    let quantile = |q: f64| times.get((times.len() as f64 * q) as usize).copied();
    Some(PathOverhead { p50_ns: quantile(0.5)?, p99_ns: quantile(0.99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_reads() {
        let cost = summary((1..=200).rev().collect()).unwrap();
        assert_eq!((cost.p50_ns, cost.p99_ns), (101, 199));
        assert_eq!(summary(Vec::new()), None);
    }

    #[test]
    fn a_read_that_fails_gives_no_figure() {
        let mut left = 30;
        let failing = times(|_| {
            left -= 1;
            left > 0
        });
        assert!(failing.is_empty());
        assert_eq!(times(|_| true).len(), READS);
    }

    #[test]
    fn only_the_measured_place_is_answered_at_once() {
        let probe = PathProbe::new();
        assert!(!probe.is_asked(0, 4096) && !probe.is_asked(NOWHERE, 4096 - 1));
        probe.begin(8192);
        assert!(probe.is_asked(8192, 4096));
        assert!(!probe.is_asked(8192, 8192) && !probe.is_asked(4096, 4096));
        assert_eq!(probe.measure(Path::new("/nonexistent"), 1 << 30), None);
    }
}
