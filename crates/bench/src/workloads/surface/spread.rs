//! `surface.preset=spread`: one place at random in each of many equal parts of the drive, in shuffled order, so that
//! the chance of missing a region is known (`drivescope_stats::coverage`), also where time ends the read before the
//! last part: the parts that were visited are then a random subset.

use super::one_pass::{self, OnePass};
use super::rates::{self, StepPace};
use super::unreadable::Unreadable;
use super::{PAGE, RequestShape, SAMPLES_MIN, notice_part, part_start, scan, trial_s};
use crate::error::BenchError;
use crate::io::draw::Draw;
use crate::io::offsets::derive_seed;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::scan::ScanRegion;
use crate::plan::option_checks::SAMPLES_MAX;
use crate::session::Session;
use drivescope_model::options::SurfaceOptions;
use drivescope_stats::coverage::{chance_of_two, chance_seen, share_seen};

/// Share of the time for the places; the rest is for single accesses and a second look at what seems slow.
const READ_SHARE: f64 = 0.9;
/// With which confidence the smallest region that is named would have been seen.
const CONFIDENCE: f64 = 0.98;
/// Share of the drive of a region whose confidence is named.
const REGION: f64 = 0.001;

pub(super) fn run(session: &Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    session.pause(session.plan.suite.pause)?;
    record.needs_no_rounds();
    let options = &session.plan.suite.surface;
    let (size, begun_ns) = (session.span_bytes(session.device()), session.now_ns());
    let is_timed = options.time.0 > 0.0;
    let until_ns = begun_ns + (options.time.0 * READ_SHARE * 1e9) as u64;
    let parts = parts(session, options, size)?;
    let places = places(options, size, parts, session.plan.seed);
    let control = if is_timed { Control::until(until_ns) } else { Control::default() };
    let shape = RequestShape::of(options);
    let scanned = scan(session, record, "read", places.clone(), (shape, 1), control)?;
    let mut unreadable = Unreadable::default();
    unreadable.add(&scanned);
    let failed = scanned.timed.iter().filter(|timed| timed.ns.is_none());
    let bad = failed.map(|timed| timed.offset..timed.offset + timed.len).collect();
    let rounds = [scanned.timed];
    let pace = StepPace::of(&rounds);
    let profile = rates::medians(&rounds, pace);
    rates::report(record, "read", &rounds, &profile, pace, size);
    let whole = session.device().size_bytes();
    notice_part(record, size, whole);
    let [timed] = &rounds;
    let read: u64 = timed.iter().filter(|timed| timed.ns.is_some()).map(|timed| timed.len).sum();
    record.metric("read.share_pct", vec![read as f64 * 100.0 / whole.max(1) as f64]);
    let visited = timed.len() as u64;
    SpreadCoverage { parts, visited, sample: options.sample.0, size, whole }.report(record);
    unreadable.report(record, part_start(session));
    unreadable.report_count(record);
    scanned.end?;
    let pass = OnePass { profile: &profile, places: &places, shape, size, bad };
    one_pass::finish(session, record, pass)?;
    unreadable.outcome()
}

/// Of how many equal parts a place each is read: what the time is enough for, and no place overlaps the next.
fn parts(session: &Session<'_>, options: &SurfaceOptions, size: u64) -> Result<u64, BenchError> {
    let most = (size / (options.sample.0 + options.lead_in.0)).clamp(2, u64::from(SAMPLES_MAX));
    if options.time.0 == 0.0 {
        return Ok(u64::from(options.samples).min(most));
    }
    let (took_s, each_s) = trial_s(session, options, size)?;
    let enough = (options.time.0 * READ_SHARE - took_s).max(0.0) / each_s;
    Ok((enough as u64).max(u64::from(SAMPLES_MIN)).min(most))
}

/// Each holds a page that was drawn uniformly from those of its part.
fn places(options: &SurfaceOptions, size: u64, parts: u64, seed: u64) -> Vec<ScanRegion> {
    let (sample, lead_in, pages) = (options.sample.0, options.lead_in.0, size / PAGE);
    let mut draw = Draw::new(derive_seed(seed, "spread", 1, 0));
    let begin = |part: u64| (u128::from(pages) * u128::from(part) / u128::from(parts)) as u64;
    let last = (size - sample) / PAGE * PAGE;
    let mut places: Vec<ScanRegion> = (0..parts)
        .map(|part| {
            let page = begin(part) + draw.below(begin(part + 1) - begin(part));
            let offset = (page * PAGE).min(last);
            let lead_in_from = offset.saturating_sub(lead_in);
            ScanRegion { offset, len: sample, lead_in_from, lead_in_len: offset - lead_in_from }
        })
        .collect();
    draw.shuffle(&mut places);
    places
}

/// What the places would have shown.
#[derive(Debug, Clone, Copy)]
struct SpreadCoverage {
    parts: u64,
    visited: u64,
    sample: u64,
    size: u64,
    /// Bytes of the drive, of which `size` are examined.
    whole: u64,
}

impl SpreadCoverage {
    /// Shares are of the drive, for regions within the examined part.
    fn report(self, record: &mut TestRecord) {
        let part = self.size as f64 / self.whole.max(1) as f64;
        let region = (REGION / part).min(1.0);
        let failing = share_seen(CONFIDENCE, self.visited) * part;
        record.metric("spread.places", vec![self.visited as f64]);
        for (quantity, share) in [
            ("failing_region_pct", failing),
            ("slow_region_pct", self.slow_region() * part),
            ("failing_seen_pct", chance_seen(region, self.visited)),
            ("slow_seen_pct", self.slow_seen(region)),
        ] {
            record.metric(&format!("spread.{quantity}"), vec![share * 100.0]);
        }
    }

    /// Least chance that a slow region in one piece is seen: two places that lie in it are neighbours, and a stretch of
    /// them is found. Wherever it begins, it has at least this many parts in whole.
    fn slow_seen(self, share: f64) -> f64 {
        let len = (share * self.size as f64 - self.sample as f64).max(0.0);
        let parts = (len * self.parts as f64 / self.size as f64) as u64;
        chance_of_two(self.parts, self.visited, parts.saturating_sub(1))
    }

    /// The smallest that is seen with the confidence, as a share; 1 if none is.
    fn slow_region(self) -> f64 {
        let share = |parts: u64| {
            (parts + 1) as f64 / self.parts as f64 + self.sample as f64 / self.size as f64
        };
        let is_seen = |parts: u64| chance_of_two(self.parts, self.visited, parts) >= CONFIDENCE;
        let (mut low, mut high) = (0, self.parts);
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            if is_seen(middle) { high = middle } else { low = middle }
        }
        if is_seen(high) { share(high).min(1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests;
