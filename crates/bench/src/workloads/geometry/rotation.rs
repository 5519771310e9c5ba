//! How fast a disk turns, from reads alone.
//!
//! A sector passes the head once a turn, so the times at which reads of the same sector are answered differ by whole
//! turns, whatever lay between them (the idea of H. Wong's hdubench, without the need to switch caches off: enough
//! other places are read in between that the sector has left the drive's cache).

use super::probe::{Probe, ProbeAnswer};
use crate::io::draw::Draw;
use drivescope_stats::common_period::{CommonPeriod, common_period};
use drivescope_stats::summary;

const SECTORS: usize = 24;
const VISITS: usize = 10;
/// No disk seeks and waits in less; flash answers sooner.
pub const MEDIUM_NS_MIN: f64 = 1_000_000.0;
/// What takes less of a usual read of a fresh place comes from the cache, however slow its commands are.
const HIT_SHARE: f64 = 0.25;
/// Disks turn between 3,600 and 15,000 times a minute, and a little more.
const TURN_NS_MIN: f64 = 3_850_000.0;
const TURN_NS_MAX: f64 = 17_500_000.0;
/// Where more than this share of a pass comes from the cache, more other places are read between passes.
const HITS_SHARE_MAX: f64 = 0.2;
/// Other places read between two passes, at most: a cache of 256 MiB holds no more of them, each with its read-ahead.
const OTHERS_MAX: usize = 1024;

pub fn measure(probe: &mut dyn Probe, block: u32, seed: u64) -> ProbeAnswer<CommonPeriod> {
    let mut draw = Draw::new(seed);
    let (span, unit) = (probe.span(), u64::from(block));
    let sectors: Vec<u64> = (0..SECTORS).map(|_| draw.place(span, unit)).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); SECTORS];
    let (mut others, mut hit_ns, mut all_ns) = (0, MEDIUM_NS_MIN, Vec::new());
    for visit in 0..VISITS {
        let mut order: Vec<usize> = (0..SECTORS).collect();
        draw.shuffle(&mut order);
        let mut hits = 0;
        for index in order {
            let Some(read) = probe.read(sectors[index], block)? else { continue };
            all_ns.push(read.ns());
            if read.ns() < hit_ns {
                hits += 1;
            } else {
                times[index].push(read.done_ns as f64);
            }
        }
        if visit == 0 && hits * 2 > SECTORS {
            let us = summary::median(&all_ns).unwrap_or(0.0) / 1e3;
            return Ok(Err(format!(
                "random reads take {us:.0} µs, less than a disk needs to seek"
            )));
        }
        if visit == 0 {
            hit_ns = HIT_SHARE * summary::median(&all_ns).unwrap_or(0.0);
        }
        if hits as f64 > HITS_SHARE_MAX * SECTORS as f64 {
            others = (others * 2).clamp(64, OTHERS_MAX);
        }
        // Not the same number each time: even rounds would leave the turn unsure by one part in a round's turns.
        for _ in 0..others / 2 + draw.below(others as u64) as usize * usize::from(others > 0) {
            let place = draw.place(span, unit);
            probe.read(place, block)?;
        }
    }
    let visits: usize = times.iter().map(Vec::len).sum();
    Ok(common_period(&times, TURN_NS_MIN, TURN_NS_MAX).ok_or_else(|| {
        format!("{visits} reads of {SECTORS} sectors are not whole turns apart: a cache or another layer answers")
    }))
}
