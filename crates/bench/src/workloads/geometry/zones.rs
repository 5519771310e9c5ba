//! Zones of a disk from the size of its tracks at few places: first a grid, then a bisection wherever two neighbours
//! differ, until each border is known well enough or the budget is spent.
//!
//! Tracks hold ever less from the outside in. Of a grid the most places that agree with that count, so that one wrong
//! look never outvotes the others; a place that contradicts them is looked at again, and named if it stays so.

use super::probe::{Probe, ProbeAnswer, ProbeEnd};
use super::tracks::{TrackReader, Tracks, ZONE_SHARE};

/// Places of the grid: halved once, each gap of it is narrow enough.
const GRID: usize = 57;
/// The search continues until each border lies between two places that are no farther apart, as a share of the drive.
const BORDER_SHARE: f64 = 0.005;
/// A border is known when its places are no farther apart: the middle is off by half of that at most.
const BORDER_SHARE_MAX: f64 = 0.0095;
/// Looks that a drive with many zones takes. Where the budget has no room for them, each is shorter.
const LOOKS_WANTED: u64 = 170;
/// A gap of fewer looks cannot be narrowed.
const GAP_LOOKS_MIN: u64 = 4;
/// Where more of the grid's places contradict the others or show no tracks, something else is in the way.
const STRANGE_SHARE_MAX: f64 = 0.25;
/// A place that fits no falling curve is looked at again this many looks further on.
const SHIFT_LOOKS: u64 = 2;
/// A look at its place and, if needed, at two more.
const ATTEMPTS: u64 = 3;

/// Tracks of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    pub start: f64,
    pub end: f64,
    /// How far either border may be off, bytes; 0 at the ends of the drive.
    pub margin: f64,
    pub track_bytes: f64,
    /// Share of it by which looks disagree with themselves, at most.
    pub off_share: f64,
    pub mb_s: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ZoneMap {
    pub zones: Vec<Zone>,
    pub read_bytes: u64,
    /// Places where the tracks do not show or are slower than both neighbours.
    pub strange: Vec<u64>,
    pub is_complete: bool,
}

impl ZoneMap {
    /// How far the arm has moved in from the first byte to this one, as a share of its whole way. Tracks of a zone
    /// are equally wide, so that bytes over bytes per track count them.
    pub fn stroke_share(&self, offset: f64) -> f64 {
        let tracks = |from: f64, to: f64| {
            self.zones
                .iter()
                .map(|zone| (to.min(zone.end) - from.max(zone.start)).max(0.0) / zone.track_bytes)
                .sum::<f64>()
        };
        let end = self.zones.last().map_or(1.0, |zone| zone.end);
        tracks(0.0, offset) / tracks(0.0, end).max(f64::MIN_POSITIVE)
    }

    pub fn track_bytes(&self, offset: f64) -> f64 {
        let zone = self.zones.iter().find(|zone| offset < zone.end).or(self.zones.last());
        zone.map_or(f64::INFINITY, |zone| zone.track_bytes)
    }

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

#[derive(Debug, Clone, Copy)]
pub struct ZoneBudget {
    pub bytes: u64,
    pub until_ns: u64,
}

pub fn measure(
    probe: &mut dyn Probe,
    reader: &mut TrackReader,
    budget: ZoneBudget,
) -> ProbeAnswer<ZoneMap> {
    let mut search = ZoneSearch { found: Vec::new(), strange: Vec::new(), read_bytes: 0, budget };
    search.look(probe, reader, 0, |_, _| true)?;
    if search.found.is_empty() {
        let why = "reading in order shows no end of a track: the link or another layer is slower than the disk, or \
                   tracks are too short beside the time of a command";
        return Ok(Err(why.to_string()));
    }
    // What a look takes is known now: of a small drive looks are shorter, and the grid is coarser.
    reader.shorten_looks(budget.bytes / LOOKS_WANTED);
    let looks = (budget.bytes / reader.look_bytes().max(1)) as usize;
    let grid = GRID.min(looks / 2).max(8);
    let last = probe.span().saturating_sub(2 * reader.look_bytes());
    for i in 1..=grid {
        if search.is_spent(probe, reader) {
            break;
        }
        let at = (last as f64 * i as f64 / grid as f64) as u64 / 4096 * 4096;
        search.look(probe, reader, at, |_, _| true)?;
    }
    search.keep_falling(probe, reader)?;
    if search.strange.len() as f64 > STRANGE_SHARE_MAX * grid as f64 {
        let or_others = if probe.is_alone() { "" } else { ", or other programs use it" };
        return Ok(Err(format!(
            "at many places tracks do not show, or are larger than those before: the link is slower than the \
             disk{or_others}"
        )));
    }
    search.refine(probe, reader)?;
    let is_complete = search.is_complete(probe.span(), reader);
    Ok(Ok(search.map(probe.span() as f64, is_complete)))
}

struct ZoneSearch {
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

    /// Looks at a place, or a little further on where a border lies or something was in the way. Returns whether it
    /// shows tracks that are accepted.
    fn look(
        &mut self,
        probe: &mut dyn Probe,
        reader: &mut TrackReader,
        at: u64,
        accepts: fn(&Self, &Tracks) -> bool,
    ) -> Result<bool, ProbeEnd> {
        for attempt in 0..ATTEMPTS {
            let shift = attempt * SHIFT_LOOKS * reader.look_bytes();
            let seen = reader.look(probe, at + shift)?;
            self.read_bytes += seen.as_ref().map_or(reader.look_bytes(), |seen| seen.read_bytes);
            if let Some(seen) = seen.filter(|seen| !seen.is_mixed && accepts(self, seen)) {
                self.insert(seen);
                return Ok(true);
            }
        }
        self.strange.push(at);
        Ok(false)
    }

    fn insert(&mut self, seen: Tracks) {
        let place = self.found.partition_point(|other| other.at < seen.at);
        self.found.insert(place, seen);
    }

    /// Keeps the most places whose tracks hold ever less, and looks at the others once more.
    fn keep_falling(
        &mut self,
        probe: &mut dyn Probe,
        reader: &mut TrackReader,
    ) -> Result<(), ProbeEnd> {
        let sizes: Vec<f64> = self.found.iter().map(|tracks| tracks.track_bytes).collect();
        let slack = |tracks: &Tracks| tracks.slack_beside(tracks);
        let slack = self.found.iter().map(slack).fold(ZONE_SHARE, f64::max);
        let kept = longest_falling(&sizes, 1.0 + slack);
        let mut number = 0;
        let (found, astray): (Vec<Tracks>, Vec<Tracks>) =
            std::mem::take(&mut self.found).into_iter().partition(|_| {
                number += 1;
                kept[number - 1]
            });
        self.found = found;
        for tracks in astray {
            self.look(probe, reader, tracks.at, Self::falls)?;
        }
        Ok(())
    }

    /// Whether tracks hold no more than those before and no less than those behind.
    fn falls(&self, seen: &Tracks) -> bool {
        let place = self.found.partition_point(|other| other.at < seen.at);
        let before = place.checked_sub(1).map(|before| &self.found[before]);
        let behind = self.found.get(place);
        before.is_none_or(|before| !is_larger(seen, before))
            && behind.is_none_or(|behind| !is_larger(behind, seen))
    }

    /// Halves the widest gap between different tracks until all are narrow enough or the budget is spent.
    fn refine(&mut self, probe: &mut dyn Probe, reader: &mut TrackReader) -> Result<(), ProbeEnd> {
        let enough = (probe.span() as f64 * BORDER_SHARE) as u64;
        let mut given_up: Vec<u64> = Vec::new();
        while !self.is_spent(probe, reader) {
            let gaps = self.found.windows(2).filter(|pair| differs(&pair[0], &pair[1]));
            let open = gaps.filter(|pair| {
                pair[1].at - pair[0].at > enough.max(GAP_LOOKS_MIN * reader.look_bytes())
                    && !given_up.contains(&pair[0].at)
            });
            let widest = open.max_by_key(|pair| pair[1].at - pair[0].at);
            let Some((from, to)) = widest.map(|pair| (pair[0].at, pair[1].at)) else { break };
            let middle = u64::midpoint(from, to) / 4096 * 4096;
            if !self.look(probe, reader, middle, Self::falls)? {
                given_up.push(from);
            }
        }
        Ok(())
    }

    fn is_complete(&self, span: u64, reader: &TrackReader) -> bool {
        let enough = (span as f64 * BORDER_SHARE_MAX) as u64;
        let narrow = enough.max(2 * GAP_LOOKS_MIN * reader.look_bytes());
        let mut gaps = self.found.windows(2).filter(|pair| differs(&pair[0], &pair[1]));
        let reaches_end = self
            .found
            .last()
            .is_some_and(|last| span - last.at <= narrow.max(span / GRID as u64 * 2));
        reaches_end && gaps.all(|pair| pair[1].at - pair[0].at <= narrow)
    }

    fn map(self, span: f64, is_complete: bool) -> ZoneMap {
        let groups: Vec<&[Tracks]> = self.found.chunk_by(|a, b| !differs(a, b)).collect();
        let border = |i: usize| {
            let (before, behind) = (groups[i].last(), groups[i + 1].first());
            let (from, to) = (before.map_or(0, |t| t.at) as f64, behind.map_or(0, |t| t.at) as f64);
            (f64::midpoint(from, to), (to - from) / 2.0)
        };
        let last = groups.len().saturating_sub(1);
        // A look crosses few tracks, and a switch of heads among them or none: all looks together know the mean pause.
        let pause = |tracks: &Tracks| tracks.skews.iter().sum::<f64>() / tracks.skews.len() as f64;
        let pauses: f64 = self.found.iter().map(pause).sum();
        let mean_pause = pauses / self.found.len().max(1) as f64;
        let rate = |tracks: &Tracks| tracks.mb_s * (1.0 + pause(tracks)) / (1.0 + mean_pause);
        let zone = |(i, group): (usize, &&[Tracks])| {
            let (start, before) = if i > 0 { border(i - 1) } else { (0.0, 0.0) };
            let (end, behind) = if i < last { border(i) } else { (span, 0.0) };
            let count = group.len() as f64;
            let mean = |of: &dyn Fn(&Tracks) -> f64| group.iter().map(of).sum::<f64>() / count;
            Zone {
                start,
                end,
                margin: before.max(behind),
                track_bytes: mean(&|tracks| tracks.track_bytes),
                off_share: group.iter().map(|tracks| tracks.off_share).fold(0.0, f64::max),
                mb_s: mean(&rate),
            }
        };
        let zones: Vec<Zone> = groups.iter().enumerate().map(zone).collect();
        ZoneMap { zones, read_bytes: self.read_bytes, strange: self.strange, is_complete }
    }
}

fn differs(before: &Tracks, behind: &Tracks) -> bool {
    (before.track_bytes / behind.track_bytes - 1.0).abs() > before.slack_beside(behind)
}

/// Whether tracks hold more than others, beyond what looks differ by.
fn is_larger(tracks: &Tracks, others: &Tracks) -> bool {
    tracks.track_bytes > others.track_bytes * (1.0 + tracks.slack_beside(others))
}

/// Which of the values belong to the longest run that never rises by more than the slack.
fn longest_falling(values: &[f64], slack: f64) -> Vec<bool> {
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(values.len());
    for (i, value) in values.iter().enumerate() {
        let before = (0..i).filter(|&j| *value <= values[j] * slack);
        let longest = before.max_by_key(|&j| best[j].0);
        best.push((longest.map_or(1, |j| best[j].0 + 1), longest));
    }
    let mut kept = vec![false; values.len()];
    let mut at = (0..values.len()).max_by_key(|&i| best[i].0);
    while let Some(i) = at {
        kept[i] = true;
        at = best[i].1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::longest_falling;

    #[test]
    fn one_wrong_place_never_outvotes_the_others() {
        fn kept(values: &[f64]) -> Vec<bool> {
            longest_falling(values, 1.005)
        }
        assert_eq!(kept(&[10.0, 10.0, 9.0, 8.0]), [true; 4]);
        assert_eq!(kept(&[5.0, 10.0, 9.0, 8.0]), [false, true, true, true]);
        assert_eq!(kept(&[10.0, 9.0, 12.0, 8.0, 8.03]), [true, true, false, true, true]);
        assert!(kept(&[]).is_empty());
    }
}
