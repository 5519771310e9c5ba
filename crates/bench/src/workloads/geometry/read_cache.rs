//! What the drive's memory does for reads: how fast it answers, how far the drive reads ahead, how many places it
//! keeps, and how much of one stream (the questions of DIXtrac, J. Schindler and G. Ganger, 1999, asked with reads
//! alone).

mod lateness;

use super::probe::{Probe, ProbeAnswer, ProbeEnd};
use crate::io::draw::Draw;
use drivescope_stats::least_squares::least_squares;
use drivescope_stats::summary;
use lateness::{HitCount, Lateness};

const LENGTHS: [u32; 6] = [4 << 10, 16 << 10, 32 << 10, 64 << 10, 96 << 10, 128 << 10];
/// From the medium, a block that was just read takes a turn again: what takes more of it than this is not a hit.
const HIT_TURNS_MAX: f64 = 0.5;
/// Reads of each, and of the shortest after a rest.
const REPEATS: usize = 12;
const RESTED: usize = 16;
/// A read this much slower than the typical hit comes from the medium, or more where hits themselves vary more: as much
/// as all but a few of them, and never so much that the medium could be as fast.
const HIT_TIMES: f64 = 1.5;
const HIT_SLACK_NS: f64 = 150_000.0;
const HIT_SLACK_NS_MAX: f64 = 500_000.0;
const HIT_QUANTILE: f64 = 0.9;
/// Time until read-ahead ends, and turns that a stretch of it takes.
const SETTLE_NS: u64 = 80_000_000;
/// Read-ahead and held bytes looked for.
const AHEAD_MIN: u64 = 8 << 10;
const AHEAD_MAX: u64 = 64 << 20;
const HELD_MAX: u64 = 512 << 20;
/// Sizes are known within this share.
const RESOLUTION: f64 = 0.06;
const PLACES_MAX: usize = 1024;
const CHUNK: u32 = 256 << 10;
/// Share of misses somewhere else that are as fast as hits: none, since the arm has to move, but for chance.
const FAR_CHANCE: f64 = 0.001;
/// The same just behind a read, at most: of the fastest disks on a host whose hits vary most.
const NEAR_CHANCE_MAX: f64 = 0.2;
const TOO_LATE: &str = "the host answers too late too often to tell the cache from the medium";
const CONTRADICTORY: &str = "the same question was answered in two ways";
/// What helps, where other programs can be the reason.
const ADVICE: &str = "; let nothing else run";
/// A stream this many times as long as one is held shows whether other places give way.
const CROWDING_TIMES: f64 = 1.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheHits {
    /// Time of a hit without its data, ns.
    pub overhead_ns: f64,
    pub overhead_error_ns: f64,
    /// Rate between drive and host, 10^6 bytes per second; infinite if data take no time.
    pub link_mb_s: f64,
    pub link_error_mb_s: f64,
    pub small_ns: f64,
    /// How much later than usual a hit may come.
    pub slack_ns: f64,
    /// How often it comes later still.
    lateness: Lateness,
}

impl CacheHits {
    /// What is slower came from the medium, or late.
    fn slowest_ns(&self) -> f64 {
        (self.small_ns * HIT_TIMES).max(self.small_ns + self.slack_ns)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct HeldReads {
    pub read_ahead: Result<u64, String>,
    /// Far places of which each is still held.
    pub places: Result<usize, String>,
    /// Bytes of a stream that are held, what was read ahead included.
    pub stream_bytes: Result<u64, String>,
    /// Whether a stream takes memory from other places.
    pub is_shared: Option<bool>,
}

impl HeldReads {
    /// With what helps beside each reason that other programs may have caused.
    fn advised(mut self) -> Self {
        let Self { read_ahead, places, stream_bytes, .. } = &mut self;
        let reasons =
            [read_ahead.as_mut().err(), places.as_mut().err(), stream_bytes.as_mut().err()];
        for why in reasons.into_iter().flatten() {
            if [TOO_LATE, CONTRADICTORY].contains(&why.as_str()) {
                why.push_str(ADVICE);
            }
        }
        self
    }

    /// All memory for reads: of borders that move, what one stream can have; else that of all places together.
    pub fn cache_bytes(&self) -> Option<u64> {
        let (stream, places) = (*self.stream_bytes.as_ref().ok()?, *self.places.as_ref().ok()?);
        let places = places as u64;
        // The place that was read last, to end the reading ahead, had its share.
        Some(if self.is_shared? { stream + stream / places.max(1) } else { stream * places })
    }
}

/// Reads one block again and again, in several lengths; the reason if it comes from the medium each time.
pub fn hits(probe: &mut dyn Probe, turn_ns: f64, seed: u64) -> ProbeAnswer<CacheHits> {
    let mut draw = Draw::new(seed);
    let longest = LENGTHS[LENGTHS.len() - 1];
    let at = draw.place(probe.span() - u64::from(longest), u64::from(longest));
    let mut first = probe.read(at, longest)?;
    for _ in 0..2 {
        first = probe.read(at, longest)?;
    }
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); LENGTHS.len()];
    for _ in 0..REPEATS {
        for (length, times) in LENGTHS.iter().zip(&mut times) {
            times.extend(probe.read(at, *length)?.map(|read| read.ns()));
        }
    }
    let mut rested = Vec::new();
    for _ in 0..RESTED {
        probe.idle(SETTLE_NS)?;
        rested.extend(probe.read(at, LENGTHS[0])?.map(|read| read.ns()));
    }
    let medians: Vec<f64> = times.iter().filter_map(|times| summary::median(times)).collect();
    let (Some(_), Some(&small_ns)) = (first, medians.first()) else {
        return Ok(Err("reads failed".to_string()));
    };
    if medians.len() < LENGTHS.len() || small_ns > HIT_TURNS_MAX * turn_ns {
        let [ms, turn_ms] = [small_ns, turn_ns].map(|ns| ns / 1e6);
        return Ok(Err(format!(
            "a block that was just read takes {ms:.1} ms again, and a turn {turn_ms:.1} ms: nothing is kept"
        )));
    }
    let rows: Vec<Vec<f64>> = LENGTHS.iter().map(|&length| vec![1.0, f64::from(length)]).collect();
    let Some(line) = least_squares(&rows, &medians, &[]) else {
        return Ok(Err("reads failed".to_string()));
    };
    let (overhead_ns, ns_per_byte) = (line.coefficients[0], line.coefficients[1].max(1e-9));
    let link_mb_s = 1e3 / ns_per_byte;
    let mut hits = CacheHits {
        overhead_ns,
        overhead_error_ns: line.standard_errors[0],
        link_mb_s,
        link_error_mb_s: link_mb_s * line.standard_errors[1] / ns_per_byte,
        small_ns,
        slack_ns: hit_slack_ns(&rested, small_ns),
        lateness: Lateness::default(),
    };
    let slowest_ns = hits.slowest_ns();
    rested.iter().for_each(|ns| hits.lateness.add(*ns >= slowest_ns));
    Ok(Ok(hits))
}

/// How much later than the usual hit nearly every one comes: most of all after a rest, in which processors sleep.
fn hit_slack_ns(rested: &[f64], small_ns: f64) -> f64 {
    let slowest = summary::quantile(rested, HIT_QUANTILE).unwrap_or(small_ns);
    (slowest - small_ns).clamp(HIT_SLACK_NS, HIT_SLACK_NS_MAX)
}

pub fn held(
    probe: &mut dyn Probe,
    hits: CacheHits,
    (block, turn_ns): (u32, f64),
    seed: u64,
) -> Result<HeldReads, ProbeEnd> {
    let slowest_ns = hits.slowest_ns();
    let near_chance = (slowest_ns / turn_ns).clamp(FAR_CHANCE, NEAR_CHANCE_MAX);
    let lateness = hits.lateness;
    let mut cache = CacheProbe { slowest_ns, lateness, block, near_chance, draw: Draw::new(seed) };
    let read_ahead = cache.read_ahead(probe)?;
    let places = cache.places(probe)?;
    let stream_bytes = match &read_ahead {
        // What is read ahead is a part of it, which must be known.
        Err(why) if [TOO_LATE, CONTRADICTORY].contains(&why.as_str()) => Err(why.clone()),
        known => cache.stream_bytes(probe, *known.as_ref().unwrap_or(&0))?,
    };
    let is_shared = match (&stream_bytes, &places) {
        (Ok(bytes), Ok(count)) if *count > 1 => cache.stream_crowds_out(probe, *bytes)?,
        (Ok(_), Ok(_)) => Some(true),
        _ => None,
    };
    let held = HeldReads { read_ahead, places, stream_bytes, is_shared };
    Ok(if probe.is_alone() { held } else { held.advised() })
}

/// Reads a stretch as a program does that reads a file, one chunk after the other.
fn read_in_order(probe: &mut dyn Probe, at: u64, len: u64) -> Result<(), ProbeEnd> {
    for offset in (at..at + len).step_by(CHUNK as usize) {
        probe.read(offset, CHUNK)?;
    }
    Ok(())
}

struct CacheProbe {
    slowest_ns: f64,
    lateness: Lateness,
    block: u32,
    /// Share of misses just behind a read that are as fast as hits: the sector passes the head just then.
    near_chance: f64,
    draw: Draw,
}

impl CacheProbe {
    fn place(&mut self, probe: &dyn Probe, room: u64) -> u64 {
        let unit = 1 << 20;
        self.draw.place(probe.span().saturating_sub(room).max(unit), unit)
    }

    /// Whether a block is answered as fast as from the cache. If not, a second read shows how late the host is.
    fn is_fast(&mut self, probe: &mut dyn Probe, at: u64) -> Result<bool, ProbeEnd> {
        let Some(read) = probe.read(at, self.block)? else { return Ok(false) };
        let is_fast = read.ns() < self.slowest_ns;
        if !is_fast {
            probe.idle(SETTLE_NS)?;
            if let Some(again) = probe.read(at, self.block)? {
                self.lateness.add(again.ns() >= self.slowest_ns);
            }
        }
        Ok(is_fast)
    }

    /// Whether something is held: `trial` asks for it once, again until it is sure. `None` if that takes too long.
    fn is_held(
        &mut self,
        probe: &mut dyn Probe,
        chance: f64,
        mut trial: impl FnMut(&mut Self, &mut dyn Probe) -> Result<bool, ProbeEnd>,
    ) -> Result<Option<bool>, ProbeEnd> {
        let mut count = HitCount::default();
        loop {
            count.add(trial(self, probe)?);
            match count.verdict(self.lateness, chance) {
                None if count.goes_on(self.lateness) => {}
                verdict => return Ok(verdict),
            }
        }
    }

    /// How far the drive reads on after a single read.
    fn read_ahead(&mut self, probe: &mut dyn Probe) -> ProbeAnswer<u64> {
        let most = AHEAD_MAX.min(probe.span() / 4);
        let chance = self.near_chance;
        let found = self.largest(probe, (AHEAD_MIN, most, chance), |cache, probe, distance| {
            let at = cache.place(probe, 2 * most);
            probe.read(at, cache.block)?;
            probe.idle(SETTLE_NS + distance * 20)?;
            let unit = u64::from(cache.block);
            cache.is_fast(probe, at + distance / unit * unit)
        })?;
        Ok(match found {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => {
                Err(format!("what lies {} KiB behind a read is not read ahead", AHEAD_MIN >> 10))
            }
            Err(why) => Err(why),
        })
    }

    /// How many far places are held: the last are read again in reverse, until one is gone.
    fn places(&mut self, probe: &mut dyn Probe) -> ProbeAnswer<usize> {
        let mut count = 8;
        while count <= PLACES_MAX {
            // The last one held may be answered late.
            let (mut held, mut looks) = (0, 0);
            while held < count && looks < self.lateness.misses_among(1) {
                held = held.max(self.held_of(probe, count)?);
                looks += 1;
                if !self.lateness.is_bearable() {
                    return Ok(Err(TOO_LATE.to_string()));
                }
            }
            if held == 0 {
                return Ok(Err("a block is gone as soon as another one was read".to_string()));
            }
            if held < count {
                return Ok(Ok(held));
            }
            count *= 2;
        }
        Ok(Err(format!("all of {PLACES_MAX} places are still held")))
    }

    /// How many of `count` places are held, from the last one back. After the first that is gone all are gone: each
    /// takes the room of another one when it is read.
    fn held_of(&mut self, probe: &mut dyn Probe, count: usize) -> Result<usize, ProbeEnd> {
        let places: Vec<u64> = (0..count).map(|_| self.place(probe, 1 << 20)).collect();
        for &at in &places {
            probe.read(at, self.block)?;
        }
        let (mut held, mut slow) = (0, 0);
        for (number, &at) in (1..).zip(places.iter().rev()) {
            if self.is_fast(probe, at)? {
                (held, slow) = (number, 0);
                continue;
            }
            slow += 1;
            if slow >= self.lateness.misses_among(count) {
                break;
            }
        }
        Ok(held)
    }

    fn stream_bytes(&mut self, probe: &mut dyn Probe, read_ahead: u64) -> ProbeAnswer<u64> {
        let most = HELD_MAX.min(probe.span() / 4);
        let least = u64::from(self.block);
        let found = self.largest(probe, (least, most, FAR_CHANCE), |cache, probe, distance| {
            let unit = u64::from(CHUNK);
            let len = (distance + (4 << 20)).div_ceil(unit) * unit;
            let at = cache.place(probe, len + AHEAD_MAX.min(most));
            read_in_order(probe, at, len)?;
            probe.idle(SETTLE_NS + read_ahead * 20)?;
            // Another place ends the reading ahead, and takes its room.
            let elsewhere = cache.place(probe, unit);
            probe.read(elsewhere, cache.block)?;
            let block = u64::from(cache.block);
            cache.is_fast(probe, at + len - distance.div_ceil(block) * block)
        })?;
        Ok(found.and_then(|found| {
            // What was read ahead may have taken the place of all the rest.
            let bytes = found.unwrap_or(0) + read_ahead;
            if bytes > 0 { Ok(bytes) } else { Err("nothing of a stream is held".to_string()) }
        }))
    }

    fn stream_crowds_out(
        &mut self,
        probe: &mut dyn Probe,
        stream_bytes: u64,
    ) -> Result<Option<bool>, ProbeEnd> {
        let is_held = self.is_held(probe, FAR_CHANCE, |cache, probe| {
            let far = cache.place(probe, 1 << 20);
            probe.read(far, cache.block)?;
            let len = (stream_bytes as f64 * CROWDING_TIMES) as u64;
            let at = cache.place(probe, 2 * len);
            read_in_order(probe, at, len)?;
            cache.is_fast(probe, far)
        })?;
        Ok(is_held.map(|is_held| !is_held))
    }

    /// The largest size for which `holds` is true, looked for by doubling and then halving. `chance`: of a size for
    /// which it is not. `None` if it is not even true for the smallest; why not if no trial shows it.
    fn largest(
        &mut self,
        probe: &mut dyn Probe,
        (least, most, chance): (u64, u64, f64),
        holds: impl Fn(&mut Self, &mut dyn Probe, u64) -> Result<bool, ProbeEnd>,
    ) -> ProbeAnswer<Option<u64>> {
        let (mut low, mut high, mut is_doubling) = (0, least, true);
        loop {
            let size = if is_doubling { high } else { u64::midpoint(low, high) };
            match self.is_held(probe, chance, |cache, probe| holds(cache, probe, size))? {
                None => return Ok(Err(TOO_LATE.to_string())),
                Some(true) if is_doubling => {
                    (low, high) = (size, 2 * size);
                    is_doubling = high <= most;
                }
                Some(true) => low = size,
                Some(false) if low == 0 => return Ok(Ok(None)),
                Some(false) => (high, is_doubling) = (size, false),
            }
            let slack = ((RESOLUTION * low as f64) as u64).max(least);
            if !is_doubling && high - low <= slack {
                let found = u64::midpoint(low, high.min(most.max(low)));
                return self.confirmed(probe, found, (least, most, chance), holds);
            }
        }
    }

    /// Asks once more well below and well above the found size, in case an earlier answer was wrong.
    fn confirmed(
        &mut self,
        probe: &mut dyn Probe,
        found: u64,
        (least, most, chance): (u64, u64, f64),
        holds: impl Fn(&mut Self, &mut dyn Probe, u64) -> Result<bool, ProbeEnd>,
    ) -> ProbeAnswer<Option<u64>> {
        for (size, is_expected) in [(found / 4 * 3, true), (found / 4 * 5, false)] {
            if !(least..=most).contains(&size) {
                continue;
            }
            match self.is_held(probe, chance, |cache, probe| holds(cache, probe, size))? {
                None => return Ok(Err(TOO_LATE.to_string())),
                Some(is_held) if is_held != is_expected => {
                    return Ok(Err(CONTRADICTORY.to_string()));
                }
                Some(_) => {}
            }
        }
        Ok(Ok(Some(found)))
    }
}

#[cfg(test)]
mod tests;
