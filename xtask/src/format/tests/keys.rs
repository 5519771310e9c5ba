//! Holds the tables of keys in docs/format.md against real runs: every metric, curve and
//! distribution of the examples is described, and nothing is described that no run has.

use super::{EXAMPLES, page};
use crate::workspace;
use drivescope_model::metrics::{PERCENTILES, QUANTITIES};
use drivescope_model::{Run, TestResult};
use std::collections::{BTreeMap, BTreeSet};

/// The quantities of each pattern of cells, in the order of the page.
fn cells() -> Vec<(String, BTreeSet<String>)> {
    let text = page::text();
    let (_, rest) = text.split_once("**Common** quantities").unwrap();
    let (list, _) = rest.split_once("\n\n").unwrap();
    let common: Vec<String> = list.split('`').skip(1).step_by(2).map(str::to_string).collect();
    let mut cells = Vec::new();
    for row in page::tables(&text, "cell").into_iter().flat_map(|table| table.rows) {
        let words = row[1].split(", ").flat_map(|word| match word {
            "common" => common.clone(),
            word => vec![word.to_string()],
        });
        cells.push((row[0].clone(), words.collect()));
    }
    cells
}

fn tests() -> Vec<TestResult> {
    let read = |path| serde_json::from_str::<Run>(&workspace::read(path).unwrap()).unwrap();
    EXAMPLES.into_iter().flat_map(|path| read(path).tests).collect()
}

/// Whether `text` has the form of `pattern`, in which `<name>` stands for some letters, none of
/// them a dot.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('<') else { return pattern == text };
    let Some((_, pattern)) = rest.split_once('>') else { return false };
    let Some(text) = text.strip_prefix(before) else { return false };
    let end = text.find('.').unwrap_or(text.len());
    (1..=end).any(|n| text.is_char_boundary(n) && fits(pattern, &text[n..]))
}

/// Whether a quantity is left out where nothing shows it: percentiles of few requests, what the kernel's
/// counters do not tell, onsets that the two orders of parts do not agree on, where a resumed fill went on, the
/// flush of a full one, what a synthetic trace took when it was recorded, what a database does not count, and the rule
/// of cells that are not tracked; no processor does the requests of a simulated drive.
fn may_be_absent(cell: &str, quantity: &str) -> bool {
    ["cache_share_pct", "onset_ms", "silent_bytes", "recorded_s"].contains(&quantity)
        || ["range_ratio", "drift_ratio", "kept_ratio"].contains(&quantity)
        || ["server_us", "logical_reads"].contains(&quantity)
        || (cell.starts_with("geometry.") && quantity.starts_with("cpu_"))
        || [
            ("fill.write", "start_bytes"),
            ("fill.whole", "flush_s"),
            ("verify.capacity", "device_bytes"),
            // Of a read in one pass only.
            ("surface.read", "share_pct"),
            ("surface.read", "start_bytes"),
            ("verify.capacity", "free_bytes"),
        ]
        .contains(&(cell, quantity))
        || PERCENTILES.iter().any(|known| known.key == quantity)
}

/// The first pattern that a cell fits.
fn pattern_of<'c>(
    cells: &'c [(String, BTreeSet<String>)],
    cell: &str,
) -> &'c (String, BTreeSet<String>) {
    let found = cells.iter().find(|(pattern, _)| fits(pattern, cell));
    found.unwrap_or_else(|| panic!("docs/format.md does not describe the cell {cell}"))
}

#[test]
fn every_cell_has_the_quantities_of_its_pattern() {
    let described = cells();
    let mut measured: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for metric in tests().iter().flat_map(|test| &test.metrics) {
        let (cell, quantity) = metric.key.rsplit_once('.').unwrap();
        measured.entry(cell.to_string()).or_default().insert(quantity.to_string());
    }
    let mut used = BTreeSet::new();
    for (cell, quantities) in &measured {
        let (pattern, expected) = pattern_of(&described, cell);
        assert!(quantities.is_subset(expected), "{cell}: {quantities:?}");
        for missing in expected.difference(quantities) {
            assert!(may_be_absent(cell, missing), "{cell} has no {missing}");
        }
        used.insert(pattern.clone());
    }
    let patterns: BTreeSet<String> = described.into_iter().map(|(pattern, _)| pattern).collect();
    assert_eq!(used, patterns, "patterns of cells that no example has");
}

#[test]
fn the_cells_use_every_quantity_and_no_other() {
    let used: BTreeSet<String> = cells().into_iter().flat_map(|(_, all)| all).collect();
    let closed: BTreeSet<String> = QUANTITIES.iter().map(|q| q.key.to_string()).collect();
    assert_eq!(used, closed);
}

#[test]
fn curves_distributions_and_phases_are_those_of_the_page() {
    let described = cells();
    let curves: Vec<Vec<String>> =
        page::tables(&page::text(), "series").into_iter().flat_map(|table| table.rows).collect();
    let mut used = BTreeSet::new();
    for test in tests() {
        for series in &test.series {
            let row = curves.iter().find(|row| fits(&row[0], &series.key));
            let row = row.unwrap_or_else(|| panic!("the series {} is not described", series.key));
            assert_eq!(row[1..3], [series.x_unit.clone(), series.y_unit.clone()], "{}", series.key);
            used.insert(row[0].clone());
        }
        for distribution in &test.distributions {
            let (pattern, quantities) = pattern_of(&described, &distribution.key);
            assert!(quantities.contains("lat_p50_us"), "{pattern} has a distribution");
        }
        for phase in &test.phases {
            pattern_of(&described, &format!("{}.{}", test.test, phase.cell));
        }
    }
    let rows: BTreeSet<String> = curves.iter().map(|row| row[0].clone()).collect();
    assert_eq!(used, rows, "series that no example has");
}

#[test]
fn patterns_stand_for_letters_but_not_for_dots() {
    for (pattern, text, fitting) in [
        ("transfer.<shape>.<mix>", "transfer.rnd4k_q1t1.read", true),
        ("transfer.<shape>.<mix>", "transfer.rnd4k_q1t1", false),
        ("latency.<arrivals>_<rate>", "latency.poisson_50pct", true),
        ("latency.span<percent>", "latency.span12_5", true),
        ("latency.span<percent>", "latency.span", false),
        ("surface.read", "surface.read", true),
        ("surface.read", "surface.reads", false),
        ("<a>.mb_s#<n>", "x.y.mb_s#1", false),
    ] {
        assert_eq!(fits(pattern, text), fitting, "{pattern} {text}");
    }
}
