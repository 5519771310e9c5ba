//! `geometry`: what kind of drive it is, an answer a line.

mod charts;

use super::WorkloadReport;
use super::facts::FoundFact;
use crate::chart::points_of;
use crate::terminal::{Paragraph, Role, Style, block_chart, find, value};
use drivescope_model::number::{latency_us, rounded, whole};
use drivescope_model::{Bytes, FindingId, Metric, TestKind, TestResult};

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "What kind of drive it is",
    charts: charts::charts,
    headline: charts::headline,
    facts,
    suits: Some(&[]),
    ..WorkloadReport::new(TestKind::Geometry, table)
};

const NAME_WIDTH: usize = 11;
/// A disk that reads less than this many times as long after random writes is not shingled.
const CONVENTIONAL: f64 = 1.3;
const DRAWN: usize = 60;

fn table(result: &TestResult, style: Style) -> String {
    let lines: Vec<String> =
        facts(result).iter().map(|fact| fact.paragraph(NAME_WIDTH).lines(4, style)).collect();
    if lines.is_empty() {
        return String::new();
    }
    let title = Paragraph::new().text(Role::Title, "geometry").lines(0, style);
    title + &lines.concat() + &drawing(result, style)
}

fn facts(result: &TestResult) -> Vec<FoundFact> {
    let facts = [
        rotation(result),
        zones(result),
        heads(result),
        seek(result),
        access(result),
        command(result),
        read_cache(result),
        write_cache(result),
        flush(result),
        queue(result),
        map(result),
        unit(result),
        fast_cache(result),
        recording(result),
    ];
    facts.into_iter().flatten().collect()
}

/// `8.05 ms (7.9 to 8.2)`.
fn with_interval(metric: &Metric, print: impl Fn(f64) -> String) -> String {
    let (value, low, high) = (print(metric.value), print(metric.low), print(metric.high));
    if low == value && high == value { value } else { format!("{value} ({low} to {high})") }
}

fn ms(value: f64) -> String {
    latency_us(value * 1e3)
}

fn bytes(value: f64) -> String {
    Bytes(value.round() as u64).to_string()
}

/// Memory is sold in MiB.
fn mib(value: f64) -> String {
    let mib = value / f64::from(1 << 20);
    if mib < 1.0 {
        format!("{} KiB", rounded(value / 1024.0))
    } else {
        format!("{} MiB", rounded(mib))
    }
}

fn rotation(result: &TestResult) -> Option<FoundFact> {
    let rpm = find(result, "rotation", "rpm")?;
    let print = |rpm: f64| whole(rpm.round() as u64);
    let turn = ms(60_000.0 / rpm.value);
    Some(
        FoundFact::new("rotation")
            .item(Role::Title, format!("{} rpm", with_interval(rpm, print)))
            .item(Role::Plain, format!("a turn takes {turn}")),
    )
}

fn zones(result: &TestResult) -> Option<FoundFact> {
    let count = value(result, "zones", "count")?;
    let ZoneEnds { rates, tracks } = zone_ends(result)?;
    let skew = value(result, "tracks", "skew_pct");
    let residual = value(result, "zones", "residual_pct");
    Some(
        FoundFact::new("zones")
            .item(Role::Title, format!("{count}"))
            .item(Role::Plain, format!("{} to {} MB/s", rounded(rates.0), rounded(rates.1)))
            .item(Role::Plain, format!("tracks of {} to {}", bytes(tracks.0), bytes(tracks.1)))
            .items(Role::Plain, skew.map(|skew| format!("skew {} % of a turn", rounded(skew))))
            .items(Role::Dim, residual.map(|it| format!("physical law ± {} %", rounded(it)))),
    )
}

fn heads(result: &TestResult) -> Option<FoundFact> {
    let count = value(result, "heads", "count")?;
    let order = match value(result, "heads", "pass_tracks") {
        Some(tracks) => format!("serpentine, {} tracks on one head", whole(tracks as u64)),
        None => "by cylinder".to_string(),
    };
    let line = FoundFact::new("heads").item(Role::Title, whole(count as u64));
    Some(line.item(Role::Plain, order))
}

struct ZoneEnds {
    rates: (f64, f64),
    tracks: (f64, f64),
}

fn zone_ends(result: &TestResult) -> Option<ZoneEnds> {
    let last = format!("zone{:02}", value(result, "zones", "count")? as u32);
    let both = |quantity: &str| {
        Some((value(result, "zone01", quantity)?, value(result, &last, quantity)?))
    };
    Some(ZoneEnds { rates: both("mb_s")?, tracks: both("track_bytes")? })
}

fn seek(result: &TestResult) -> Option<FoundFact> {
    let average = find(result, "seek", "average_ms")?;
    let line = FoundFact::new("seek")
        .item(Role::Title, format!("{} on average", with_interval(average, ms)));
    let ways = [("next_track_ms", "to the next track"), ("full_stroke_ms", "over the whole drive")];
    let rates = ways.into_iter().filter_map(|(quantity, words)| {
        Some(format!("{} {words}", ms(value(result, "seek", quantity)?)))
    });
    Some(line.items(Role::Plain, rates))
}

/// Gain of using only the outer part of the drive.
fn access(result: &TestResult) -> Option<FoundFact> {
    let points = points_of(result, "geometry.access_measured.ms");
    let all = points.last()?.0;
    let times = points.iter().map(|(span, time)| match span / all {
        share if share > 0.999 => format!("{} anywhere", ms(*time)),
        share => format!("{} in the first {} %", ms(*time), rounded(share * 100.0)),
    });
    Some(FoundFact::new("access").items(Role::Plain, times))
}

fn command(result: &TestResult) -> Option<FoundFact> {
    let medium = find(result, "command", "overhead_us");
    let cached = find(result, "read_cache", "overhead_us");
    let link = value(result, "link", "mb_s");
    medium.or(cached)?;
    let times = [(medium, "before a seek"), (cached, "from the cache")].into_iter().filter_map(
        |(metric, words)| Some(format!("{} {words}", with_interval(metric?, latency_us))),
    );
    let line = FoundFact::new("command").items(Role::Plain, times);
    Some(line.items(Role::Plain, link.map(|rate| format!("link {} MB/s", rounded(rate)))))
}

fn read_cache(result: &TestResult) -> Option<FoundFact> {
    let known = |quantity| value(result, "read_cache", quantity);
    let places = known("places").map(|it| format!("keeps {} places", whole(it as u64)));
    let stream = known("stream_bytes").map(|it| format!("keeps {} of a stream", mib(it)));
    let line = FoundFact::new("read cache")
        .items(Role::Title, known("cache_bytes").map(|it| format!("about {}", mib(it))))
        .items(Role::Plain, known("read_ahead_bytes").map(|it| format!("reads {} ahead", mib(it))))
        .items(Role::Plain, places)
        .items(Role::Plain, stream);
    line.has_words().then_some(line)
}

fn write_cache(result: &TestResult) -> Option<FoundFact> {
    let cached = find(result, "write_cached", "write_ms")?;
    let size = find(result, "write_cache", "cache_bytes");
    let size = size.or(find(result, "write_buffer", "cache_bytes"));
    let line = FoundFact::new("write cache")
        .items(Role::Title, size.map(|size| format!("takes {} at once", mib(size.value))));
    Some(line.item(Role::Plain, format!("an unflushed write takes {}", ms(cached.value))))
}

/// Whether flushed data are on the medium: on a disk this takes revolutions.
fn flush(result: &TestResult) -> Option<FoundFact> {
    let flushed = find(result, "write_flushed", "write_ms")?;
    let forced = find(result, "write_forced", "write_ms")?;
    let lies = result.findings.iter().any(|finding| finding.id == FindingId::FlushIgnored);
    let line = FoundFact::new("flush");
    let line = match (find(result, "rotation", "rpm"), lies) {
        (_, true) => line.item(Role::Bad, "not honest: data are not on the medium"),
        (Some(_), false) => line.item(Role::Good, "honest"),
        (None, false) => line,
    };
    let cost = match find(result, "flush", "cost_us") {
        Some(cost) => format!("adds {} to a write", with_interval(cost, latency_us)),
        None => format!("a flushed write takes {}", ms(flushed.value)),
    };
    let forced = format!("with force unit access {}", ms(forced.value));
    Some(line.item(Role::Plain, cost).item(Role::Plain, forced))
}

fn queue(result: &TestResult) -> Option<FoundFact> {
    let gain = find(result, "queue", "gain_ratio")?;
    let many = match value(result, "queue", "depth") {
        Some(depth) => format!("with {depth} requests in flight"),
        None => "with 32 requests in flight".to_string(),
    };
    let times = with_interval(gain, rounded);
    Some(
        FoundFact::new("queue")
            .text(Role::Plain, format!("{times} times as many random reads {many}")),
    )
}

fn map(result: &TestResult) -> Option<FoundFact> {
    let points = points_of(result, "geometry.map.lat_mean_us");
    let (first, last) = (points.first()?, points.last()?);
    let line = FoundFact::new("map");
    Some(match find(result, "map", "span_bytes") {
        Some(span) => line.item(
            Role::Plain,
            format!(
                "at hand for {} to {}: reads take {} within it, {} anywhere",
                bytes(span.low),
                bytes(span.high),
                latency_us(first.1),
                latency_us(last.1)
            ),
        ),
        None => line.item(Role::Plain, "reads take the same time over any span"),
    })
}

/// The map unit of an SSD, which has to complete smaller writes.
fn unit(result: &TestResult) -> Option<FoundFact> {
    let unit = value(result, "map_unit", "unit_bytes")?;
    let words = format!("smaller writes have to be completed from {} by reading", mib(unit));
    Some(FoundFact::new("map unit").item(Role::Title, mib(unit)).item(Role::Plain, words))
}

fn fast_cache(result: &TestResult) -> Option<FoundFact> {
    let size = find(result, "fast_cache", "cache_bytes")?;
    let line = FoundFact::new("fast cache").item(Role::Title, with_interval(size, bytes));
    let recovered = value(result, "fast_cache", "recovered_bytes")?;
    Some(line.item(Role::Plain, format!("{} of it are back after 5 s", bytes(recovered))))
}

fn recording(result: &TestResult) -> Option<FoundFact> {
    let slowdown = find(result, "shingling", "slowdown_ratio")?;
    let line = FoundFact::new("recording");
    let times = with_interval(slowdown, rounded);
    let is_shingled = result.findings.iter().any(|finding| finding.id == FindingId::Shingled);
    let line = if is_shingled {
        line.item(Role::Warn, "shingled")
    } else if slowdown.value < CONVENTIONAL {
        line.item(Role::Good, "conventional")
    } else {
        line.item(Role::Warn, "not clear")
    };
    let line = line
        .text(Role::Plain, format!("· reading takes {times} times as long after random writes"));
    let band = find(result, "shingling", "band_bytes");
    let log = find(result, "shingling", "log_bytes").map(|log| with_interval(log, bytes));
    Some(
        line.items(Role::Plain, band.map(|band| format!("bands of {}", with_interval(band, mib))))
            .items(Role::Plain, log.map(|log| format!("{log} of random writes before it cleans"))),
    )
}

fn drawing(result: &TestResult, style: Style) -> String {
    let points = points_of(result, "geometry.zones.mb_s");
    let Some(&(end, _)) = points.last() else { return String::new() };
    let at = |i: usize| end * (i as f64 + 0.5) / DRAWN as f64;
    // Each zone has its two ends.
    let rate = |x: f64| points.iter().rev().find(|point| point.0 <= x).map_or(0.0, |point| point.1);
    let rates: Vec<f64> = (0..DRAWN).map(|i| rate(at(i))).collect();
    format!("\n{}", block_chart(&rates, [&bytes(0.0), &bytes(end)], style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{measured, must_have};

    #[test]
    fn only_measured_answers_have_lines() {
        assert_eq!(access_text(&[]), "");
        let text = access_text(&[
            ("rotation.rpm", 7_200.0),
            ("seek.average_ms", 8.05),
            ("shingling.slowdown_ratio", 1.01),
            ("write_flushed.write_ms", 8.33),
            ("write_forced.write_ms", 8.33),
            ("heads.count", 6.0),
            ("shingling.band_bytes", 20.0 * 1048576.0),
        ]);
        must_have(
            &text,
            &[
                "7,200 rpm",
                "8.05 ms on average",
                "conventional",
                "honest",
                "6 · by cylinder",
                "20.0 MiB",
            ],
        );
        assert!(!text.contains("zones"), "{text}");
    }

    fn access_text(values: &[(&str, f64)]) -> String {
        table(&measured(TestKind::Geometry, values), Style::PLAIN)
    }
}
