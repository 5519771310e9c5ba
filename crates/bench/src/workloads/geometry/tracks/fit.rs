//! Where tracks end, and how many bytes they hold, from the times at which the chunks of a stream were answered.
//!
//! The host answers late now and then, and never early. What is late among answers of one track has its time back from
//! those behind it ([`on_time`]). What is late just before the end of a track has not: its pause then seems to come in
//! parts, of which the last is the end. What is left are pauses that come once a track, and others, which do not count
//! as long as they are few.

use super::{GAP_SLACK, LEAD_IN, SKEW_TURNS_MAX, Tracks, ZONE_SHARE};
use drivescope_stats::summary;

/// The medium is never faster than this share of the usual pace between two answers.
const PACE_SHARE: f64 = 0.99;
/// A pause of at least this share of a turn is the end of a track; smaller ones are noise of the host.
const SKEW_SHARE_MIN: f64 = 0.012;
/// So many times the spread of ordinary steps are no noise.
const NOISE_TIMES: f64 = 8.0;
/// Pauses so many chunks apart are parts of one.
const PARTS_APART: usize = 3;
/// Pauses elsewhere than at the ends of tracks: their length as a share of all, at most.
const ELSEWHERE_MAX: f64 = 0.25;
/// Ends that make a fit.
const ENDS_MIN: usize = 3;
/// Times so many standard errors apart are not the same.
const ERRORS: f64 = 4.0;
/// Residuals beyond so many times their median are delays of the host.
const RESIDUALS_MAX: f64 = 6.0;

/// A pause between two chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pause {
    /// The end of a track lies within this chunk.
    chunk: usize,
    /// Beyond the usual step.
    ns: f64,
}

/// Finds the ends of tracks in the times at which the chunks of a stream were answered.
pub(super) fn fit(ends: &[u64], chunk: u32, turn_ns: f64, at: u64) -> Option<Tracks> {
    let ends = on_time(ends.get(LEAD_IN..)?)?;
    let steps: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let typical = summary::median(&steps).filter(|typical| *typical > 0.0)?;
    let least = (SKEW_SHARE_MIN * turn_ns).max(NOISE_TIMES * summary::mad(&steps)?);
    let crossings = once_a_track(&pauses(&steps, typical, least), turn_ns / typical)?;
    let whole: Vec<&[f64]> = crossings.windows(2).map(|pair| &ends[pair[0]..pair[1]]).collect();
    let slope = Slope::through(&whole)?;
    let chunk_bytes = f64::from(chunk);
    let by_pace = turn_ns / slope.pace_ns * chunk_bytes;
    let (first, last) = (crossings[0], crossings[crossings.len() - 1]);
    let between = (crossings.len() - 1) as f64;
    let by_ends = (last - first) as f64 * chunk_bytes / between;
    let slack = chunk_bytes / between;
    if (by_pace - by_ends).abs() > slack + 0.02 * by_ends {
        return None; // an end was missed, or something else paused
    }
    let is_even = |pair: &[usize]| {
        let apart = (pair[1] - pair[0]) as f64 * chunk_bytes;
        (apart - by_pace).abs() <= (1.0 + GAP_SLACK) * chunk_bytes + GAP_SLACK * by_pace
    };
    if !crossings.windows(2).all(is_even) {
        return None;
    }
    let track_bytes = by_pace.clamp(by_ends - slack, by_ends + slack);
    let skews = skews(&ends, &crossings, slope.pace_ns, turn_ns);
    if skews.iter().any(|&skew| skew > SKEW_TURNS_MAX) {
        return None;
    }
    let half = whole.len() / 2;
    let is_mixed = match (Slope::through(&whole[..half]), Slope::through(&whole[half..])) {
        (Some(before), Some(behind)) => before.differs(&behind),
        _ => false,
    };
    let mean_skew = skews.iter().sum::<f64>() / skews.len() as f64;
    let error_share = slope.error_ns / slope.pace_ns;
    let (first_end, slack) = first_end(&crossings, track_bytes, chunk_bytes);
    // The ends were put together with tracks that may be a little too long or too short.
    let first_slack = slack + error_share * track_bytes * between;
    Some(Tracks {
        at,
        track_bytes,
        error_share,
        first_track: at as f64 + LEAD_IN as f64 * chunk_bytes + first_end,
        first_slack,
        mb_s: track_bytes / (turn_ns * (1.0 + mean_skew)) * 1e3,
        skews,
        is_mixed,
        read_bytes: (ends.len() + LEAD_IN) as u64 * u64::from(chunk),
    })
}

/// When chunks were read, from the times of their answers: what was answered by a time had been read so long before as
/// the medium took for all that came between.
fn on_time(ends: &[u64]) -> Option<Vec<f64>> {
    let mut ends: Vec<f64> = ends.iter().map(|&end| end as f64).collect();
    let steps: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let pace_ns = PACE_SHARE * summary::median(&steps)?;
    for i in (1..ends.len()).rev() {
        ends[i - 1] = ends[i - 1].min(ends[i] - pace_ns);
    }
    Some(ends)
}

/// Steps that are longer than usual by at least so much; parts of one pause count as one, where the last of them is.
fn pauses(steps: &[f64], typical: f64, least: f64) -> Vec<Pause> {
    let mut found: Vec<Pause> = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let ns = step - typical;
        if ns <= least {
            continue;
        }
        // Step i leads to the end of chunk i + 1.
        let chunk = i + 1;
        match found.last_mut() {
            Some(last) if chunk - last.chunk <= PARTS_APART => {
                *last = Pause { chunk, ns: last.ns + ns };
            }
            _ => found.push(Pause { chunk, ns }),
        }
    }
    found
}

/// The chunks of those pauses that come once in so many chunks; `None` if too much of the others remains.
fn once_a_track(pauses: &[Pause], track_chunks: f64) -> Option<Vec<usize>> {
    let fits = |from: &Pause, other: &Pause| {
        let apart = (other.chunk as f64 - from.chunk as f64) / track_chunks;
        let off = (apart - apart.round()).abs() * track_chunks;
        off <= 1.0 + GAP_SLACK * (1.0 + track_chunks)
    };
    let length = |from: &Pause| {
        pauses.iter().filter(|other| fits(from, other)).map(|other| other.ns).sum::<f64>()
    };
    let first = pauses.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let all: f64 = pauses.iter().map(|pause| pause.ns).sum();
    let kept: Vec<usize> =
        pauses.iter().filter(|other| fits(first, other)).map(|other| other.chunk).collect();
    (kept.len() >= ENDS_MIN && all - length(first) <= ELSEWHERE_MAX * all).then_some(kept)
}

/// The pause at each end of a track, turns: by how much the chunks behind it are later than those before.
fn skews(ends: &[f64], crossings: &[usize], pace_ns: f64, turn_ns: f64) -> Vec<f64> {
    let borders: Vec<usize> = [0].into_iter().chain(crossings.iter().copied()).collect();
    let begin = |i: usize| {
        let from = borders[i];
        let to = borders.get(i + 1).copied().unwrap_or(ends.len());
        let early: Vec<f64> = (from..to).map(|i| ends[i] - pace_ns * i as f64).collect();
        summary::median(&early).unwrap_or(0.0)
    };
    let begins: Vec<f64> = (0..borders.len()).map(begin).collect();
    begins.windows(2).map(|pair| (pair[1] - pair[0]) / turn_ns).collect()
}

/// Where the first track ends, in bytes, and how far that may be off: each end lies within its chunk, and all are a
/// track apart.
fn first_end(crossings: &[usize], track_bytes: f64, chunk_bytes: f64) -> (f64, f64) {
    let low = |(k, &i): (usize, &usize)| i as f64 * chunk_bytes - k as f64 * track_bytes;
    let lows = crossings.iter().enumerate().map(low);
    let (least, most) =
        lows.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), low| (a.min(low), b.max(low)));
    (f64::midpoint(most, least + chunk_bytes), ((least + chunk_bytes - most) / 2.0).max(0.0))
}

/// The slope that pieces share, each with its own beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slope {
    /// Time of a chunk.
    pace_ns: f64,
    /// Its standard error.
    error_ns: f64,
}

impl Slope {
    /// Of all pieces; once more without what the host delayed.
    fn through(pieces: &[&[f64]]) -> Option<Self> {
        let number = |piece: &&[f64]| {
            piece.iter().enumerate().map(|(i, end)| (i as f64, *end)).collect::<Vec<_>>()
        };
        let mut numbered: Vec<Vec<(f64, f64)>> = pieces.iter().map(number).collect();
        let (found, residuals) = pooled(&numbered)?;
        let sizes: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
        let most = RESIDUALS_MAX * summary::median(&sizes)?;
        if most <= 0.0 {
            return Some(found);
        }
        let mut sizes = sizes.into_iter();
        for piece in &mut numbered {
            piece.retain(|_| sizes.next().is_none_or(|size| size <= most));
        }
        pooled(&numbered).map(|(found, _)| found)
    }

    fn differs(&self, other: &Self) -> bool {
        let apart = (self.pace_ns / other.pace_ns - 1.0).abs();
        apart > ZONE_SHARE.max(ERRORS * self.error_ns.hypot(other.error_ns) / other.pace_ns)
    }
}

/// The slope, and what is left of each time.
fn pooled(pieces: &[Vec<(f64, f64)>]) -> Option<(Slope, Vec<f64>)> {
    let centred = |piece: &Vec<(f64, f64)>| {
        let count = piece.len().max(1) as f64;
        let (x, y) = piece.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        piece.iter().map(|p| (p.0 - x / count, p.1 - y / count)).collect::<Vec<_>>()
    };
    let all: Vec<(f64, f64)> = pieces.iter().flat_map(centred).collect();
    let squares: f64 = all.iter().map(|(x, _)| x * x).sum();
    let pace_ns = all.iter().map(|(x, y)| x * y).sum::<f64>() / squares;
    let residuals: Vec<f64> = all.iter().map(|(x, y)| y - pace_ns * x).collect();
    let free = (all.len() as f64 - pieces.len() as f64 - 1.0).max(1.0);
    let variance = residuals.iter().map(|residual| residual * residual).sum::<f64>() / free;
    let error_ns = (variance / squares).sqrt();
    (squares > 0.0 && pace_ns > 0.0).then_some((Slope { pace_ns, error_ns }, residuals))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::geometry::probe::Draw;

    const TURN_NS: f64 = 8_333_333.0;

    /// Times of chunks of a disk whose tracks hold so many bytes, with noise in ns.
    fn ends(track: f64, skew: f64, chunk: u32, count: usize, phase: f64, noise: f64) -> Vec<u64> {
        let mut draw = Draw::new(7);
        (1..=count)
            .map(|i| {
                let byte = i as f64 * f64::from(chunk) + phase * track;
                let crossed = ((byte - 1.0) / track).floor();
                let ns = byte / track * TURN_NS + crossed * skew * TURN_NS;
                (1e9 + ns + noise * draw.share()) as u64
            })
            .collect()
    }

    #[test]
    fn track_size_skew_and_borders_are_found() {
        for (track, skew, phase) in [
            (1_040_384.0, 0.1417, 0.3),
            (2_097_152.0, 0.05, 0.9),
            (524_288.0, 0.25, 0.1),
            (1_400_832.0, 0.03, 0.55),
        ] {
            for (noise, tolerance) in [(0.0, 1e-5), (30_000.0, 3e-3)] {
                let ends = ends(track, skew, 64 << 10, 220, phase, noise);
                let found = fit(&ends, 64 << 10, TURN_NS, 0).unwrap();
                assert!((found.track_bytes / track - 1.0).abs() < tolerance, "{track}: {found:?}");
                assert!(found.error_share < tolerance, "{found:?}");
                let mean = found.skews.iter().sum::<f64>() / found.skews.len() as f64;
                assert!((mean - skew).abs() < 0.004, "{found:?}");
                let rate = track / (TURN_NS * (1.0 + skew)) * 1e3;
                assert!((found.mb_s / rate - 1.0).abs() < 3.0 * tolerance, "{found:?}");
                let border = (found.first_track + phase * track) / track;
                assert!((border - border.round()).abs() < 0.07, "{border}");
                assert!(!found.is_mixed);
            }
        }
    }

    /// One answer of thirty is late by up to 7 ms, and with it all that would have come meanwhile; so are the same
    /// tracks found, or none: never others.
    #[test]
    fn answers_that_are_late_make_no_other_tracks() {
        let (track, skew) = (1_040_384.0, 0.1417);
        let mut found_count = 0;
        for seed in 0..200 {
            let mut draw = Draw::new(seed);
            let mut ends = ends(track, skew, 64 << 10, 130, draw.share(), 20_000.0);
            for i in 0..ends.len() {
                if draw.below(30) == 0 {
                    let until = ends[i] + draw.below(7_000_000);
                    ends[i..].iter_mut().for_each(|end| *end = (*end).max(until));
                }
            }
            let Some(found) = fit(&ends, 64 << 10, TURN_NS, 0) else { continue };
            found_count += 1;
            let off = (found.track_bytes / track - 1.0).abs();
            assert!(off < 0.01, "{seed}: {off} {found:?}");
        }
        assert!(found_count > 120, "{found_count} of 200");
    }

    #[test]
    fn a_stream_without_pauses_has_no_tracks() {
        let even: Vec<u64> = (1..200).map(|i| i * 400_000).collect();
        assert_eq!(fit(&even, 64 << 10, TURN_NS, 0), None);
        assert_eq!(fit(&[], 64 << 10, TURN_NS, 0), None);
    }
}
