//! How many heads a disk has, from the pauses between its tracks: a switch to another head has a skew of its own.
//!
//! By cylinder, every head's track comes before the arm moves: a different pause recurs once per number of
//! heads. In serpentine order a pass of many tracks stays on one head; switches recur once a pass, and one is
//! missing where all heads had their pass and the arm stays on the head that it has.

use super::probe::{Probe, ProbeAnswer, ProbeEnd};
use super::tracks::{TrackReader, Tracks};
use super::zones::{Zone, ZoneMap};

/// No disk has more.
const HEADS_MAX: u64 = 24;
/// Tracks that are read in order: four times the most heads, then more until two switches of a pass show.
const PIECES_TRACKS: [f64; 3] = [100.0, 330.0, 800.0];
/// Between pieces, so that no read-ahead has what is read next.
const PIECE_GAP: f64 = (16 << 20) as f64;
/// Pauses of two kinds differ by this share of a turn, and by this many times what each kind varies by.
const KINDS_DIFFER_MIN: f64 = 0.004;
const KINDS_DIFFER_TIMES: f64 = 4.0;
/// Equal distances in a row that make a rule.
const REPEATS_MIN: usize = 3;
/// Tracks of a look at a single end, and before it.
const LOOK_TRACKS: f64 = 4.0;
const TRACKS_BEFORE: [f64; 2] = [1.6, 2.4];
/// Where in its zone reading begins.
const ZONE_SHARE_BEFORE: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadOrder {
    pub heads: u64,
    /// Tracks of a pass over one head in serpentine order; `None` by cylinder.
    pub pass_tracks: Option<u64>,
}

pub fn measure(
    probe: &mut dyn Probe,
    reader: &mut TrackReader,
    map: &ZoneMap,
) -> ProbeAnswer<HeadOrder> {
    let tracks_of = |zone: &&Zone| (zone.end - zone.start) / zone.track_bytes;
    let Some(zone) = map.zones.iter().max_by(|a, b| tracks_of(a).total_cmp(&tracks_of(b))) else {
        return Ok(Err("no zone is known".to_string()));
    };
    let mut from = zone.start + zone.margin + ZONE_SHARE_BEFORE * (zone.end - zone.start);
    let last = zone.end - zone.margin;
    let mut count = 0;
    for tracks in PIECES_TRACKS {
        if from + (tracks + 2.0) * zone.track_bytes > last {
            break;
        }
        let Some(mut pauses) = Pauses::read(probe, reader, from, tracks)? else {
            return Ok(Err("tracks do not show over a long enough stretch".to_string()));
        };
        count = pauses.seen.len();
        from += (tracks + 2.0) * zone.track_bytes + PIECE_GAP;
        let Some(kinds) = PauseKinds::of(&pauses.seen) else { continue };
        let rare = kinds.rare(&pauses.seen);
        let gaps: Vec<u64> = rare.windows(2).map(|pair| pair[1] - pair[0]).collect();
        match gaps.first() {
            Some(&gap) if gap > HEADS_MAX => {
                return pauses.walk(probe, reader, last, &kinds, (rare[0], rare[1]));
            }
            Some(&gap) if gaps.len() >= REPEATS_MIN => {
                let is_regular = gaps.iter().all(|&other| other == gap) && gap >= 2;
                return Ok(if is_regular {
                    Ok(HeadOrder { heads: gap, pass_tracks: None })
                } else {
                    Err("the pauses between tracks are of two kinds without a rule".to_string())
                });
            }
            _ => {}
        }
    }
    Ok(Err(format!(
        "{count} tracks in a row have pauses of one kind: switching heads takes as long as moving to the next track, or \
         comes more rarely"
    )))
}

/// Two kinds of pauses, turns.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PauseKinds {
    border: f64,
    is_long_rare: bool,
}

impl PauseKinds {
    /// Splits pauses at their widest gap; `None` if that is not clear.
    fn of(seen: &[(u64, f64)]) -> Option<Self> {
        let mut skews: Vec<f64> = seen.iter().map(|(_, skew)| *skew).collect();
        skews.sort_by(f64::total_cmp);
        let at = (1..skews.len())
            .max_by(|&a, &b| (skews[a] - skews[a - 1]).total_cmp(&(skews[b] - skews[b - 1])))?;
        let (short, long) = skews.split_at(at);
        let apart = long[0] - short[short.len() - 1];
        let width = |part: &[f64]| part[part.len() - 1] - part[0];
        let within = width(short).max(width(long));
        (apart > KINDS_DIFFER_MIN.max(KINDS_DIFFER_TIMES * within)).then(|| Self {
            border: f64::midpoint(short[short.len() - 1], long[0]),
            is_long_rare: long.len() < short.len(),
        })
    }

    fn is_rare(&self, skew: f64) -> bool {
        (skew > self.border) == self.is_long_rare
    }

    /// The ends of tracks with the rarer kind, in order.
    fn rare(&self, seen: &[(u64, f64)]) -> Vec<u64> {
        seen.iter().filter(|(_, skew)| self.is_rare(*skew)).map(|(number, _)| *number).collect()
    }
}

/// Pauses by the number of the end of a track.
struct Pauses {
    /// Where the track numbered 0 ends, bytes.
    first_end: f64,
    /// Bytes of a track, as far as a piece shows.
    track_bytes: f64,
    /// Number and place of the last end that was seen.
    anchor: (u64, f64),
    seen: Vec<(u64, f64)>,
}

impl Pauses {
    /// Reads tracks in order from a place on; `None` where they do not show.
    fn read(
        probe: &mut dyn Probe,
        reader: &mut TrackReader,
        from: f64,
        tracks: f64,
    ) -> Result<Option<Self>, ProbeEnd> {
        let tracks = reader.look_at(probe, from as u64 / 4096 * 4096, tracks)?;
        Ok(tracks.filter(|tracks| !tracks.is_mixed && tracks.shows_all).map(|tracks| Self {
            first_end: tracks.first_track,
            track_bytes: tracks.track_bytes,
            anchor: (0, tracks.first_track),
            seen: (0..).zip(tracks.skews).collect(),
        }))
    }

    /// The pauses of a look, each with the number of its end. The farther it is, the better is a track known.
    fn number(&mut self, tracks: Tracks) -> Vec<(u64, f64)> {
        let (number, byte) = self.anchor;
        let further = ((tracks.first_track - byte) / self.track_bytes).round();
        let at = number.saturating_add_signed(further as i64);
        self.anchor = (at, tracks.first_track);
        if at as usize > self.seen.len() {
            self.track_bytes = (tracks.first_track - self.first_end) / at as f64;
        }
        (at..).zip(tracks.skews).collect()
    }

    /// Whether the pause at the end of a track is of the rarer kind; `None` where that does not show.
    fn is_rare_at(
        &mut self,
        probe: &mut dyn Probe,
        reader: &mut TrackReader,
        kinds: &PauseKinds,
        number: u64,
    ) -> Result<Option<bool>, ProbeEnd> {
        let (track, (known, byte)) = (self.track_bytes, self.anchor);
        let end = byte + (number as f64 - known as f64) * track;
        for before in TRACKS_BEFORE {
            let at = (end - before * track).max(0.0) as u64 / 4096 * 4096;
            let tracks = reader.look_at(probe, at, LOOK_TRACKS)?;
            let Some(tracks) = tracks.filter(|tracks| !tracks.is_mixed && tracks.shows_all) else {
                continue;
            };
            let numbered = self.number(tracks);
            if let Some((_, skew)) = numbered.iter().find(|(at, _)| *at == number) {
                return Ok(Some(kinds.is_rare(*skew)));
            }
        }
        Ok(None)
    }

    /// Goes from switch to switch until three are missing at equal distances.
    fn walk(
        &mut self,
        probe: &mut dyn Probe,
        reader: &mut TrackReader,
        last: f64,
        kinds: &PauseKinds,
        (before, switch): (u64, u64),
    ) -> ProbeAnswer<HeadOrder> {
        const HIDDEN: &str = "the pauses at some switches of heads do not show";
        let mut pass = switch - before;
        if pass.is_multiple_of(2) {
            // The one between these two may be the one that is missing.
            match self.is_rare_at(probe, reader, kinds, switch + pass / 2)? {
                Some(true) => pass /= 2,
                Some(false) => {}
                None => return Ok(Err(HIDDEN.to_string())),
            }
        }
        let mut missing: Vec<u64> = Vec::new();
        for step in 1..=3 * HEADS_MAX {
            let number = switch + step * pass;
            if self.first_end + (number + 4) as f64 * self.track_bytes > last {
                return Ok(Err("no zone has tracks enough".to_string()));
            }
            match self.is_rare_at(probe, reader, kinds, number)? {
                Some(true) => {}
                Some(false) => missing.push(step),
                None => return Ok(Err(HIDDEN.to_string())),
            }
            let since = step - missing.last().copied().unwrap_or(0);
            if since > HEADS_MAX {
                break;
            }
            if let [first, second, third] = missing[..] {
                let heads = second - first;
                return Ok(if third - second == heads && heads > 1 {
                    Ok(HeadOrder { heads, pass_tracks: Some(pass) })
                } else {
                    Err("switches of heads are missing without a rule".to_string())
                });
            }
        }
        Ok(Err(format!(
            "heads switch every {pass} tracks and none is left out: how many there are does not show"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pause_kinds_are_separated_one_is_not() {
        let seen: Vec<(u64, f64)> = (0..60)
            .map(|i| (i, if i % 6 == 5 { 0.12 } else { 0.09 } + (i % 3) as f64 * 1e-4))
            .collect();
        let kinds = PauseKinds::of(&seen).unwrap();
        assert_eq!(kinds.rare(&seen)[..3], [5, 11, 17]);
        let alike: Vec<(u64, f64)> = (0..60).map(|i| (i, 0.1 + (i % 7) as f64 * 1e-3)).collect();
        assert_eq!(PauseKinds::of(&alike), None);
    }
}
