//! Where a sampled fill writes, and where it cannot say anything.

use super::PAGE;
use crate::loops::scan::ScanRegion;
use drivescope_model::options::FillOptions;
use drivescope_model::units::Bytes;
use std::iter;

/// Fewest places that give a curve.
pub(crate) const PLACES_MIN: u32 = 16;
/// Shortest sample: below it, the rate of a sample is left to chance.
const SAMPLE_MIN: u64 = 16 << 20;
/// Requests of a sample that average out what one of them happens to meet.
const SAMPLE_CHUNKS: u64 = 32;
/// The same of a hard disk, and the size of its requests at most: it answers when a track has left its
/// cache, and what of that is not a whole request makes the rate of a short sample uncertain.
const DISK_SAMPLE_CHUNKS: u64 = 64;
const DISK_CHUNK: u64 = 256 << 10;
/// Shorter ones make it more certain, where the drive takes them as fast. Below this, few drives do.
const DISK_CHUNK_MIN: u64 = 64 << 10;
/// Times of requests of one size differ by this factor, because tracks do not hold whole requests.
const AS_FAST: f64 = 1.01;
/// The request size of a full fill matters on a disk if it is this much faster than short requests (without a
/// cache or a queue each loses a turn; on a slow link each has its own cost) or slower (they do not fit into the
/// cache): then they are used here, too, however uncertain they make a sample. Chance makes 3 % on small disks.
const DIFFERS: f64 = 1.05;
/// Requests of a full fill that a sample must hold to be compared at all.
const ASKED_MIN: u64 = 16;
/// Longest lead-in and longest sample of a place: longer ones say nothing more, they only take time.
const SAMPLE_MAX: u64 = 128 << 20;
/// Places on flash: fewer and longer ones, because the rate there hardly follows the position, while it
/// varies with the rows of pages that a sample fills.
const FLASH_PLACES: u64 = 32;
/// On less than this part of a disk, its zones and a cache cannot be distinguished.
const PART_MIN: u64 = 4;

/// How the target is sampled: places, each with a lead-in that fills the drive's write cache, so that the
/// sample after it shows the rate of the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sampling {
    pub count: u64,
    pub lead_in: u64,
    pub sample: u64,
    pub chunk: u64,
    /// The same of a full fill, where a disk has to be asked whether it needs longer ones.
    pub asked: Option<u64>,
    /// Visits of the first place of a disk that do not count: one to fill the write cache, one for each trial.
    pub warm_up: u64,
}

fn sizes(longest: u64) -> Vec<u64> {
    let half = |size: &u64| {
        let half = size / 2;
        (half >= DISK_CHUNK_MIN && half.is_multiple_of(PAGE)).then_some(half)
    };
    iter::successors(Some(longest), half).collect()
}

/// The shortest requests that the drive takes as fast as any, by their sizes and the times of one sample of each.
/// Requests that keep the electronics busy longer than the medium would show the electronics. Those of a full fill
/// only where the drive takes them at another pace.
pub(super) fn shortest_as_fast(times: &[(u64, u64)]) -> Option<u64> {
    let (long, short): (Vec<_>, Vec<_>) = times.iter().partition(|&&(size, _)| size > DISK_CHUNK);
    let fastest = short.iter().map(|&(_, ns)| ns).min()? as f64;
    let differs = |ns: f64| ns * DIFFERS < fastest || ns > fastest * DIFFERS;
    if let Some(&(asked, _)) = long.iter().find(|(_, ns)| differs(*ns as f64)) {
        return Some(asked);
    }
    let as_fast = short.iter().filter(|&&(_, ns)| ns as f64 <= fastest * AS_FAST);
    as_fast.map(|&(size, _)| size).min()
}

impl Sampling {
    /// As many places as asked that fit into the asked share of `size` bytes. `disk`: capacity of a drive
    /// that rotates, 0 if it is not known.
    ///
    /// Errors: why the samples would say nothing; completes "fill …".
    pub fn new(options: &FillOptions, size: u64, disk: Option<u64>) -> Result<Self, String> {
        let asked = options.chunk.0;
        let budget = (size as f64 * options.share_pct / 100.0) as u64;
        let (chunk, chunks) = match disk {
            Some(_) => (asked.min(DISK_CHUNK), DISK_SAMPLE_CHUNKS),
            None => (asked, SAMPLE_CHUNKS),
        };
        let shortest = SAMPLE_MIN.max(chunk).next_multiple_of(chunk);
        // Rather fewer places than samples so short that chance decides; but not too few.
        // A part is sampled with the samples of the whole: what averages out depends on the drive.
        let of_whole = disk.map_or(0, |capacity| {
            let budget = (capacity as f64 * options.share_pct / 100.0) as u64;
            (budget / (u64::from(options.places) + 1) / 2).min(SAMPLE_MAX) / chunk * chunk
        });
        let long = shortest.max(chunks * chunk).max(of_whole);
        let is_long = disk.is_some() && asked > chunk && asked * ASKED_MIN <= long;
        let asked = is_long.then_some(asked);
        let with_trials = (1 + sizes(chunk).len() + asked.iter().len()) as u64;
        let warm_up = match disk {
            Some(_) if budget / (2 * long) >= with_trials + u64::from(PLACES_MIN) => with_trials,
            Some(_) => 1,
            None => 0,
        };
        let long_enough = (budget / (2 * long)).saturating_sub(warm_up).max(u64::from(PLACES_MIN));
        let most = if disk.is_some() { long_enough } else { long_enough.min(FLASH_PLACES) };
        let count = u64::from(options.places).min(most);
        let half = (budget / (count + warm_up) / 2).min(SAMPLE_MAX) / chunk * chunk;
        if half < shortest {
            let needed = (u64::from(PLACES_MIN) + warm_up) * 2 * shortest;
            let whole = Bytes((needed as f64 / options.share_pct * 100.0) as u64);
            return Err(format!(
                "cannot sample {}: fill.share_pct={} needs a target of at least {whole}; use --set fill.mode=full",
                Bytes(size),
                options.share_pct
            ));
        }
        if let Some(capacity) = disk.filter(|capacity| size < capacity / PART_MIN) {
            return Err(format!(
                "cannot sample {} of a disk of {}: too small to tell zones from a cache; use --set fill.mode=full",
                Bytes(size),
                Bytes(capacity)
            ));
        }
        Ok(Self { count, lead_in: half, sample: half, chunk, asked, warm_up })
    }

    /// Sizes of requests to choose from, the longest first; none where a small disk has no bytes for trials.
    pub fn trials(self) -> Vec<u64> {
        let all = self.asked.into_iter().chain(sizes(self.chunk));
        if self.warm_up > 1 { all.collect() } else { Vec::new() }
    }

    pub fn bytes(self) -> u64 {
        (self.count + self.warm_up) * (self.lead_in + self.sample)
    }

    pub fn places(self, size: u64) -> Vec<ScanRegion> {
        let last = (size - self.lead_in - self.sample) / PAGE;
        let place = |i: u64| {
            let at = u128::from(last) * u128::from(i) / u128::from(self.count - 1);
            let lead_in_from = at as u64 * PAGE;
            ScanRegion {
                offset: lead_in_from + self.lead_in,
                len: self.sample,
                lead_in_from,
                lead_in_len: self.lead_in,
            }
        };
        (0..self.count).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_fit_their_share_and_span_target() {
        let options = FillOptions::default();
        for size in [115_000_000_000, 400 << 30, 16_000_000_000_000u64] {
            for disk in [Some(size), Some(2 * size), None] {
                let sampling = Sampling::new(&options, size, disk).unwrap();
                assert!(
                    sampling.sample >= 16 << 20 && sampling.lead_in >= 16 << 20,
                    "{sampling:?}"
                );
                let places = sampling.places(size);
                assert!(sampling.bytes() as f64 <= size as f64 * 0.005, "{sampling:?}");
                assert_eq!(places[0].lead_in_from, 0);
                let last = places.last().unwrap();
                assert!(size - (last.offset + last.len) < PAGE, "{last:?}");
                assert!(places.windows(2).all(|p| p[0].offset + p[0].len <= p[1].lead_in_from));
            }
        }
        for (disk, needed) in [(Some(1_000_000_000), "at least 114 GB"), (None, "at least 107 GB")]
        {
            let refused = Sampling::new(&options, 1_000_000_000, disk).unwrap_err();
            assert!(refused.contains("fill.mode=full") && refused.contains(needed), "{refused}");
        }
        let refused =
            Sampling::new(&options, 200_000_000_000, Some(2_000_000_000_000)).unwrap_err();
        assert!(refused.contains("200 GB of a disk of 2.00 TB"), "{refused}");
    }
}
