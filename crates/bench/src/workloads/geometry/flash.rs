//! What an SSD's answers show: how many requests it serves side by side, and over how wide a span its map is at hand.

use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::loops::phase::Load;
use crate::session::Session;
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::units::{Bytes, Secs};
use std::ops::Range;

const DEPTHS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const TIME: Secs = Secs(0.5);
const ENOUGH_SHARE: f64 = 0.9;
/// Spans at which random reads are timed grow by this factor from here on.
const SPAN_MIN: u64 = 1 << 30;
const SPAN_FACTOR: u64 = 4;
/// A read that needs the map from flash takes longer by this share.
const MISS_SHARE: f64 = 0.15;

/// A miss takes at least half a hit longer: in a span that seems fast, at most this share of the reads missed.
const MISSED_MAX: f64 = MISS_SHARE / 0.5;
/// A span is read again while each pass takes less than this share of the one before, up to `WARMING_MAX` times.
const WARM_SHARE: f64 = 0.97;
const WARMING_MAX: usize = 12;

#[derive(Debug, Clone, PartialEq)]
pub struct Parallelism {
    pub gain: f64,
    /// Requests in flight from which on there is little more to gain.
    pub depth: u32,
    /// Depth and rate.
    pub points: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MapSpan {
    /// Bytes of the span, and mean time in µs.
    pub points: Vec<(f64, f64)>,
    /// The widest span as fast as the smallest, and the next one tried; `None` where all are alike.
    pub knee: Option<(f64, f64)>,
}

pub fn parallelism(
    session: &Session<'_>,
    record: &mut TestRecord,
) -> Result<Option<Parallelism>, BenchError> {
    let span = session.span(session.device());
    let mut points: Vec<(f64, f64)> = Vec::new();
    for depth in DEPTHS {
        points.push((f64::from(depth), rate(session, record, span.clone(), depth)?));
    }
    let most = points.iter().map(|&(_, iops)| iops).fold(0.0, f64::max);
    let enough = points.iter().copied().find(|&(_, iops)| iops >= ENOUGH_SHARE * most);
    let alone = points[0].1;
    let found = enough.filter(|_| alone > 0.0);
    Ok(found.map(|(depth, _)| Parallelism { gain: most / alone, depth: depth as u32, points }))
}

/// Single random reads over ever wider spans.
pub fn map_span(session: &Session<'_>, record: &mut TestRecord) -> Result<MapSpan, BenchError> {
    let whole = session.span(session.device());
    let len = whole.end - whole.start;
    let mut spans: Vec<u64> = Vec::new();
    let mut span = SPAN_MIN.min(len);
    while span < len {
        spans.push(span);
        span = span.saturating_mul(SPAN_FACTOR);
    }
    spans.push(len);
    let mut points = Vec::new();
    for span in spans {
        fn us(iops: f64) -> f64 {
            1e6 / iops.max(f64::MIN_POSITIVE)
        }
        let part = whole.start..whole.start + span;
        let mut last = us(rate(session, record, part.clone(), 1)?);
        let first = points.first().map_or(last, |&(_, us)| us);
        // The map of a wide span is at hand only once most of it was asked for.
        for _ in 1..WARMING_MAX {
            if last <= first * (1.0 + MISS_SHARE) {
                break;
            }
            let before = std::mem::replace(&mut last, us(rate(session, record, part.clone(), 1)?));
            if last > before * WARM_SHARE {
                break;
            }
        }
        points.push((span as f64, last));
    }
    let first = points[0].1;
    let slow = points.iter().position(|&(_, us)| us > first * (1.0 + MISS_SHARE));
    // One span that is slower by chance is none if a wider one is not.
    let stays = |at: &usize| points[*at..].iter().all(|&(_, us)| us > first * (1.0 + MISS_SHARE));
    let reach = |at: usize| ((1.0 - MISSED_MAX) * points[at - 1].0, points[at].0);
    let knee = slow.filter(stays).map(reach);
    Ok(MapSpan { points, knee })
}

/// Random reads per second of a phase that is kept; several rounds make no difference to what is asked.
fn rate(
    session: &Session<'_>,
    record: &mut TestRecord,
    span: Range<u64>,
    depth: u32,
) -> Result<f64, BenchError> {
    let is_whole = span == session.span(session.device());
    let cell = match depth {
        1 if !is_whole => format!("rnd_span{}.read", Bytes(span.end - span.start).short()),
        _ => format!("rnd_q{depth}.read"),
    };
    random_reads(session, record, &cell, span, depth, TIME)
}

/// A closed loop of random reads of 4 KiB: requests per second of this round.
pub fn random_reads(
    session: &Session<'_>,
    record: &mut TestRecord,
    cell: &str,
    span: Range<u64>,
    depth: u32,
    time: Secs,
) -> Result<f64, BenchError> {
    let block = session.plan.suite.geometry.block;
    let shape = Shape::plain(Order::Rnd, block, depth);
    let round = record.rounds_of(cell).count() as u32 + 1;
    let load = session.load(shape, Mix::READ, span, cell, round);
    let load = Load { time, studies_span: true, ..load };
    session.measure(&load, cell, round, record)?;
    Ok(record.rounds_of(cell).last().map_or(0.0, |round| round.measured.iops()))
}
