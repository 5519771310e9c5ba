//! From what was read back to a statement: the real size, and how sure it is.

use super::probe::{Probed, SAMPLES_MAX};
use crate::payload::SECTOR;
use crate::results::TestRecord;
use crate::tests::read_back::{ReadBackOutcome, Tally};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::units::Bytes;

/// The share of bad blocks whose discovery `sure_pct` is about.
const BAD_SHARE: f64 = 0.01;

/// The outcome of a quick run over `announced` bytes in blocks of `block_bytes`.
pub(super) fn quick(record: &mut TestRecord, probed: &Probed, block_bytes: u64, announced: u64) {
    let whole = announced / block_bytes;
    let honest = probed.real == whole && probed.module.is_none();
    // A drive of fewer blocks than samples was looked at in whole.
    let missed = (1.0 - BAD_SHARE).powf(SAMPLES_MAX.min(whole) as f64);
    let sure_pct = if honest { 100.0 * (1.0 - missed) } else { 100.0 };
    let real = if honest { announced } else { probed.real * block_bytes };
    capacity(record, announced, real, sure_pct);
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

/// The outcome of reading `start..size` back.
pub(super) fn full(record: &mut TestRecord, outcome: &ReadBackOutcome, start: u64, size: u64) {
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
    let missing = missing_capacity(&outcome.tally, size, complete);
    if let Some(first) = outcome.tally.first_bad.filter(|_| missing.is_none()) {
        let bad = Bytes(changed + overwritten + lost);
        let evidence = format!("{bad} read back wrong, the first at byte {first}");
        record.notice(Finding::new(FindingId::DataMismatch, evidence).about("verify"));
    }
    if !complete {
        return;
    }
    capacity(record, size, missing.unwrap_or(size), 100.0);
    if let Some(real) = missing {
        accuse(record, size, real, outcome.tally.module);
    }
}

/// The real size, if the pattern of what is wrong is that of missing capacity: data that belong
/// elsewhere, or nothing good up to the end. Single wrong sectors are another fault.
fn missing_capacity(tally: &Tally, size: u64, complete: bool) -> Option<u64> {
    if !complete || tally.first_bad.is_none() {
        return None;
    }
    // Addresses repeat: of all that share a sector, the last written is intact.
    if tally.overwritten > 0 {
        return Some(tally.intact);
    }
    let behind = tally.last_good.map_or(0, |last| last + SECTOR as u64);
    (behind < size).then_some(behind)
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

    #[test]
    fn missing_capacity_has_a_pattern() {
        let good = Tally { intact: 8192, last_good: Some(8192 - 512), ..Tally::default() };
        assert_eq!(missing_capacity(&good, 8192, true), None);
        let one = Tally { intact: 7680, lost: 512, first_bad: Some(1024), ..good };
        assert_eq!(missing_capacity(&one, 8192, true), None, "one bad sector in the middle");
        let cut = Tally {
            intact: 4096,
            lost: 4096,
            first_bad: Some(4096),
            last_good: Some(3584),
            ..Tally::default()
        };
        assert_eq!(missing_capacity(&cut, 8192, true), Some(4096));
        assert_eq!(missing_capacity(&cut, 8192, false), None, "half of the drive was read");
        let wrapped = Tally {
            intact: 3072,
            overwritten: 5120,
            first_bad: Some(0),
            last_good: Some(7680),
            module: Some(3072),
            ..Tally::default()
        };
        assert_eq!(missing_capacity(&wrapped, 8192, true), Some(3072));
    }
}
