//! How many bytes a track holds, and the skew from one to the next: reading in order stops for the skew at the end of
//! every track, and runs at the pace of the medium within it.

use super::probe::{Probe, ProbeEnd};
use drivescope_stats::summary;

/// A pause of at least this share of a turn is the end of a track; smaller ones are noise of the host.
const SKEW_SHARE_MIN: f64 = 0.012;
/// So many times the spread of ordinary steps are no noise.
const NOISE_TIMES: f64 = 8.0;
/// A pause of more turns is no skew but a retry.
const SKEW_TURNS_MAX: f64 = 2.5;
/// Tracks that are read for one answer, of a small drive at least, and the fewest ends of tracks that give one.
const TRACKS_READ: f64 = 7.0;
const TRACKS_MIN: f64 = 3.3;
const ENDS_MIN: usize = 3;
/// Chunks at the beginning that the seek and the filling of the queue disturb.
const LEAD_IN: usize = 3;
/// Chunks per track, about.
const CHUNKS_PER_TRACK: f64 = 16.0;
const CHUNK_MIN: u32 = 16 << 10;
const CHUNK_MAX: u32 = 512 << 10;
/// The first chunk: a drive behind a slow bridge needs larger ones to keep the medium busy.
const CHUNK_FIRST: u32 = 64 << 10;
/// What is read where nothing is known of tracks yet.
const FIRST_BYTES: u64 = 14 << 20;
/// Behind what was read a drive may have read ahead so far.
const CACHED_BEHIND: u64 = 4 << 20;
/// Two looks at the same tracks differ by less.
const SAME_TRACKS: f64 = 0.003;
/// Looks that find where exactly tracks end: each halves what is possible.
const END_LOOKS_MAX: usize = 8;
/// Error of the size of a track, as a share of it.
const TRACK_ERROR: f64 = 2e-5;
/// Unit of addresses.
const SECTOR: u64 = 4096;
/// Ends of tracks are equally far apart, but for chunks and this share.
const GAP_SLACK: f64 = 0.05;
/// Tracks of two zones differ by more than this.
pub const ZONE_SHARE: f64 = 0.005;

/// The tracks around a place.
#[derive(Debug, Clone, PartialEq)]
pub struct Tracks {
    /// Where reading began.
    pub at: u64,
    /// Bytes of a track.
    pub track_bytes: f64,
    /// First byte of the first whole track behind `at`.
    pub first_track: f64,
    /// How far that may be off, bytes.
    pub first_slack: f64,
    /// Pause at the end of each track, turns.
    pub skews: Vec<f64>,
    /// Bytes per second over many tracks, in 10^6.
    pub mb_s: f64,
    /// Whether the size changes on the way: a border of zones lies here.
    pub is_mixed: bool,
    /// Bytes that were read.
    pub read_bytes: u64,
}

/// Reads tracks, with chunks that suit the drive.
#[derive(Debug, Clone, Copy)]
pub struct TrackReader {
    /// Time of a turn, ns.
    pub turn_ns: f64,
    chunk: u32,
    track_bytes: Option<f64>,
    /// Tracks of a look.
    tracks: f64,
}

impl TrackReader {
    /// Of a disk that turns in so many ns.
    pub fn new(turn_ns: f64) -> Self {
        Self { turn_ns, chunk: CHUNK_FIRST, track_bytes: None, tracks: TRACKS_READ }
    }

    /// Bytes that one look takes, about.
    pub fn look_bytes(&self) -> u64 {
        self.track_bytes.map_or(FIRST_BYTES, |bytes| (bytes * (self.tracks + 1.0)) as u64)
    }

    /// Lets a look take so many bytes at most, as far as it still shows tracks then.
    pub fn shorten_looks(&mut self, bytes: u64) {
        if let Some(track) = self.track_bytes {
            self.tracks = (bytes as f64 / track - 1.0).clamp(TRACKS_MIN, TRACKS_READ);
        }
    }

    /// The tracks at a place; `None` where their ends do not show.
    pub fn look(&mut self, probe: &mut dyn Probe, at: u64) -> Result<Option<Tracks>, ProbeEnd> {
        self.look_at(probe, at, self.tracks)
    }

    /// The same over so many tracks.
    pub fn look_at(
        &mut self,
        probe: &mut dyn Probe,
        at: u64,
        tracks: f64,
    ) -> Result<Option<Tracks>, ProbeEnd> {
        match self.track_bytes {
            None => self.first_look(probe, at),
            Some(_) => {
                let (found, _) = self.read_tracks(probe, at, tracks)?;
                if let Some(found) = &found {
                    self.track_bytes = Some(found.track_bytes);
                }
                Ok(found)
            }
        }
    }

    /// The first look also finds chunks that keep the medium busy: with larger ones tracks are the same.
    fn first_look(&mut self, probe: &mut dyn Probe, at: u64) -> Result<Option<Tracks>, ProbeEnd> {
        self.chunk = CHUNK_FIRST;
        let (mut place, mut before): (u64, Option<Tracks>) = (at, None);
        loop {
            let (found, read_bytes) = self.read_tracks(probe, place, TRACKS_READ)?;
            // Further on, where no cache has it.
            place += read_bytes + CACHED_BEHIND;
            let found = found.filter(|found| !found.is_mixed);
            self.track_bytes = found.as_ref().map(|found| found.track_bytes);
            if let (Some(before), Some(found)) = (&before, &found)
                && (before.track_bytes / found.track_bytes - 1.0).abs() < SAME_TRACKS
            {
                let wanted = (found.track_bytes / CHUNKS_PER_TRACK) as u32;
                let power = wanted.max(1).next_power_of_two() / 2;
                // Never below what was seen to keep the medium busy.
                self.chunk = power.clamp(CHUNK_MIN, CHUNK_MAX).max(self.chunk / 2);
                return Ok(Some(Tracks { read_bytes: place - at, ..before.clone() }));
            }
            if self.chunk >= CHUNK_MAX || place + FIRST_BYTES > probe.span() {
                self.track_bytes = None;
                return Ok(None);
            }
            self.chunk *= 2;
            before = found;
        }
    }

    /// Reads tracks in order; what they are, and the bytes it took.
    fn read_tracks(
        &self,
        probe: &mut dyn Probe,
        at: u64,
        tracks: f64,
    ) -> Result<(Option<Tracks>, u64), ProbeEnd> {
        let bytes = self.track_bytes.map_or(FIRST_BYTES as f64, |track| track * tracks);
        let chunk = u64::from(self.chunk);
        let room = (probe.span().saturating_sub(at) / chunk) as usize;
        let count = ((bytes / chunk as f64).ceil() as usize + LEAD_IN + 1).min(room);
        let ends = probe.stream(at, self.chunk, count)?;
        Ok((fit(&ends, self.chunk, self.turn_ns, at), count as u64 * chunk))
    }

    /// Where tracks end, within so many bytes: further looks put the ends of chunks where the ends of tracks may be.
    pub fn find_ends(
        &mut self,
        probe: &mut dyn Probe,
        mut tracks: Tracks,
        slack: f64,
    ) -> Result<Option<Tracks>, ProbeEnd> {
        for _ in 0..END_LOOKS_MAX {
            if tracks.first_slack <= slack {
                return Ok(Some(tracks));
            }
            // Further on, where no cache has it, an end of a chunk at the middle of what is possible.
            let skipped = (2.0 * TRACKS_READ).max(CACHED_BEHIND as f64 / tracks.track_bytes).ceil();
            let first = tracks.first_track + skipped * tracks.track_bytes;
            let chunks = (f64::from(self.chunk) * (LEAD_IN + 1) as f64).max(0.0);
            let at = (first - chunks) as u64 / SECTOR * SECTOR;
            if at + self.look_bytes() > probe.span() {
                return Ok(None);
            }
            // Where tracks do not show, or elsewhere than they were, it begins again from there.
            match self.look(probe, at)?.filter(|seen| !seen.is_mixed) {
                Some(seen) => tracks = seen.meet(&tracks).unwrap_or(seen),
                None => tracks.first_track += skipped * tracks.track_bytes,
            }
        }
        Ok((tracks.first_slack <= slack).then_some(tracks))
    }
}

impl Tracks {
    /// The same tracks with their ends where both looks allow them; `None` where they contradict each other.
    fn meet(&self, other: &Self) -> Option<Self> {
        let track = self.track_bytes;
        let count = ((self.first_track - other.first_track) / track).round();
        let (mine, theirs) = (self.first_track, other.first_track + count * track);
        let low = (mine - self.first_slack).max(theirs - other.first_slack);
        let high = (mine + self.first_slack).min(theirs + other.first_slack);
        // Over the tracks between them, an error of their size adds up.
        let drift = count.abs() * track * TRACK_ERROR;
        (high - low > -drift).then(|| Self {
            first_track: f64::midpoint(low, high),
            first_slack: (high - low).max(0.0) / 2.0 + drift,
            ..self.clone()
        })
    }
}

/// Finds the ends of tracks in the times at which the chunks of a stream were answered.
fn fit(ends: &[u64], chunk: u32, turn_ns: f64, at: u64) -> Option<Tracks> {
    let ends: Vec<f64> = ends.get(LEAD_IN..)?.iter().map(|&end| end as f64).collect();
    let begin = at as f64 + LEAD_IN as f64 * f64::from(chunk);
    let steps: Vec<f64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let typical = summary::median(&steps)?;
    let noise = summary::mad(&steps)?;
    let pause_min = (SKEW_SHARE_MIN * turn_ns).max(NOISE_TIMES * noise);
    // Step i leads to the end of chunk i + 1: the end of a track lies within that chunk.
    let crossings: Vec<usize> =
        (0..steps.len()).filter(|&i| steps[i] - typical > pause_min).map(|i| i + 1).collect();
    if crossings.len() < ENDS_MIN || typical <= 0.0 {
        return None;
    }
    let pieces: Vec<&[f64]> = crossings.windows(2).map(|pair| &ends[pair[0]..pair[1]]).collect();
    let pace_ns = pooled_slope(&pieces)?;
    let chunk_bytes = f64::from(chunk);
    let by_pace = turn_ns / pace_ns * chunk_bytes;
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
    let skews: Vec<f64> = crossings.iter().map(|&i| (steps[i - 1] - pace_ns) / turn_ns).collect();
    if skews.iter().any(|&skew| skew > SKEW_TURNS_MAX) {
        return None;
    }
    let half = pieces.len() / 2;
    let is_mixed = match (pooled_slope(&pieces[..half]), pooled_slope(&pieces[half..])) {
        (Some(before), Some(behind)) => (before / behind - 1.0).abs() > ZONE_SHARE,
        _ => false,
    };
    let mean_skew = skews.iter().sum::<f64>() / skews.len() as f64;
    let (first_end, first_slack) = first_end(&crossings, track_bytes, chunk_bytes);
    Some(Tracks {
        at,
        track_bytes,
        first_track: begin + first_end,
        first_slack,
        mb_s: track_bytes / (turn_ns * (1.0 + mean_skew)) * 1e3,
        skews,
        is_mixed,
        read_bytes: (ends.len() + LEAD_IN) as u64 * u64::from(chunk),
    })
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

/// The slope that all pieces share, each with its own beginning; ns per chunk.
fn pooled_slope(pieces: &[&[f64]]) -> Option<f64> {
    let (mut products, mut squares) = (0.0, 0.0);
    for piece in pieces {
        let middle = (piece.len() as f64 - 1.0) / 2.0;
        let mean = piece.iter().sum::<f64>() / piece.len().max(1) as f64;
        for (i, end) in piece.iter().enumerate() {
            products += (i as f64 - middle) * (end - mean);
            squares += (i as f64 - middle).powi(2);
        }
    }
    (squares > 0.0 && products > 0.0).then(|| products / squares)
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

    #[test]
    fn a_stream_without_pauses_has_no_tracks() {
        let even: Vec<u64> = (1..200).map(|i| i * 400_000).collect();
        assert_eq!(fit(&even, 64 << 10, TURN_NS, 0), None);
        assert_eq!(fit(&[], 64 << 10, TURN_NS, 0), None);
    }
}
