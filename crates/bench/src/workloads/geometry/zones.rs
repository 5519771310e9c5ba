//! Zones of a disk from the size of its tracks at few places: first a grid, then a bisection wherever two neighbours
//! differ, until each border is known well enough or the budget is spent.

use super::probe::{Probe, ProbeEnd};
use super::tracks::{TrackReader, Tracks, ZONE_SHARE};

/// Places of the grid.
const GRID: usize = 48;
/// A border is known when it lies between two places that are no farther apart, as a share of the drive.
const BORDER_SHARE: f64 = 0.005;
/// A place that fits no falling curve is looked at again so many looks further on.
const SHIFT_LOOKS: u64 = 2;
/// A look at its place and, if needed, at two more.
const ATTEMPTS: u64 = 3;

/// Tracks of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// First byte.
    pub start: f64,
    /// Byte behind the last.
    pub end: f64,
    /// How far either border may be off, bytes; 0 at the ends of the drive.
    pub margin: f64,
    /// Bytes of a track.
    pub track_bytes: f64,
    /// Sequential rate, 10^6 bytes per second.
    pub mb_s: f64,
}

/// What is known of the zones of a drive.
#[derive(Debug, Clone, PartialEq)]
pub struct ZoneMap {
    /// From the first byte to the last.
    pub zones: Vec<Zone>,
    /// Bytes looked at.
    pub read_bytes: u64,
    /// Places where the tracks do not show or are slower than both neighbours.
    pub strange: Vec<u64>,
    /// Whether every border is known well enough.
    pub is_complete: bool,
}

impl ZoneMap {
    /// How far the arm has moved in from the first byte to this one, as a share of its whole way. Tracks of a zone
    /// are equally wide, so that bytes over bytes per track count them.
    pub fn stroke_share(&self, offset: f64) -> f64 {
        let tracks = |from: f64, to: f64| {
            let of =
                |zone: &Zone| (to.min(zone.end) - from.max(zone.start)).max(0.0) / zone.track_bytes;
            self.zones.iter().map(of).sum::<f64>()
        };
        let end = self.zones.last().map_or(1.0, |zone| zone.end);
        tracks(0.0, offset) / tracks(0.0, end).max(f64::MIN_POSITIVE)
    }

    /// The byte at a share of the stroke.
    pub fn byte_at(&self, share: f64) -> f64 {
        let all: f64 =
            self.zones.iter().map(|zone| (zone.end - zone.start) / zone.track_bytes).sum();
        let mut left = share.clamp(0.0, 1.0) * all;
        for zone in &self.zones {
            let tracks = (zone.end - zone.start) / zone.track_bytes;
            if left <= tracks {
                return zone.start + left * zone.track_bytes;
            }
            left -= tracks;
        }
        self.zones.last().map_or(0.0, |zone| zone.end)
    }
}

/// What the search may use.
#[derive(Debug, Clone, Copy)]
pub struct ZoneBudget {
    /// Bytes read.
    pub bytes: u64,
    /// The time at which it ends.
    pub until_ns: u64,
}

/// Finds the zones; why not if tracks do not show.
pub fn measure(
    probe: &mut dyn Probe,
    reader: &mut TrackReader,
    budget: ZoneBudget,
) -> Result<Result<ZoneMap, String>, ProbeEnd> {
    let mut search = ZoneSearch { found: Vec::new(), strange: Vec::new(), read_bytes: 0, budget };
    if !search.look(probe, reader, 0)? {
        let why = "reading in order shows no end of a track: the link or another layer is slower than the disk";
        return Ok(Err(why.to_string()));
    }
    // What a look takes is known now: of a small drive the grid is coarser.
    let looks = (budget.bytes / reader.look_bytes().max(1)) as usize;
    let grid = GRID.min(looks / 2).max(8);
    let last = probe.span().saturating_sub(2 * reader.look_bytes());
    for i in 1..=grid {
        if search.is_spent(probe, reader) {
            break;
        }
        search.look(probe, reader, (last as f64 * i as f64 / grid as f64) as u64 / 4096 * 4096)?;
    }
    let is_complete = search.refine(probe, reader)?;
    Ok(Ok(search.map(probe.span() as f64, is_complete)))
}

struct ZoneSearch {
    /// In order of address.
    found: Vec<Tracks>,
    strange: Vec<u64>,
    read_bytes: u64,
    budget: ZoneBudget,
}

impl ZoneSearch {
    fn is_spent(&self, probe: &dyn Probe, reader: &TrackReader) -> bool {
        self.read_bytes + reader.look_bytes() > self.budget.bytes
            || probe.now_ns() > self.budget.until_ns
    }

    /// Looks at a place, or a little further on where a border lies or something was in the way; whether tracks showed.
    fn look(
        &mut self,
        probe: &mut dyn Probe,
        reader: &mut TrackReader,
        at: u64,
    ) -> Result<bool, ProbeEnd> {
        for attempt in 0..ATTEMPTS {
            let shift = attempt * SHIFT_LOOKS * reader.look_bytes();
            let seen = reader.look(probe, at + shift)?;
            self.read_bytes += seen.as_ref().map_or(reader.look_bytes(), |seen| seen.read_bytes);
            let Some(seen) = seen.filter(|seen| !seen.is_mixed && self.falls(seen)) else {
                continue;
            };
            let place = self.found.partition_point(|other| other.at < seen.at);
            self.found.insert(place, seen);
            return Ok(true);
        }
        self.strange.push(at);
        Ok(false)
    }

    /// Whether tracks hold no more than those before and no less than those behind.
    fn falls(&self, seen: &Tracks) -> bool {
        let place = self.found.partition_point(|other| other.at < seen.at);
        let slack = 1.0 + ZONE_SHARE;
        let before = place.checked_sub(1).map(|before| self.found[before].track_bytes);
        let behind = self.found.get(place).map(|behind| behind.track_bytes);
        before.is_none_or(|bytes| seen.track_bytes <= bytes * slack)
            && behind.is_none_or(|bytes| seen.track_bytes * slack >= bytes)
    }

    /// Halves the widest gap between different tracks until none is too wide; whether that came to its end.
    fn refine(
        &mut self,
        probe: &mut dyn Probe,
        reader: &mut TrackReader,
    ) -> Result<bool, ProbeEnd> {
        let enough = (probe.span() as f64 * BORDER_SHARE) as u64;
        let mut given_up: Vec<u64> = Vec::new();
        loop {
            let gaps = self.found.windows(2).filter(|pair| differs(&pair[0], &pair[1]));
            let open = gaps.filter(|pair| {
                pair[1].at - pair[0].at > enough.max(4 * reader.look_bytes())
                    && !given_up.contains(&pair[0].at)
            });
            let widest = open.max_by_key(|pair| pair[1].at - pair[0].at);
            let Some((from, to)) = widest.map(|pair| (pair[0].at, pair[1].at)) else {
                return Ok(given_up.is_empty());
            };
            if self.is_spent(probe, reader) {
                return Ok(false);
            }
            if !self.look(probe, reader, u64::midpoint(from, to) / 4096 * 4096)? {
                given_up.push(from);
            }
        }
    }

    fn map(self, span: f64, is_complete: bool) -> ZoneMap {
        let groups: Vec<&[Tracks]> = self.found.chunk_by(|a, b| !differs(a, b)).collect();
        let border = |i: usize| {
            let (before, behind) = (groups[i].last(), groups[i + 1].first());
            let (from, to) = (before.map_or(0, |t| t.at) as f64, behind.map_or(0, |t| t.at) as f64);
            (f64::midpoint(from, to), (to - from) / 2.0)
        };
        let last = groups.len().saturating_sub(1);
        let zone = |(i, group): (usize, &&[Tracks])| {
            let (start, before) = if i > 0 { border(i - 1) } else { (0.0, 0.0) };
            let (end, behind) = if i < last { border(i) } else { (span, 0.0) };
            let count = group.len() as f64;
            let mean = |of: fn(&Tracks) -> f64| group.iter().map(of).sum::<f64>() / count;
            Zone {
                start,
                end,
                margin: before.max(behind),
                track_bytes: mean(|tracks| tracks.track_bytes),
                mb_s: mean(|tracks| tracks.mb_s),
            }
        };
        let zones: Vec<Zone> = groups.iter().enumerate().map(zone).collect();
        ZoneMap { zones, read_bytes: self.read_bytes, strange: self.strange, is_complete }
    }
}

fn differs(before: &Tracks, behind: &Tracks) -> bool {
    (before.track_bytes / behind.track_bytes - 1.0).abs() > ZONE_SHARE
}
