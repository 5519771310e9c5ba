//! `fill`: rates in a table and drawn over the position, the time of a whole fill, the knee, the zones.

mod charts;

use super::WorkloadReport;
use super::rates::rate_table;
use crate::chart::finite_points;
use crate::terminal::{Paragraph, Role, Style, block_chart, chart_columns, find, sections, value};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::findings::FindingId;
use drivescope_model::number::{one_decimal, rounded};
use drivescope_model::{Bytes, Secs, TestKind, TestResult};
use drivescope_stats::knee::{DISK_FALL_MIN, FLASH_FALL_MIN, resolution};

/// Points per column of the drawing.
const COLUMN_POINTS: usize = 4;
const ZONES_MAX: usize = 12;
/// A fill that wrote this share of its curve measured it; one that wrote less estimated it.
const WHOLE_SHARE: f64 = 0.999;
/// Shorter flushes are not shown.
const FLUSH_SHARE: f64 = 0.01;

// The rate over the whole drive, which a backup fills.
const EVIDENCE: &[Evidence] =
    &[Evidence::of_writes(Criterion::SequentialWrites, "fill.write.mean_mb_s")];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Filling the drive",
    charts: charts::charts,
    headline: charts::headline,
    evidence: EVIDENCE,
    suits: Some(&["backup"]),
    ..WorkloadReport::new(TestKind::Fill, table)
};

fn table(result: &TestResult, style: Style) -> String {
    fn label(bytes: f64) -> String {
        Bytes(bytes as u64).to_string()
    }
    if result.metrics.is_empty() {
        return String::new();
    }
    let curve = staircase(result, "fill.write.mb_s");
    let (from, to) = ends(&curve);
    let points = resampled(&curve, chart_columns(style) * COLUMN_POINTS);
    let drawing = block_chart(&points, [&label(from), &label(to)], style);
    let remarks = remarks(result, &curve, style);
    sections([rates(result, style), drawing + &remarks, zones(result, style)])
}

fn rates(result: &TestResult, style: Style) -> String {
    if find(result, "write", "mean_mb_s").is_none() {
        return String::new();
    }
    rate_table(result, &[("write", "rate, MB/s")], style)
}

/// Steps of a series: first byte and rate of each; the last only marks the end.
fn staircase(result: &TestResult, key: &str) -> Vec<(f64, f64)> {
    result.series.iter().filter(|series| series.key == key).flat_map(finite_points).collect()
}

fn ends(curve: &[(f64, f64)]) -> (f64, f64) {
    let at = |point: Option<&(f64, f64)>| point.map_or(0.0, |(x, _)| *x);
    (at(curve.first()), at(curve.last()))
}

fn resampled(curve: &[(f64, f64)], points: usize) -> Vec<f64> {
    let (from, to) = ends(curve);
    if to <= from {
        return Vec::new();
    }
    let rate_at = |i: usize| {
        let x = from + (to - from) * (i as f64 + 0.5) / points as f64;
        let behind = curve.partition_point(|(begin, _)| *begin <= x);
        curve[behind.saturating_sub(1)].1
    };
    (0..points).map(rate_at).collect()
}

fn remarks(result: &TestResult, curve: &[(f64, f64)], style: Style) -> String {
    let mut paragraph = Paragraph::new().lead(Role::Dim, "  ");
    let value = |cell, quantity| value(result, cell, quantity);
    let written: f64 =
        ["write", "burst"].iter().filter_map(|cell| value(cell, "written_bytes")).sum();
    let is_hot = result.findings.iter().any(|finding| finding.id == FindingId::Throttled);
    if let Some(seconds) = value("whole", "time_s") {
        let text = if !is_sampled(result, curve) {
            format!("filled in {}{}", Secs(seconds), flush(result, seconds))
        } else if is_hot {
            format!("estimated fill time {}, as hot as the samples were", Secs(seconds))
        } else if value("burst", "written_bytes").is_some() && fall_min(result) < DISK_FALL_MIN {
            let seconds = Secs(seconds);
            format!("estimated fill time {seconds} or more: flash may slow down when nearly full")
        } else {
            format!("estimated fill time {}", Secs(seconds))
        };
        paragraph = paragraph.item(Role::Plain, &text);
    }
    paragraph = paragraph.item(Role::Dim, written_text(result, curve));
    if let (Some(knee), Some(before), Some(after)) =
        (value("knee", "knee_bytes"), value("knee", "before_mb_s"), value("knee", "after_mb_s"))
    {
        let (before, after) = (rounded(before), rounded(after));
        let knee = Bytes(knee as u64);
        let ends = ends_of_knee(result);
        let rates = format!("after {knee}{ends} in one go: {before}, then {after} MB/s");
        let text = if is_hot {
            format!("lasting slowdown {rates}; heat or a full cache (F014)")
        } else {
            format!("fast cache full {rates}")
        };
        paragraph = paragraph.item(Role::Plain, &text);
    } else if let Some(burst) = value("burst", "written_bytes") {
        let least = smallest_fall(result, "fill.burst.burst_mb_s");
        let text = format!("no lasting slowdown{least} within {} in one go", Bytes(burst as u64));
        paragraph = paragraph.item(Role::Dim, &text);
    } else if written > 0.0 && is_sampled(result, curve) {
        paragraph = paragraph.item(Role::Dim, "samples cannot show where a fast cache ends");
    }
    paragraph.lines(2, style)
}

/// ` (41.2 GB to 43.0 GB)`: uncertainty of the end of a fast cache, if it is visible.
fn ends_of_knee(result: &TestResult) -> String {
    let ends = find(result, "knee", "knee_bytes").map(|knee| [knee.low, knee.high]);
    let ends = ends.map(|ends| ends.map(|bytes| Bytes(bytes as u64).to_string()));
    ends.filter(|[low, high]| low != high)
        .map_or(String::new(), |[low, high]| format!(" ({low} to {high})"))
}

/// `, 1.4 s of it flushing caches`, if visible in `seconds`.
fn flush(result: &TestResult, seconds: f64) -> String {
    let flush = value(result, "whole", "flush_s").unwrap_or(0.0);
    if flush < seconds * FLUSH_SHARE {
        return String::new();
    }
    format!(", {} of it flushing caches", Secs(flush))
}

/// `16.2 GB written, 6.7 % of the target: 15.0 GB in one go, 1.18 GB in samples`; parts only for a burst.
fn written_text(result: &TestResult, curve: &[(f64, f64)]) -> String {
    fn size(bytes: f64) -> String {
        Bytes(bytes as u64).to_string()
    }
    let bytes = |cell| value(result, cell, "written_bytes").unwrap_or(0.0);
    let (burst, rest) = (bytes("burst"), bytes("write"));
    if burst == 0.0 {
        return format!("{} written", size(rest));
    }
    let (from, to) = ends(curve);
    let parts = format!("{} in one go, {} in samples", size(burst), size(rest));
    // A run that was ended before its places has no curve of the whole target, whose size is not known here.
    let share = Some((burst + rest) / (to - from)).filter(|share| *share < 1.0);
    let share = share.map(|share| format!(", {} % of the target", one_decimal(share * 100.0)));
    format!("{} written{}: {parts}", size(burst + rest), share.unwrap_or_default())
}

/// Smallest fall, as a share, that the burst would have called the end of a cache.
fn fall_min(result: &TestResult) -> f64 {
    value(result, "burst", "fall_min_pct").map_or(FLASH_FALL_MIN, |pct| pct / 100.0)
}

/// ` of 5 % or more`: the smallest fall above the noise.
fn smallest_fall(result: &TestResult, key: &str) -> String {
    let rates: Vec<f64> = staircase(result, key).into_iter().map(|(_, rate)| rate).collect();
    let resolution = resolution(&rates, fall_min(result));
    resolution
        .map_or(String::new(), |share| format!(" of {} % or more", one_decimal(share * 100.0)))
}

/// Whether the curve was estimated: less was written than its length, including the run that this one continues.
fn is_sampled(result: &TestResult, curve: &[(f64, f64)]) -> bool {
    let (from, to) = ends(curve);
    let bytes = |cell, quantity| value(result, cell, quantity).unwrap_or(0.0);
    let before = (bytes("write", "start_bytes") - from).max(0.0);
    let written = before + bytes("write", "written_bytes") + bytes("burst", "written_bytes");
    written < (to - from) * WHOLE_SHARE
}

fn zones(result: &TestResult, style: Style) -> String {
    let mut zones = staircase(result, "fill.write.zone_mb_s");
    zones.pop();
    if zones.is_empty() {
        return String::new();
    }
    let count = zones.len();
    let plural = if count == 1 { "" } else { "s" };
    let zone_words =
        |(from, rate): &(f64, f64)| format!("{} MB/s from {}", rounded(*rate), Bytes(*from as u64));
    let more = count.checked_sub(ZONES_MAX).filter(|more| *more > 0);
    Paragraph::new()
        .lead(Role::Title, format!("{count} zone{plural}"))
        .lead(Role::Dim, "  ")
        .items(Role::Plain, zones.iter().take(ZONES_MAX).map(zone_words))
        .items(Role::Dim, more.map(|more| format!("{more} more with --json")))
        .lines(2, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{metric, must_have, one_line, result, series};
    use drivescope_model::TestKind;
    use drivescope_model::findings::Finding;

    const UNITS: [&str; 2] = ["bytes", "MB/s"];
    /// Two zones, and where the second ends.
    const STAIRS: [(f64, f64); 3] = [(0.0, 180.0), (1e12, 90.0), (4e12, 90.0)];

    fn filled(written: f64) -> TestResult {
        let mut metrics: Vec<_> = ["start", "end", "min", "mean", "max"]
            .iter()
            .map(|head| metric(&format!("fill.write.{head}_mb_s"), &[100.0]))
            .collect();
        metrics.push(metric("fill.write.written_bytes", &[written]));
        metrics.push(metric("fill.whole.time_s", &[30_000.0]));
        let mut result = result(TestKind::Fill, metrics);
        result.series.push(series("fill.write.mb_s", UNITS, STAIRS));
        result
    }

    #[test]
    fn a_staircase_is_sampled_by_position() {
        let points = resampled(&STAIRS, 240);
        assert_eq!(points.iter().filter(|rate| **rate == 180.0).count(), 60);
        assert!(resampled(&[], 240).is_empty() && resampled(&[(5.0, 1.0)], 240).is_empty());
    }

    #[test]
    fn estimate_is_labelled_with_its_limits() {
        let text = table(&filled(2e10), Style::default());
        must_have(
            &text,
            &["estimated fill time 8 h 20 min", "cannot show where a fast cache ends"],
        );
        let text = table(&filled(4e12), Style::default());
        assert!(text.contains("filled in 8 h 20 min"), "{text}");
        assert!(!text.contains("cannot show"), "{text}");
    }

    #[test]
    fn long_final_flush_is_shown() {
        for (flush_s, is_shown) in [(100.0, false), (3_000.0, true)] {
            let mut result = filled(4e12);
            result.metrics.push(metric("fill.whole.flush_s", &[flush_s]));
            let text = table(&result, Style::default());
            assert_eq!(
                text.contains("filled in 8 h 20 min, 50 min 00 s of it flushing caches"),
                is_shown,
                "{text}"
            );
        }
    }

    #[test]
    fn data_from_before_a_resume_are_not_estimates() {
        let mut resumed = filled(1e12);
        resumed.metrics.push(metric("fill.write.start_bytes", &[3e12]));
        let text = table(&resumed, Style::default());
        assert!(text.contains("filled in 8 h 20 min · 1.00 TB written"), "{text}");
        assert!(!text.contains("samples"), "{text}");
    }

    #[test]
    fn knee_and_zones_are_named() {
        let mut result = filled(2e10);
        for (key, value) in [("knee_bytes", 4.2e10), ("before_mb_s", 520.0), ("after_mb_s", 300.0)]
        {
            result.metrics.push(metric(&format!("fill.knee.{key}"), &[value]));
        }
        result.series.push(series("fill.write.zone_mb_s", UNITS, STAIRS));
        let text = table(&result, Style::default());
        must_have(
            &text,
            &["full after 42.0 GB in one go: 520, then 300 MB/s", " · 20.0 GB written\n"],
        );
        let knee = result.metrics.iter_mut().find(|metric| metric.key == "fill.knee.knee_bytes");
        let knee = knee.unwrap();
        (knee.low, knee.high) = (4.12e10, 4.3e10);
        let text = one_line(&table(&result, Style::default()));
        must_have(
            &text,
            &[
                "full after 42.0 GB (41.2 GB to 43.0 GB) in one go: 520",
                "2 zones 180 MB/s from 0 B · 90.0 MB/s from 1.00 TB",
            ],
        );
    }

    #[test]
    fn a_burst_is_counted_as_written() {
        let mut result = filled(2e10);
        result.metrics.push(metric("fill.burst.written_bytes", &[3e11]));
        let text = one_line(&table(&result, Style::default()));
        let expected = "320 GB written, 8 % of the target: 300 GB in one go, 20.0 GB in samples";
        must_have(&text, &[expected, "8 h 20 min or more: flash may slow down"]);
    }

    /// A disk does not slow down when nearly full, and may have smaller falls than were looked for.
    #[test]
    fn disk_burst_is_not_described_as_flash() {
        let mut result = filled(2e10);
        result.metrics.push(metric("fill.burst.written_bytes", &[3e11]));
        result.metrics.push(metric("fill.burst.fall_min_pct", &[20.0]));
        let rates = (0..100).map(|i| (3e9 * f64::from(i), 180.0 - f64::from(i % 2)));
        result.series.push(series("fill.burst.burst_mb_s", UNITS, rates));
        let text = one_line(&table(&result, Style::default()));
        assert!(text.contains("fill time 8 h 20 min") && !text.contains("or more:"), "{text}");
        assert!(text.contains("no lasting slowdown of 20 % or more within 300 GB"), "{text}");
    }

    /// Findings of a full cache and of heat look alike.
    #[test]
    fn hot_drive_fall_is_not_cache_end() {
        let mut result = filled(2e10);
        for (key, value) in [("knee_bytes", 9.2e10), ("before_mb_s", 1430.0), ("after_mb_s", 718.0)]
        {
            result.metrics.push(metric(&format!("fill.knee.{key}"), &[value]));
        }
        result.metrics.push(metric("fill.burst.written_bytes", &[9.6e10]));
        result.findings.push(Finding::new(FindingId::Throttled, "47 °C"));
        let text = one_line(&table(&result, Style::default()));
        assert!(text.contains("lasting slowdown after 92.0 GB in one go"), "{text}");
        assert!(!text.contains("fast cache") && !text.contains("or more"), "{text}");
    }

    /// A fill stopped during its burst, or soon after it, has no curve of the whole.
    #[test]
    fn share_of_an_unknown_target_is_not_shown() {
        let mut result = filled(0.0);
        result.metrics.push(metric("fill.burst.written_bytes", &[4e12]));
        assert!(!table(&result, Style::default()).contains('%'), "the curve ends with the burst");
        result.series.clear();
        let text = table(&result, Style::default());
        assert!(text.contains("4.00 TB written: 4.00 TB in one go, 0 B in samples"), "{text}");
    }
}
