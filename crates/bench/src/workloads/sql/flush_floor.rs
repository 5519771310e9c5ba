//! What the drive itself takes to have a page of a log: 8 KiB written to a file beside the database, and a flush.

use super::client_loop::Statement;
use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use drivescope_drive::ErrorKind;
use drivescope_drive::own_folder::trees::{TreeFile, TreeFolder};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::latency_us;
use drivescope_model::options::DatabaseKind;
use drivescope_sql::SqlError;

/// Name of the file, its length, and bytes of a write.
const FILE: &std::ffi::CStr = c"flush";
const FILE_BYTES: u64 = 1 << 20;
const PAGE: usize = 8_192;
/// A commit is no faster than its flush, but a median of another moment may be.
const SHARE_MIN: f64 = 0.8;
/// Commits of one client that share a flush say that the drive did not have all of them.
const FLUSHES_MIN: f64 = 0.5;

/// Writes of a page in turn over a file that is there, each flushed, as a log is written.
pub(super) fn writes(
    folder: &TreeFolder,
    database: DatabaseKind,
) -> Result<Statement<'static>, BenchError> {
    let file: TreeFile = folder.create_file(FILE)?;
    file.write_at(&vec![0x5a; FILE_BYTES as usize], 0)?;
    file.sync()?;
    let mut page = vec![0x3c; PAGE];
    Ok(Box::new(move |number| {
        page[..8].copy_from_slice(&number.to_le_bytes());
        let offset = number * PAGE as u64 % FILE_BYTES;
        let done = file.write_at(&page, offset).and_then(|()| file.sync());
        done.map(|()| PAGE).map_err(|error| match error.kind() {
            ErrorKind::Refused => SqlError::NoSpace { database },
            _ => SqlError::Device { database, why: error.to_string() },
        })
    }))
}

/// Whether one client's commits are faster than that: medians over all rounds of both cells.
pub(super) fn compare(record: &mut TestRecord, floor: &str, commit: &str) {
    let median = |cell: &str| {
        let mut all = record.rounds_of(cell).map(|round| round.measured.recorder.latencies.clone());
        let mut first = all.next()?;
        all.for_each(|other| first.add(other).expect("all histograms have the same bounds"));
        (!first.is_empty()).then(|| first.value_at_quantile(0.5) as f64 / 1e3)
    };
    let Some((floor_us, commit_us)) = median(floor).zip(median(commit)) else { return };
    if commit_us >= floor_us * SHARE_MIN {
        return;
    }
    let per_op = |cell: &str| {
        let (mut flushes, mut ops) = (0, 0);
        for round in record.rounds_of(cell) {
            flushes += super::device_figures::flushes(round)?;
            ops += round.measured.recorder.ops;
        }
        Some(flushes as f64 / ops.max(1) as f64)
    };
    // A drive without a cache, and a partition, are sent none that would count.
    let counts_flushes = per_op(floor).is_some_and(|flushes| flushes >= FLUSHES_MIN);
    let flushes = per_op(commit).filter(|_| counts_flushes);
    if flushes.is_some_and(|flushes| flushes >= FLUSHES_MIN) {
        return;
    }
    let counted =
        flushes.map_or(String::new(), |flushes| format!(", with {flushes:.2} flushes each"));
    let evidence = format!(
        "{commit}: a commit takes {}{counted}; a page written and flushed {}",
        latency_us(commit_us),
        latency_us(floor_us)
    );
    let about = format!("{}.{commit}", record.test());
    let finding = Finding::new(FindingId::CommitNotDurable, evidence).about(about);
    record.notice(finding.weighing(floor_us / commit_us));
}
