//! True properties of a drive, for tests: zones, rates, times.

use crate::hdd::disk::HardDisk;

/// One zone as the host sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneRate {
    pub offset_bytes: u64,
    pub len_bytes: u64,
    /// Rate of a long sequential transfer in it, skew included, MB/s.
    pub rate_mb_s: f64,
    /// Rate while data passes the head, MB/s.
    pub media_mb_s: f64,
}

impl HardDisk {
    /// The zones that hold the host's bytes, from the outside in.
    pub fn zones(&self) -> Vec<ZoneRate> {
        let layout = self.mechanism.layout();
        let physical = self.sizes.physical;
        let turn_s = self.mechanism.rotation().period() as f64 / 1e9;
        let capacity_end = self.sizes.base + self.sizes.capacity;
        let mut zones = Vec::new();
        for (first, count, per_track) in layout.zones() {
            let from = (first * physical).max(self.sizes.base);
            let to = ((first + count) * physical).min(capacity_end);
            if from >= to {
                continue;
            }
            let media_mb_s = f64::from(per_track) * physical as f64 / turn_s / 1e6;
            let (start, behind) = (from / physical, to / physical);
            let seconds = (layout.clock_at_end(behind) - layout.clock(start)) as f64 / 1e9;
            zones.push(ZoneRate {
                offset_bytes: from - self.sizes.base,
                len_bytes: to - from,
                rate_mb_s: ((behind - start) * physical) as f64 / seconds / 1e6,
                media_mb_s,
            });
        }
        zones
    }

    pub fn rate_mb_s_at(&self, offset: u64) -> f64 {
        let zones = self.zones();
        let behind = zones.partition_point(|zone| zone.offset_bytes <= offset);
        zones.get(behind.saturating_sub(1)).map_or(0.0, |zone| zone.rate_mb_s)
    }

    /// Time to read or write the whole drive once, in order, s.
    pub fn full_pass_s(&self) -> f64 {
        let layout = self.mechanism.layout();
        let first = self.sizes.base / self.sizes.physical;
        (layout.clock_at_end(layout.sectors()) - layout.clock(first)) as f64 / 1e9
    }

    /// Mean seek time between two addresses drawn at random from the host bytes `from..to`, ms: the mean
    /// over all pairs of `points` evenly spaced addresses.
    pub fn mean_seek_ms_in(&self, from: u64, to: u64, points: u32) -> f64 {
        let layout = self.mechanism.layout();
        let cylinders: Vec<u32> = (0..points)
            .map(|i| {
                let part = (f64::from(i) + 0.5) / f64::from(points);
                let byte = from + ((to - from) as f64 * part) as u64;
                layout.locate(self.medium_byte(byte) / self.sizes.physical).cylinder
            })
            .collect();
        let seek = self.mechanism.seek();
        let total: f64 = cylinders
            .iter()
            .flat_map(|a| cylinders.iter().map(move |b| seek.time(a.abs_diff(*b)) as f64))
            .sum();
        total / 1e6 / f64::from(points) / f64::from(points)
    }

    pub fn mean_seek_ms(&self) -> f64 {
        self.mean_seek_ms_in(0, self.sizes.capacity, 1000)
    }

    pub fn revolution_ns(&self) -> u64 {
        self.mechanism.rotation().period()
    }

    /// Bytes in the write cache that are not on the medium yet.
    pub fn dirty_bytes(&self) -> u64 {
        self.write_cache.total_bytes()
    }

    /// Bytes in the persistent cache of a shingled drive that wait for cleaning; 0 for others.
    pub fn shingle_cache_bytes(&self) -> u64 {
        self.shingles.as_ref().map_or(0, |s| s.logged_sectors() * self.sizes.physical)
    }
}
