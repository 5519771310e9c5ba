//! From what was read back to a statement: the real size, and how sure it is; and what cannot be judged,
//! because requests failed.

use super::capacity_probe::{FailedBlocks, Probed, SAMPLES_MAX};
use crate::error::describe;
use crate::io::payload::SECTOR;
use crate::io::queue::IoFailure;
use crate::judging::test_record::TestRecord;
use crate::workloads::shared::whole_drive::read_back::{ReadBackOutcome, SectorTally};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::units::Bytes;

/// A shorter stretch of lost sectors is damage, not missing capacity.
const LONG_LOSS: u64 = 1 << 20;
/// The share of bad blocks whose discovery `sure_pct` is about.
const BAD_SHARE: f64 = 0.01;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sampled {
    pub block_bytes: u64,
    /// Bytes under test.
    pub announced: u64,
    /// Bytes that the drive announces.
    pub device_bytes: u64,
    pub written: u64,
    pub failed: (u64, Option<IoFailure>),
}

/// The outcome of a quick run. Where blocks failed and none has lost its data, the capacity is not judged.
pub(super) fn quick(record: &mut TestRecord, probed: &Probed, looked: &Sampled) {
    let Sampled { block_bytes, announced, written, .. } = *looked;
    let whole = announced / block_bytes;
    let honest = probed.real == whole && probed.module.is_none();
    if let (count, Some(failure)) = &looked.failed {
        let places = probed.failed.map(|failed| where_failed(&failed, looked, honest));
        let evidence = describe(failure, *count) + &places.unwrap_or_default();
        record.notice(Finding::new(FindingId::IoError, evidence).about("verify"));
    }
    if let Some(failed) = probed.failed.filter(|_| honest) {
        record.metric("capacity.announced_bytes", vec![announced as f64]);
        record.metric("capacity.written_bytes", vec![written as f64]);
        if let Some(silent) = failed.silent_from {
            record.metric("capacity.silent_bytes", vec![(silent * block_bytes) as f64]);
        }
        return;
    }
    if !honest && probed.module.is_none() && (probed.keeps_behind || probed.real == 0) {
        lost(record, probed, looked);
        return;
    }
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
    accuse(record, looked.device_bytes, real, module);
    if probed.cut_short {
        let why = if probed.failed.is_some() {
            "too many requests failed"
        } else {
            "it reached the limit of written data"
        };
        record.remark(format!("the search for the real size: {why}"));
    }
}

/// Data were lost, which missing capacity does not explain: more is kept behind, or nothing anywhere.
fn lost(record: &mut TestRecord, probed: &Probed, looked: &Sampled) {
    record.metric("capacity.announced_bytes", vec![looked.announced as f64]);
    record.metric("capacity.written_bytes", vec![looked.written as f64]);
    let evidence = if probed.keeps_behind {
        let first = probed.real * looked.block_bytes;
        format!("blocks from byte {first} lost their data, but later blocks read back intact")
    } else {
        record.metric("capacity.silent_bytes", vec![0.0]);
        format!("blocks lost their data; {}", silence(0))
    };
    record.notice(Finding::new(FindingId::DataMismatch, evidence).about("verify"));
}

/// Between which places requests failed, and whether anything behind them is good.
fn where_failed(failed: &FailedBlocks, looked: &Sampled, honest: bool) -> String {
    let byte = |block: u64| block * looked.block_bytes;
    let (first, last) = (byte(failed.first), byte(failed.last + 1) - 1);
    let behind = match failed.silent_from.map(byte) {
        Some(silent) => format!("; {}", silence(silent)),
        None if honest => "; later blocks read back intact".to_string(),
        None => String::new(),
    };
    format!("; failed blocks lie between bytes {first} and {last}{behind}")
}

fn silence(from: u64) -> String {
    let what = if from == 0 { "nothing".into() } else { format!("nothing after byte {from}") };
    format!("{what} could be read back: a fake or a broken drive")
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub start: u64,
    pub size: u64,
    pub device_bytes: u64,
    /// Everything was written, by this run or an earlier one. If not, what is missing may never have been.
    pub wrote: bool,
    /// The bytes are those of files, whose places on the drive are the file system's.
    pub is_in_files: bool,
}

/// The outcome of reading `start..size` back.
pub(super) fn full(record: &mut TestRecord, outcome: &ReadBackOutcome, done: Done) {
    let Done { start, size, device_bytes, wrote, is_in_files } = done;
    let SectorTally { intact, changed, overwritten, lost, unreadable, .. } = outcome.tally;
    for (quantity, bytes) in [
        ("intact_bytes", intact),
        ("changed_bytes", changed),
        ("overwritten_bytes", overwritten),
        ("lost_bytes", lost),
        ("unreadable_bytes", unreadable),
    ] {
        record.metric(&format!("read.{quantity}"), vec![bytes as f64]);
    }
    let complete = start == 0 && outcome.reached == size;
    let pattern = missing_capacity(&outcome.tally, size, complete);
    let missing = pattern.filter(|_| wrote || outcome.tally.repeats);
    let silent = silent_from(&outcome.tally, size, complete).filter(|_| missing.is_none());
    unreadable_part(record, outcome, silent);
    if let Some(first) = outcome.tally.first_wrong.filter(|_| missing.is_none()) {
        let bad = Bytes(outcome.tally.wrong());
        let why = match (pattern, silent) {
            (Some(_), _) => {
                ": either the drive stores no more, or the run that wrote stopped there; a run that also writes can \
                 tell"
                    .to_string()
            }
            (None, Some(from)) => format!("; {}", silence(from)),
            (None, None) => String::new(),
        };
        let astray = match overwritten {
            0 => String::new(),
            bytes => format!("; {} of it belongs to other addresses", Bytes(bytes)),
        };
        let evidence = format!("{bad} read back wrong, the first at byte {first}{astray}{why}");
        record.notice(Finding::new(FindingId::DataMismatch, evidence).about("verify"));
    }
    if !complete || missing != pattern {
        return;
    }
    if let Some(silent) = silent {
        record.metric("capacity.announced_bytes", vec![size as f64]);
        record.metric("capacity.silent_bytes", vec![silent as f64]);
        return;
    }
    if missing.is_none() && outcome.tally.good_end() < size {
        record.metric("capacity.announced_bytes", vec![size as f64]);
        return;
    }
    capacity(record, size, missing.unwrap_or(size), 100.0);
    if let Some(real) = missing {
        let module = outcome.tally.module.filter(|_| outcome.tally.repeats);
        if is_in_files {
            accuse_files(record, size, real, module);
        } else {
            accuse(record, device_bytes, real, module);
        }
    }
}

/// F017 with the place, if anything could not be read.
fn unreadable_part(record: &mut TestRecord, outcome: &ReadBackOutcome, silent: Option<u64>) {
    let (count, Some(failure)) = &outcome.failed else { return };
    let SectorTally { unreadable, first_unreadable, unreadable_end, .. } = outcome.tally;
    let offset = first_unreadable.unwrap_or(failure.offset);
    let mut evidence = describe(&IoFailure { offset, ..*failure }, *count);
    match unreadable_end {
        None => evidence += "; a second read succeeded",
        Some(end) => {
            let bytes = Bytes(unreadable);
            evidence += &format!(
                "; {bytes} could not be read or written, the last at byte {}",
                end - SECTOR as u64
            );
        }
    }
    if outcome.is_coarse {
        evidence += "; in long unreadable ranges only the ends were tested sector by sector";
    }
    if let Some(from) = silent {
        evidence += &format!("; {}", silence(from));
    }
    // It says more than each request that the drive refused.
    let finding = Finding::new(FindingId::IoError, evidence).about("verify");
    record.notice(finding.weighing(1.0));
}

/// The first byte behind which nothing is good, where some of that could not be read, or where there is nothing
/// before: such a drive may be a fake or broken.
fn silent_from(tally: &SectorTally, size: u64, complete: bool) -> Option<u64> {
    let good_end = tally.good_end();
    let is_silent = tally.unreadable_end.is_some_and(|end| end > good_end);
    (complete && (is_silent || good_end == 0) && good_end < size).then_some(good_end)
}

/// The real size, if the pattern of what is wrong is that of missing capacity: addresses that repeat, wrong data
/// up to the end, or one long stretch without anything good, with no more behind it than a cache may have answered
/// for. Single wrong sectors are another fault.
fn missing_capacity(tally: &SectorTally, size: u64, complete: bool) -> Option<u64> {
    if !complete || tally.first_wrong.is_none() {
        return None;
    }
    // Addresses repeat: of all that share a sector, the last written is intact.
    if tally.repeats {
        return Some(tally.intact);
    }
    let sector = SECTOR as u64;
    if silent_from(tally, size, complete).is_some() {
        return None;
    }
    if tally.good_end() < size {
        // Where as much is wrong before, the end is one of the places where the drive loses data.
        let at_end = size - tally.good_end();
        return (2 * at_end > tally.wrong()).then(|| tally.good_end());
    }
    let (first, end) = (tally.first_wrong?, tally.last_wrong? + sector);
    let in_one = tally.wrong() == end - first;
    (in_one && end - first >= LONG_LOSS.max(size - end)).then_some(first)
}

fn capacity(record: &mut TestRecord, announced: u64, real: u64, sure_pct: f64) {
    record.metric("capacity.announced_bytes", vec![announced as f64]);
    record.metric("capacity.real_bytes", vec![real as f64]);
    record.metric("capacity.sure_pct", vec![sure_pct]);
}

/// As [`accuse`], where the drive has more than the files that were tested.
fn accuse_files(record: &mut TestRecord, size: u64, real: u64, module: Option<u64>) {
    record.metric("fake.module_bytes", vec![module.unwrap_or(0) as f64]);
    // The distance is only as good as the places of files that the file system reports.
    let how = if module.is_some() { "addresses repeat" } else { "the rest is lost" };
    let (size_text, real_text) = (Bytes(size), Bytes(real));
    let evidence = format!(
        "of {size_text} ({size} bytes) in files that filled free space, it keeps {real_text} ({real} bytes); {how}"
    );
    record.notice(Finding::new(FindingId::FakeCapacity, evidence).about("verify"));
}

fn accuse(record: &mut TestRecord, announced: u64, real: u64, module: Option<u64>) {
    record.metric("fake.module_bytes", vec![module.unwrap_or(0) as f64]);
    let how = match module {
        Some(module) => format!("addresses repeat after {module} bytes"),
        None => "data written after that is lost".to_string(),
    };
    let (announced_text, real_text) = (Bytes(announced), Bytes(real));
    let evidence = format!(
        "announces {announced_text} ({announced} bytes), stores {real_text} ({real} bytes); {how}"
    );
    record.notice(Finding::new(FindingId::FakeCapacity, evidence).about("verify"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// `good` up to some byte, then `lost`, then good up to the end.
    fn holed(from: u64, to: u64, size: u64) -> SectorTally {
        let sector = SECTOR as u64;
        let last_good = if to < size { Some(size - sector) } else { from.checked_sub(sector) };
        SectorTally {
            intact: size - (to - from),
            lost: to - from,
            first_wrong: (to > from).then_some(from),
            last_wrong: (to > from).then(|| to - sector),
            last_good,
            ..SectorTally::default()
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
        let scattered = SectorTally { lost: 6 * MIB, ..holed(40 * MIB, 52 * MIB, size) };
        assert_eq!(missing_capacity(&scattered, size, true), None);
        let wrapped = SectorTally {
            intact: 3072,
            overwritten: 5120,
            first_wrong: Some(0),
            last_wrong: Some(4608),
            last_good: Some(7680),
            module: Some(3072),
            repeats: true,
            ..SectorTally::default()
        };
        assert_eq!(missing_capacity(&wrapped, 8192, true), Some(3072));
        // What belongs elsewhere and is missing there: single writes went astray.
        let astray = SectorTally { overwritten: 512, lost: 512, ..holed(MIB, MIB + 1024, size) };
        assert_eq!(missing_capacity(&astray, size, true), None);
    }

    /// A drive that loses what it likes, the last of it too, or everything, need not be a fake.
    #[test]
    fn losses_everywhere_are_not_a_missing_end() {
        let size = 64 * MIB;
        let dropping = |elsewhere: u64, at_end: u64| SectorTally {
            lost: elsewhere + at_end,
            first_wrong: Some(MIB),
            ..holed(size - at_end, size, size)
        };
        assert_eq!(missing_capacity(&dropping(5 * MIB, MIB), size, true), None);
        assert_eq!(missing_capacity(&dropping(MIB, 5 * MIB), size, true), Some(59 * MIB));
        let mut record = TestRecord::new(drivescope_model::options::TestKind::Verify);
        let read = |tally| {
            let mut outcome = ReadBackOutcome::at(0);
            (outcome.tally, outcome.reached) = (tally, size);
            outcome
        };
        let done = Done { start: 0, size, device_bytes: size, wrote: true, is_in_files: false };
        full(&mut record, &read(dropping(5 * MIB, MIB)), done);
        full(&mut record, &read(holed(0, size, size)), done);
        let result = record.finish(3);
        assert_eq!(result.findings.len(), 1, "{:?}", result.findings);
        assert_eq!(result.findings[0].id, FindingId::DataMismatch);
        let named = |key: &str| result.metrics.iter().filter(|m| m.key.ends_with(key)).count();
        assert_eq!(
            (named("announced_bytes"), named("real_bytes"), named("silent_bytes")),
            (2, 0, 1)
        );
    }

    /// The same drive, but it answers with errors where it had lost.
    fn failing(from: u64, to: u64, size: u64) -> SectorTally {
        let holed = holed(from, to, size);
        SectorTally {
            lost: 0,
            first_wrong: None,
            last_wrong: None,
            unreadable: to - from,
            first_unreadable: Some(from),
            unreadable_end: Some(to),
            ..holed
        }
    }

    #[test]
    fn unreadable_blocks_are_not_missing() {
        let size = 64 * MIB;
        for (from, to) in [(20 * MIB, 32 * MIB), (40 * MIB, 52 * MIB), (40 * MIB, size), (0, size)]
        {
            let tally = failing(from, to, size);
            assert_eq!(missing_capacity(&tally, size, true), None);
            let silent = (to == size).then_some(from);
            assert_eq!(silent_from(&tally, size, true), silent, "{from} to {to}");
            assert_eq!(silent_from(&tally, size, false), None);
        }
        // A cut with an unreadable spot before it is still a cut; with one in what is missing, the result is open.
        let cut = holed(40 * MIB, size, size);
        let spot = |at| SectorTally {
            unreadable: 512,
            first_unreadable: Some(at),
            unreadable_end: Some(at + 512),
            ..cut
        };
        assert_eq!(missing_capacity(&spot(MIB), size, true), Some(40 * MIB));
        assert_eq!(missing_capacity(&spot(50 * MIB), size, true), None);
        assert_eq!(silent_from(&spot(50 * MIB), size, true), Some(40 * MIB));
    }
}
