//! What follows a read in one pass: single accesses, then a second look at what seems slow, and its figures.

use super::access_scatter::AccessScatter;
use super::places::access_places;
use super::rates::Profile;
use super::unreadable::Unreadable;
use super::{RequestShape, part_start, scan, slow_spots};
use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::scan::ScanRegion;
use crate::session::Session;
use std::ops::Range;

/// What was read; places count from the start of the examined part.
pub(super) struct OnePass<'p> {
    pub profile: &'p Profile,
    pub places: &'p [ScanRegion],
    pub shape: RequestShape,
    pub size: u64,
    /// Known to be unreadable: not read again.
    pub bad: Vec<Range<u64>>,
}

/// Errors: the run is to end, or an access failed, after all was kept.
pub(super) fn finish(
    session: &Session<'_>,
    record: &mut TestRecord,
    pass: OnePass<'_>,
) -> Result<(), BenchError> {
    let OnePass { profile, places, shape, size, bad } = pass;
    let options = &session.plan.suite.surface;
    let mut accessed = Vec::new();
    let mut unreadable = Unreadable::default();
    if options.accesses > 0 {
        let block = options.access_block.0;
        let mut places = access_places(options, size, session.plan.seed, 1);
        let is_good = |at: u64| bad.iter().all(|bad| at + block <= bad.start || bad.end <= at);
        places.retain(|place| is_good(place.offset));
        let single = RequestShape { chunk: block as u32, depth: 1 };
        let scanned = scan(session, record, "access", places, (single, 1), Control::default())?;
        unreadable.add(&scanned);
        unreadable.report(record, part_start(session));
        let mut accesses = AccessScatter::default();
        accesses.add(&scanned.timed, size);
        accesses.report(record);
        accessed = scanned.timed;
        scanned.end?;
    }
    let mut slow = Vec::new();
    if !slow_spots::is_cached(record, places, size) {
        slow = slow_spots::find_by_rate(session, record, profile, places, shape)?;
        slow.extend(slow_spots::find_by_access_time(session, record, &accessed, size)?);
    }
    report_slow(record, slow);
    unreadable.outcome()
}

/// How many slow stretches there are, how long they are, and where each begins and ends.
fn report_slow(record: &mut TestRecord, slow: Vec<Range<u64>>) {
    let slow = joined(slow);
    let bytes: u64 = slow.iter().map(|slow| slow.end - slow.start).sum();
    record.metric("slow.stretches", vec![slow.len() as f64]);
    record.metric("slow.slow_bytes", vec![bytes as f64]);
    if !slow.is_empty() {
        let (x, y) = slow.iter().map(|slow| (slow.start as f64, slow.end as f64)).unzip();
        record.curve("slow.end_bytes", ("bytes", "bytes"), x, y);
    }
}

/// Each byte once, in order.
fn joined(mut slow: Vec<Range<u64>>) -> Vec<Range<u64>> {
    slow.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in slow {
        match joined.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_by_rate_and_by_access_count_once() {
        assert_eq!(joined(vec![50..60, 0..10, 5..20, 60..61]), [0..20, 50..61]);
        assert_eq!(joined(Vec::new()), []);
    }
}
