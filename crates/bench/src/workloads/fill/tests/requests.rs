//! How long the requests of samples of a disk are.

use super::*;

/// Without a cache and a queue every request loses a turn, so that short ones take twice the time. Behind a bridge
/// that takes one at a time, long ones do that do not fit into a small cache.
#[test]
fn length_sensitive_disk_is_sampled_with_long_requests() {
    const NO_CACHE: &[(&str, &str)] = &[("enabled = true", "enabled = false")];
    const BEHIND_BRIDGE: &[(&str, &str)] =
        &[("preset", "preset = \"usb3-bulk-only\""), ("dirty_limit_kib", "dirty_limit_kib = 256")];
    let disks =
        [("wd20ears", NO_CACHE), ("wd40efrx", BEHIND_BRIDGE), ("hds722020ala330", BEHIND_BRIDGE)];
    for (model, lines) in every(3, &disks) {
        let (_file, target) = changed_model(model, lines);
        let run = |mode| {
            let mut suite = suite_in(mode);
            suite.fill.depth = 1;
            run_on(&target, suite)
        };
        let [full, sampled] = [FillMode::Full, FillMode::Sampled].map(run);
        let [time, estimated] =
            [&full, &sampled].map(|result| value(result, "fill.whole.time_s").unwrap());
        assert!((estimated / time - 1.0).abs() < 0.02, "{model}: {estimated} s for {time} s");
        let difference = curve_difference(&sampled, &full, 100);
        assert!(difference < 0.02, "{model}: {difference}");
        // What each request loses is left to chance, and would make zones that are none.
        assert!(!has_zone_curve(&sampled));
        assert!(sampled.reason.unwrap().starts_with("zones: "), "{model}");
    }
}

/// At 64 KiB, electronics are slower than the outer tracks of the fast ones among these models.
#[test]
fn shortest_full_speed_requests_are_used() {
    const KIB: u64 = 1 << 10;
    fn times(of: [u64; 3]) -> Vec<(u64, u64)> {
        [256 * KIB, 128 * KIB, 64 * KIB].into_iter().zip(of).collect()
    }
    for (of, shortest) in [
        ([1000, 1000, 1000], 64),
        ([1009, 1000, 1005], 64),
        ([1000, 1005, 1300], 128),
        ([1000, 1100, 1300], 256),
        ([1000, 1100, 1000], 64),
    ] {
        assert_eq!(sampling::shortest_as_fast(&times(of)), Some(shortest * KIB), "{of:?}");
    }
    assert_eq!(sampling::shortest_as_fast(&[]), None);
    for (long, size) in [(960, 64), (940, 1024), (1040, 64), (1060, 1024)] {
        let with_long = [vec![(1024 * KIB, long)], times([1000, 1000, 1000])].concat();
        assert_eq!(sampling::shortest_as_fast(&with_long), Some(size * KIB), "{long}");
    }
    let sampling = |gb: u64, chunk| {
        let options = FillOptions { chunk: Bytes(chunk), ..FillOptions::default() };
        Sampling::new(&options, gb * 1_000_000_000, Some(gb * 1_000_000_000)).unwrap().trials()
    };
    assert_eq!(sampling(1000, 1 << 20), [1024 * KIB, 256 * KIB, 128 * KIB, 64 * KIB]);
    assert_eq!(sampling(1000, 64 << 20), [256 * KIB, 128 * KIB, 64 * KIB], "a sample has few such");
    assert_eq!(sampling(1000, 72 * KIB), [72 * KIB], "no half page, and none below 64 KiB");
    assert!(sampling(115, 1 << 20).is_empty(), "no bytes for trials");
}
