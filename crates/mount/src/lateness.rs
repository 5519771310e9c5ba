//! How late replies were, and what else a server has to tell at its end.

use super::path_cost::PathCost;
use drivescope_sim::device::{Nanos, Op};
use hdrhistogram::Histogram;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Latenesses above this count as this: by then the machine has stopped, and not the drive.
const LATENESS_MAX_NS: u64 = 600_000_000_000;
/// Significant digits of a recorded lateness.
const DIGITS: u8 = 3;

/// What a server did and how well it kept time.
///
/// The lateness of a reply is the time from the moment at which the model had the request done to the
/// moment at which the reply was handed to the kernel. It comes on top of the model's latency, as does the
/// [path](super::PathCost), which was measured when the serving began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LatenessReport {
    /// Reads that were answered, failed ones included.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Cache flushes.
    pub flushes: u64,
    /// Ranges declared unused.
    pub trims: u64,
    /// Answers that were errors, of the model or of the backing file.
    pub errors: u64,
    /// Most requests that the model had accepted and not yet completed.
    pub in_flight_max: usize,
    /// Replies that had to wait because the backing file was slower than the model.
    pub held_by_backing: u64,
    /// Writes refused because the backing file's file system is full.
    pub backing_full: u64,
    /// Median lateness of all replies in nanoseconds; 0 without replies.
    pub lateness_p50_ns: Nanos,
    /// 99th percentile.
    pub lateness_p99_ns: Nanos,
    /// The latest reply of all.
    pub lateness_max_ns: Nanos,
    /// What the way to the served file costs, if it could be measured.
    pub file_path: Option<PathCost>,
    /// The same for the block device, if there is one.
    pub device_path: Option<PathCost>,
    /// What went wrong while the drive was served (the model, the backing file, FUSE), one line each.
    pub troubles: Vec<String>,
    /// Who still used the drive when it was taken away, one line each.
    pub cut_off: Vec<String>,
}

impl LatenessReport {
    /// Requests that were answered.
    pub fn replies(&self) -> u64 {
        self.reads + self.writes + self.flushes + self.trims
    }
}

impl fmt::Display for LatenessReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "served {} requests ({} reads, {} writes, {} flushes, {} trims), up to {} at a time",
            self.replies(),
            self.reads,
            self.writes,
            self.flushes,
            self.trims,
            self.in_flight_max
        )?;
        if self.replies() > 0 {
            let [p50, p99, max] =
                [self.lateness_p50_ns, self.lateness_p99_ns, self.lateness_max_ns].map(micros);
            write!(f, "\nlateness of the replies: p50 {p50}, p99 {p99}, max {max}")?;
        }
        for (path, what) in [(self.file_path, "file"), (self.device_path, "block device")] {
            let Some(path) = path else { continue };
            write!(f, "\npath through the {what}: {path}")?;
            if self.replies() > 0 {
                let added = micros(path.p50_ns + self.lateness_p50_ns);
                write!(f, "; a program sees the model's time and about {added} more")?;
            }
        }
        if self.held_by_backing > 0 {
            write!(f, "\n{} replies had to wait for the backing file", self.held_by_backing)?;
        }
        if self.errors > 0 {
            write!(f, "\n{} requests were answered with an error", self.errors)?;
        }
        if self.backing_full > 0 {
            let count = self.backing_full;
            write!(f, "\n{count} writes failed with ENOSPC because the backing store was full")?;
        }
        Ok(())
    }
}

/// `7.3 µs`, `140 µs`, `12.4 ms`.
pub(super) fn micros(nanos: Nanos) -> String {
    let us = nanos as f64 / 1e3;
    match us {
        us if us < 99.95 => format!("{us:.1} µs"),
        us if us < 9_999.5 => format!("{us:.0} µs"),
        us => format!("{:.1} ms", us / 1e3),
    }
}

/// Where all threads of a server write down what they did.
#[derive(Debug)]
pub(super) struct Books(Mutex<Pages>);

#[derive(Debug)]
struct Pages {
    lateness: Histogram<u64>,
    counts: LatenessReport,
}

impl Books {
    pub(super) fn new() -> Self {
        let lateness = Histogram::new_with_bounds(1, LATENESS_MAX_NS, DIGITS)
            .expect("the bounds of the histogram are constants that fit");
        Self(Mutex::new(Pages { lateness, counts: LatenessReport::default() }))
    }

    /// One reply was sent, `late` nanoseconds after it was due.
    pub(super) fn replied(&self, op: Op, late: Nanos, failed: bool, held: bool) {
        let mut pages = self.open();
        pages.lateness.saturating_record(late.max(1));
        let counts = &mut pages.counts;
        match op {
            Op::Read => counts.reads += 1,
            Op::Write => counts.writes += 1,
            Op::Flush => counts.flushes += 1,
            Op::Trim => counts.trims += 1,
        }
        counts.errors += u64::from(failed);
        counts.held_by_backing += u64::from(held);
    }

    /// So many requests are with the model.
    pub(super) fn in_flight(&self, count: usize) {
        let counts = &mut self.open().counts;
        counts.in_flight_max = counts.in_flight_max.max(count);
    }

    /// A write found the file system of the backing file full.
    pub(super) fn backing_full(&self, backing: &Path) {
        self.open().counts.backing_full += 1;
        self.trouble(format!(
            "backing store full: the file system of {} has no room; writes fail with ENOSPC until some is made, although the drive itself is not full",
            backing.display()
        ));
    }

    /// What the way to the drive costs, through the file and through the block device.
    pub(super) fn paths(&self, file: Option<PathCost>, device: Option<PathCost>) {
        let counts = &mut self.open().counts;
        (counts.file_path, counts.device_path) = (file, device);
    }

    /// Something went wrong; told once, however often it happens.
    pub(super) fn trouble(&self, line: String) {
        add_once(&mut self.open().counts.troubles, line);
    }

    /// Somebody loses the drive while using it.
    pub(super) fn cut_off(&self, line: String) {
        add_once(&mut self.open().counts.cut_off, line);
    }

    /// The report as it stands.
    pub(super) fn report(&self) -> LatenessReport {
        let pages = self.open();
        let mut report = pages.counts.clone();
        if !pages.lateness.is_empty() {
            let quantile = |q| pages.lateness.value_at_quantile(q);
            report.lateness_p50_ns = quantile(0.5);
            report.lateness_p99_ns = quantile(0.99);
            report.lateness_max_ns = pages.lateness.max();
        }
        report
    }

    /// Counting goes on after a panic elsewhere: each change is complete in itself.
    fn open(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn add_once(lines: &mut Vec<String>, line: String) {
    if !lines.contains(&line) {
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_counts_are_those_of_what_was_recorded() {
        let books = Books::new();
        for late_us in 1..=100u64 {
            books.replied(Op::Read, late_us * 1_000, late_us == 7, late_us > 98);
        }
        books.replied(Op::Flush, 0, false, false);
        books.in_flight(3);
        books.in_flight(2);
        let report = books.report();
        assert_eq!((report.reads, report.flushes, report.replies()), (100, 1, 101));
        assert_eq!((report.errors, report.held_by_backing, report.in_flight_max), (1, 2, 3));
        let near = |got: u64, want_us: u64| got.abs_diff(want_us * 1_000) <= want_us + 1_000;
        assert!(near(report.lateness_p50_ns, 50), "{report:?}");
        assert!(near(report.lateness_p99_ns, 99), "{report:?}");
        assert!(near(report.lateness_max_ns, 100), "{report:?}");
    }

    #[test]
    fn the_report_is_printed_line_by_line() {
        let mut report = LatenessReport {
            reads: 2,
            writes: 1,
            in_flight_max: 2,
            lateness_p50_ns: 7_300,
            lateness_p99_ns: 140_000,
            lateness_max_ns: 12_400_000,
            ..LatenessReport::default()
        };
        assert_eq!(
            report.to_string(),
            "served 3 requests (2 reads, 1 writes, 0 flushes, 0 trims), up to 2 at a time\n\
             lateness of the replies: p50 7.3 µs, p99 140 µs, max 12.4 ms"
        );
        report.errors = 1;
        report.device_path = Some(PathCost { p50_ns: 30_000, p99_ns: 90_000 });
        let text = report.to_string();
        assert!(text.contains("path through the block device: p50 30.0 µs, p99 90.0 µs"), "{text}");
        assert!(text.contains("and about 37.3 µs more"), "{text}");
        assert!(text.ends_with("1 requests were answered with an error"), "{text}");
    }

    #[test]
    fn a_full_backing_store_and_other_troubles_are_told_once() {
        let books = Books::new();
        for _ in 0..2 {
            books.backing_full(Path::new("/data/disk.img"));
            books.trouble("once".into());
            books.cut_off("somebody".into());
        }
        let report = books.report();
        assert_eq!((report.troubles.len(), report.cut_off.len()), (2, 1));
        assert!(report.troubles[0].contains("/data/disk.img"), "{report:?}");
        assert!(report.to_string().contains("2 writes failed with ENOSPC"), "{report}");
    }
}
