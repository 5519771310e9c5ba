//! How long the arm moves: over how many tracks, on average, to the next track, over the whole stroke.
//!
//! An access takes overhead, movement and a wait of up to one turn. With the turn known, accesses over the same
//! distance bound the movement from both sides ([`drivescope_stats::uniform_wait`]). Distances are shares of the
//! stroke, not of addresses: outer tracks hold more bytes.

use super::probe::{Probe, ProbeAnswer, ProbeEnd};
use super::rotation::MEDIUM_NS_MIN;
use super::tracks::{TrackReader, Tracks};
use super::zones::ZoneMap;
use crate::io::draw::Draw;
use drivescope_stats::least_squares::least_squares;
use drivescope_stats::summary;
use drivescope_stats::uniform_wait::{ShortestTime, shortest_time};

/// Distances, shares of the stroke.
const DISTANCES: [f64; 16] = [
    0.002, 0.006, 0.013, 0.025, 0.045, 0.075, 0.12, 0.18, 0.25, 0.33, 0.42, 0.52, 0.63, 0.75, 0.87,
    0.98,
];
const PAIRS: usize = 32;
/// Where short and long movements may part (C. Ruemmler and J. Wilkes, "An Introduction to Disk Drive Modeling", 1994:
/// first the arm only accelerates and brakes, then it coasts).
const KNEE_STEPS: usize = 40;
const KNEE_MAX: f64 = 0.6;
/// Two-sided 95 % of Student's distribution, for a curve with four coefficients and a knee.
const T_95: f64 = 2.201;
/// Searches that agree differ by less than this share of a turn in the median; one alone agrees with nothing.
const AGREE_TURNS: f64 = 0.02;
const AGREE_MIN: usize = 2;
/// Searches for pairs within a track, which show the overhead of a command.
const SEARCHES: usize = 4;
/// More are begun where ends of tracks do not show, or elsewhere than they are.
const SEARCHES_MAX: usize = 8;
const HALVINGS: usize = 8;
/// The first of each pair lies so near to the end of its track, as a share of it: farther where its block needs that.
const NEAR_END: f64 = 0.01;
/// Ends of tracks must be known this well, as a share of a track: both of a pair lie on the same one.
const END_SHARE: f64 = 0.005;
/// No overhead takes a larger part of a turn.
const OVERHEAD_TURNS_MAX: f64 = 0.3;
/// An access that takes a turn more was missed; as the host may be late, this many in a row must be.
const MISSED_TURNS: f64 = 0.75;
const MISSED_TIMES: usize = 2;
const NEXT_TRACK_PAIRS: usize = 24;
/// Bytes behind those that were read, which no read-ahead has reached, and tracks from one pair to the next.
const FRESH_BYTES: f64 = (8 << 20) as f64;
const FRESH_STEP: u64 = 3;

/// A bound from both sides, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl From<ShortestTime> for Bounds {
    fn from(ShortestTime { value, low, high }: ShortestTime) -> Self {
        Self { value, low, high }
    }
}

impl Bounds {
    /// What is left without a part that is known within bounds itself.
    fn without(self, part: Self) -> Self {
        let left = |whole: f64, part: f64| (whole - part).max(0.0);
        Self {
            value: left(self.value, part.value),
            low: left(self.low, part.high),
            high: left(self.high, part.low),
        }
    }
}

/// Movements of the arm, ns, without the overhead of commands.
#[derive(Debug, Clone, PartialEq)]
pub struct SeekProfile {
    /// Distance as a share of the stroke, and time.
    pub points: Vec<(f64, Bounds)>,
    pub curve: FittedSeeks,
    pub average: Bounds,
    pub full_stroke: Bounds,
    pub next_track: Option<Bounds>,
    /// Overhead of a command that needs the medium, without the time in which its sectors pass the head.
    pub overhead: Bounds,
    /// Whether accesses within a track showed the overhead; else it is part of the movements.
    pub shows_overhead: bool,
}

impl SeekProfile {
    /// Mean movement between two random cylinders of a share of the stroke, ns: distance d has density 2·(1 − d).
    pub fn within(&self, stroke: f64) -> f64 {
        self.curve.average_within(stroke)
    }
}

/// Time over distance in two pieces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedSeeks {
    /// Where they meet, share of the stroke.
    pub knee: f64,
    /// base + root·√d before it.
    pub near: [f64; 2],
    /// base + slope·d from it on.
    pub far: [f64; 2],
    pub residual: f64,
}

impl FittedSeeks {
    pub fn ns(&self, distance: f64) -> f64 {
        if distance < self.knee {
            self.near[0] + self.near[1] * distance.sqrt()
        } else {
            self.far[0] + self.far[1] * distance
        }
    }

    /// Mean over two random cylinders of a share of the stroke.
    fn average_within(&self, stroke: f64) -> f64 {
        const STEPS: usize = 1000;
        fn at(i: usize) -> f64 {
            (i as f64 + 0.5) / STEPS as f64
        }
        (0..STEPS).map(|i| 2.0 * (1.0 - at(i)) * self.ns(at(i) * stroke)).sum::<f64>()
            / STEPS as f64
    }

    /// The curve with the least squared residuals among all knees. `None` of too few points.
    fn through(points: &[(f64, Bounds)]) -> Option<Self> {
        let knees = (2..=KNEE_STEPS).map(|i| KNEE_MAX * i as f64 / KNEE_STEPS as f64);
        let fitted = knees.filter_map(|knee| Self::with_knee(points, knee));
        fitted.min_by(|a, b| a.residual.total_cmp(&b.residual))
    }

    fn with_knee(points: &[(f64, Bounds)], knee: f64) -> Option<Self> {
        let times: Vec<f64> = points.iter().map(|(_, bounds)| bounds.value).collect();
        // What is known more narrowly weighs more.
        let weight = |(_, bounds): &(f64, Bounds)| (bounds.high - bounds.low).max(1e4).powi(-2);
        let weights: Vec<f64> = points.iter().map(weight).collect();
        let row = |&(d, _): &(f64, Bounds)| {
            if d < knee { vec![1.0, d.sqrt(), 0.0, 0.0] } else { vec![0.0, 0.0, 1.0, d] }
        };
        let rows: Vec<Vec<f64>> = points.iter().map(row).collect();
        let fit = least_squares(&rows, &times, &weights)?;
        let [a, b, c, d] = fit.coefficients[..].try_into().ok()?;
        Some(Self { knee, near: [a, b], far: [c, d], residual: fit.residual_rms })
    }
}

type CurveFit<'f> = dyn Fn(&[(f64, Bounds)]) -> Option<FittedSeeks> + 'f;

/// Measures the profile; why not if accesses do not fit the turn.
pub fn measure(
    probe: &mut dyn Probe,
    reader: &mut TrackReader,
    map: &ZoneMap,
    block: u32,
    seed: u64,
) -> ProbeAnswer<SeekProfile> {
    let turn_ns = reader.turn_ns;
    let mut draw = Draw::new(seed);
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); DISTANCES.len()];
    let mut order: Vec<usize> = (0..DISTANCES.len() * PAIRS).map(|i| i % DISTANCES.len()).collect();
    draw.shuffle(&mut order);
    for class in order {
        let [from, to] = pair(map, DISTANCES[class], block, &mut draw, probe.span());
        probe.read(from, block)?;
        let Some(read) = probe.read(to, block)? else { continue };
        if read.ns() >= MEDIUM_NS_MIN {
            let passing_ns = turn_ns * f64::from(block) / map.track_bytes(to as f64);
            times[class].push(read.ns() - passing_ns);
        }
    }
    let bounded = times.iter().map(|times| shortest_time(times, turn_ns).map(Bounds::from));
    let all: Vec<(f64, Bounds)> =
        DISTANCES.into_iter().zip(bounded).filter_map(|(d, bounds)| Some((d, bounds?))).collect();
    if all.len() * 4 < DISTANCES.len() * 3 {
        let count = DISTANCES.len() - all.len();
        let or_others = if probe.is_alone() { "" } else { "other programs use the drive, or " };
        return Ok(Err(format!(
            "accesses over {count} of {} distances vary by more than a turn: {or_others}this is not a single disk",
            DISTANCES.len()
        )));
    }
    let unknown = Bounds { value: 0.0, low: 0.0, high: all[0].1.low.max(0.0) };
    let shown = overhead(probe, reader, block, &mut draw)?;
    let (overhead, shows_overhead) = (shown.unwrap_or(unknown), shown.is_some());
    let next_track = next_track(probe, reader, block, &mut draw)?;
    let points: Vec<(f64, Bounds)> =
        all.into_iter().map(|(d, bounds)| (d, bounds.without(overhead))).collect();
    let Some(curve) = FittedSeeks::through(&points) else {
        return Ok(Err("too few distances for a curve".to_string()));
    };
    // Each distance has an error of its own; that of the overhead is common to all.
    let common = (overhead.high - overhead.low) / 2.0;
    let bounds = |of: fn(&FittedSeeks) -> f64, fit: &CurveFit<'_>| {
        let (value, margin) = (of(&curve), common + jackknife_margin(&points, fit, of));
        Bounds { value, low: (value - margin).max(0.0), high: value + margin }
    };
    // The mean hardly depends on where the knee is; the end of the curve does.
    let same_knee = |points: &[(f64, Bounds)]| FittedSeeks::with_knee(points, curve.knee);
    let average = bounds(|curve| curve.average_within(1.0), &same_knee);
    let full_stroke = bounds(|curve| curve.ns(1.0), &FittedSeeks::through);
    let next_track = next_track.map(|bounds| bounds.without(overhead));
    let profile =
        SeekProfile { points, curve, average, full_stroke, next_track, overhead, shows_overhead };
    Ok(Ok(profile))
}

/// Half of the 95 % interval of a figure of the curve, from how far it moves when one distance after the other is left
/// out (B. Efron and R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 11): errors of the distances
/// count, and what a curve in two pieces cannot follow.
fn jackknife_margin(
    points: &[(f64, Bounds)],
    fit: &CurveFit<'_>,
    of: fn(&FittedSeeks) -> f64,
) -> f64 {
    let without = |left_out: usize| {
        let others = (0..points.len()).filter(|&i| i != left_out).map(|i| points[i]);
        fit(&others.collect::<Vec<_>>())
    };
    let found: Vec<f64> = (0..points.len()).filter_map(without).map(|curve| of(&curve)).collect();
    let (count, mean) = (found.len() as f64, summary::mean(&found).unwrap_or(0.0));
    let squares: f64 = found.iter().map(|value| (value - mean).powi(2)).sum();
    T_95 * (squares * (count - 1.0) / count.max(1.0)).sqrt()
}

/// Two blocks that lie so far apart on the stroke, in either order.
fn pair(map: &ZoneMap, distance: f64, block: u32, draw: &mut Draw, span: u64) -> [u64; 2] {
    let from = draw.share() * (1.0 - distance);
    let unit = u64::from(block);
    let mut byte = |share: f64| {
        // Any angle: a little further on, by up to some tracks.
        let at = map.byte_at(share) as u64 + draw.below(8 << 20);
        at.min(span - unit) / unit * unit
    };
    let [a, b] = [byte(from), byte(from + distance)];
    if draw.below(2) == 0 { [a, b] } else { [b, a] }
}

/// Fresh tracks behind a place that was looked at.
struct FreshTracks {
    tracks: Tracks,
    /// Where on its track the first of a pair begins, and the least at which the other one does: wholly on it.
    from_share: f64,
    least_share: f64,
    next: u64,
    block: u64,
    turn_ns: f64,
}

impl FreshTracks {
    /// Somewhere in the outer half; `None` where no tracks show.
    fn find(
        probe: &mut dyn Probe,
        reader: &mut TrackReader,
        block: u32,
        draw: &mut Draw,
    ) -> Result<Option<Self>, ProbeEnd> {
        let at = draw.place(probe.span() / 2, 1 << 20);
        let Some(tracks) = reader.look(probe, at)?.filter(|tracks| !tracks.is_mixed) else {
            return Ok(None);
        };
        let slack = (END_SHARE * tracks.track_bytes).max(f64::from(block));
        let tracks = reader.find_ends(probe, tracks, slack)?;
        Ok(tracks.map(|tracks| {
            let read = (reader.look_bytes() as f64 + FRESH_BYTES) / tracks.track_bytes;
            let (next, turn_ns) = (read.ceil() as u64, reader.turn_ns);
            let least_share = (slack + f64::from(block)) / tracks.track_bytes;
            let from_share = 1.0 - NEAR_END.max(least_share);
            Self { tracks, from_share, least_share, next, block: u64::from(block), turn_ns }
        }))
    }

    /// An access to a share of a track, after one near its end or near the end of the next track.
    fn access(
        &mut self,
        probe: &mut dyn Probe,
        share: f64,
        tracks_back: u64,
    ) -> Result<Option<TrackAccess>, ProbeEnd> {
        self.next += FRESH_STEP;
        let track_bytes = self.tracks.track_bytes;
        let byte = |track: u64, share: f64| {
            let at = self.tracks.first_track + (track as f64 + share) * track_bytes;
            at as u64 / self.block * self.block
        };
        let (from, to) = (byte(self.next, self.from_share), byte(self.next - tracks_back, share));
        probe.read(from, self.block as u32)?;
        let block_share = self.block as f64 / track_bytes;
        let later = (to as f64 - from as f64) / track_bytes - block_share;
        Ok(probe.read(to, self.block as u32)?.map(|read| TrackAccess {
            turns: read.ns() / self.turn_ns - block_share,
            wait_turns: later - later.floor(),
        }))
    }
}

/// An access after another one, measured in rotations.
#[derive(Debug, Clone, Copy)]
struct TrackAccess {
    /// Time until its block began to pass the head.
    turns: f64,
    /// Rotation from the end of the other block to the start of this one, where both lie on one track.
    wait_turns: f64,
}

/// The overhead of a command. A sector that comes soon after the first answer is missed and takes a turn more; one that
/// comes later than the overhead takes is not. Backwards, so that no read-ahead has it.
fn overhead(
    probe: &mut dyn Probe,
    reader: &mut TrackReader,
    block: u32,
    draw: &mut Draw,
) -> Result<Option<Bounds>, ProbeEnd> {
    let turn_ns = reader.turn_ns;
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for _ in 0..SEARCHES_MAX {
        if highs.len() == SEARCHES {
            break;
        }
        let Some(mut fresh) = FreshTracks::find(probe, reader, block, draw)? else { continue };
        let nearest = 1.0 - fresh.from_share;
        let (mut low, mut high) = (nearest + fresh.least_share, nearest + OVERHEAD_TURNS_MAX);
        let (mut caught, mut missed): (Option<TrackAccess>, Option<TrackAccess>) = (None, None);
        for _ in 0..HALVINGS {
            let phase = f64::midpoint(low, high);
            let share = phase - nearest;
            let (mut seen, mut times) = (None, 0);
            while times < MISSED_TIMES && seen.is_none_or(|it: TrackAccess| it.turns > MISSED_TURNS)
            {
                let Some(access) = fresh.access(probe, share, 0)? else { break };
                (seen, times) = (Some(access), times + 1);
            }
            match seen {
                Some(access) if access.turns <= MISSED_TURNS => {
                    (high, caught) = (phase, Some(access));
                }
                Some(access) => (low, missed) = (phase, Some(access)),
                None => {}
            }
        }
        // The shortest that was caught; what was missed would have come sooner by what the head came there sooner.
        if let Some(TrackAccess { turns, wait_turns }) = caught {
            let sooner = missed.map_or(turns, |missed| wait_turns - missed.wait_turns);
            highs.push(turns * turn_ns);
            lows.push((turns - sooner) * turn_ns);
        }
    }
    // Where tracks end elsewhere than was thought, a pair lies on two of them, and searches differ by the skew.
    let is_apart = summary::mad(&highs).is_none_or(|apart| apart > AGREE_TURNS * turn_ns);
    if highs.len() < AGREE_MIN || is_apart {
        return Ok(None);
    }
    let found = summary::median(&lows).zip(summary::median(&highs));
    Ok(found.map(|(low, high)| Bounds { value: f64::midpoint(low, high), low, high }))
}

/// A movement to the track before, with the overhead.
fn next_track(
    probe: &mut dyn Probe,
    reader: &mut TrackReader,
    block: u32,
    draw: &mut Draw,
) -> Result<Option<Bounds>, ProbeEnd> {
    let mut times = Vec::new();
    for _ in 0..3 {
        let Some(mut fresh) = FreshTracks::find(probe, reader, block, draw)? else { continue };
        for _ in 0..NEXT_TRACK_PAIRS / 3 {
            let access = fresh.access(probe, draw.share() * 0.98, 1)?;
            times.extend(access.map(|access| access.turns * reader.turn_ns));
        }
    }
    Ok(shortest_movement(&times, reader.turn_ns))
}

/// The shortest of movements of which some are longer than the others, as a switch of heads comes on top: the longest
/// time shows nothing of it, and the shortest has a wait of w or less in it with the probability 1 − (1 − w/turn)^n.
fn shortest_movement(times: &[f64], turn_ns: f64) -> Option<Bounds> {
    // Times that no single movement and its wait explain are left to judge there.
    shortest_time(times, turn_ns)?;
    let high = summary::min(times)?;
    let count = times.len() as f64;
    let wait = |above: f64| turn_ns * (1.0 - above.powf(1.0 / count));
    Some(Bounds { value: high - wait(0.5), low: high - wait(0.025), high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_and_its_average_are_found_again() {
        let truth = FittedSeeks {
            knee: 0.312,
            near: [1.386e6, 11.78e6],
            far: [4.51e6, 11.1e6],
            residual: 0.0,
        };
        let point = |d: f64| {
            let ns = truth.ns(d);
            (d, Bounds { value: ns, low: ns - 1e5, high: ns + 1e5 })
        };
        let points: Vec<(f64, Bounds)> = DISTANCES.map(point).to_vec();
        let found = FittedSeeks::through(&points).unwrap();
        assert!((found.average_within(1.0) - truth.average_within(1.0)).abs() < 2e4, "{found:?}");
        assert!((found.ns(0.9) - truth.ns(0.9)).abs() < 2e4);
        assert!(FittedSeeks::through(&points[..3]).is_none());
    }

    /// Some of the movements take 0.1 ms more: the longest time has that in it, and bounds nothing.
    #[test]
    fn shortest_of_two_movements_is_within_bounds() {
        let mut held = 0;
        for seed in 0..200 {
            let mut draw = Draw::new(seed);
            let times: Vec<f64> = (0..NEXT_TRACK_PAIRS)
                .map(|i| 2e6 + if i.is_multiple_of(6) { 1e5 } else { 0.0 } + draw.share() * 8e6)
                .collect();
            let found = shortest_movement(&times, 8e6).unwrap();
            held += usize::from((found.low..=found.high).contains(&2e6));
        }
        assert!(held >= 186, "{held} of 200");
    }

    #[test]
    fn the_stroke_follows_tracks_and_not_bytes() {
        let zone = |start: f64, end: f64, track_bytes: f64| super::super::zones::Zone {
            start,
            end,
            margin: 0.0,
            track_bytes,
            off_share: 0.0,
            mb_s: 100.0,
        };
        let zones = vec![zone(0.0, 2e12, 2e6), zone(2e12, 3e12, 1e6)];
        let map = ZoneMap { zones, read_bytes: 0, strange: Vec::new(), is_complete: true };
        assert!((map.stroke_share(2e12) - 0.5).abs() < 1e-9);
        assert!((map.byte_at(0.75) - 2.5e12).abs() < 1.0);
        assert!((map.stroke_share(map.byte_at(0.3)) - 0.3).abs() < 1e-9);
    }
}
