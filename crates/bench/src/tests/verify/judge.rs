//! From what was read back to a statement: the real size, and how sure it is.

use super::probe::{Probed, SAMPLES_MAX};
use crate::payload::SECTOR;
use crate::results::TestRecord;
use crate::tests::read_back::{ReadBackOutcome, Tally};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::units::Bytes;

/// A shorter stretch of lost sectors is damage, not missing capacity.
const LONG_LOSS: u64 = 1 << 20;
/// The share of bad blocks whose discovery `sure_pct` is about.
const BAD_SHARE: f64 = 0.01;

/// The outcome of a quick run over `announced` bytes in blocks of `block_bytes`.
/// `written`: bytes written in all.
pub(super) fn quick(
    record: &mut TestRecord,
    probed: &Probed,
    block_bytes: u64,
    announced: u64,
    written: u64,
) {
    let whole = announced / block_bytes;
    let honest = probed.real == whole && probed.module.is_none();
    // A drive of fewer blocks than samples was looked at in whole.
    let missed = (1.0 - BAD_SHARE).powf(SAMPLES_MAX.min(whole) as f64);
    let sure_pct = if honest { 100.0 * (1.0 - missed) } else { 100.0 };
    let real = if honest { announced } else { probed.real * block_bytes };
    capacity(record, announced, real, sure_pct);
    record.metric("capacity.written_bytes", vec![written as f64]);
    record.metric("capacity.cache_bytes", vec![(probed.cache_max * block_bytes) as f64]);
    if honest {
        return;
    }
    record.metric("cache.cache_bytes", vec![(probed.cache * block_bytes) as f64]);
    let module = probed.module.map(|module| module * block_bytes);
    accuse(record, announced, real, module);
    if probed.cut_short {
        record.remark("the search for the real size: it would have written too much".to_string());
    }
}

/// What a full run did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    /// Where reading back began.
    pub start: u64,
    /// Bytes that the drive announces.
    pub size: u64,
    /// Everything was written, by this run or, checked, by those it continues. If not, what cannot be read
    /// back may never have been written.
    pub wrote: bool,
}

/// The outcome of reading `start..size` back.
pub(super) fn full(record: &mut TestRecord, outcome: &ReadBackOutcome, done: Done) {
    let Done { start, size, wrote } = done;
    let Tally { intact, changed, overwritten, lost, .. } = outcome.tally;
    for (quantity, bytes) in [
        ("intact_bytes", intact),
        ("changed_bytes", changed),
        ("overwritten_bytes", overwritten),
        ("lost_bytes", lost),
    ] {
        record.metric(&format!("read.{quantity}"), vec![bytes as f64]);
    }
    let complete = start == 0 && outcome.reached == size;
    let pattern = missing_capacity(&outcome.tally, size, complete);
    let missing = pattern.filter(|_| wrote || overwritten > 0);
    if let Some(first) = outcome.tally.first_bad.filter(|_| missing.is_none()) {
        let bad = Bytes(outcome.tally.bad());
        let why = if pattern.is_some() {
            ": the drive keeps no more, or the run that wrote ended there; a run that also writes tells"
        } else {
            ""
        };
        let evidence = format!("{bad} read back wrong, the first at byte {first}{why}");
        record.notice(Finding::new(FindingId::DataMismatch, evidence).about("verify"));
    }
    if !complete || missing != pattern {
        return;
    }
    capacity(record, size, missing.unwrap_or(size), 100.0);
    if let Some(real) = missing {
        accuse(record, size, real, outcome.tally.module);
    }
}

/// The real size, if the pattern of what is wrong is that of missing capacity: data that belong
/// elsewhere, nothing good up to the end, or one long stretch without anything good, with no more behind
/// it than a cache may have answered for. Single wrong sectors are another fault.
fn missing_capacity(tally: &Tally, size: u64, complete: bool) -> Option<u64> {
    if !complete || tally.first_bad.is_none() {
        return None;
    }
    // Addresses repeat: of all that share a sector, the last written is intact.
    if tally.overwritten > 0 {
        return Some(tally.intact);
    }
    let sector = SECTOR as u64;
    let behind = tally.last_good.map_or(0, |last| last + sector);
    if behind < size {
        return Some(behind);
    }
    let (first, end) = (tally.first_bad?, tally.last_bad? + sector);
    let in_one = tally.bad() == end - first;
    (in_one && end - first >= LONG_LOSS.max(size - end)).then_some(first)
}

fn capacity(record: &mut TestRecord, announced: u64, real: u64, sure_pct: f64) {
    record.metric("capacity.announced_bytes", vec![announced as f64]);
    record.metric("capacity.real_bytes", vec![real as f64]);
    record.metric("capacity.sure_pct", vec![sure_pct]);
}

fn accuse(record: &mut TestRecord, announced: u64, real: u64, module: Option<u64>) {
    record.metric("fake.module_bytes", vec![module.unwrap_or(0) as f64]);
    let how = match module {
        Some(module) => format!("addresses repeat after {module} bytes"),
        None => "what is written behind is lost".to_string(),
    };
    let (announced_text, real_text) = (Bytes(announced), Bytes(real));
    let evidence = format!(
        "announces {announced_text} ({announced} bytes), keeps {real_text} ({real} bytes); {how}"
    );
    record.notice(Finding::new(FindingId::FakeCapacity, evidence).about("verify"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// `good` up to some byte, then `lost`, then good up to the end.
    fn holed(from: u64, to: u64, size: u64) -> Tally {
        let sector = SECTOR as u64;
        let last_good = if to < size { Some(size - sector) } else { from.checked_sub(sector) };
        Tally {
            intact: size - (to - from),
            lost: to - from,
            first_bad: (to > from).then_some(from),
            last_bad: (to > from).then(|| to - sector),
            last_good,
            ..Tally::default()
        }
    }

    #[test]
    fn missing_capacity_has_a_pattern() {
        let size = 64 * MIB;
        let found = |from, to| missing_capacity(&holed(from, to, size), size, true);
        assert_eq!(found(0, 0), None);
        assert_eq!(found(1024, 1536), None, "one bad sector in the middle");
        assert_eq!(found(size - 1024, size - 512), None, "one but the last");
        assert_eq!(found(size - 512, size), Some(size - 512), "the last");
        assert_eq!(found(40 * MIB, size), Some(40 * MIB));
        assert_eq!(found(40 * MIB, 52 * MIB), Some(40 * MIB), "a cache answers for the end");
        assert_eq!(found(20 * MIB, 32 * MIB), None, "more is good behind than is lost");
        assert_eq!(missing_capacity(&holed(0, 40 * MIB, size), size, false), None, "half was read");
        let scattered = Tally { lost: 6 * MIB, ..holed(40 * MIB, 52 * MIB, size) };
        assert_eq!(missing_capacity(&scattered, size, true), None);
        let wrapped = Tally {
            intact: 3072,
            overwritten: 5120,
            first_bad: Some(0),
            last_bad: Some(4608),
            last_good: Some(7680),
            module: Some(3072),
            ..Tally::default()
        };
        assert_eq!(missing_capacity(&wrapped, 8192, true), Some(3072));
    }
}
