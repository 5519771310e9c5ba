//! From answers to metrics, curves, findings and reasons.

use super::accesses::MeanAccess;
use super::bands::BandSize;
use super::flash::{MapSpan, Parallelism};
use super::flash_writes::{FastCache, UnitTimes, of_fillings};
use super::heads::HeadOrder;
use super::read_cache::{CacheHits, HeldReads};
use super::seeks::{Bounds, SeekProfile};
use super::shingle_log::LogSize;
use super::shingling::{RecordingKind, Slowdown};
use super::tracks::Tracks;
use super::write_cache::{CacheFilling, MedianTime, WriteTimes};
use super::zones::{Zone, ZoneMap};
use crate::judging::test_record::TestRecord;
use crate::workloads::shared::zone_figures::{self, ZoneFigures};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::{latency_us, rounded};
use drivescope_stats::common_period::CommonPeriod;
use drivescope_stats::summary;

/// Points of the curves of seeks and of access time over span.
const CURVE_POINTS: usize = 51;
/// Two-sided 95 % of a normal distribution, and of Student's with four degrees of freedom (a line, six lengths).
const Z_95: f64 = 1.96;
const T_95_OF_LENGTHS: f64 = 2.776;
/// Writes of one sector that take less of a turn were not on the medium; the next possible time is a turn.
const HONEST_TURNS_MIN: f64 = 0.5;
/// Error of the rate of reading in order, besides what the pauses within it vary by.
const RATE_ERROR: f64 = 0.002;

/// Error of the buffer of an SSD, besides the uncertainty from programs under way.
const BUFFER_ERROR: f64 = 0.08;
/// No flash programs a page in less; a flush that is sooner had nothing to write.
const FREE_FLUSH_US: f64 = 100.0;

pub fn could_not_tell(record: &mut TestRecord, what: &str, why: &str) {
    record.remark(format!("{what}: could not tell: {why}"));
}

pub fn rotation(record: &mut TestRecord, turn: &CommonPeriod) {
    let (value, margin) = (rpm(turn.period), rpm(turn.period) * turn.margin / turn.period);
    record.estimate_within("rotation.rpm", value, margin);
}

fn rpm(turn_ns: f64) -> f64 {
    60e9 / turn_ns
}

pub fn zones(record: &mut TestRecord, map: &ZoneMap) {
    fn figures(zone: &Zone) -> ZoneFigures {
        ZoneFigures {
            start: zone.start,
            end: zone.end,
            margin: zone.margin,
            mb_s: zone.mb_s,
            mb_s_margin: (RATE_ERROR + zone.off_share) * zone.mb_s,
        }
    }
    let span = map.zones.last().map_or(1.0, |zone| zone.end);
    zone_figures::report(record, &map.zones.iter().map(figures).collect::<Vec<_>>(), span);
    for (number, zone) in (1..).zip(&map.zones) {
        let key = format!("zone{number:02}.track_bytes");
        let margin = (RATE_ERROR + zone.off_share) * zone.track_bytes;
        record.estimate_within(&key, zone.track_bytes, margin);
    }
    record.metric("zones.read_bytes", vec![map.read_bytes as f64]);
    if !map.is_complete {
        could_not_tell(
            record,
            "some borders of zones",
            "the time or the reads that may be spent on them were used up; use a larger --time or geometry.surface_pct",
        );
    }
    if !map.strange.is_empty() {
        let places = map.strange.iter().map(|at| drivescope_model::units::Bytes(*at).to_string());
        let places = places.take(5).collect::<Vec<_>>().join(", ");
        record.remark(format!(
            "{} of the places looked at are slower than the places after them or show no tracks, such as {places}: the \
             test surface looks closer",
            map.strange.len()
        ));
    }
}

/// The pause at the end of a track, and whether there are two kinds of it.
pub fn skews(record: &mut TestRecord, tracks: &Tracks) {
    if let Some(median) = summary::median(&tracks.skews) {
        let least = summary::min(&tracks.skews).unwrap_or(median);
        let most = summary::max(&tracks.skews).unwrap_or(median);
        record.estimate("tracks.skew_pct", median * 100.0, least * 100.0, most * 100.0);
    }
}

pub fn heads(record: &mut TestRecord, order: HeadOrder) {
    record.metric("heads.count", vec![order.heads as f64]);
    if let Some(tracks) = order.pass_tracks {
        record.metric("heads.pass_tracks", vec![tracks as f64]);
    }
}

/// The seek profile, and what it means for access times over parts of the drive.
pub fn seeks(record: &mut TestRecord, profile: &SeekProfile, map: &ZoneMap, turn_ns: f64) {
    fn share(i: usize) -> f64 {
        i as f64 / (CURVE_POINTS - 1) as f64
    }
    if profile.shows_overhead {
        movements(record, profile);
    } else {
        could_not_tell(
            record,
            "movement of the arm without the overhead of commands",
            "no access within a track was missed; the curve has the overhead in it",
        );
    }
    let distances: Vec<f64> = (0..CURVE_POINTS).map(share).collect();
    let fitted = distances.iter().map(|&d| profile.curve.ns(d).max(0.0) / 1e6).collect();
    record.curve("seek.ms", ("%", "ms"), percent(&distances), fitted);
    let (at, measured): (Vec<f64>, Vec<f64>) =
        profile.points.iter().map(|(d, bounds)| (*d, bounds.value / 1e6)).unzip();
    record.curve("seek_measured.ms", ("%", "ms"), percent(&at), measured);
    let span = map.zones.last().map_or(1.0, |zone| zone.end);
    let spans: Vec<f64> = distances[1..].iter().map(|share| share * span).collect();
    let modelled = spans.iter().map(|&bytes| {
        let stroke = map.stroke_share(bytes);
        (profile.overhead.value + profile.within(stroke) + turn_ns / 2.0) / 1e6
    });
    let modelled: Vec<f64> = modelled.collect();
    record.curve("access.ms", ("bytes", "ms"), spans, modelled);
}

fn percent(shares: &[f64]) -> Vec<f64> {
    shares.iter().map(|d| d * 100.0).collect()
}

fn movements(record: &mut TestRecord, profile: &SeekProfile) {
    let mut ms = |key: &str, bounds: &Bounds| {
        record.estimate(key, bounds.value / 1e6, bounds.low / 1e6, bounds.high / 1e6);
    };
    ms("seek.average_ms", &profile.average);
    if let Some(bounds) = profile.next_track.as_ref().filter(|bounds| bounds.value > 0.0) {
        ms("seek.next_track_ms", bounds);
    }
    ms("seek.full_stroke_ms", &profile.full_stroke);
    let Bounds { value, low, high } = profile.overhead;
    record.estimate("command.overhead_us", value / 1e3, low / 1e3, high / 1e3);
}

/// Access times that were measured over parts of the drive from its start.
pub fn accesses(record: &mut TestRecord, points: &[MeanAccess]) {
    if let Some(MeanAccess { ms, error_ms, .. }) = points.last() {
        record.estimate_within("access.access_mean_ms", *ms, Z_95 * error_ms);
    }
    let (x, y) = points.iter().map(|point| (point.span_bytes, point.ms)).unzip();
    record.curve("access_measured.ms", ("bytes", "ms"), x, y);
}

pub fn hits(record: &mut TestRecord, hits: &CacheHits) {
    let (us, error_us) = (hits.overhead_ns / 1e3, hits.overhead_error_ns / 1e3);
    record.estimate_within("read_cache.overhead_us", us, T_95_OF_LENGTHS * error_us);
    // Where data take no time at all, there is no rate.
    if hits.link_mb_s < 1e6 {
        record.estimate_within("link.mb_s", hits.link_mb_s, T_95_OF_LENGTHS * hits.link_error_mb_s);
    }
}

pub fn held(record: &mut TestRecord, held: &HeldReads) {
    let mut tell = |key: &str, what: &str, answer: Result<f64, &String>, share: f64| match answer {
        Ok(value) => record.estimate(key, value, value * (1.0 - share), value * (1.0 + share)),
        Err(why) => could_not_tell(record, what, why),
    };
    let bytes = |answer: &Result<u64, String>| {
        answer.as_ref().map(|&bytes| bytes as f64).map_err(Clone::clone)
    };
    let (ahead, stream) = (bytes(&held.read_ahead), bytes(&held.stream_bytes));
    tell("read_cache.read_ahead_bytes", "read-ahead", ahead.as_ref().copied(), 0.06);
    tell("read_cache.stream_bytes", "memory of a stream", stream.as_ref().copied(), 0.08);
    tell("read_cache.places", "places held", held.places.as_ref().map(|&count| count as f64), 0.0);
    match held.cache_bytes() {
        Some(bytes) => {
            let bytes = bytes as f64;
            record.estimate("read_cache.cache_bytes", bytes, bytes * 0.9, bytes * 1.1);
        }
        None => could_not_tell(record, "size of the read cache", "what it holds does not show"),
    }
}

fn milliseconds(record: &mut TestRecord, key: &str, time: MedianTime) {
    record.estimate(key, time.ns / 1e6, time.within.low / 1e6, time.within.high / 1e6);
}

/// Times of writes; with the time of a turn, also whether flushes are honest.
pub fn writes(record: &mut TestRecord, times: &WriteTimes, turn_ns: Option<f64>) {
    milliseconds(record, "write_cached.write_ms", times.cached);
    milliseconds(record, "write_flushed.write_ms", times.flushed);
    milliseconds(record, "write_forced.write_ms", times.forced);
    let Some(turn_ns) = turn_ns else { return };
    for (time, cell, what) in [
        (times.flushed, "write_flushed", "each flushed"),
        (times.forced, "write_forced", "each with force unit access"),
    ] {
        if time.within.high < HONEST_TURNS_MIN * turn_ns {
            let evidence = format!(
                "writes of one sector, {what}, take {} each, but the sector passes the head only every {}",
                latency_us(time.ns / 1e3),
                latency_us(turn_ns / 1e3)
            );
            record.notice(
                Finding::new(FindingId::FlushIgnored, evidence).about(format!("geometry.{cell}")),
            );
        }
    }
}

pub fn write_cache(record: &mut TestRecord, fillings: &[CacheFilling]) {
    // A drive that ignores flushes begins the next filling with some of the last.
    let most = fillings.iter().map(|it| it.bytes).fold(0.0, f64::max);
    let empties = fillings.iter().map(|it| it.empties).fold(0.2, f64::max);
    record.estimate("write_cache.cache_bytes", most, most * (1.0 - empties), most * 1.05);
}

pub fn band(record: &mut TestRecord, band: BandSize) {
    record.estimate_within("shingling.band_bytes", band.bytes, band.margin);
}

/// Bytes of random writes before cleaning begins, with what the test wrote before: there was hardly a rest to clean.
/// The drive's memory may have held some of them when the log was full.
pub fn log(record: &mut TestRecord, log: LogSize, earlier: f64, cached: f64) {
    let LogSize { bytes, step } = log;
    let most = bytes + earlier;
    record.estimate("shingling.log_bytes", most, bytes - step - cached, most + step);
}

pub fn unit(record: &mut TestRecord, times: &UnitTimes) {
    let (x, y) = times.points.iter().copied().unzip();
    record.curve("map_unit.lat_mean_us", ("bytes", "us"), x, y);
    match &times.unit {
        Ok(bytes) => record.metric("map_unit.unit_bytes", vec![*bytes as f64]),
        Err(why) => could_not_tell(record, "unit of the map", why),
    }
}

pub fn write_buffer(record: &mut TestRecord, fillings: &[f64]) {
    if let Some((value, low, high)) = of_fillings(fillings) {
        let margin = BUFFER_ERROR * value;
        let (low, high) = (low.min(value - margin), high.max(value + margin));
        record.estimate("write_buffer.cache_bytes", value, low, high);
    }
}

pub fn flush_cost(record: &mut TestRecord, times: &WriteTimes) {
    fn us(ns: f64) -> f64 {
        (ns / 1e3).max(0.0)
    }
    let (cached, flushed) = (times.cached, times.flushed);
    let high = us(flushed.within.high - cached.within.low);
    let low = us(flushed.within.low - cached.within.high);
    record.estimate("flush.cost_us", us(flushed.ns - cached.ns), low, high);
    if high < FREE_FLUSH_US {
        record.remark(format!(
            "a flush costs {} at most, less than flash takes to program a page: signs of power-loss protection; a drive \
             that ignores flushes shows the same, and only a power cut tells them apart",
            latency_us(high)
        ));
    }
}

pub fn fast_cache(record: &mut TestRecord, found: &FastCache) {
    let FastCache { bytes, margin, rates, recovered } = *found;
    record.estimate_within("fast_cache.cache_bytes", bytes, margin);
    record.metric("fast_cache.recovered_bytes", vec![recovered]);
    record.remark(format!(
        "fast cache: {} MB/s within it, {} MB/s past it",
        rounded(rates.0),
        rounded(rates.1)
    ));
}

/// Whether tracks overlap; beside the times, whether a disk takes discards. `is_alone`: no other program can disturb.
pub fn shingling(
    record: &mut TestRecord,
    slowdown: &Slowdown,
    takes_trim: Option<bool>,
    is_alone: bool,
) {
    let Slowdown { ratio, within, ratios } = slowdown;
    record.estimate("shingling.slowdown_ratio", *ratio, within.low, within.high);
    match slowdown.recording() {
        RecordingKind::Shingled => {
            let trim = match takes_trim {
                Some(true) => "; it takes discards, which only shingled disks do",
                Some(false) => "; it takes no discards, as host-aware and older ones",
                None => "",
            };
            let evidence = format!(
                "areas that were written at random are read in order {} times as slowly as their neighbours ({} of \
                 {}){trim}",
                rounded(*ratio),
                ratios.len(),
                ratios.len()
            );
            record.notice(Finding::new(FindingId::Shingled, evidence).about("geometry"));
        }
        RecordingKind::Conventional if takes_trim == Some(true) => record.remark(
            "shingling: the disk takes discards, which only shingled disks do, but writes to it were not kept elsewhere"
                .to_string(),
        ),
        RecordingKind::Conventional => {}
        RecordingKind::Unclear => {
            let advice = if is_alone { "" } else { "; stop other programs" };
            let why = "areas that were written at random are read neither clearly slower nor alike";
            could_not_tell(record, "shingling", &format!("{why}{advice}"));
        }
    }
}

pub fn queue_gain(record: &mut TestRecord, alone: &[f64], deep: &[f64]) {
    let rounds = alone.iter().zip(deep).filter(|(alone, _)| **alone > 0.0);
    record.metric("queue.gain_ratio", rounds.map(|(alone, deep)| deep / alone).collect());
}

pub fn parallelism(record: &mut TestRecord, found: &Parallelism) {
    record.metric("queue.gain_ratio", vec![found.gain]);
    record.metric("queue.depth", vec![f64::from(found.depth)]);
    let (x, y) = found.points.iter().copied().unzip();
    record.curve("queue.iops", ("requests", "1/s"), x, y);
}

pub fn map_span(record: &mut TestRecord, found: &MapSpan) {
    let (x, y) = found.points.iter().copied().unzip();
    record.curve("map.lat_mean_us", ("bytes", "us"), x, y);
    if let Some((low, high)) = found.knee {
        record.estimate("map.span_bytes", (low * high).sqrt(), low, high);
    }
}
