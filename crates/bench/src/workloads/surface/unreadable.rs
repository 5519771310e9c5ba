//! Unreadable places, joined to stretches of the drive.

use super::Scanned;
use crate::error::BenchError;
use crate::io::queue::IoFailure;
use crate::judging::test_record::TestRecord;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::whole;
use drivescope_model::units::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

const NAMED_MAX: usize = 8;

/// All places of all rounds, and which of them failed in any round.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    /// By offset: the end of the place, and whether it failed.
    places: BTreeMap<u64, (u64, bool)>,
    failures: u64,
    first: Option<IoFailure>,
    gave_up: bool,
}

impl Unreadable {
    pub fn add(&mut self, scanned: &Scanned) {
        for timed in &scanned.timed {
            let place = self.places.entry(timed.offset).or_insert((0, false));
            *place = (place.0.max(timed.offset + timed.len), place.1 || timed.ns.is_none());
        }
        self.failures += scanned.failures.len() as u64;
        self.first = self.first.or(scanned.failures.first().copied());
        self.gave_up |= scanned.gave_up;
    }

    /// Stretches of neighbouring places that failed, each with its number of places.
    fn stretches(&self) -> Vec<(Range<u64>, usize)> {
        let places: Vec<(u64, u64, bool)> =
            self.places.iter().map(|(&at, &(end, failed))| (at, end, failed)).collect();
        let runs = places.chunk_by(|a, b| a.2 && b.2).filter(|run| run[0].2);
        let end = |run: &[(u64, u64, bool)]| run.iter().map(|place| place.1).max().unwrap_or(0);
        runs.map(|run| (run[0].0..end(run), run.len())).collect()
    }

    /// F017 with the stretches, counted from the start of the target.
    pub fn report(&self, record: &mut TestRecord, part_start: u64) {
        let stretches = self.stretches();
        if stretches.is_empty() {
            return;
        }
        let failed: usize = stretches.iter().map(|(_, places)| places).sum();
        let mut all: Vec<String> = stretches
            .iter()
            .take(NAMED_MAX)
            .map(|(range, _)| {
                let [from, to] = [range.start, range.end].map(|at| at + part_start);
                format!("bytes {} to {} ({})", whole(from), whole(to), Bytes(from))
            })
            .collect();
        if stretches.len() > NAMED_MAX {
            all.push(format!("{} more stretches", whole((stretches.len() - NAMED_MAX) as u64)));
        }
        let [of, failed] = [self.places.len(), failed].map(|count| whole(count as u64));
        let end = if self.gave_up { "; the test ended there: most places fail" } else { "" };
        let evidence =
            format!("{failed} of {of} places could not be read, within {}{end}", all.join(", "));
        let finding = Finding::new(FindingId::IoError, evidence).about("surface");
        record.notice(finding.weighing(self.failures as f64));
    }

    /// How many stretches have no readable place, and the bytes of those places.
    pub fn report_count(&self, record: &mut TestRecord) {
        let failed = self.places.iter().filter(|(_, (_, failed))| *failed);
        let bytes: u64 = failed.map(|(at, (end, _))| end - at).sum();
        record.metric("unreadable.stretches", vec![self.stretches().len() as f64]);
        record.metric("unreadable.unreadable_bytes", vec![bytes as f64]);
    }

    /// A failed request makes the test failed, after everything readable was measured.
    pub fn outcome(&self) -> Result<(), BenchError> {
        let error = |failure| BenchError::Request { failure, count: self.failures };
        self.first.map_or(Ok(()), |failure| Err(error(failure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::scan::TimedRegion;
    use drivescope_model::options::TestKind;

    #[test]
    fn failed_neighbours_make_one_stretch() {
        fn place(at: u64, ns: Option<u64>) -> TimedRegion {
            TimedRegion::new(at * 1000, 100, ns)
        }
        let failure = IoFailure { errno: libc::EIO, offset: 3000, len: 100, write: false };
        let mut unreadable = Unreadable::default();
        let timed = (0..10).map(|at| place(at, (!(3..=5).contains(&at)).then_some(1))).collect();
        let failures = vec![failure; 3];
        unreadable.add(&Scanned { timed, failures, gave_up: false, end: Ok(()) });
        let again = Scanned {
            timed: vec![place(3, Some(1)), place(9, None)],
            failures: vec![failure],
            gave_up: false,
            end: Ok(()),
        };
        unreadable.add(&again);
        assert_eq!(unreadable.stretches(), [(3000..5100, 3), (9000..9100, 1)]);
        let mut record = TestRecord::new(TestKind::Surface);
        unreadable.report(&mut record, 1_000_000);
        let evidence = &record.finish(3).findings[0].evidence;
        assert_eq!(
            evidence,
            "4 of 10 places could not be read, within bytes 1,003,000 to 1,005,100 (1.00 MB), bytes 1,009,000 to \
             1,009,100 (1.01 MB)"
        );
        let end = unreadable.outcome();
        assert!(matches!(end, Err(BenchError::Request { count: 4, .. })), "{end:?}");
    }
}
