//! `surface`: rates in a table and drawn over the position, then access times.

mod charts;
mod coverage;

use super::WorkloadReport;
use super::rates::{rate_table, wide_table};
use crate::chart::points_of;
use crate::terminal::{
    Figure, Paragraph, Role, Style, TextCell, block_chart, find, headed, sections, value,
};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::number::rounded;
use drivescope_model::{Bytes, Metric, TestKind, TestResult};

/// Limits of the groups of seek distances, in percent of the span.
const DISTANCES_PCT: [f64; 5] = [0.0, 10.0, 33.0, 67.0, 100.0];

const EVIDENCE: &[Evidence] = &[
    Evidence::of_reads(Criterion::SequentialReads, "surface.read.start_mb_s"),
    Evidence::of_reads(Criterion::ReadsAtEnd, "surface.read.end_mb_s"),
];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Over the drive",
    extremes: "min and max",
    evidence: EVIDENCE,
    charts: charts::charts,
    facts: coverage::facts,
    measures: |suite, criterion| match criterion {
        // The end of a part is none of the drive, and streams are judged by the start of the drive.
        Criterion::ReadsAtEnd => suite.offset.is_none() && suite.span.0 == 0,
        _ => suite.offset.is_none(),
    },
    headline: charts::headline,
    ..WorkloadReport::new(TestKind::Surface, table)
};

fn table(result: &TestResult, style: Style) -> String {
    if result.metrics.is_empty() {
        return String::new();
    }
    let parts = [
        read_and_write_rates(result, style),
        drawing(result, "read", style)
            + &zone_lines(result, style)
            + &coverage::lines(result, style),
        drawing(result, "write", style),
        access_table(result, style),
    ];
    sections(parts)
}

/// Zones in a few words, from the outside in.
fn zone_lines(result: &TestResult, style: Style) -> String {
    let Some(count) = value(result, "zones", "count") else { return String::new() };
    let last = format!("zone{:02}", count as u32);
    let (Some(outer), Some(inner)) =
        (value(result, "zone01", "mb_s"), value(result, &last, "mb_s"))
    else {
        return String::new();
    };
    let text = format!("{count} zones: {} to {} MB/s", rounded(outer), rounded(inner));
    let share = value(result, "zone01", "share_pct").map(rounded);
    let residual = value(result, "zones", "residual_pct").map(rounded);
    let resolved = value(result, "zones", "resolved_bytes").map(|bytes| Bytes(bytes as u64));
    Paragraph::new()
        .lead(Role::Dim, "  ")
        .item(Role::Dim, &text)
        .items(Role::Dim, share.map(|share| format!("the outermost has {share} % of the drive")))
        .items(Role::Dim, residual.map(|residual| format!("physical law ± {residual} %")))
        .items(
            Role::Dim,
            resolved.map(|width| format!("zones narrower than {width} may be missed")),
        )
        .lines(2, style)
}

fn drawing(result: &TestResult, direction: &str, style: Style) -> String {
    let points = points_of(result, &format!("surface.{direction}.mb_s"));
    let rates: Vec<f64> = points.iter().map(|(_, rate)| *rate).collect();
    let end = position(points.last().map_or(0.0, |(x, _)| *x));
    let drawing = block_chart(&rates, [&position(0.0), &end], style);
    drawing + &remarks(result, direction, &points, style)
}

fn read_and_write_rates(result: &TestResult, style: Style) -> String {
    let is_written = find(result, "write", "mean_mb_s").is_some();
    if is_written {
        rate_table(result, &[("read", "read, MB/s"), ("write", "write, MB/s")], style)
    } else {
        rate_table(result, &[("read", "rate, MB/s")], style)
    }
}

/// Access times over the whole span, then by the seek distance before them.
fn access_table(result: &TestResult, style: Style) -> String {
    if !result.metrics.iter().any(|metric| metric.key.starts_with("surface.access.")) {
        return String::new();
    }
    let mut columns = vec![vec![TextCell::blank(), TextCell::plain("access, ms")]];
    for head in ["min", "mean", "max"] {
        let metric = find(result, "access", &format!("access_{head}_ms"));
        columns.push(headed(head, [Figure::plain(metric)]));
    }
    let whole = columns.len();
    let mut first = true;
    for (from, to, ms) in by_distance(&points_of(result, "surface.access.lat_ms")) {
        let head = format!("{}{from}-{to} %", if first { "seeks " } else { "" });
        // The mean comes from the same accesses: the same cautions hold for these.
        let mean = find(result, "access", "access_mean_ms");
        let like_mean = mean.map(|metric| Metric { value: ms, ..metric.clone() });
        columns.push(headed(&head, [Figure::plain(like_mean.as_ref())]));
        first = false;
    }
    wide_table(columns, Some(whole), style)
}

fn position(bytes: f64) -> String {
    // Positions are below 2^63; a negative or absurd one saturates and shows as such.
    Bytes(bytes as u64).to_string()
}

fn remarks(result: &TestResult, direction: &str, points: &[(f64, f64)], style: Style) -> String {
    let Some((x, rate)) = points.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return String::new();
    };
    let which = if direction == "write" { "slowest written" } else { "slowest" };
    let rounds = find(result, direction, "min_mb_s").map_or(1, |metric| metric.rounds.len());
    // The table's least is of single samples: a place is as slow as it is in most rounds.
    let of = if rounds > 1 { " (median of its rounds)" } else { "" };
    let slowest = format!("{which}: {} MB/s at {}{of}", rounded(*rate), position(*x));
    let mean = value(result, direction, "sample_mean_mb_s")
        .map(|mean| format!("mean of the samples {} MB/s (table: bytes by time)", rounded(mean)));
    let paragraph = Paragraph::new().lead(Role::Dim, "  ").item(Role::Dim, &slowest);
    paragraph.items(Role::Dim, mean).lines(2, style)
}

/// Median access time of each non-empty group of seek distances: from and to in percent, ms.
fn by_distance(points: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
    let mut medians = Vec::new();
    for ends in DISTANCES_PCT.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let within = |share: f64| share * 100.0 <= to && (share * 100.0 > from || from == 0.0);
        let mut times: Vec<f64> =
            points.iter().filter(|(share, _)| within(*share)).map(|(_, ms)| *ms).collect();
        times.sort_by(f64::total_cmp);
        if !times.is_empty() {
            medians.push((from, to, times[times.len() / 2]));
        }
    }
    medians
}

#[cfg(test)]
mod tests {
    use super::{by_distance, zone_lines};
    use crate::terminal::Style;
    use crate::testing::{metric, must_have, one_line, result};
    use drivescope_model::TestKind;

    #[test]
    fn zones_say_how_narrow_they_may_be() {
        let metrics = [("zones.count", 2.0), ("zone01.mb_s", 180.0), ("zone02.mb_s", 90.0)];
        let metrics = metrics.iter().chain(&[("zones.resolved_bytes", 1.1e9)]);
        let metrics = metrics.map(|(key, value)| metric(&format!("surface.{key}"), &[*value]));
        let text = zone_lines(&result(TestKind::Surface, metrics.collect()), Style::default());
        let text = one_line(&text);
        must_have(
            &text,
            &["2 zones: 180 to 90.0 MB/s", "zones narrower than 1.10 GB may be missed"],
        );
    }

    #[test]
    fn access_times_are_grouped_by_distance() {
        let points = [(0.0, 1.0), (0.04, 3.0), (0.1, 2.0), (0.3, 9.0), (1.0, 20.0)];
        let groups = [(0.0, 10.0, 2.0), (10.0, 33.0, 9.0), (67.0, 100.0, 20.0)];
        assert_eq!(by_distance(&points), groups);
        assert!(by_distance(&[]).is_empty());
    }
}
