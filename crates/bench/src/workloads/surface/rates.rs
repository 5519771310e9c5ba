//! Rates by position, and remarks on them.

use crate::judging::test_record::TestRecord;
use crate::loops::scan::TimedRegion;
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

/// What the skews between the tracks of a disk add to the time of a stretch: the same share everywhere.
///
/// A stretch of a few tracks has one skew more or less by chance, which is one or two per cent of its time; the median
/// time between its answers has none. Where the ratio of both is the same all over the drive, the rate of a place is
/// that of its steps with the ratio of the drive.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepPace {
    ratio: Option<f64>,
}

const RATIOS_MIN: usize = 16;
/// Their ratios differ by no more (median absolute deviation, share): else answers come in bursts.
const RATIO_SPREAD_MAX: f64 = 0.02;
/// Where the time by steps differs by more from the whole time, something was in the way.
const STEP_SHARE: f64 = 0.06;

impl StepPace {
    pub fn of(rounds: &[Vec<TimedRegion>]) -> Self {
        let ratio = |t: &TimedRegion| Some(t.ns? as f64 / t.step_ns.filter(|ns| *ns > 0)? as f64);
        let ratios: Vec<f64> = rounds.iter().flatten().filter_map(ratio).collect();
        let is_one = |median: &f64| {
            ratios.len() >= RATIOS_MIN
                && summary::mad(&ratios).is_some_and(|mad| mad < median * RATIO_SPREAD_MAX)
        };
        Self { ratio: summary::median(&ratios).filter(is_one) }
    }

    pub fn rate_at(self, timed: &TimedRegion) -> Option<(u64, f64)> {
        let ns = timed.ns?.max(1) as f64;
        let by_steps = timed.step_ns.zip(self.ratio).map(|(step_ns, ratio)| step_ns as f64 * ratio);
        let near = by_steps.filter(|by_steps| (by_steps / ns - 1.0).abs() < STEP_SHARE);
        Some((timed.offset, timed.len as f64 * 1e3 / near.unwrap_or(ns)))
    }
}

fn profile_of(timed: &[TimedRegion], pace: StepPace) -> Profile {
    let mut rates: Profile = timed.iter().filter_map(|timed| pace.rate_at(timed)).collect();
    rates.sort_by_key(|&(offset, _)| offset);
    rates
}

/// All bytes over all time: the last place of a drive may be shorter than the others.
fn mean_rate(timed: &[TimedRegion]) -> f64 {
    let read = timed.iter().filter_map(|place| Some((place.len, place.ns?)));
    let (bytes, ns) = read.fold((0, 0), |(bytes, ns), (len, took)| (bytes + len, ns + took));
    bytes as f64 * 1e3 / (ns as f64).max(1.0)
}

pub(super) fn medians(rounds: &[Vec<TimedRegion>], pace: StepPace) -> Profile {
    let all = profile_of(&rounds.concat(), pace);
    let median =
        |place: &[(u64, f64)]| (place[0].0, summary::median(&values(place)).unwrap_or(0.0));
    all.chunk_by(|a, b| a.0 == b.0).map(median).collect()
}

/// Rates of a direction by position: its profile, and the usual summaries per round.
pub(super) fn report(
    record: &mut TestRecord,
    direction: &str,
    rounds: &[Vec<TimedRegion>],
    profile: &[(u64, f64)],
    pace: StepPace,
    size: u64,
) {
    let read = rounds.iter().filter(|timed| timed.iter().any(|place| place.ns.is_some()));
    let (per_round, means): (Vec<Profile>, Vec<f64>) =
        read.map(|timed| (profile_of(timed, pace), mean_rate(timed))).unzip();
    if per_round.is_empty() {
        return;
    }
    let mut add = |quantity: &str, of: &dyn Fn(&Profile) -> f64| {
        record.metric(&format!("{direction}.{quantity}"), per_round.iter().map(of).collect());
    };
    add("start_mb_s", &|profile| edge(profile, size, true));
    add("end_mb_s", &|profile| edge(profile, size, false));
    add("min_mb_s", &|profile| summary::min(&values(profile)).unwrap_or(0.0));
    add("max_mb_s", &|profile| summary::max(&values(profile)).unwrap_or(0.0));
    add("sample_mean_mb_s", &|profile| summary::mean(&values(profile)).unwrap_or(0.0));
    record.metric(&format!("{direction}.mean_mb_s"), means);
    let (x, y) = profile.iter().map(|&(offset, rate)| (offset as f64, rate)).unzip();
    record.curve(&format!("{direction}.mb_s"), ("bytes", "MB/s"), x, y);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stick of 2.5 blocks: the mean of three rates would count the short, slow one as much as the others.
    #[test]
    fn mean_is_right_with_a_short_last_block() {
        fn place(offset: u64, len: u64, ns: Option<u64>) -> TimedRegion {
            TimedRegion::new(offset, len, ns)
        }
        let timed = [
            place(0, 100_000, Some(1_000_000)),
            place(100_000, 100_000, Some(1_000_000)),
            place(200_000, 50_000, Some(1_000_000)),
            place(250_000, 100_000, None),
        ];
        assert!((mean_rate(&timed) - 250.0 / 3.0).abs() < 1e-9);
    }
}
