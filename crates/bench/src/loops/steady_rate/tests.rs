//! Paces of drives that answer in bursts, and of drives that do not.

use super::*;

const KIB: u64 = 1 << 10;

/// A drive whose medium takes `track` bytes every 8 ms answers a request of `chunk` bytes as soon as its cache has
/// room for all of it; `ahead` bytes of room are left when the stretch begins.
fn in_bursts(track: u64, chunk: u64, ahead: u64, requests: u64) -> SteadyRate {
    let mut pace = SteadyRate::of(requests as usize);
    for request in 1..=requests {
        // Within a burst the interface takes 0.1 ms for a request.
        let turns = (request * chunk).saturating_sub(ahead).div_ceil(track);
        let first_of_burst = (turns.saturating_sub(1) * track + ahead) / chunk + 1;
        let within = if turns > 0 { request - first_of_burst } else { request };
        pace.add(turns * 8_000_000 + within * 100_000, chunk);
    }
    pace
}

#[test]
fn bursts_do_not_move_the_pace() {
    for track in [350 * KIB, 700 * KIB, 1100 * KIB, 1900 * KIB] {
        for chunk in [64 * KIB, 256 * KIB] {
            for ahead in (0..1000).step_by(37).map(|i| i * track / 1000) {
                let len = 32 << 20;
                let seen = in_bursts(track, chunk, ahead, len / chunk).ns_of(len).unwrap() as f64;
                let truth = len as f64 / track as f64 * 8e6;
                // A request in bytes, spread over the tracks that it covers.
                let bound = chunk as f64 / len as f64 * (track as f64 / len as f64).sqrt() * 3.0;
                let off = seen / truth - 1.0;
                assert!(off.abs() < bound.max(0.0002), "{track} {chunk} {ahead}: {off} {bound}");
            }
        }
    }
}

#[test]
fn without_bursts_all_answers_give_the_pace() {
    let mut even = SteadyRate::default();
    (1..=8).for_each(|i| even.add(i * 1_000_000, 4096));
    assert_eq!(even.ns_of(8 * 4096), Some(8_000_000));
    // Answers up to a third of their distance early or late, one quick and one slow in turn, and in pairs.
    let mut uneven = SteadyRate::default();
    let mut together = SteadyRate::default();
    for i in 1..=256u64 {
        let late = (i * 2_654_435_761 % 1000) * 333;
        uneven.add(i * 1_000_000 + late, 1 << 20);
        together.add(i.div_ceil(2) * 2_000_000, 1 << 20);
    }
    for (pace, within) in [(&uneven, 0.002), (&together, 1e-9)] {
        let seen = pace.ns_of(256 << 20).unwrap() as f64;
        assert!((seen / 256e6 - 1.0).abs() < within, "{seen}");
    }
}

/// Garbage collection stops a drive seven times: too few pauses for a line of their own.
#[test]
fn few_long_pauses_are_not_the_only_points() {
    let mut pace = SteadyRate::default();
    let mut now = 0;
    for i in 1..=64u64 {
        now += if i % 9 == 0 { 9_000_000 } else { 1_000_000 };
        pace.add(now, 1 << 20);
    }
    let seen = pace.ns_of(64 << 20).unwrap() as f64;
    assert!((seen / now as f64 - 1.0).abs() < 0.03, "{seen} of {now}");
}

#[test]
fn few_answers_have_no_pace_new_stretch_restarts() {
    let mut pace = SteadyRate::of(16);
    (1..=7).for_each(|i| pace.add(i * 1000, 4096));
    assert_eq!(pace.ns_of(4096), None);
    (1..=20).for_each(|_| pace.add(8000, 4096));
    assert_eq!(SteadyRate::default().ns_of(4096), None);
    pace.restart();
    (1..=8).for_each(|i| pace.add(i * 2000, 4096));
    assert_eq!(pace.ns_of(4096), Some(2000));
}

/// Half at the rate of a cache and half at that of the medium, in bursts and without.
#[test]
fn a_change_of_pace_is_seen() {
    for (second_ns, ratio) in [(8_000_000, 1.0f64), (10_000_000, 1.25), (4_000_000, 0.5)] {
        let (mut in_bursts, mut even) = (SteadyRate::default(), SteadyRate::default());
        let mut now = 0;
        for track in 1..=64u64 {
            now += if track <= 32 { 8_000_000 } else { second_ns };
            even.add(now, 1 << 20);
            (0..4).for_each(|i| in_bursts.add(now + i * 100_000, 256 << 10));
        }
        for pace in [&in_bursts, &even] {
            let seen = pace.drift().unwrap();
            assert!((seen - ratio.ln()).abs() < 0.03, "{seen} for {ratio}");
        }
    }
    // Few long pauses: of each half there are enough answers, if not enough pauses.
    let mut few = SteadyRate::default();
    (0..36u64).for_each(|i| few.add(i * 1_000_000 + i / 3 * 9_000_000, 1 << 20));
    assert!(few.drift().unwrap().abs() < 0.2);
    let mut short = SteadyRate::default();
    (1..=12).for_each(|i| short.add(i * 1_000_000, 4096));
    assert_eq!((short.drift(), short.ns_of(4096)), (None, Some(1_000_000)));
}

/// Tracks of seven and a half answers with a skew between them.
#[test]
fn track_ends_do_not_affect_the_step() {
    let mut pace = SteadyRate::default();
    for i in 0..40u64 {
        pace.add(i * 1_000_000 + i * 2 / 15 * 800_000, 4096);
    }
    assert_eq!(pace.step_ns_of(8192), Some(2_000_000));
    let mut short = SteadyRate::default();
    (1..=7).for_each(|i| short.add(i * 1000, 4096));
    assert_eq!(short.step_ns_of(4096), None);
}
