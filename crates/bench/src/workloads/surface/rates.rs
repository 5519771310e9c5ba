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

/// All bytes over all time: the last place of a drive may be shorter than the others.
fn mean_rate(timed: &[TimedRegion]) -> f64 {
    let read = timed.iter().filter_map(|place| Some((place.len, place.ns?)));
    let (bytes, ns) = read.fold((0, 0), |(bytes, ns), (len, took)| (bytes + len, ns + took));
    bytes as f64 * 1e3 / (ns as f64).max(1.0)
}

/// The median over rounds per place.
pub(super) fn medians(rounds: &[Vec<TimedRegion>]) -> Profile {
    let all = profile_of(&rounds.concat());
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
    size: u64,
) {
    let read = rounds.iter().filter(|timed| timed.iter().any(|place| place.ns.is_some()));
    let (per_round, means): (Vec<Profile>, Vec<f64>) =
        read.map(|timed| (profile_of(timed), mean_rate(timed))).unzip();
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
    fn the_mean_is_bytes_over_time_though_the_last_block_is_short() {
        let place = |offset, len, ns| TimedRegion { offset, ns, steady_ns: None, drift: None, len };
        let timed = [
            place(0, 100_000, Some(1_000_000)),
            place(100_000, 100_000, Some(1_000_000)),
            place(200_000, 50_000, Some(1_000_000)),
            place(250_000, 100_000, None),
        ];
        assert!((mean_rate(&timed) - 250.0 / 3.0).abs() < 1e-9);
    }
}
