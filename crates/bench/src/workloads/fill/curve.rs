//! What a fill makes of the times of its stretches: the curve, the time of a whole fill, zones, the knee.

use crate::judging::test_record::{TestRecord, series_of, value_of};
use crate::loops::scan::TimedRegion;
use drivescope_model::document::TestResult;
use drivescope_stats::changepoint::Plateau;
use drivescope_stats::knee::knee;
use drivescope_stats::summary;
use drivescope_stats::zones::{ZONE_DROP_MIN, zones};

const POINTS_MAX: usize = 1024;
/// A zone of at most this many pieces of the curve is not a zone.
const STRADDLING_MAX: usize = 2;
const WRITTEN: &str = "write.mb_s";
/// Share of the positions that make up the start and the end of a drive.
const EDGE_SHARE: f64 = 0.05;

/// A stretch of the target at one rate. The steps of a curve follow each other without gaps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CurveStep {
    pub from: u64,
    pub to: u64,
    pub mb_s: f64,
}

impl CurveStep {
    fn len(self) -> f64 {
        (self.to - self.from) as f64
    }

    fn seconds(self) -> f64 {
        self.len() / self.mb_s / 1e6
    }
}

fn rate(timed: &TimedRegion) -> Option<f64> {
    Some(timed.len as f64 * 1e3 / timed.ns?.max(1) as f64)
}

/// The curve of stretches that follow each other, as far as they do.
pub(super) fn continuous(timed: &[TimedRegion]) -> Vec<CurveStep> {
    timed
        .iter()
        .filter_map(|t| Some(CurveStep { from: t.offset, to: t.offset + t.len, mb_s: rate(t)? }))
        .collect()
}

/// Time of a sample, ns: at its steady pace where it has one.
pub(super) fn steady_ns(timed: &TimedRegion) -> Option<u64> {
    timed.ns.and(timed.steady_ns.or(timed.ns))
}

pub(super) fn steady_rate(timed: &TimedRegion) -> Option<f64> {
    Some(timed.len as f64 * 1e3 / steady_ns(timed)?.max(1) as f64)
}

/// The curve over `from..to` that samples stand for: each for the part nearer to it than to any other.
/// Its rate is the median of itself and `reach` neighbours to each side.
pub(super) fn sampled(timed: &[TimedRegion], from: u64, to: u64, reach: usize) -> Vec<CurveStep> {
    let mut samples: Vec<(u64, f64)> = timed
        .iter()
        .filter_map(|t| Some((t.offset + t.len / 2, steady_rate(t)?)))
        .filter(|(middle, _)| (from..to).contains(middle))
        .collect();
    samples.sort_by_key(|&(middle, _)| middle);
    let rates: Vec<f64> = samples.iter().map(|&(_, rate)| rate).collect();
    let around = |i: usize| {
        let near = &rates[i.saturating_sub(reach)..(i + reach + 1).min(rates.len())];
        summary::median(near).unwrap_or(rates[i])
    };
    let mut begin = from;
    (0..samples.len())
        .map(|i| {
            let end = samples.get(i + 1).map_or(to, |next| samples[i].0.midpoint(next.0));
            let step = CurveStep { from: begin, to: end, mb_s: around(i) };
            begin = end;
            step
        })
        .collect()
}

pub(super) fn of_result(result: &TestResult) -> Vec<CurveStep> {
    let Some(series) = series_of(result, WRITTEN) else { return Vec::new() };
    let ends = series.x.windows(2).map(|pair| (pair[0] as u64, pair[1] as u64));
    ends.zip(&series.y).map(|((from, to), &mb_s)| CurveStep { from, to, mb_s }).collect()
}

/// A curve up to a byte within it or right after it; nothing of one that ends before.
pub(super) fn up_to(mut curve: Vec<CurveStep>, end: u64) -> Vec<CurveStep> {
    if curve.last().is_none_or(|last| last.to < end) {
        return Vec::new();
    }
    curve.retain(|step| step.from < end);
    if let Some(last) = curve.last_mut() {
        last.to = last.to.min(end);
    }
    curve
}

pub(super) fn knee_of_result(result: &TestResult) -> Option<KneeOfBytes> {
    let value = |quantity: &str| value_of(result, &format!("knee.{quantity}"));
    let (before, after) = (value("before_mb_s")?, value("after_mb_s")?);
    let bytes = result.metrics.iter().find(|metric| metric.key == "fill.knee.knee_bytes")?;
    Some(KneeOfBytes { bytes: bytes.value, low: bytes.low, high: bytes.high, before, after })
}

/// Adds the curve and the rates of the cell `write`; the mean is over all the time, `flush_s` included.
pub(super) fn report(record: &mut TestRecord, curve: &[CurveStep], flush_s: f64) {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return };
    let rates: Vec<f64> = curve.iter().map(|step| step.mb_s).collect();
    let bytes = (last.to - first.from) as f64;
    let edge = (bytes * EDGE_SHARE) as u64;
    let median_of = |inside: &dyn Fn(&CurveStep) -> bool, outermost: &CurveStep| {
        let rates: Vec<f64> = curve.iter().filter(|s| inside(s)).map(|s| s.mb_s).collect();
        summary::median(&rates).unwrap_or(outermost.mb_s)
    };
    let start = median_of(&|step| step.from < first.from + edge, first);
    let end = median_of(&|step| step.to > last.to - edge, last);
    let seconds = seconds(curve) + flush_s;
    for (quantity, value) in [
        ("start_mb_s", start),
        ("end_mb_s", end),
        ("min_mb_s", summary::min(&rates).unwrap_or(0.0)),
        ("mean_mb_s", bytes / seconds / 1e6),
        ("max_mb_s", summary::max(&rates).unwrap_or(0.0)),
    ] {
        record.metric(&format!("write.{quantity}"), vec![value]);
    }
    staircase(record, WRITTEN, &merged(curve));
}

/// Adds the time of a whole fill, of a curve over the whole target and the flush after it, if one was written.
pub(super) fn report_whole(record: &mut TestRecord, curve: &[CurveStep], flush_s: Option<f64>) {
    record.metric("whole.time_s", vec![seconds(curve) + flush_s.unwrap_or(0.0)]);
    if let Some(flush_s) = flush_s {
        record.metric("whole.flush_s", vec![flush_s]);
    }
}

fn seconds(curve: &[CurveStep]) -> f64 {
    curve.iter().map(|step| step.seconds()).sum()
}

/// Adds the zones of a hard disk, written in whole: stretches of constant rate, from the outside in.
pub(super) fn report_zones(record: &mut TestRecord, curve: &[CurveStep]) {
    let zones = without_straddlers(zones_of(&merged(curve)));
    staircase(record, "write.zone_mb_s", &zones);
}

/// The same of samples: each is so short that it does not lie across an edge, so one of them can be a zone.
pub(super) fn report_sampled_zones(record: &mut TestRecord, curve: &[CurveStep]) {
    let zones: Vec<CurveStep> = zones_of(curve).iter().map(|zone| zone.step).collect();
    staircase(record, "write.zone_mb_s", &zones);
}

fn zones_of(curve: &[CurveStep]) -> Vec<CurveZone> {
    let rates: Vec<f64> = curve.iter().map(|step| step.mb_s).collect();
    let zone = |z: &Plateau| CurveZone {
        step: CurveStep { from: curve[z.start].from, to: curve[z.end - 1].to, mb_s: z.mean },
        pieces: z.end - z.start,
    };
    zones(&rates, ZONE_DROP_MIN).iter().flatten().map(zone).collect()
}

#[derive(Debug, Clone, Copy)]
struct CurveZone {
    step: CurveStep,
    pieces: usize,
}

/// Zones without those of a piece or two: they lie across the edge of two zones, and their rate says
/// where; the first piece is faster than its zone by what the write cache took in, so it belongs to the second.
/// At the end they belong to the zone before.
fn without_straddlers(zones: Vec<CurveZone>) -> Vec<CurveStep> {
    let mut kept: Vec<CurveStep> = Vec::new();
    let mut begin = zones.first().map_or(0, |zone| zone.step.from);
    for (i, zone) in zones.iter().enumerate() {
        let CurveStep { from, to, mb_s } = zone.step;
        let next = zones.get(i + 1).filter(|next| next.pieces > STRADDLING_MAX);
        match (kept.last_mut(), next) {
            // x of the stretch at the rate before and the rest at the next: 1/r = x/a + (1 - x)/b.
            (Some(before), Some(next)) if zone.pieces <= STRADDLING_MAX => {
                let (a, b) = (1.0 / before.mb_s, 1.0 / next.step.mb_s);
                let share = ((b - 1.0 / mb_s) / (b - a)).clamp(0.0, 1.0);
                before.to = from + ((to - from) as f64 * share) as u64;
                begin = before.to;
            }
            (None, Some(_)) if zone.pieces <= STRADDLING_MAX => {}
            (Some(before), None) if zone.pieces <= STRADDLING_MAX && i + 1 == zones.len() => {
                before.to = to;
            }
            _ => {
                kept.push(CurveStep { from: begin, to, mb_s });
                begin = to;
            }
        }
    }
    kept
}

/// Where the rate of a continuous stream fell for good; rates in MB/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KneeOfBytes {
    bytes: f64,
    low: f64,
    high: f64,
    before: f64,
    after: f64,
}

pub(super) fn report_knee(record: &mut TestRecord, knee: KneeOfBytes) {
    record.estimate("knee.knee_bytes", knee.bytes, knee.low, knee.high);
    record.metric("knee.before_mb_s", vec![knee.before]);
    record.metric("knee.after_mb_s", vec![knee.after]);
}

/// The knee of a stream that began with the first step, in requests of `chunk` bytes: one of them lies across it.
pub(super) fn knee_of(curve: &[CurveStep], fall_min: f64, chunk: u64) -> Option<KneeOfBytes> {
    let rates: Vec<f64> = curve.iter().map(|step| step.mb_s).collect();
    let seconds: Vec<f64> = curve.iter().map(|step| step.seconds()).collect();
    let found = knee(&rates, &seconds, fall_min)?;
    let (begin, end) = (curve.first()?.from as f64, curve.last()?.to as f64);
    let bytes_at = |place: f64| {
        let within = curve.get(place as usize);
        within.map_or(end, |step| step.from as f64 + step.len() * place.fract()) - begin
    };
    let (bytes, chunk) = (bytes_at(found.place), chunk as f64);
    let low = (bytes_at(found.places.low) - chunk).clamp(0.0, bytes);
    let high = (bytes_at(found.places.high) + chunk).clamp(bytes, end - begin);
    Some(KneeOfBytes { bytes, low, high, before: found.before, after: found.after })
}

/// Neighbours put together until the curve is short enough; times stay exact.
pub(super) fn merged(curve: &[CurveStep]) -> Vec<CurveStep> {
    let group = curve.len().div_ceil(POINTS_MAX).max(1);
    let merge = |steps: &[CurveStep]| {
        let (from, to) = (steps[0].from, steps[steps.len() - 1].to);
        let seconds: f64 = steps.iter().map(|step| step.seconds()).sum();
        CurveStep { from, to, mb_s: (to - from) as f64 / seconds / 1e6 }
    };
    curve.chunks(group).map(merge).collect()
}

/// A curve as a series: the first byte and the rate of each step, and the end once more.
pub(super) fn staircase(record: &mut TestRecord, key: &str, curve: &[CurveStep]) {
    let Some(last) = curve.last() else { return };
    let x = curve.iter().map(|step| step.from).chain([last.to]).map(|at| at as f64).collect();
    let y = curve.iter().map(|step| step.mb_s).chain([last.mb_s]).collect();
    record.curve(key, ("bytes", "MB/s"), x, y);
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::options::TestKind;

    const MB: u64 = 1_000_000;

    fn timed(offset: u64, len: u64, ms: u64) -> TimedRegion {
        TimedRegion::new(offset * MB, len * MB, Some(ms * 1_000_000))
    }

    #[test]
    fn samples_cover_nearest_bytes_failed_ones_none() {
        fn step(from: u64, to: u64, mb_s: f64) -> CurveStep {
            CurveStep { from: from * MB, to: to * MB, mb_s }
        }
        let failed = TimedRegion { ns: None, ..timed(50, 2, 1) };
        let curve = sampled(&[timed(79, 2, 20), timed(19, 2, 10), failed], 0, 100 * MB, 0);
        assert_eq!(curve, [step(0, 50, 200.0), step(50, 100, 100.0)]);
        let behind = sampled(&[timed(79, 2, 20), timed(19, 2, 10)], 40 * MB, 100 * MB, 0);
        assert_eq!(behind, [step(40, 100, 100.0)]);
        let odd: Vec<TimedRegion> =
            (0..9).map(|i| timed(i, 1, if i == 4 { 9 } else { 5 })).collect();
        assert!(sampled(&odd, 0, 9 * MB, 1).iter().all(|step| step.mb_s == 200.0));
    }

    #[test]
    fn the_mean_is_all_bytes_over_all_time() {
        let curve = continuous(&[timed(0, 100, 500), timed(100, 100, 1000)]);
        let mut record = TestRecord::new(TestKind::Fill);
        report(&mut record, &curve, 0.5);
        report_whole(&mut record, &curve, Some(0.5));
        let result = record.finish(3);
        let value = |key: &str| value_of(&result, key).unwrap();
        assert!((value("whole.time_s") - 2.0).abs() < 1e-9, "the flush is a part of it");
        assert!((value("write.mean_mb_s") - 200.0 / 2.0).abs() < 1e-9);
        assert_eq!(value("whole.flush_s"), 0.5);
        assert_eq!(value("write.start_mb_s"), 200.0);
        assert_eq!(value("write.end_mb_s"), 100.0);
        assert_eq!(result.series[0].x, [0.0, 1e8, 2e8]);
        assert_eq!(result.series[0].y, [200.0, 100.0, 100.0]);
        assert_eq!(of_result(&result), curve, "a later run gets it back");
    }

    #[test]
    fn piece_across_an_edge_locates_the_edge() {
        // Edge at 130 MB: 30 MB at 100 MB/s and 70 MB at 50 MB/s take 1.7 s.
        fn zone(from: u64, to: u64, mb_s: f64, pieces: usize) -> CurveZone {
            CurveZone { step: CurveStep { from: from * MB, to: to * MB, mb_s }, pieces }
        }
        let zones = without_straddlers(vec![
            zone(0, 10, 120.0, 1),
            zone(10, 100, 100.0, 9),
            zone(100, 200, 100.0 / 1.7, 1),
            zone(200, 400, 50.0, 3),
            zone(400, 800, 25.0, 4),
            zone(800, 900, 24.0, 1),
        ]);
        let edges: Vec<u64> = zones.iter().map(|step| step.from.div_ceil(MB)).collect();
        assert_eq!(edges, [0, 130, 400]);
        assert_eq!(zones[2].to, 900 * MB, "a single piece at the end is no zone");
        assert!(zones.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert!(without_straddlers(Vec::new()).is_empty());
    }

    /// After a stop that was not at a multiple of a page, the next run begins at the page before.
    #[test]
    fn a_curve_ends_where_the_next_run_begins() {
        fn step(from: u64, to: u64) -> CurveStep {
            CurveStep { from, to, mb_s: 100.0 }
        }
        fn curve() -> Vec<CurveStep> {
            vec![step(0, 5000), step(5000, 10_000)]
        }
        assert_eq!(up_to(curve(), 10_000), curve());
        assert_eq!(up_to(curve(), 8192), [step(0, 5000), step(5000, 8192)]);
        assert_eq!(up_to(curve(), 5000), [step(0, 5000)]);
        assert!(up_to(curve(), 0).is_empty() && up_to(curve(), 10_001).is_empty());
        assert!(up_to(Vec::new(), 0).is_empty());
    }

    #[test]
    fn long_curves_are_shortened_without_losing_time() {
        fn time(curve: &[CurveStep]) -> f64 {
            curve.iter().map(|s| s.seconds()).sum()
        }
        let pieces: Vec<TimedRegion> = (0..5000).map(|i| timed(i, 1, 1 + i % 7)).collect();
        let curve = continuous(&pieces);
        let short = merged(&curve);
        assert!(short.len() <= POINTS_MAX && short.len() > POINTS_MAX / 2);
        assert!((time(&curve) - time(&short)).abs() < 1e-9);
    }
}
