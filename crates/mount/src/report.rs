//! What a server did, how late its replies were, and what went wrong.

use super::path_overhead::{PathOverhead, micros};
use drivescope_sim::device::Nanos;
use std::fmt;

/// What a server did and how well it kept time.
///
/// The lateness of a reply is the time from the moment at which the model had the request done to the
/// moment at which the reply was handed to the kernel. It comes on top of the model's latency, as does the
/// [path](super::PathOverhead), which was measured when the serving began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServeReport {
    /// Reads that were answered, failed ones included.
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
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
    pub lateness_p99_ns: Nanos,
    pub lateness_max_ns: Nanos,
    /// What the way to the served file costs, if it could be measured.
    pub file_path: Option<PathOverhead>,
    /// The same for the block device, if there is one.
    pub device_path: Option<PathOverhead>,
    /// What went wrong while the drive was served (the model, the backing file, FUSE), one line each.
    pub troubles: Vec<String>,
    pub cut_off: Vec<String>,
}

impl ServeReport {
    pub fn replies(&self) -> u64 {
        self.reads + self.writes + self.flushes + self.trims
    }
}

impl fmt::Display for ServeReport {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_printed_line_by_line() {
        let mut report = ServeReport {
            reads: 2,
            writes: 1,
            in_flight_max: 2,
            lateness_p50_ns: 7_300,
            lateness_p99_ns: 140_000,
            lateness_max_ns: 12_400_000,
            ..ServeReport::default()
        };
        assert_eq!(
            report.to_string(),
            "served 3 requests (2 reads, 1 writes, 0 flushes, 0 trims), up to 2 at a time\n\
             lateness of the replies: p50 7.3 µs, p99 140 µs, max 12.4 ms"
        );
        report.errors = 1;
        report.device_path = Some(PathOverhead { p50_ns: 30_000, p99_ns: 90_000 });
        let text = report.to_string();
        assert!(text.contains("path through the block device: p50 30.0 µs, p99 90.0 µs"), "{text}");
        assert!(text.contains("and about 37.3 µs more"), "{text}");
        assert!(text.ends_with("1 requests were answered with an error"), "{text}");
    }
}
