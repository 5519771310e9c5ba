//! Falls whose cause is known.

use super::*;
use crate::io::recorder::Recorder;
use crate::judging::round::CoresTaken;
use crate::judging::test_record::TestRecord;
use crate::loops::phase::PhaseResult;
use crate::testing::{self, SECOND, has};
use drivescope_model::cell::Mix;
use drivescope_model::options::TestKind;

/// A round of one second whose rate, in requests of 64 KiB per second, is a function of the share passed.
fn round(cell: &str, number: u32, rate: impl Fn(f64) -> f64) -> Round {
    let mix = if cell.ends_with(".read") { Mix::READ } else { Mix::WRITE };
    let mut recorder = Recorder::new(SECOND);
    recorder.start(0);
    let mut now = 0.0;
    while now < 1.0 {
        let took = 1.0 / rate(now);
        now += took;
        recorder.complete((now * 1e9) as u64, (took * 1e9) as u64, 64 << 10);
    }
    let mut round = testing::round(cell, 1, 64 << 10, mix);
    round.round = number;
    round.measured = PhaseResult { recorder, ..round.measured };
    round
}

const READ: &str = "seq1m_q8t1.read";
const WRITE: &str = "seq1m_q8t1.write";

fn step(at: f64) -> impl Fn(f64) -> f64 {
    move |passed| if passed < at { 5_000.0 } else { 1_500.0 }
}

#[test]
fn writes_that_fall_once_have_filled_a_cache() {
    let rounds = [round(READ, 1, |_| 8_000.0), round(WRITE, 1, step(0.4))];
    let DropCause { id, sign } = cause(&rounds, WRITE, false).unwrap();
    assert_eq!(id, FindingId::CacheFull);
    // 5,000 requests of 64 KiB per second for 0.4 s.
    assert_eq!(sign, format!("after {} written", Bytes(131_000_000)), "{sign}");
}

/// Cells of tiny-writes have no load, and a flush may follow each write.
#[test]
fn single_writes_are_not_reads() {
    let one_by_one = |asked| {
        let fallen = round(WRITE, 1, step(0.4));
        Round { cell: "rnd4k_direct_sync".to_string(), load: None, asked, ..fallen }
    };
    let found = |asked| cause(&[one_by_one(asked)], "rnd4k_direct_sync", false).unwrap().id;
    assert_eq!(found(Some((0.0, 1e9))), FindingId::CacheFull);
    assert_eq!(found(Some((1e9, 0.0))), FindingId::Throttled, "reads fill no cache");
}

#[test]
fn reads_or_lasting_fall_show_heat() {
    let hot_reads = [round(READ, 1, step(0.4)), round(WRITE, 1, |_| 5_000.0)];
    assert_eq!(cause(&hot_reads, READ, false).unwrap().id, FindingId::Throttled);
    for reads in [
        vec![round(READ, 1, step(0.5))],
        vec![round(READ, 1, |_| 8_000.0), round(READ, 2, |_| 4_000.0)],
    ] {
        let rounds = [reads, vec![round(WRITE, 1, step(0.4))]].concat();
        let found = cause(&rounds, WRITE, false).unwrap();
        assert_eq!(found.id, FindingId::Throttled, "{}", found.sign);
    }
    let ever_slower = |passed: f64| 6_000.0 * (-2.5 * passed).exp();
    let found = cause(&[round(WRITE, 1, ever_slower)], WRITE, false).unwrap();
    assert_eq!((found.id, found.sign.as_str()), (FindingId::Throttled, "and it kept falling"));
}

#[test]
fn drive_that_calls_itself_too_hot_is_believed() {
    fn at(temperature_c: Option<f64>) -> Round {
        Round { temperature_c, ..round(READ, 1, |_| 8_000.0) }
    }
    let found = too_hot(&at(Some(81.4)), Some(80.0)).unwrap();
    let evidence = "seq1m_q8t1.read: 81 °C at the end; the drive's warning level is 80 °C";
    assert_eq!(found.evidence, evidence);
    assert_eq!(too_hot(&at(Some(79.9)), Some(80.0)), None);
    assert_eq!(too_hot(&at(Some(99.0)), None), None, "what is hot, the drive must say");
    assert_eq!(too_hot(&at(None), Some(80.0)), None);
}

#[test]
fn disk_fall_is_full_cache_not_heat() {
    fn ever_slower(passed: f64) -> f64 {
        30_000.0 * (-2.5 * passed).exp()
    }
    fn id(rounds: &[Round], cell: &str, rotates: bool) -> Option<FindingId> {
        cause(rounds, cell, rotates).map(|cause| cause.id)
    }
    assert_eq!(id(&[round(WRITE, 1, ever_slower)], WRITE, true), Some(FindingId::CacheFull));
    // A bridge may hide what is behind it; the times of random reads do not.
    let rounds = [round("rnd4k_q1t1.read", 1, |_| 60.0), round(WRITE, 1, ever_slower)];
    assert_eq!(id(&rounds, WRITE, false), Some(FindingId::CacheFull));
    assert_eq!(id(&[round(READ, 1, step(0.4))], READ, true), Some(FindingId::Throttled));
    let buffer = [round(WRITE, 1, |passed| 0.1 * ever_slower(passed))];
    assert_eq!(id(&buffer, WRITE, true), None, "every disk has a buffer, which is full at times");
}

/// A second of writes at 5,000 requests of 64 KiB per second, then `rate` from its middle on.
fn falling_to(rate: f64, number: u32) -> Round {
    round(WRITE, number, move |passed| if passed < 0.5 { 5_000.0 } else { rate })
}

/// On a machine with half of its cores taken a drop of a quarter is no cache.
#[test]
fn fall_explained_by_busy_processors_is_ignored() {
    assert!(with_others(3_600.0, 5));
    assert!(!with_others(3_600.0, 50));
    assert!(with_others(1_500.0, 50), "a cliff is seen all the same");
}

fn with_others(rate: f64, others_pct: u64) -> bool {
    let mut round = falling_to(rate, 1);
    let (total_ns, others_ns) = (2 * SECOND, 2 * SECOND * others_pct / 100);
    round.cores = Some(CoresTaken { others_ns, total_ns, ..CoresTaken::default() });
    drop_of(&round).is_some()
}

#[test]
fn fall_within_round_spread_is_not_full_cache() {
    fn found(rates: [f64; 3]) -> bool {
        let mut record = TestRecord::new(TestKind::Transfer);
        for (number, rate) in (1..).zip(rates) {
            let falls = move |passed| if passed < 0.5 { rate * 1.4 } else { rate };
            record.add(round(WRITE, number, falls));
        }
        has(&record.finish(3), FindingId::CacheFull)
    }
    assert!(found([3_000.0, 3_100.0, 2_900.0]));
    assert!(!found([3_000.0, 5_000.0, 2_000.0]));
}

/// 200 requests in a second come three or four in an interval of 20 ms, by chance fewer at its end.
#[test]
fn few_requests_more_or_less_are_not_drop() {
    let mut slow = testing::round("rnd4k_q32t1.read", 200, 4096, Mix::READ);
    let recorder = &mut slow.measured.recorder;
    let rates = [4u64, 4, 5, 4, 4, 4, 3, 4, 5, 2].iter().cycle().take(50);
    for (index, (interval, &ops)) in recorder.intervals.iter_mut().zip(rates).enumerate() {
        interval.ops = if index >= 40 { ops * 6 / 10 } else { ops };
        interval.bytes = interval.ops * 4096;
    }
    assert!(slow.rates_mb_s().len() >= 49, "{}", slow.rates_mb_s().len());
    assert!(lasting_drop(&slow.rates_mb_s()).is_some(), "the case must be one");
    assert_eq!(drop_of(&slow), None);
    // Where each interval has requests enough, the same share is a drop; not where some of them failed.
    let recorder = &mut slow.measured.recorder;
    recorder.ops *= 100;
    for interval in &mut recorder.intervals {
        (interval.ops, interval.bytes) = (interval.ops * 100, interval.bytes * 100);
    }
    assert!(drop_of(&slow).is_some_and(|drop| (35..=45).contains(&drop.at_index)));
    slow.measured.recorder.errors = 1;
    assert_eq!(drop_of(&slow), None);
}

#[test]
fn silence_at_the_end_is_not_a_drop() {
    let mut silent = round(READ, 1, |passed| if passed < 0.7 { 5_000.0 } else { 0.5 });
    assert!(silent.measured.recorder.gap_max_ns > STALL_NS);
    assert_eq!(drop_of(&silent), None);
    silent.measured.recorder.gap_max_ns = 0;
    assert!(drop_of(&silent).is_some(), "the case must be one");
}

/// A cache full after the first round; one slow round; reads that slowed too.
#[test]
fn lasting_fall_of_rounds_is_a_full_cache() {
    fn written(rates: [f64; 4], reads: [f64; 4]) -> Option<u64> {
        let rounds: Vec<Round> = (1..=4)
            .flat_map(|n| {
                let [write, read] = [rates, reads].map(|of| of[n as usize - 1]);
                [round(READ, n, move |_| read), round(WRITE, n, move |_| write)]
            })
            .collect();
        full_between_rounds(&rounds, WRITE, 0.25, false)
    }
    let level = [8_000.0; 4];
    let first_round = written([5_000.0, 2_000.0, 2_050.0, 1_950.0], level).unwrap();
    assert_eq!(first_round >> 20, 312, "5,000 requests of 64 KiB");
    assert_eq!(written([5_000.0, 2_000.0, 5_000.0, 5_000.0], level), None);
    assert_eq!(written([5_000.0, 4_500.0, 5_100.0, 4_900.0], level), None);
    assert_eq!(written([5_000.0, 2_000.0, 2_050.0, 1_950.0], [8e3, 4e3, 4e3, 4e3]), None);
}

#[test]
fn fall_with_unreliable_timing_is_not_full_cache() {
    fn is_full(is_busy: bool) -> bool {
        let mut record = TestRecord::new(TestKind::Transfer);
        (1..=3).for_each(|number| record.add(round(WRITE, number, step(0.4))));
        if is_busy {
            let busy = Finding::new(FindingId::BusyProcessors, "timing unreliable");
            record.notice(busy.about(format!("transfer.{WRITE}")));
        }
        has(&record.finish(3), FindingId::CacheFull)
    }
    assert!(is_full(false));
    assert!(!is_full(true));
}
