//! Where tracks end, and how many bytes they hold, from the times at which the chunks of a stream were answered.
//!
//! The host answers late now and then, and never early. A late completion within a track is corrected from those
//! after it ([`on_time`]). One just before the end of a track cannot be: its pause then seems to come in
//! parts, of which the last is the end. What is left are pauses that come once a track, and others, which do not count
//! as long as they are few.

use super::{GAP_SLACK, LEAD_IN, SKEW_TURNS_MAX, Tracks, ZONE_SHARE};
use drivescope_stats::summary;

/// The medium is never faster than this share of the usual pace between two answers.
const PACE_SHARE: f64 = 0.99;
/// A pause of at least this share of a turn is the end of a track; smaller ones are noise of the host.
const SKEW_SHARE_MIN: f64 = 0.012;
/// Steps this many times the usual spread are not noise.
const NOISE_TIMES: f64 = 8.0;
/// Pauses this many chunks apart are parts of one, or this share of a track where it has few chunks.
const PARTS_APART: usize = 3;
const PARTS_APART_SHARE: f64 = 0.15;
/// Pauses elsewhere than at the ends of tracks: their length as a share of all, at most.
const ELSEWHERE_MAX: f64 = 0.35;
/// At least this share of the ends of tracks must show.
const SHOWN_MIN: f64 = 2.0 / 3.0;
const ENDS_MIN: usize = 3;
/// Times this many standard errors apart are not the same.
const ERRORS: f64 = 4.0;
/// The length of a pause is measured against this much of a track at either side.
const BESIDE_SHARE: f64 = 0.8;
/// Of a normal distribution, the standard deviation over the median deviation.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Residuals beyond this many times their median are delays of the host; the search is repeated this often.
const RESIDUALS_MAX: f64 = 4.0;
const RESIDUAL_ROUNDS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Pause {
    /// The end of a track lies within this chunk.
    chunk: usize,
    /// Beyond the usual step.
    ns: f64,
}

/// An end of a track.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Crossing {
    chunk: usize,
    /// Ends of tracks before it; numbers of those that do not show are left out.
    number: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ReadStretch {
    pub at: u64,
    pub chunk: u32,
    pub turn_ns: f64,
    /// The host answers late now and then: ends of tracks that do not show, and pauses elsewhere, are borne.
    pub is_late: bool,
}

impl ReadStretch {
    /// Finds the ends of tracks in the times at which its chunks were answered.
    pub(super) fn fit(&self, ends: &[u64]) -> Option<Tracks> {
        let ends: Vec<f64> = ends.get(LEAD_IN..)?.iter().map(|&end| end as f64).collect();
        if self.is_late { self.tracks(&on_time(ends)?) } else { self.tracks(&ends) }
    }

    fn tracks(&self, ends: &[f64]) -> Option<Tracks> {
        let Self { at, chunk, turn_ns, is_late } = *self;
        let steps: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let typical = summary::median(&steps).filter(|typical| *typical > 0.0)?;
        let jitter_ns = summary::mad(&steps)?;
        let least = (SKEW_SHARE_MIN * turn_ns).max(NOISE_TIMES * jitter_ns);
        let pauses = pauses(&steps, typical, least);
        let crossings = if is_late {
            once_a_track(&joined(pauses, turn_ns / typical), turn_ns / typical)?
        } else {
            each(&pauses)?
        };
        let whole: Vec<&[f64]> = crossings
            .windows(2)
            .filter(|pair| pair[1].number == pair[0].number + 1)
            .map(|pair| &ends[pair[0].chunk..pair[1].chunk])
            .collect();
        let noise = if is_late {
            HostNoise { late_ns: Some(least / 2.0), jitter_ns }
        } else {
            HostNoise { late_ns: None, jitter_ns: 0.0 }
        };
        let slope = Slope::through(&whole, noise)?;
        let (track_bytes, off_share) = self.track_bytes(&crossings, slope.pace_ns)?;
        let skews = skews(ends, &crossings, slope.pace_ns, turn_ns);
        if skews.iter().any(|&skew| skew > SKEW_TURNS_MAX) {
            return None;
        }
        let half = whole.len() / 2;
        let halves = [&whole[..half], &whole[half..]].map(|part| Slope::through(part, noise));
        let is_mixed = match halves {
            [Some(before), Some(behind)] => before.differs(&behind),
            _ => false,
        };
        let mean_skew = skews.iter().sum::<f64>() / skews.len() as f64;
        let error_share = slope.error_ns / slope.pace_ns;
        let chunk_bytes = f64::from(chunk);
        let ends_apart = (crossings.last()?.number - crossings.first()?.number) as f64;
        let (first_end, slack) = first_end(&crossings, track_bytes, chunk_bytes);
        // The ends were put together with tracks that may be a little too long or too short.
        let first_slack = slack + error_share * track_bytes * ends_apart;
        Some(Tracks {
            at,
            track_bytes,
            error_share,
            off_share,
            first_track: at as f64 + LEAD_IN as f64 * chunk_bytes + first_end,
            first_slack,
            mb_s: track_bytes / (turn_ns * (1.0 + mean_skew)) * 1e3,
            skews,
            is_mixed,
            shows_all: crossings.len() as f64 == ends_apart + 1.0,
            read_bytes: (ends.len() + LEAD_IN) as u64 * u64::from(chunk),
        })
    }

    /// Bytes of a track by the pace within it, and the share by which its ends disagree; `None` where that is much.
    fn track_bytes(&self, crossings: &[Crossing], pace_ns: f64) -> Option<(f64, f64)> {
        let chunk_bytes = f64::from(self.chunk);
        let by_pace = self.turn_ns / pace_ns * chunk_bytes;
        let (first, last) = (crossings.first()?, crossings.last()?);
        let between = (last.number - first.number) as f64;
        let by_ends = (last.chunk - first.chunk) as f64 * chunk_bytes / between;
        let slack = chunk_bytes / between;
        if (by_pace - by_ends).abs() > slack + 0.02 * by_ends {
            return None; // an end was missed, or something else paused
        }
        let is_even = |pair: &[Crossing]| {
            let apart = (pair[1].chunk - pair[0].chunk) as f64 * chunk_bytes;
            let off = apart - by_pace * (pair[1].number - pair[0].number) as f64;
            off.abs() <= (1.0 + GAP_SLACK) * chunk_bytes + GAP_SLACK * by_pace
        };
        if !crossings.windows(2).all(is_even) {
            return None;
        }
        // An end may seem to lie a chunk off where answers are late.
        let slack = if self.is_late { 2.0 * slack } else { slack };
        let bytes = by_pace.clamp(by_ends - slack, by_ends + slack);
        Some((bytes, (bytes / by_pace - 1.0).abs()))
    }
}

/// When chunks were read, from the times of their answers: what was answered by a time had been read so long before as
/// the medium took for all that came between.
fn on_time(mut ends: Vec<f64>) -> Option<Vec<f64>> {
    let steps: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let pace_ns = PACE_SHARE * summary::median(&steps)?;
    for i in (1..ends.len()).rev() {
        ends[i - 1] = ends[i - 1].min(ends[i] - pace_ns);
    }
    Some(ends)
}

fn pauses(steps: &[f64], typical: f64, least: f64) -> Vec<Pause> {
    // Step i leads to the end of chunk i + 1.
    let all = (1..).zip(steps).map(|(chunk, step)| Pause { chunk, ns: step - typical });
    all.filter(|pause| pause.ns > least).collect()
}

/// Every pause is the end of a track; `None` of too few.
fn each(pauses: &[Pause]) -> Option<Vec<Crossing>> {
    let crossing = |(number, pause): (usize, &Pause)| Crossing { chunk: pause.chunk, number };
    (pauses.len() >= ENDS_MIN).then(|| pauses.iter().enumerate().map(crossing).collect())
}

/// Parts of one pause count as one, where the last of them is.
fn joined(pauses: Vec<Pause>, track_chunks: f64) -> Vec<Pause> {
    let parts_apart = PARTS_APART.min((PARTS_APART_SHARE * track_chunks) as usize);
    let mut joined: Vec<Pause> = Vec::new();
    for Pause { chunk, ns } in pauses {
        match joined.last_mut() {
            Some(last) if chunk - last.chunk <= parts_apart => {
                *last = Pause { chunk, ns: last.ns + ns };
            }
            _ => joined.push(Pause { chunk, ns }),
        }
    }
    joined
}

/// Pauses that come once per track; `None` if too few of them show, or too much is left of the others.
fn once_a_track(pauses: &[Pause], track_chunks: f64) -> Option<Vec<Crossing>> {
    let fits = |from: &Pause, other: &Pause| {
        let apart = (other.chunk as f64 - from.chunk as f64) / track_chunks;
        let off = (apart - apart.round()).abs() * track_chunks;
        off <= 1.0 + GAP_SLACK * (1.0 + track_chunks)
    };
    let length = |from: &Pause| {
        pauses.iter().filter(|other| fits(from, other)).map(|other| other.ns).sum::<f64>()
    };
    let best = pauses.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let all: f64 = pauses.iter().map(|pause| pause.ns).sum();
    let kept: Vec<usize> =
        pauses.iter().filter(|other| fits(best, other)).map(|other| other.chunk).collect();
    let first = *kept.first()?;
    let number = |chunk: usize| ((chunk - first) as f64 / track_chunks).round() as usize;
    let crossings: Vec<Crossing> =
        kept.iter().map(|&chunk| Crossing { chunk, number: number(chunk) }).collect();
    let ends = crossings.last()?.number + 1;
    let is_shown = crossings.len() as f64 >= SHOWN_MIN * ends as f64;
    let is_sure = is_shown && all - length(best) <= ELSEWHERE_MAX * all;
    (crossings.len() >= ENDS_MIN && is_sure).then_some(crossings)
}

/// The pause at each end of a track, turns: by how much the chunks just after it are later than those just before.
/// One that does not show counts as the next one.
fn skews(ends: &[f64], crossings: &[Crossing], pace_ns: f64, turn_ns: f64) -> Vec<f64> {
    let beside = (BESIDE_SHARE * turn_ns / pace_ns).max(1.0) as usize;
    let early = |from: usize, to: usize| {
        let early: Vec<f64> = (from..to).map(|i| ends[i] - pace_ns * i as f64).collect();
        summary::median(&early).unwrap_or(0.0)
    };
    let (mut skews, mut before, mut number) = (Vec::new(), 0, 0);
    for (i, crossing) in crossings.iter().enumerate() {
        let at = crossing.chunk;
        let behind = crossings.get(i + 1).map_or(ends.len(), |next| next.chunk);
        let pause =
            early(at, behind.min(at + beside)) - early(before.max(at.saturating_sub(beside)), at);
        skews.extend(std::iter::repeat_n(pause / turn_ns, crossing.number + 1 - number));
        (before, number) = (at, crossing.number + 1);
    }
    skews
}

/// Where the first track ends, in bytes, and how far that may be off: each end lies within its chunk, and all are a
/// track apart.
fn first_end(crossings: &[Crossing], track_bytes: f64, chunk_bytes: f64) -> (f64, f64) {
    let low = |it: &Crossing| it.chunk as f64 * chunk_bytes - it.number as f64 * track_bytes;
    let lows = crossings.iter().map(low);
    let (least, most) =
        lows.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), low| (a.min(low), b.max(low)));
    (f64::midpoint(most, least + chunk_bytes), ((least + chunk_bytes - most) / 2.0).max(0.0))
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct HostNoise {
    /// By less nothing is late, since tracks of two sizes differ so, too; `None` where nothing is late at all.
    late_ns: Option<f64>,
    jitter_ns: f64,
}

/// The slope that pieces share, each with its own beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slope {
    pace_ns: f64,
    /// Its standard error by the jitter of the host: where tracks of two sizes meet, residuals are used instead.
    error_ns: f64,
}

impl Slope {
    /// Of all pieces; again without what the host delayed.
    fn through(pieces: &[&[f64]], noise: HostNoise) -> Option<Self> {
        let number = |piece: &&[f64]| {
            piece.iter().enumerate().map(|(i, end)| (i as f64, *end)).collect::<Vec<_>>()
        };
        let mut numbered: Vec<Vec<(f64, f64)>> = pieces.iter().map(number).collect();
        let mut line = PooledLine::through(&numbered)?;
        for late_ns in std::iter::repeat_n(noise.late_ns, RESIDUAL_ROUNDS).flatten() {
            let sizes: Vec<f64> = line.residuals.iter().map(|residual| residual.abs()).collect();
            let most = (RESIDUALS_MAX * summary::median(&sizes)?).max(late_ns);
            if sizes.iter().all(|size| *size <= most) {
                break;
            }
            let mut sizes = sizes.into_iter();
            for piece in &mut numbered {
                piece.retain(|_| sizes.next().is_none_or(|size| size <= most));
            }
            let Some(next) = PooledLine::through(&numbered) else { break };
            line = next;
        }
        // Of a step, both ends vary.
        let sigma_ns = MAD_TO_SIGMA * noise.jitter_ns / std::f64::consts::SQRT_2;
        Some(Self { pace_ns: line.slope, error_ns: sigma_ns / line.squares.sqrt() })
    }

    fn differs(&self, other: &Self) -> bool {
        let apart = (self.pace_ns / other.pace_ns - 1.0).abs();
        apart > ZONE_SHARE.max(ERRORS * self.error_ns.hypot(other.error_ns) / other.pace_ns)
    }
}

/// One slope through several lines.
struct PooledLine {
    slope: f64,
    /// Squared distances of places from the middles of their pieces.
    squares: f64,
    residuals: Vec<f64>,
}

impl PooledLine {
    fn through(pieces: &[Vec<(f64, f64)>]) -> Option<Self> {
        let centred = |piece: &Vec<(f64, f64)>| {
            let count = piece.len().max(1) as f64;
            let (x, y) = piece.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
            piece.iter().map(|p| (p.0 - x / count, p.1 - y / count)).collect::<Vec<_>>()
        };
        let all: Vec<(f64, f64)> = pieces.iter().flat_map(centred).collect();
        let squares: f64 = all.iter().map(|(x, _)| x * x).sum();
        let slope = all.iter().map(|(x, y)| x * y).sum::<f64>() / squares;
        let residuals = all.iter().map(|(x, y)| y - slope * x).collect();
        (squares > 0.0 && slope > 0.0).then_some(Self { slope, squares, residuals })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::draw::Draw;

    const TURN_NS: f64 = 8_333_333.0;

    fn stretch(is_late: bool) -> ReadStretch {
        ReadStretch { at: 0, chunk: 64 << 10, turn_ns: TURN_NS, is_late }
    }

    /// Times of chunks of a disk whose tracks hold `track` bytes, with noise in ns.
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
                let found = stretch(noise > 0.0).fit(&ends).unwrap();
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

    /// One answer of a hundred is late by up to 7 ms, and with it all that would have come meanwhile: the same tracks
    /// are found, seldom none, and never others.
    #[test]
    fn answers_that_are_late_make_no_other_tracks() {
        let (track, skew) = (1_040_384.0, 0.1417);
        let mut found_count = 0;
        for seed in 0..200 {
            let mut draw = Draw::new(seed + 1);
            let mut ends = ends(track, skew, 64 << 10, 130, draw.share(), 20_000.0);
            for i in 0..ends.len() {
                if draw.below(100) == 0 {
                    let until = ends[i] + draw.below(7_000_000);
                    ends[i..].iter_mut().for_each(|end| *end = (*end).max(until));
                }
            }
            let Some(found) = stretch(true).fit(&ends) else { continue };
            found_count += 1;
            let off = (found.track_bytes / track - 1.0).abs();
            assert!(off < 0.004, "{seed}: {off} {found:?}");
        }
        assert!(found_count > 180, "{found_count} of 200");
    }

    #[test]
    fn a_stream_without_pauses_has_no_tracks() {
        let even: Vec<u64> = (1..200).map(|i| i * 400_000).collect();
        for is_late in [false, true] {
            assert_eq!(stretch(is_late).fit(&even), None);
            assert_eq!(stretch(is_late).fit(&[]), None);
        }
    }
}
