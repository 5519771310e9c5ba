//! The measured end of a fast cache, on drives whose cache has a known size.

use super::*;
use drivescope_model::document::Metric;

/// The knee in the first `span_gb` of a Samsung 860 EVO with a fast cache of `cache_gb`.
fn knee(mode: FillMode, cache_gb: f64, span_gb: u64) -> Metric {
    let line = format!("static_gb = {cache_gb}");
    let lines = [
        ("static_gb", line.as_str()),
        ("dynamic_max_gb", "dynamic_max_gb = 0"),
        ("size_kib", "size_kib = 1536"),
    ];
    let (_file, target) = changed_model("samsung-860evo-250", &lines);
    let mut suite = suite_in(mode);
    match mode {
        FillMode::Full => suite.span = Bytes(span_gb * 1_000_000_000),
        FillMode::Sampled => suite.fill.burst = Some(Bytes(span_gb * 1_000_000_000)),
    }
    let result = done(run_on(format!("{target}?fill=0"), suite));
    let knee = result.metrics.into_iter().find(|metric| metric.key == "fill.knee.knee_bytes");
    knee.unwrap_or_else(|| panic!("{mode:?} {cache_gb} {span_gb}"))
}

/// The fast cache takes whole rows of blocks, and the buffer memory next to nothing.
#[test]
fn knee_is_within_one_percent_and_its_interval() {
    const ROW_OF_BLOCKS: f64 = 67_108_864.0;
    for (mode, span_gb) in [(FillMode::Full, 4), (FillMode::Full, 10), (FillMode::Sampled, 10)] {
        for rows in [5.0, 6.0, 7.0, 9.0, 11.0, 12.0, 13.0, 15.0, 19.0, 25.0] {
            let truth = rows * ROW_OF_BLOCKS;
            let Metric { value, low, high, .. } = knee(mode, truth / 1e9, span_gb);
            let case = format!("{mode:?} {span_gb} GB: {value} ({low} to {high}) for {truth}");
            assert!((value / truth - 1.0).abs() < 0.01, "{case}");
            assert!(low <= truth && truth <= high && low < high, "{case}");
            assert!(high - low < 0.06 * truth, "{case}");
        }
    }
}
