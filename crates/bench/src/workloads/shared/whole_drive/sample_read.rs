//! Reads back a sample after everything was written: a drive that drops writes is as fast as any other.

use super::resume_check;
use crate::error::{BenchError, describe};
use crate::io::payload::Payload;
use crate::judging::test_record::TestRecord;
use crate::session::Session;
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, FindingId};

/// Places, spread evenly. On a drive that drops one write in fifty, all are intact once in 180 times.
pub(crate) const PLACES: u64 = 256;
pub(crate) const PLACE: u64 = 4096;

/// Reads a sample of the first `size` bytes, which hold `data`, in any pass if a stopped run had written a part.
///
/// Errors: the run must end. Lost and unreadable data are findings.
pub(crate) fn check(
    session: &Session<'_>,
    record: &mut TestRecord,
    data: Payload,
    size: u64,
    any_pass: bool,
) -> Result<(), BenchError> {
    session.emit(Event::Preparing { what: "reading a sample back".into() });
    session.device().evict()?;
    let last = size.saturating_sub(PLACE) / PLACE;
    let places = PLACES.min(last + 1);
    let (mut wrong, mut first) = (0, None);
    for index in 0..places {
        session.check_stop()?;
        let at = index * last / (places - 1).max(1) * PLACE;
        let outcome = resume_check::read(session, data, at..at + PLACE, any_pass)?;
        if let (count, Some(failure)) = outcome.failed {
            let evidence = describe(&failure, count);
            record.notice(Finding::new(FindingId::IoError, evidence).about(record.test().name()));
        }
        if let Some(bad) = outcome.tally.first_wrong {
            wrong += 1;
            first = first.or(Some(bad));
        }
    }
    if let Some(first) = first {
        let evidence = format!(
            "{wrong} of {places} sampled places do not hold what was written, the first at byte {first}: the drive \
             drops writes; --test verify finds out how much it keeps"
        );
        record.notice(Finding::new(FindingId::DataMismatch, evidence).about(record.test().name()));
    }
    Ok(())
}
