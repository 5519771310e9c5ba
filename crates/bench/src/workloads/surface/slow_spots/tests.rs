//! What seems slow, and what is.

use super::*;
use crate::runner::Runner;
use crate::suites;
use crate::testing::{done, finding, run_at, run_target, suite_of, whole_plan, with_session};
use drivescope_model::document::TestResult;
use drivescope_model::options::{Suite, TestKind};

/// A disk of `places` that falls to 45 % in ten zones.
fn disk(places: usize) -> Vec<f64> {
    (0..places).map(|i| 200.0 * (1.0 - 0.055 * (i * 10 / places) as f64)).collect()
}

#[test]
fn zones_and_the_inner_edge_are_not_slow() {
    for places in [16, 64, 100, 128, 512, 5000] {
        assert_eq!(candidates(&disk(places)), [0; 0], "{places}");
        let flash = vec![500.0; places];
        assert_eq!(candidates(&flash), [0; 0]);
    }
    assert_eq!(candidates(&[200.0, 200.0, 200.0, 20.0, 200.0]), [0; 0], "too few");
}

#[test]
fn a_slow_stretch_stands_out_from_its_neighbours() {
    for places in [64, 128, 512] {
        let mut rates = disk(places);
        let slow = places / 2..places / 2 + places / 20;
        rates[slow.clone()].iter_mut().for_each(|rate| *rate /= 3.0);
        assert_eq!(candidates(&rates), slow.clone().collect::<Vec<_>>());
        let again = again(&rates, &candidates(&rates));
        let [SeemingStretch { places, beside }] = &again[..] else { panic!("{again:?}") };
        assert_eq!(places.len(), slow.len().min(PLACES_AGAIN));
        assert_eq!((places[0], places[places.len() - 1]), (slow.start, slow.end - 1));
        assert_eq!(*beside, [slow.start - 1, slow.end]);
    }
    // At the ends of the drive, too.
    let mut rates = disk(64);
    (rates[0], rates[63]) = (90.0, 40.0);
    assert_eq!(candidates(&rates), [0, 63]);
}

/// A pause of the machine, or a drive that became slower as a whole: a second look shows that the place is not slow.
#[test]
fn place_fast_on_second_look_is_not_slow() {
    let usual = disk(64);
    let mut first = usual.clone();
    // Single places, of which no second look makes a stretch; then two and three side by side.
    (first[10], first[60]) = (50.0, 10.0);
    first[20..22].fill(50.0);
    first[50..53].fill(10.0);
    let seeming = again(&first, &candidates(&first));
    let [slowest, other] = &seeming[..] else { panic!("{seeming:?}") };
    assert_eq!((&slowest.places[..], &other.places[..]), (&[50, 51, 52][..], &[20, 21][..]));
    for stretch in &seeming {
        assert_eq!(confirmed(stretch, |&i| Some(usual[i])), None);
        assert_eq!(confirmed(stretch, |&i| Some(usual[i] / 4.0)), None, "all of it is slower");
        assert_eq!(confirmed(stretch, |_| None), None, "stopped, or unreadable now");
    }
    let slow = |&i: &usize| Some(if (51..53).contains(&i) { 10.0 } else { usual[i] });
    let beside = (usual[49] + usual[53]) / 2.0;
    assert_eq!(confirmed(slowest, slow), Some((51, 52, 10.0, beside)));
    assert_eq!(confirmed(other, slow), None);
}

#[test]
fn slow_accesses_are_reported_with_their_part() {
    let size = 1_000_000_000_000;
    let accesses: Vec<TimedRegion> = (0..200)
        .map(|i| {
            let offset = size / 200 * i;
            let slow = (100..110).contains(&i);
            // A turn of a disk more or less.
            let ns = 8_000_000 + (i * 7919 % 8_000_000) + if slow { 22_000_000 } else { 0 };
            TimedRegion::new(offset, 4096, Some(ns))
        })
        .collect();
    let parts = slow_parts(&accesses, size);
    let overlaps = |part: &Range<u64>| part.start < size / 20 * 11 && part.end > size / 2;
    assert!(!parts.is_empty() && parts.iter().all(overlaps));
    let healthy: Vec<TimedRegion> =
        accesses.iter().copied().filter(|access| access.ns < Some(20_000_000)).collect();
    assert_eq!(slow_parts(&healthy, size), []);
    assert_eq!(slow_parts(&accesses[..40], size), [], "too few");
}

fn surface(target: &str, seed: u64) -> TestResult {
    let mut suite = suite_of(TestKind::Surface);
    (suite.surface.samples, suite.surface.accesses) = (64, 200);
    done(run_at(&run_target(target), suite, seed, false))
}

fn evidence(result: &TestResult, about: &str) -> Option<String> {
    let slow = finding(result, FindingId::SlowRegion)?;
    assert!(slow.metrics.iter().all(|key| key.starts_with("surface.")), "{slow:?}");
    let all = if slow.observations.is_empty() {
        std::slice::from_ref(&slow.evidence)
    } else {
        &slow.observations[..]
    };
    all.iter().find(|evidence| evidence.contains(about)).cloned()
}

/// Five hundredths from the middle on, at a third of the rate of a disk, at ten times the latency of flash.
#[test]
fn a_slow_region_is_named_with_its_place() {
    for (model, capacity, about) in [
        ("wd40efrx", 4_000_787_030_016.0, "reads at"),
        ("wd40efrx", 4_000_787_030_016.0, "random reads take"),
        ("hgst-7k1000", 1_000_204_886_016.0, "reads at"),
        ("pm871b-128", 128_035_676_160.0, "random reads take"),
    ] {
        let result = surface(&format!("sim:{model}?fault=slow-region"), 3);
        let evidence = evidence(&result, about).unwrap_or_else(|| panic!("{model} {about}"));
        let words = evidence.strip_prefix("between bytes ").expect(&evidence).split(' ');
        let bytes: Vec<f64> = words.filter_map(|word| word.parse().ok()).take(2).collect();
        let share = |byte: f64| byte / capacity;
        assert!((0.45..0.54).contains(&share(bytes[0])), "{model}: {evidence}");
        assert!((0.51..0.60).contains(&share(bytes[1])), "{model}: {evidence}");
    }
}

/// What surface finds after random writes all over the drive, as on one that has been in use.
fn surface_after_use(target: &str, seed: u64) -> TestResult {
    let tests = vec![TestKind::Transfer, TestKind::Latency, TestKind::Surface];
    let (target, suite) = (run_target(target), Suite { tests, ..suite_of(TestKind::Surface) });
    let mut plan = whole_plan(&target, suite, seed);
    plan.tests.sort_by_key(|test| test.test == TestKind::Surface);
    with_session(&target, &plan, false, |session| {
        let mut runner = Runner::new(session);
        let result = plan.tests.iter().map(|test| runner.run_test(test)).last().unwrap();
        runner.close().unwrap();
        done(result)
    })
}

/// A shingled disk keeps random writes elsewhere: two neighbours by chance, as here, but not what is between.
#[test]
fn scattered_shingled_places_are_not_a_stretch() {
    for seed in [5, 10, 14] {
        assert_eq!(evidence(&surface_after_use("sim:easystore-2tb", seed), ""), None, "{seed}");
        let slow = surface_after_use("sim:easystore-2tb?fault=slow-region", seed);
        assert!(evidence(&slow, "reads at").is_some(), "{seed}");
    }
}

#[test]
fn places_between_have_room_and_are_inside() {
    let like = ScanRegion {
        offset: 512 * PAGE,
        len: 2048 * PAGE,
        lead_in_from: 0,
        lead_in_len: 512 * PAGE,
    };
    let gap = 7 * PAGE..20_000 * PAGE;
    let places = between(gap.clone(), like);
    assert_eq!(places.len() as u64, PLACES_BETWEEN);
    let (first, last) = (places[0], places[places.len() - 1]);
    assert_eq!(first.lead_in_from, gap.start);
    assert!(last.offset + last.len <= gap.end && last.offset + last.len + PAGE > gap.end - PAGE);
    assert!(
        places
            .iter()
            .all(|place| place.offset % PAGE == 0 && place.lead_in_len == like.lead_in_len)
    );
    assert_eq!(between(0..5 * 2560 * PAGE - 1, like), [], "no room");
}

/// Fifteen thousand places, of which a twentieth is slow.
#[test]
fn slow_region_is_found_by_a_full_read() {
    let suite = crate::suites::find("zcav", None).unwrap();
    let result = done(run_at(&run_target("sim:wd40efrx?fault=slow-region"), suite, 1, false));
    assert!(evidence(&result, "reads at").is_some());
}

#[test]
fn healthy_drives_have_no_slow_places() {
    for model in ["wd40efrx", "hgst-7k1000", "wd20ears", "pm871b-128", "corsair-mp510-240"] {
        for seed in 1..4 {
            let result = surface(&format!("sim:{model}"), seed);
            assert_eq!(evidence(&result, ""), None, "{model}");
        }
    }
}

/// GNOME Disks reads 100 samples of 10 MiB also of 256 MB: all but the first are mostly in the drive's cache.
#[test]
fn overlapping_samples_show_a_cache_and_no_slow_place() {
    let suite = suites::find("gnome-disks-first-256mb", None).unwrap();
    let result = done(run_at(&run_target("sim:usb-16tb"), suite, 1, false));
    let overlap = finding(&result, FindingId::SmallWorkingSet).expect("the samples overlap");
    assert_eq!(overlap.metrics, ["surface"]);
    assert_eq!(finding(&result, FindingId::SlowRegion), None);
}
