//! Rates by position, and what is said of them.

use crate::scan::TimedRegion;
use crate::test_record::TestRecord;
use drivescope_stats::summary;

/// Share of the positions that make up the start and the end of a drive.
const EDGE_SHARE: f64 = 0.05;

/// Offset and rate of each place, in order of the offset.
pub(super) type Profile = Vec<(u64, f64)>;

fn values(profile: &[(u64, f64)]) -> Vec<f64> {
    profile.iter().map(|&(_, rate)| rate).collect()
}

/// Median rate over the first or last twentieth of the drive, or the outermost place.
fn edge(profile: &[(u64, f64)], size: u64, start: bool) -> f64 {
    let near = |offset: u64| {
        let share = offset as f64 / size as f64;
        if start { share < EDGE_SHARE } else { share >= 1.0 - EDGE_SHARE }
    };
    let inside: Profile = profile.iter().copied().filter(|&(offset, _)| near(offset)).collect();
    let outermost = if start { profile.first() } else { profile.last() };
    summary::median(&values(&inside)).or(outermost.map(|&(_, rate)| rate)).unwrap_or(0.0)
}

fn profile_of(timed: &[TimedRegion]) -> Profile {
    let rate = |t: &TimedRegion| Some((t.offset, t.len as f64 * 1e3 / t.ns?.max(1) as f64));
    let mut rates: Profile = timed.iter().filter_map(rate).collect();
    rates.sort_by_key(|&(offset, _)| offset);
    rates
}

/// The median over rounds per place.
pub(super) fn medians(rounds: &[Vec<TimedRegion>]) -> Profile {
    let all = profile_of(&rounds.concat());
    let median =
        |place: &[(u64, f64)]| (place[0].0, summary::median(&values(place)).unwrap_or(0.0));
    all.chunk_by(|a, b| a.0 == b.0).map(median).collect()
}

/// Rates of a direction by position: the median over rounds per place, and the usual summaries per round.
pub(super) fn report(
    record: &mut TestRecord,
    direction: &str,
    rounds: &[Vec<TimedRegion>],
    size: u64,
) {
    let per_round = rounds.iter().map(|timed| profile_of(timed));
    let per_round: Vec<Profile> = per_round.filter(|rates| !rates.is_empty()).collect();
    if per_round.is_empty() {
        return;
    }
    let mut add = |quantity: &str, of: &dyn Fn(&Profile) -> f64| {
        record.metric(&format!("{direction}.{quantity}"), per_round.iter().map(of).collect());
    };
    add("start_mb_s", &|profile| edge(profile, size, true));
    add("end_mb_s", &|profile| edge(profile, size, false));
    add("min_mb_s", &|profile| summary::min(&values(profile)).unwrap_or(0.0));
    add("mean_mb_s", &|profile| summary::harmonic_mean(&values(profile)).unwrap_or(0.0));
    add("max_mb_s", &|profile| summary::max(&values(profile)).unwrap_or(0.0));
    add("sample_mean_mb_s", &|profile| summary::mean(&values(profile)).unwrap_or(0.0));
    let (x, y) = medians(rounds).into_iter().map(|(offset, rate)| (offset as f64, rate)).unzip();
    record.curve(&format!("{direction}.mb_s"), ("bytes", "MB/s"), x, y);
}
