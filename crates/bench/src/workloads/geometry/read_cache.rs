//! What the drive's memory does for reads: how fast it answers, how far the drive reads ahead, how many places it
//! keeps, and how much of one stream (the questions of DIXtrac, J. Schindler and G. Ganger, 1999, asked with reads
//! alone).

use super::probe::{Draw, Probe, ProbeEnd};
use drivescope_stats::least_squares::least_squares;
use drivescope_stats::summary;

/// Lengths that are read from the cache, bytes.
const LENGTHS: [u32; 6] = [4 << 10, 16 << 10, 32 << 10, 64 << 10, 96 << 10, 128 << 10];
/// Reads of each, and of the shortest after a rest.
const REPEATS: usize = 12;
/// A read this much slower than the typical hit comes from the medium, or more where hits themselves vary more: as much
/// as all but a few of them, and never so much that the medium could be as fast.
const HIT_TIMES: f64 = 1.5;
const HIT_SLACK_NS: f64 = 150_000.0;
const HIT_SLACK_NS_MAX: f64 = 500_000.0;
const HIT_QUANTILE: f64 = 0.9;
/// Time for read-ahead to come to its end, and turns that a stretch of it takes.
const SETTLE_NS: u64 = 80_000_000;
/// Read-ahead and held bytes looked for.
const AHEAD_MIN: u64 = 8 << 10;
const AHEAD_MAX: u64 = 64 << 20;
const HELD_MAX: u64 = 512 << 20;
/// Sizes are known within this share.
const RESOLUTION: f64 = 0.06;
/// Places tried at most.
const PLACES_MAX: usize = 1024;
/// Chunk of a stream.
const CHUNK: u32 = 256 << 10;
/// Hits that decide that something is held: a miss is seldom as fast as a hit by chance, but is. A stream takes too
/// long to be read twice.
const TRIALS: usize = 2;
const STREAM_TRIALS: usize = 1;
/// Misses that decide that it is not where hits vary: a late one looks like a miss.
const MISSES: usize = 2;
/// A stream so many times as long as one is held shows whether other places give way.
const CROWDING_TIMES: f64 = 1.5;

/// How the cache answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheHits {
    /// Time of a hit without its data, ns.
    pub overhead_ns: f64,
    /// Its standard error.
    pub overhead_error_ns: f64,
    /// Rate between drive and host, 10^6 bytes per second; infinite if data take no time.
    pub link_mb_s: f64,
    /// Its standard error.
    pub link_error_mb_s: f64,
    /// Time of a hit of the smallest length.
    pub small_ns: f64,
    /// How much later than usual a hit may come.
    pub slack_ns: f64,
}

impl CacheHits {
    /// Whether a read of a block came from the cache.
    fn is_hit(&self, ns: f64) -> bool {
        ns < (self.small_ns * HIT_TIMES).max(self.small_ns + self.slack_ns)
    }

    /// Misses that are believed.
    fn misses(&self) -> usize {
        if self.slack_ns > HIT_SLACK_NS { MISSES } else { 1 }
    }
}

/// How much the cache holds.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldReads {
    /// Bytes read ahead of a single read.
    pub read_ahead: Result<u64, String>,
    /// Far places of which each is still held.
    pub places: Result<usize, String>,
    /// Bytes of a stream that are held, what was read ahead included.
    pub stream_bytes: Result<u64, String>,
    /// Whether a stream takes memory from other places.
    pub is_shared: Option<bool>,
}

impl HeldReads {
    /// All memory for reads: of borders that move, what one stream can have; else that of all places together.
    pub fn cache_bytes(&self) -> Option<u64> {
        let (stream, places) = (*self.stream_bytes.as_ref().ok()?, *self.places.as_ref().ok()?);
        let places = places as u64;
        // The place that was read last, to end the reading ahead, had its share.
        Some(if self.is_shared? { stream + stream / places.max(1) } else { stream * places })
    }
}

/// Reads the same block again and again, in several lengths; why not if it comes from the medium each time.
pub fn hits(probe: &mut dyn Probe, seed: u64) -> Result<Result<CacheHits, String>, ProbeEnd> {
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
    for _ in 0..REPEATS {
        probe.idle(SETTLE_NS)?;
        rested.extend(probe.read(at, LENGTHS[0])?.map(|read| read.ns()));
    }
    let medians: Vec<f64> = times.iter().filter_map(|times| summary::median(times)).collect();
    let (Some(_), Some(&small_ns)) = (first, medians.first()) else {
        return Ok(Err("reads failed".to_string()));
    };
    if medians.len() < LENGTHS.len() || small_ns > super::rotation::MEDIUM_NS_MIN {
        let ms = small_ns / 1e6;
        return Ok(Err(format!(
            "a block that was just read takes {ms:.1} ms again: nothing is kept"
        )));
    }
    let rows: Vec<Vec<f64>> = LENGTHS.iter().map(|&length| vec![1.0, f64::from(length)]).collect();
    let Some(line) = least_squares(&rows, &medians, &[]) else {
        return Ok(Err("reads failed".to_string()));
    };
    let (overhead_ns, ns_per_byte) = (line.coefficients[0], line.coefficients[1].max(1e-9));
    let link_mb_s = 1e3 / ns_per_byte;
    Ok(Ok(CacheHits {
        overhead_ns,
        overhead_error_ns: line.standard_errors[0],
        link_mb_s,
        link_error_mb_s: link_mb_s * line.standard_errors[1] / ns_per_byte,
        small_ns,
        slack_ns: hit_slack_ns(&rested, small_ns),
    }))
}

/// How much later than the usual hit nearly every one comes: most of all after a rest, in which processors sleep.
fn hit_slack_ns(rested: &[f64], small_ns: f64) -> f64 {
    let slowest = summary::quantile(rested, HIT_QUANTILE).unwrap_or(small_ns);
    (slowest - small_ns).clamp(HIT_SLACK_NS, HIT_SLACK_NS_MAX)
}

/// Asks what is held.
pub fn held(
    probe: &mut dyn Probe,
    hits: CacheHits,
    block: u32,
    seed: u64,
) -> Result<HeldReads, ProbeEnd> {
    let mut cache = CacheProbe { hits, block, draw: Draw::new(seed) };
    let read_ahead = cache.read_ahead(probe)?;
    let places = cache.places(probe)?;
    let stream_bytes = cache.stream_bytes(probe, *read_ahead.as_ref().unwrap_or(&0))?;
    let is_shared = match (&stream_bytes, &places) {
        (Ok(bytes), Ok(count)) if *count > 1 => cache.stream_crowds_out(probe, *bytes)?,
        (Ok(_), Ok(_)) => Some(true),
        _ => None,
    };
    Ok(HeldReads { read_ahead, places, stream_bytes, is_shared })
}

/// Reads a stretch as a program does that reads a file, one chunk after the other.
fn read_in_order(probe: &mut dyn Probe, at: u64, len: u64) -> Result<(), ProbeEnd> {
    for offset in (at..at + len).step_by(CHUNK as usize) {
        probe.read(offset, CHUNK)?;
    }
    Ok(())
}

struct CacheProbe {
    hits: CacheHits,
    block: u32,
    draw: Draw,
}

impl CacheProbe {
    /// A place with so much room behind it.
    fn place(&mut self, probe: &dyn Probe, room: u64) -> u64 {
        let unit = 1 << 20;
        self.draw.place(probe.span().saturating_sub(room).max(unit), unit)
    }

    fn is_hit(&self, probe: &mut dyn Probe, at: u64) -> Result<bool, ProbeEnd> {
        Ok(probe.read(at, self.block)?.is_some_and(|read| self.hits.is_hit(read.ns())))
    }

    /// How far behind a single read the drive reads on.
    fn read_ahead(&mut self, probe: &mut dyn Probe) -> Result<Result<u64, String>, ProbeEnd> {
        let most = AHEAD_MAX.min(probe.span() / 4);
        let found = self.largest(probe, (AHEAD_MIN, most, TRIALS), |cache, probe, distance| {
            let at = cache.place(probe, 2 * most);
            probe.read(at, cache.block)?;
            probe.idle(SETTLE_NS + distance * 20)?;
            let unit = u64::from(cache.block);
            cache.is_hit(probe, at + distance / unit * unit)
        })?;
        Ok(found.ok_or_else(|| {
            format!("what lies {} KiB behind a read is not read ahead", AHEAD_MIN >> 10)
        }))
    }

    /// How many far places are held: the last are read again in reverse, until one is gone.
    fn places(&mut self, probe: &mut dyn Probe) -> Result<Result<usize, String>, ProbeEnd> {
        let mut count = 8;
        while count <= PLACES_MAX {
            // A hit that is answered late ends the count too early.
            let mut held = 0;
            for _ in 0..self.hits.misses() {
                if held < count {
                    held = held.max(self.held_of(probe, count)?);
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

    /// How many of so many places are held, from the last one back.
    fn held_of(&mut self, probe: &mut dyn Probe, count: usize) -> Result<usize, ProbeEnd> {
        let places: Vec<u64> = (0..count).map(|_| self.place(probe, 1 << 20)).collect();
        for &at in &places {
            probe.read(at, self.block)?;
        }
        for (held, &at) in places.iter().rev().enumerate() {
            if !self.is_hit(probe, at)? {
                return Ok(held);
            }
        }
        Ok(count)
    }

    /// How much of a stream is still held behind its end.
    fn stream_bytes(
        &mut self,
        probe: &mut dyn Probe,
        read_ahead: u64,
    ) -> Result<Result<u64, String>, ProbeEnd> {
        let most = HELD_MAX.min(probe.span() / 4);
        let least = u64::from(self.block);
        let found =
            self.largest(probe, (least, most, STREAM_TRIALS), |cache, probe, distance| {
                let unit = u64::from(CHUNK);
                let len = (distance + (4 << 20)).div_ceil(unit) * unit;
                let at = cache.place(probe, len + AHEAD_MAX.min(most));
                read_in_order(probe, at, len)?;
                probe.idle(SETTLE_NS + read_ahead * 20)?;
                // Another place ends the reading ahead, and takes its room.
                let elsewhere = cache.place(probe, unit);
                probe.read(elsewhere, cache.block)?;
                let block = u64::from(cache.block);
                cache.is_hit(probe, at + len - distance.div_ceil(block) * block)
            })?;
        // What was read ahead may have taken the place of all the rest.
        let bytes = found.unwrap_or(0) + read_ahead;
        Ok(if bytes > 0 { Ok(bytes) } else { Err("nothing of a stream is held".to_string()) })
    }

    /// Whether a stream that is longer than what one can have drives a far place out.
    fn stream_crowds_out(
        &mut self,
        probe: &mut dyn Probe,
        stream_bytes: u64,
    ) -> Result<Option<bool>, ProbeEnd> {
        let mut gone = 0;
        for _ in 0..TRIALS {
            let far = self.place(probe, 1 << 20);
            probe.read(far, self.block)?;
            let len = (stream_bytes as f64 * CROWDING_TIMES) as u64;
            let at = self.place(probe, 2 * len);
            read_in_order(probe, at, len)?;
            gone += usize::from(!self.is_hit(probe, far)?);
        }
        Ok(Some(gone == TRIALS))
    }

    /// The largest size for which `holds` is true, looked for by doubling and then halving; it must be true as often as
    /// said before it was false. `None` if it is not even true for the smallest.
    fn largest(
        &mut self,
        probe: &mut dyn Probe,
        (least, most, trials): (u64, u64, usize),
        holds: impl Fn(&mut Self, &mut dyn Probe, u64) -> Result<bool, ProbeEnd>,
    ) -> Result<Option<u64>, ProbeEnd> {
        let mut all_hold = |cache: &mut Self, size: u64| -> Result<bool, ProbeEnd> {
            let (mut hits, mut misses) = (0, 0);
            while hits < trials && misses < cache.hits.misses() {
                let is_hit = holds(cache, probe, size)?;
                hits += usize::from(is_hit);
                misses += usize::from(!is_hit);
            }
            Ok(hits == trials)
        };
        if !all_hold(self, least)? {
            return Ok(None);
        }
        let (mut low, mut high) = (least, least * 2);
        while high <= most && all_hold(self, high)? {
            (low, high) = (high, high * 2);
        }
        while (high - low) as f64 > RESOLUTION * low as f64 && high - low > least {
            let middle = u64::midpoint(low, high);
            if all_hold(self, middle)? { low = middle } else { high = middle }
        }
        Ok(Some(u64::midpoint(low, high.min(most.max(low)))))
    }
}
