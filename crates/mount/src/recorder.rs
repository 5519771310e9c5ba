//! Counts and latenesses as they come from all threads of a server.

use super::path_overhead::PathOverhead;
use super::report::ServeReport;
use drivescope_sim::device::{Nanos, RequestKind};
use hdrhistogram::Histogram;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Latenesses above this count as this: by then the machine has stopped, and not the drive.
const LATENESS_MAX_NS: u64 = 600_000_000_000;
/// Significant digits of a recorded lateness.
const DIGITS: u8 = 3;

#[derive(Debug)]
pub(super) struct ServeRecorder(Mutex<ServeRecord>);

#[derive(Debug)]
struct ServeRecord {
    lateness: Histogram<u64>,
    counts: ServeReport,
}

impl ServeRecorder {
    pub(super) fn new() -> Self {
        let lateness = Histogram::new_with_bounds(1, LATENESS_MAX_NS, DIGITS)
            .expect("the bounds of the histogram are constants that fit");
        Self(Mutex::new(ServeRecord { lateness, counts: ServeReport::default() }))
    }

    /// One reply was sent, `late` nanoseconds after it was due.
    pub(super) fn replied(&self, op: RequestKind, late: Nanos, failed: bool, held: bool) {
        let mut recorded = self.open();
        recorded.lateness.saturating_record(late.max(1));
        let counts = &mut recorded.counts;
        match op {
            RequestKind::Read => counts.reads += 1,
            RequestKind::Write => counts.writes += 1,
            RequestKind::Flush => counts.flushes += 1,
            RequestKind::Trim => counts.trims += 1,
        }
        counts.errors += u64::from(failed);
        counts.held_by_backing += u64::from(held);
    }

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

    pub(super) fn paths(&self, file: Option<PathOverhead>, device: Option<PathOverhead>) {
        let counts = &mut self.open().counts;
        (counts.file_path, counts.device_path) = (file, device);
    }

    /// An error, reported once, however often it happens.
    pub(super) fn trouble(&self, line: String) {
        add_once(&mut self.open().counts.troubles, line);
    }

    /// A program lost the drive while using it.
    pub(super) fn cut_off(&self, line: String) {
        add_once(&mut self.open().counts.cut_off, line);
    }

    pub(super) fn report(&self) -> ServeReport {
        let recorded = self.open();
        let mut report = recorded.counts.clone();
        if !recorded.lateness.is_empty() {
            let quantile = |q| recorded.lateness.value_at_quantile(q);
            report.lateness_p50_ns = quantile(0.5);
            report.lateness_p99_ns = quantile(0.99);
            report.lateness_max_ns = recorded.lateness.max();
        }
        report
    }

    /// Counting continues after a panic elsewhere: each change is complete in itself.
    fn open(&self) -> MutexGuard<'_, ServeRecord> {
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
    fn percentiles_and_counts_match_the_records() {
        fn near(got: u64, want_us: u64) -> bool {
            got.abs_diff(want_us * 1_000) <= want_us + 1_000
        }
        let recorder = ServeRecorder::new();
        for late_us in 1..=100u64 {
            recorder.replied(RequestKind::Read, late_us * 1_000, late_us == 7, late_us > 98);
        }
        recorder.replied(RequestKind::Flush, 0, false, false);
        recorder.in_flight(3);
        recorder.in_flight(2);
        let report = recorder.report();
        assert_eq!((report.reads, report.flushes, report.replies()), (100, 1, 101));
        assert_eq!((report.errors, report.held_by_backing, report.in_flight_max), (1, 2, 3));
        assert!(near(report.lateness_p50_ns, 50), "{report:?}");
        assert!(near(report.lateness_p99_ns, 99), "{report:?}");
        assert!(near(report.lateness_max_ns, 100), "{report:?}");
    }

    #[test]
    fn each_kind_of_trouble_is_reported_once() {
        let recorder = ServeRecorder::new();
        for _ in 0..2 {
            recorder.backing_full(Path::new("/data/disk.img"));
            recorder.trouble("once".into());
            recorder.cut_off("a program".into());
        }
        let report = recorder.report();
        assert_eq!((report.troubles.len(), report.cut_off.len()), (2, 1));
        assert!(report.troubles[0].contains("/data/disk.img"), "{report:?}");
        assert!(report.to_string().contains("2 writes failed with ENOSPC"), "{report}");
    }
}
