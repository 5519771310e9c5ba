//! Zones of a disk out of sampled rates. Further samples go where they reduce the error of the curve most: into the
//! middle of the gap between two zones whose drop times width is largest.

use super::rates::{Profile, StepPace};
use super::slow_spots::scan_again;
use super::{PAGE, RequestShape};
use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::loops::scan::ScanRegion;
use crate::session::Session;
use crate::workloads::shared::zone_figures::{self, ZoneFigures};
use drivescope_model::options::{SurfaceOptions, SurfacePreset};
use drivescope_model::target::TargetKind;
use drivescope_stats::zones::{ZONE_DROP_MIN, zones};
use std::collections::BTreeSet;

/// Disks lose at least this share of their rate from the outermost zone to the innermost.
const FALL_MIN: f64 = 0.1;
/// A border is known when it lies between two samples that are no farther apart, as a share of the examined part.
const BORDER_SHARE: f64 = 0.0005;
/// Most samples of one step: what they show decides about the next.
const STEP_MAX: usize = 32;
/// Two standard errors hold 95 % of a normal distribution.
const STANDARD_ERRORS: f64 = 2.0;

#[derive(Debug, Clone, Copy)]
pub(super) struct SearchBudget {
    pub samples: usize,
    pub time_ns: u64,
}

/// Reads in the gaps between zones, by halves. Only a drive whose rate falls as that of a disk has zones.
pub(super) fn refine(
    session: &Session<'_>,
    options: &SurfaceOptions,
    (profile, pace): (&mut Profile, StepPace),
    size: u64,
    mut budget: SearchBudget,
) -> Result<(), BenchError> {
    let mut failed = BTreeSet::new();
    let until_ns = session.now_ns().saturating_add(budget.time_ns);
    while has_zones(session, options) && budget.samples > 0 {
        let start_ns = session.now_ns();
        let most = budget.samples.min(STEP_MAX);
        let places = next_places(profile, options, size, most, &failed);
        if places.is_empty() {
            break;
        }
        let count = places.len();
        let middles: Vec<u64> = places.iter().map(|place| place.offset).collect();
        let timed = scan_again(session, places, RequestShape::of(options))?;
        session.check_stop()?;
        let answered = |at: &u64| timed.iter().any(|t| t.offset == *at && t.ns.is_some());
        failed.extend(middles.into_iter().filter(|at| !answered(at)));
        profile.extend(timed.iter().filter_map(|timed| pace.rate_at(timed)));
        profile.sort_by_key(|&(offset, _)| offset);
        budget.samples -= count;
        // The next step takes about as long as this one, sample by sample.
        let each_ns = (session.now_ns() - start_ns) / count as u64;
        let left_ns = until_ns.saturating_sub(session.now_ns());
        budget.samples = budget.samples.min((left_ns / each_ns.max(1)) as usize);
    }
    Ok(())
}

fn has_zones(session: &Session<'_>, options: &SurfaceOptions) -> bool {
    options.preset == SurfacePreset::Sampled
        && matches!(session.target.info().kind, TargetKind::Block | TargetKind::Simulated)
}

/// The profile cut into zones, by index; nothing where the rate does not fall as that of a disk.
fn cut(profile: &[(u64, f64)]) -> Vec<(std::ops::Range<usize>, f64)> {
    let rates: Vec<f64> = profile.iter().map(|&(_, rate)| rate).collect();
    let found: Vec<_> = zones(&rates, ZONE_DROP_MIN)
        .unwrap_or_default()
        .into_iter()
        .map(|zone| (zone.start..zone.end, zone.mean))
        .collect();
    let falls = match (found.first(), found.last()) {
        (Some((_, outer)), Some((_, inner))) => inner / outer < 1.0 - FALL_MIN,
        _ => false,
    };
    if falls { found } else { Vec::new() }
}

/// Middles of the gaps between zones, the most useful first.
fn next_places(
    profile: &[(u64, f64)],
    options: &SurfaceOptions,
    size: u64,
    most: usize,
    failed: &BTreeSet<u64>,
) -> Vec<ScanRegion> {
    let (sample, lead_in) = (options.sample.0, options.lead_in.0);
    let enough = ((size as f64 * BORDER_SHARE) as u64).max(2 * (sample + lead_in));
    let mut gaps: Vec<(f64, u64)> = cut(profile)
        .windows(2)
        .filter_map(|pair| {
            let (from, to) = (profile[pair[0].0.end - 1].0, profile[pair[1].0.start].0);
            let middle = u64::midpoint(from, to) / PAGE * PAGE;
            let error = (pair[0].1 - pair[1].1) * (to - from) as f64;
            (to - from > enough && !failed.contains(&middle)).then_some((error, middle))
        })
        .collect();
    gaps.sort_by(|a, b| b.0.total_cmp(&a.0));
    gaps.truncate(most);
    gaps.sort_by_key(|&(_, middle)| middle);
    let place = |(_, offset): (f64, u64)| {
        let lead_in_from = offset.saturating_sub(lead_in);
        ScanRegion { offset, len: sample, lead_in_from, lead_in_len: offset - lead_in_from }
    };
    gaps.into_iter().map(place).collect()
}

/// Zones with their borders half-way between the samples around them.
pub(super) fn report(
    session: &Session<'_>,
    record: &mut TestRecord,
    options: &SurfaceOptions,
    profile: &Profile,
    size: u64,
) {
    if has_zones(session, options) {
        let zones = zones_of(profile, options.sample.0, size as f64);
        if zones.len() > 1 {
            zone_figures::report(record, &zones, size as f64);
            record.metric("zones.resolved_bytes", vec![resolved_bytes(profile)]);
        }
    }
}

/// The widest gap that is left between the samples on either side of a border. A zone within it has no sample of its
/// own; elsewhere the samples around it have one rate, and a zone between them has the same.
fn resolved_bytes(profile: &Profile) -> f64 {
    let gap = |(range, _): &(std::ops::Range<usize>, f64)| {
        profile[range.start].0 - profile[range.start - 1].0
    };
    cut(profile).iter().skip(1).map(gap).max().unwrap_or(0) as f64
}

fn zones_of(profile: &Profile, sample: u64, span: f64) -> Vec<ZoneFigures> {
    let cut = cut(profile);
    let ln_error = |(range, mean): &(std::ops::Range<usize>, f64)| {
        profile[range.clone()].iter().map(|(_, rate)| (rate / mean).ln().powi(2)).sum::<f64>()
    };
    let spare = profile.len().saturating_sub(cut.len()).max(1) as f64;
    let sigma = (cut.iter().map(ln_error).sum::<f64>() / spare).sqrt();
    // A sample describes the bytes around its middle.
    let middle = |index: usize| profile[index].0 as f64 + sample as f64 / 2.0;
    let border = |index: usize| {
        (f64::midpoint(middle(index - 1), middle(index)), (middle(index) - middle(index - 1)) / 2.0)
    };
    let last = cut.len().saturating_sub(1);
    let zone = |(i, (range, mean)): (usize, &(std::ops::Range<usize>, f64))| {
        let (start, before) = if i > 0 { border(range.start) } else { (0.0, 0.0) };
        let (end, behind) = if i < last { border(range.end) } else { (span, 0.0) };
        let standard_error = mean * sigma / (range.len() as f64).sqrt();
        ZoneFigures {
            start,
            end,
            margin: before.max(behind),
            mb_s: *mean,
            mb_s_margin: STANDARD_ERRORS * standard_error,
        }
    };
    cut.iter().enumerate().map(zone).collect()
}
