//! Slow places: stretches well below their neighbours, looked at twice.
//!
//! A rate is compared with the running median of the places around it, which a step between zones and the fall
//! towards the inner edge hardly move; the time of a random access against that of the whole drive, because
//! nearly all of it is the way to the place. What seems slow is measured again among places that do not, so
//! that neither a single pause nor a drive that became slower meanwhile makes a slow place.

use super::rates::Profile;
use super::{PAGE, RequestShape, on_target, part_start, within_part};
use crate::error::BenchError;
use crate::io::draw::Draw;
use crate::io::offsets::derive_seed;
use crate::io::queue::QueueSpec;
use crate::judging::test_record::TestRecord;
use crate::judging::validity;
use crate::loops::control::Control;
use crate::loops::scan::{Scan, ScanRegion, TimedRegion};
use crate::session::Session;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_model::units::Bytes;
use drivescope_stats::summary;
use std::collections::BTreeSet;
use std::ops::Range;

/// A slow place has less than this share of its neighbours' rate.
const RATE_SHARE: f64 = 0.75;
/// Random reads at a slow place take more than this many times as long as elsewhere.
const ACCESS_FACTOR: f64 = 2.0;
/// Fewer places do not have enough neighbours.
const PLACES_MIN: usize = 16;
/// Neighbours to each side: a fifth of the drive, of which a slow stretch is less than half.
const REACH_PART: usize = 10;
/// Places that make a slow stretch. A single one may be where a shingled disk keeps recent writes.
const STRETCH_MIN: usize = 2;
/// Places between those of a slow stretch, of which most must be slow too: two neighbours may both be such single ones.
const PLACES_BETWEEN: u64 = 5;
/// Most stretches that are measured again, and most places of each.
const STRETCHES_AGAIN: usize = 8;
const PLACES_AGAIN: usize = 4;
const PARTS_AGAIN: usize = 16;
/// Random accesses that a part of the drive needs to have a median, and most such parts.
const ACCESSES_PER_PART: usize = 8;
const PARTS_MAX: usize = 50;
const PARTS_MIN: usize = 8;
const ACCESSES_AGAIN: u64 = 16;

/// What is slow, and how much, as medians of the second look.
#[derive(Debug, Clone, PartialEq)]
struct SlowSpot {
    bytes: Range<u64>,
    here: f64,
    elsewhere: f64,
}

fn candidates(rates: &[f64]) -> Vec<usize> {
    if rates.len() < PLACES_MIN {
        return Vec::new();
    }
    let reach = (rates.len() / REACH_PART).max(3);
    let is_slow = |&i: &usize| {
        let around = &rates[i.saturating_sub(reach)..(i + reach + 1).min(rates.len())];
        summary::median(around).is_some_and(|usual| rates[i] < usual * RATE_SHARE)
    };
    (0..rates.len()).filter(is_slow).collect()
}

/// Neighbouring places that seem slow, by index, some of which are measured again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeemingStretch {
    places: Vec<usize>,
    /// The nearest place to either side that does not seem slow.
    beside: Vec<usize>,
}

fn again(rates: &[f64], seeming: &[usize]) -> Vec<SeemingStretch> {
    let neighbours = seeming.chunk_by(|a, b| a + 1 == *b);
    let mut all: Vec<&[usize]> = neighbours.filter(|run| run.len() >= STRETCH_MIN).collect();
    let rate = |run: &[usize]| median_of(run.iter().map(|&i| rates[i])).unwrap_or(0.0);
    all.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let stretch = |run: &[usize]| {
        let count = run.len().min(PLACES_AGAIN);
        let places = (0..count).map(|k| run[(run.len() - 1) * k / (count - 1)]).collect();
        let usual = |i: &usize| !seeming.contains(i);
        let below = (0..run[0]).rev().find(usual);
        let above = (run[0] + run.len()..rates.len()).find(usual);
        SeemingStretch { places, beside: below.into_iter().chain(above).collect() }
    };
    all.into_iter().take(STRETCHES_AGAIN).map(stretch).collect()
}

/// The first and the last place of it that are slow in the second look, too, and the rates of those and beside it.
fn confirmed(
    stretch: &SeemingStretch,
    rate: impl Fn(&usize) -> Option<f64>,
) -> Option<(usize, usize, f64, f64)> {
    let elsewhere = median_of(stretch.beside.iter().filter_map(&rate))?;
    let here = stretch.places.iter().filter_map(|i| Some((*i, rate(i)?)));
    let slow: Vec<_> = here.filter(|(_, rate)| *rate < elsewhere * RATE_SHARE).collect();
    let (first, last) = (slow.first()?.0, slow.last()?.0);
    let here = median_of(slow.iter().map(|(_, rate)| *rate))?;
    (slow.len() >= STRETCH_MIN).then_some((first, last, here, elsewhere))
}

/// Whether a drive's cache holds the part of `size` bytes and samples together are larger, which a finding then says:
/// what two samples share comes from the cache, so neither rates nor accesses after them show slow places.
pub(super) fn is_cached(record: &mut TestRecord, places: &[ScanRegion], size: u64) -> bool {
    let read: u64 = places.iter().map(|place| place.len).sum();
    let cached = size < validity::DRIVE_CACHE_BYTES && read > size;
    if cached {
        let (count, read, size) = (places.len(), Bytes(read), Bytes(size));
        let evidence = format!("{count} samples of {read} together, in {size}, overlap");
        let times = read.0 as f64 / size.0 as f64;
        let finding = Finding::new(FindingId::SmallWorkingSet, evidence).weighing(times);
        record.notice(finding.about("surface"));
    }
    cached
}

/// Looks for places whose rate is low, and again at those; returns the slow stretches.
pub(super) fn find_by_rate(
    session: &Session<'_>,
    record: &mut TestRecord,
    profile: &Profile,
    places: &[ScanRegion],
    order: RequestShape,
) -> Result<Vec<Range<u64>>, BenchError> {
    let rates: Vec<f64> = profile.iter().map(|&(_, rate)| rate).collect();
    let seeming = again(&rates, &candidates(&rates));
    // The first has less to lead in, the last may be shorter.
    let usual = places.iter().max_by_key(|place| (place.len, place.offset - place.lead_in_from));
    let (Some(&usual), false) = (usual, seeming.is_empty()) else { return Ok(Vec::new()) };
    let offset_of = |i: &usize| profile[*i].0;
    let offsets: BTreeSet<u64> =
        seeming.iter().flat_map(|it| it.places.iter().chain(&it.beside)).map(offset_of).collect();
    let again: Vec<ScanRegion> =
        places.iter().copied().filter(|p| offsets.contains(&p.offset)).collect();
    let timed = scan_again(session, again, order)?;
    let rate = |i: &usize| rate_of(*timed.iter().find(|timed| timed.offset == offset_of(i))?);
    let mut stretches = Vec::new();
    for (first, last, here, elsewhere) in seeming.iter().filter_map(|it| confirmed(it, rate)) {
        let bytes = offset_of(&first)..offset_of(&last) + usual.len;
        let between = between(bytes.start + usual.len..bytes.end - usual.len, usual);
        let rates = scan_again(session, between.clone(), order)?.into_iter().filter_map(rate_of);
        if between.is_empty() || median_of(rates).is_some_and(|it| it < elsewhere * RATE_SHARE) {
            stretches.push(SlowSpot { bytes, here, elsewhere });
        }
    }
    let slowness = |slow: &SlowSpot| slow.elsewhere / slow.here.max(f64::MIN_POSITIVE);
    notice(record, ("surface.read", part_start(session)), &stretches, slowness, |slow| {
        format!("reads at {} MB/s", rounded(slow.here))
            + &format!(", its neighbours at {} MB/s", rounded(slow.elsewhere))
    });
    session.check_stop()?;
    Ok(stretches.into_iter().map(|slow| slow.bytes).collect())
}

/// Places like one of them all over a gap that has room for them.
fn between(gap: Range<u64>, like: ScanRegion) -> Vec<ScanRegion> {
    let lead_in = like.offset - like.lead_in_from;
    let (first, room) = (gap.start + lead_in, gap.end.saturating_sub(gap.start));
    if room < PLACES_BETWEEN * (lead_in + like.len) {
        return Vec::new();
    }
    let step = (room - lead_in - like.len) / (PLACES_BETWEEN - 1);
    let offsets = (0..PLACES_BETWEEN).map(|i| (first + step * i) / PAGE * PAGE);
    offsets.map(|offset| ScanRegion { offset, lead_in_from: offset - lead_in, ..like }).collect()
}

fn rate_of(timed: TimedRegion) -> Option<f64> {
    Some(timed.len as f64 * 1e3 / timed.ns?.max(1) as f64)
}

/// The parts of the drive whose accesses take long, as shares of `parts`.
fn slow_parts(accesses: &[TimedRegion], size: u64) -> Vec<Range<u64>> {
    let parts = (accesses.len() / ACCESSES_PER_PART).min(PARTS_MAX);
    if parts < PARTS_MIN {
        return Vec::new();
    }
    let mut ms: Vec<Vec<f64>> = vec![Vec::new(); parts];
    for access in accesses {
        let part = (u128::from(access.offset) * parts as u128 / u128::from(size)) as usize;
        if let (Some(ns), Some(of_part)) = (access.ns, ms.get_mut(part)) {
            of_part.push(ns as f64 / 1e6);
        }
    }
    let Some(usual) = median_of(ms.iter().flatten().copied()) else { return Vec::new() };
    let edge = |i: usize| (u128::from(size) * i as u128 / parts as u128) as u64;
    let is_slow = |ms: &[f64]| {
        let is_enough = ms.len() >= ACCESSES_PER_PART / 2;
        is_enough && summary::median(ms).is_some_and(|here| here > usual * ACCESS_FACTOR)
    };
    let slow = (0..parts).filter(|&i| is_slow(&ms[i])).map(|i| edge(i)..edge(i + 1));
    slow.take(PARTS_AGAIN).collect()
}

/// Looks for parts whose random accesses take long, and again at those; returns the slow parts.
pub(super) fn find_by_access_time(
    session: &Session<'_>,
    record: &mut TestRecord,
    accesses: &[TimedRegion],
    size: u64,
) -> Result<Vec<Range<u64>>, BenchError> {
    let parts = slow_parts(accesses, size);
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let block = session.plan.suite.surface.access_block.0;
    let seed = derive_seed(session.plan.seed, "slow", 1, 0);
    let mut draw = Draw::new(seed);
    let whole = 0..size;
    let mut places = Vec::new();
    for range in parts.iter().flat_map(|part| [part, &whole]) {
        let first = range.start.next_multiple_of(PAGE.max(block));
        for _ in 0..ACCESSES_AGAIN {
            let offset = first + draw.place(range.end - range.start, block);
            let offset = offset.min((size - block) / PAGE * PAGE);
            places.push(ScanRegion::new(offset, block));
        }
    }
    Draw::new(seed).shuffle(&mut places);
    let timed = scan_again(session, places, RequestShape { chunk: block as u32, depth: 1 })?;
    let ms = |inside: &dyn Fn(u64) -> bool| {
        let inside = timed.iter().filter(|timed| inside(timed.offset));
        median_of(inside.filter_map(|timed| Some(timed.ns? as f64 / 1e6)))
    };
    let outside = |at: u64| parts.iter().all(|part| !part.contains(&at));
    let Some(elsewhere) = ms(&outside) else { return Ok(Vec::new()) };
    let confirmed = |part: &Range<u64>| {
        let here = ms(&|at| part.contains(&at))?;
        (here > elsewhere * ACCESS_FACTOR).then(|| SlowSpot {
            bytes: part.clone(),
            here,
            elsewhere,
        })
    };
    let mut slow: Vec<SlowSpot> = Vec::new();
    for part in parts.iter().filter_map(confirmed) {
        match slow.last_mut().filter(|last| last.bytes.end == part.bytes.start) {
            Some(last) => {
                last.bytes.end = part.bytes.end;
                last.here = last.here.max(part.here);
            }
            None => slow.push(part),
        }
    }
    let slowness = |slow: &SlowSpot| slow.here / slow.elsewhere.max(f64::MIN_POSITIVE);
    notice(record, ("surface.access", part_start(session)), &slow, slowness, |slow| {
        format!("random reads take {} ms", rounded(slow.here))
            + &format!(", elsewhere {} ms", rounded(slow.elsewhere))
    });
    session.check_stop()?;
    Ok(slow.into_iter().map(|slow| slow.bytes).collect())
}

/// F040, its evidence the slowest of all stretches of a part that begins at `at`.
fn notice(
    record: &mut TestRecord,
    (about, at): (&str, u64),
    slow: &[SlowSpot],
    slowness: impl Fn(&SlowSpot) -> f64,
    what: impl Fn(&SlowSpot) -> String,
) {
    let slowest = slow.iter().max_by(|a, b| slowness(a).total_cmp(&slowness(b)));
    let Some(slowest) = slowest else { return };
    let Range { start, end } = slowest.bytes.start + at..slowest.bytes.end + at;
    let factor = slowness(slowest);
    let mut evidence = format!(
        "between bytes {start} and {end} ({} to {}) {}: {} times as slow",
        Bytes(start),
        Bytes(end),
        what(slowest),
        rounded(factor),
    );
    match slow.len() - 1 {
        0 => {}
        1 => evidence += "; and one more stretch",
        more => evidence += &format!("; and {more} more stretches"),
    }
    record.notice(Finding::new(FindingId::SlowRegion, evidence).about(about).weighing(factor));
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    summary::median(&values.collect::<Vec<f64>>())
}

/// The second look is not a phase of the result: what it measures is one more sample of chosen places.
pub(super) fn scan_again(
    session: &Session<'_>,
    places: Vec<ScanRegion>,
    RequestShape { chunk, depth }: RequestShape,
) -> Result<Vec<TimedRegion>, BenchError> {
    let control = Control::default();
    let start = part_start(session);
    let places = on_target(places, start);
    let task = Scan { places, chunk, depth, data: None, control: &control };
    let spec = QueueSpec { depth, ahead: 1, block_bytes: chunk, dsync: false };
    let (worker, _) = session.run_task(session.device(), spec, &control, task)?;
    Ok(within_part(worker.output.timed, start))
}

#[cfg(test)]
mod tests;
