//! How many bytes a track holds, and the skew from one to the next: reading in order stops for the skew at the end of
//! every track, and runs at the pace of the medium within it.

mod fit;

use super::probe::{Probe, ProbeEnd};
use fit::ReadStretch;

/// A pause of more turns is not a skew but a retry.
const SKEW_TURNS_MAX: f64 = 2.5;
/// Tracks that are read for one answer, and of a small drive at least.
const TRACKS_READ: f64 = 7.0;
const TRACKS_MIN: f64 = 3.3;
/// A host whose answers come off the turns of the disk by less than this share of one is never late.
const PUNCTUAL_SHARE: f64 = 2e-4;
/// Chunks at the beginning that the seek and the filling of the queue disturb.
const LEAD_IN: usize = 3;
const CHUNKS_PER_TRACK: f64 = 16.0;
const CHUNK_MIN: u32 = 4 << 10;
const CHUNK_MAX: u32 = 512 << 10;
/// The first chunk: a drive behind a slow bridge needs larger ones to keep the medium busy, and tracks that hold few of
/// them (of disks before about 2000) show with smaller ones.
const CHUNK_FIRST: u32 = 64 << 10;
/// What is read where nothing is known of tracks yet, in chunks.
const FIRST_CHUNKS: u64 = 224;
const FIRST_BYTES: u64 = FIRST_CHUNKS * CHUNK_FIRST as u64;
/// Behind what was read a drive may have read ahead so far.
const CACHED_BEHIND: u64 = 4 << 20;
/// Two looks at the same tracks differ by less.
const SAME_TRACKS: f64 = 0.003;
/// Looks that find where exactly tracks end: each halves what is possible.
const END_LOOKS_MAX: usize = 12;
/// Error of the size of a track, as a share of it, and as standard errors of a look's result.
const TRACK_ERROR: f64 = 2e-5;
const TRACK_ERRORS: f64 = 2.0;
/// Ends this many tracks further on are to be known as well.
const TRACKS_ON: f64 = 60.0;
/// Unit of addresses.
const SECTOR: u64 = 4096;
/// Ends of tracks are equally far apart, but for chunks and this share.
const GAP_SLACK: f64 = 0.05;
/// Tracks of two zones differ by more than this, and by more than this many standard errors.
pub const ZONE_SHARE: f64 = 0.005;
const ZONE_ERRORS: f64 = 3.5;

#[derive(Debug, Clone, PartialEq)]
pub struct Tracks {
    pub at: u64,
    pub track_bytes: f64,
    /// Standard error of that, as a share of it.
    pub error_share: f64,
    /// Share of it by which the pace within tracks and the distance of their ends disagree.
    pub off_share: f64,
    pub first_track: f64,
    /// How far that may be off, bytes.
    pub first_slack: f64,
    /// Pause at the end of each track, turns.
    pub skews: Vec<f64>,
    pub mb_s: f64,
    /// Whether the size changes on the way: a border of zones lies here.
    pub is_mixed: bool,
    pub shows_all: bool,
    pub read_bytes: u64,
}

/// Reads tracks, with chunks that suit the drive.
#[derive(Debug, Clone, Copy)]
pub struct TrackReader {
    pub turn_ns: f64,
    chunk: u32,
    track_bytes: Option<f64>,
    tracks: f64,
    /// The host answers late now and then.
    is_late: bool,
}

impl TrackReader {
    /// For a disk with this turn, whose answers miss their turns by `jitter_ns`.
    pub fn new(turn_ns: f64, jitter_ns: f64) -> Self {
        let is_late = jitter_ns > PUNCTUAL_SHARE * turn_ns;
        Self { turn_ns, chunk: CHUNK_FIRST, track_bytes: None, tracks: TRACKS_READ, is_late }
    }

    pub fn look_bytes(&self) -> u64 {
        self.track_bytes.map_or(FIRST_BYTES, |bytes| (bytes * (self.tracks + 1.0)) as u64)
    }

    /// Lets a look take at most `bytes`, as far as it still shows tracks then.
    pub fn shorten_looks(&mut self, bytes: u64) {
        if let Some(track) = self.track_bytes {
            self.tracks = (bytes as f64 / track - 1.0).clamp(TRACKS_MIN, TRACKS_READ);
        }
    }

    /// The tracks at a place; `None` where their ends do not show.
    pub fn look(&mut self, probe: &mut dyn Probe, at: u64) -> Result<Option<Tracks>, ProbeEnd> {
        self.look_at(probe, at, self.tracks)
    }

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

    /// The first look also finds chunks that keep the medium busy. Where none do, tracks may be small.
    fn first_look(&mut self, probe: &mut dyn Probe, at: u64) -> Result<Option<Tracks>, ProbeEnd> {
        let larger = (0..).map(|i| CHUNK_FIRST << i).take_while(|&chunk| chunk <= CHUNK_MAX);
        let smaller = (0..).map(|i| CHUNK_MIN << i).take_while(|&chunk| chunk <= CHUNK_FIRST / 2);
        let (found, place) = self.first_look_with(probe, at, at, &mut larger.into_iter())?;
        if found.is_some() || place + FIRST_BYTES > probe.span() {
            return Ok(found);
        }
        Ok(self.first_look_with(probe, at, place, &mut smaller.into_iter())?.0)
    }

    /// The same with ever larger chunks from a place on; also where it ended.
    fn first_look_with(
        &mut self,
        probe: &mut dyn Probe,
        at: u64,
        mut place: u64,
        chunks: &mut dyn Iterator<Item = u32>,
    ) -> Result<(Option<Tracks>, u64), ProbeEnd> {
        let mut before: Option<Tracks> = None;
        for chunk in chunks {
            self.chunk = chunk;
            self.track_bytes = before.as_ref().map(|before| before.track_bytes);
            let (found, read_bytes) = self.read_tracks(probe, place, TRACKS_READ)?;
            // Further on, where no cache has it.
            place += read_bytes + CACHED_BEHIND;
            let found = found.filter(|found| !found.is_mixed);
            if let (Some(before), Some(found)) = (&before, &found)
                && (before.track_bytes / found.track_bytes - 1.0).abs()
                    < SAME_TRACKS.max(before.noise_beside(found))
            {
                self.track_bytes = Some(found.track_bytes);
                let wanted = (found.track_bytes / CHUNKS_PER_TRACK) as u32;
                let power = wanted.max(1).next_power_of_two() / 2;
                // Never below what was seen to keep the medium busy.
                self.chunk = power.clamp(CHUNK_MIN, CHUNK_MAX).max(self.chunk / 2);
                return Ok((Some(Tracks { read_bytes: place - at, ..before.clone() }), place));
            }
            if place + FIRST_BYTES > probe.span() {
                break;
            }
            before = found;
        }
        self.track_bytes = None;
        Ok((None, place))
    }

    /// Reads tracks in order; what they are, and the bytes it took.
    fn read_tracks(
        &self,
        probe: &mut dyn Probe,
        at: u64,
        tracks: f64,
    ) -> Result<(Option<Tracks>, u64), ProbeEnd> {
        // A drive takes whole sectors only.
        let at = at / SECTOR * SECTOR;
        let chunk = u64::from(self.chunk);
        let first = FIRST_BYTES.min(FIRST_CHUNKS * chunk);
        let bytes = self.track_bytes.map_or(first as f64, |track| track * tracks);
        let room = (probe.span().saturating_sub(at) / chunk) as usize;
        let count = ((bytes / chunk as f64).ceil() as usize + LEAD_IN + 1).min(room);
        let ends = probe.stream(at, self.chunk, count)?;
        let Self { chunk: of_one, turn_ns, is_late, .. } = *self;
        let stretch = ReadStretch { at, chunk: of_one, turn_ns, is_late };
        Ok((stretch.fit(&ends), count as u64 * chunk))
    }

    /// Where tracks end, within `slack` bytes: further looks put the ends of chunks where the ends of tracks may be.
    pub fn find_ends(
        &mut self,
        probe: &mut dyn Probe,
        mut tracks: Tracks,
        slack: f64,
    ) -> Result<Option<Tracks>, ProbeEnd> {
        let mut ends = TrackEnds::of(&tracks);
        for _ in 0..END_LOOKS_MAX {
            if ends.are_within(slack) {
                break;
            }
            // Further on, where no cache has it, an end of a chunk at the middle of what is possible.
            let skipped = (2.0 * TRACKS_READ).max(CACHED_BEHIND as f64 / tracks.track_bytes).ceil();
            let first = ends.last.byte + skipped * ends.track_bytes;
            let chunks = (f64::from(self.chunk) * (LEAD_IN + 1) as f64).max(0.0);
            let at = (first - chunks) as u64 / SECTOR * SECTOR;
            if at + self.look_bytes() > probe.span() {
                return Ok(None);
            }
            match self.look(probe, at)?.filter(|seen| !seen.is_mixed) {
                Some(seen) => {
                    ends.add(&seen);
                    tracks = seen;
                }
                None => ends.last.byte += skipped * ends.track_bytes,
            }
        }
        tracks.first_track = ends.last.byte;
        tracks.track_bytes = ends.track_bytes;
        Ok(ends.are_within(slack).then_some(tracks))
    }
}

impl Tracks {
    /// How much of the size two looks may differ by and still have seen tracks of one size.
    pub fn slack_beside(&self, other: &Self) -> f64 {
        ZONE_SHARE.max(self.noise_beside(other))
    }

    fn noise_beside(&self, other: &Self) -> f64 {
        ZONE_ERRORS * self.error_share.hypot(other.error_share)
    }
}

/// An end of a track, and how far it may be off, bytes.
#[derive(Debug, Clone, Copy)]
struct TrackEnd {
    byte: f64,
    slack: f64,
}

/// What several looks at the same tracks know together.
#[derive(Debug, Clone)]
struct TrackEnds {
    /// Of the first look and of the last.
    first: TrackEnd,
    last: TrackEnd,
    track_bytes: f64,
    error_share: f64,
}

impl TrackEnds {
    fn of(tracks: &Tracks) -> Self {
        let first = TrackEnd { byte: tracks.first_track, slack: tracks.first_slack };
        let error_share = TRACK_ERROR.max(TRACK_ERRORS * tracks.error_share);
        Self { first, last: first, track_bytes: tracks.track_bytes, error_share }
    }

    /// After one more: ends lie where all looks allow them. Where they contradict each other, only the last counts.
    fn add(&mut self, seen: &Tracks) {
        let alone = Self::of(seen);
        if alone.error_share < self.error_share {
            (self.track_bytes, self.error_share) = (alone.track_bytes, alone.error_share);
        }
        let track = self.track_bytes;
        let count = ((alone.last.byte - self.last.byte) / track).round();
        let expected = self.last.byte + count * track;
        // Over the tracks between them, an error of their size adds up.
        let slack = self.last.slack + count.abs() * track * self.error_share;
        let low = (alone.last.byte - alone.last.slack).max(expected - slack);
        let high = (alone.last.byte + alone.last.slack).min(expected + slack);
        if high < low {
            *self = alone;
            return;
        }
        self.last = TrackEnd { byte: f64::midpoint(low, high), slack: (high - low) / 2.0 };
        // The farther the looks are apart, the better is the size known.
        let bytes = self.last.byte - self.first.byte;
        let count = (bytes / track).round().max(1.0);
        let error_share = (self.first.slack + self.last.slack) / count / track;
        if error_share < self.error_share {
            (self.track_bytes, self.error_share) = (bytes / count, error_share);
        }
    }

    /// Whether ends are known within `slack` bytes, also those of tracks a little further on.
    fn are_within(&self, slack: f64) -> bool {
        self.last.slack <= slack && self.error_share * self.track_bytes * TRACKS_ON <= slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::geometry::probe::ProbeRead;

    struct ReadPlaces(Vec<u64>);

    impl Probe for ReadPlaces {
        fn span(&self) -> u64 {
            1 << 40
        }

        fn is_alone(&self) -> bool {
            true
        }

        fn now_ns(&self) -> u64 {
            0
        }

        fn read(&mut self, offset: u64, _len: u32) -> Result<Option<ProbeRead>, ProbeEnd> {
            self.0.push(offset);
            Ok(None)
        }

        fn stream(&mut self, offset: u64, _: u32, count: usize) -> Result<Vec<u64>, ProbeEnd> {
            self.0.push(offset);
            Ok((0..count as u64).map(|i| i * 400_000).collect())
        }

        fn idle(&mut self, _ns: u64) -> Result<(), ProbeEnd> {
            Ok(())
        }
    }

    /// Places are shares of tracks, which are not whole sectors: drives refused to read there (issue 20).
    #[test]
    fn look_always_begins_at_a_sector() {
        let mut probe = ReadPlaces(Vec::new());
        let mut reader = TrackReader::new(8_333_333.0, 0.0);
        reader.look(&mut probe, 2_386_466_357_980).unwrap();
        reader.track_bytes = Some(1_040_384.5);
        reader.look(&mut probe, 135_396_102_141).unwrap();
        assert!(probe.0.len() > 1 && probe.0.iter().all(|at| at.is_multiple_of(SECTOR)));
    }
}
