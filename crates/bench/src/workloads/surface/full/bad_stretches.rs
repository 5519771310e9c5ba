//! Unreadable stretches in results: named with their first and last byte, as a finding, as figures, and as series that
//! a run that resumes the read finds again.

use super::whole_read::BadStretch;
use crate::error::BenchError;
use crate::io::queue::IoFailure;
use crate::judging::test_record::{TestRecord, series_of, value_of};
use drivescope_model::document::TestResult;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::whole;
use drivescope_model::units::Bytes;

/// Stretches that the finding names; the series have them all.
const NAMED_MAX: usize = 8;
const ENDS: &str = "unreadable.end_bytes";
const SIZES: &str = "unreadable.bytes";

/// Requests that failed, and the first of them.
pub(super) type FailedRequests = (u64, Option<IoFailure>);

impl BadStretch {
    /// Its place counted from this byte on.
    pub fn counted_from(self, start: u64) -> Self {
        let bytes = self.bytes.start - start..self.bytes.end - start;
        Self { bytes, ..self }
    }
}

/// Adds what is unreadable of a part that begins at byte `start` and is `size` long.
pub(super) fn report(record: &mut TestRecord, bad: &[BadStretch], start: u64, size: u64) {
    let unreadable: u64 = bad.iter().map(|bad| bad.unreadable).sum();
    record.metric("unreadable.stretches", vec![bad.len() as f64]);
    record.metric("unreadable.unreadable_bytes", vec![unreadable as f64]);
    let Some(last) = bad.last() else { return };
    let of = |value: fn(&BadStretch) -> u64| bad.iter().map(|bad| value(bad) as f64).collect();
    let firsts: Vec<f64> = of(|bad| bad.bytes.start);
    record.curve(ENDS, ("bytes", "bytes"), firsts.clone(), of(|bad| bad.bytes.end));
    record.curve(SIZES, ("bytes", "bytes"), firsts, of(|bad| bad.unreadable));
    let name = |bad: &BadStretch| {
        let [first, last] = [bad.bytes.start, bad.bytes.end - 1].map(|at| at + start);
        format!("bytes {} to {} (at {})", whole(first), whole(last), Bytes(first))
    };
    let mut named: Vec<String> = bad.iter().take(NAMED_MAX).map(name).collect();
    if bad.len() > NAMED_MAX {
        named.push(format!("{} more", whole((bad.len() - NAMED_MAX) as u64)));
    }
    let stretches = if bad.len() == 1 { "stretch" } else { "stretches" };
    let mut evidence = format!(
        "{} unreadable {stretches}, {} bytes together: {}",
        whole(bad.len() as u64),
        whole(unreadable),
        named.join(", ")
    );
    if last.bytes.end == size {
        let first = last.bytes.start + start;
        record.metric("unreadable.silent_bytes", vec![first as f64]);
        evidence += &format!("; nothing can be read after {}", Bytes(first));
    }
    let finding = Finding::new(FindingId::IoError, evidence).about("surface.unreadable");
    record.notice(finding.weighing(unreadable as f64));
}

/// What a result says of them.
pub(super) fn of_result(result: &TestResult) -> Vec<BadStretch> {
    let (Some(ends), Some(sizes)) = (series_of(result, ENDS), series_of(result, SIZES)) else {
        return Vec::new();
    };
    let stretches = ends.x.iter().zip(&ends.y).zip(&sizes.y);
    let stretch = |((&first, &end), &size): ((&f64, &f64), &f64)| BadStretch {
        bytes: first as u64..end as u64,
        unreadable: size as u64,
    };
    stretches.map(stretch).filter(|bad| !bad.bytes.is_empty()).collect()
}

/// The first byte that the read, or the one that it resumed, came to.
pub(super) fn began_at(result: &TestResult) -> u64 {
    value_of(result, "read.start_bytes").unwrap_or(0.0) as u64
}

/// A test that could not read all has failed, after everything readable was measured.
pub(super) fn outcome(
    bad: &[BadStretch],
    start: u64,
    (count, first): FailedRequests,
) -> Result<(), BenchError> {
    let Some(stretch) = bad.first() else { return Ok(()) };
    // Of a run that this one resumed, only the place is known.
    let len = (stretch.bytes.end - stretch.bytes.start).min(1 << 20) as u32;
    let offset = stretch.bytes.start + start;
    let known = IoFailure { errno: libc::EIO, offset, len, write: false };
    Err(BenchError::Request { failure: first.unwrap_or(known), count: count.max(1) })
}
