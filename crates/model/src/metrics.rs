//! The closed list of quantities: the last part of every metric key.

use std::ops::RangeInclusive;

/// A quantity that metrics carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Last part of the key.
    pub key: &'static str,
    /// Unit as printed.
    pub unit: &'static str,
    /// Whether smaller is better.
    pub smaller_is_better: bool,
    /// Which of the rounds is the value.
    pub of_rounds: OfRounds,
    /// What it is.
    pub about: &'static str,
}

/// Which of its rounds a metric's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfRounds {
    /// The median, with its interval.
    Median,
    /// The smallest: an extreme of single samples is one of all rounds.
    Smallest,
    /// The largest, likewise.
    Largest,
}

impl Quantity {
    const fn smallest(self) -> Self {
        Self { of_rounds: OfRounds::Smallest, ..self }
    }

    const fn largest(self) -> Self {
        Self { of_rounds: OfRounds::Largest, ..self }
    }
}

const fn more(key: &'static str, unit: &'static str, about: &'static str) -> Quantity {
    Quantity { key, unit, smaller_is_better: false, of_rounds: OfRounds::Median, about }
}

const fn less(key: &'static str, unit: &'static str, about: &'static str) -> Quantity {
    Quantity { key, unit, smaller_is_better: true, of_rounds: OfRounds::Median, about }
}

/// A percentile of latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// Its quantity.
    pub key: &'static str,
    /// The share of requests that are not slower.
    pub share: f64,
    /// The fewest requests that can hold it, 1/(1 - share): of fewer, none need lie beyond it, and the figure
    /// would only be another name for the largest. Where a round has fewer, it is one of all rounds together.
    pub requests_min: u64,
}

const fn percentile(key: &'static str, share: f64, requests_min: u64) -> Percentile {
    Percentile { key, share, requests_min }
}

/// The percentiles among the quantities.
pub const PERCENTILES: [Percentile; 5] = [
    percentile("lat_p50_us", 0.5, 2),
    percentile("lat_p90_us", 0.9, 10),
    percentile("lat_p99_us", 0.99, 100),
    percentile("lat_p99_9_us", 0.999, 1_000),
    percentile("lat_p99_99_us", 0.9999, 10_000),
];

/// Every quantity there is.
pub const QUANTITIES: &[Quantity] = &[
    more("mb_s", "MB/s", "bytes moved per second of the measured time, 10^6 bytes"),
    more("iops", "1/s", "requests completed per second of the measured time"),
    less("lat_mean_us", "us", "mean latency"),
    less("lat_p50_us", "us", "median latency"),
    less(
        "lat_p90_us",
        "us",
        "90th percentile of latency; where a round has fewer than 10 requests, one figure of all rounds together; absent where \
         those have fewer, too",
    ),
    less(
        "lat_p99_us",
        "us",
        "99th percentile of latency; where a round has fewer than 100 requests, one figure of all rounds together; absent where \
         those have fewer, too",
    ),
    less(
        "lat_p99_9_us",
        "us",
        "99.9th percentile of latency; where a round has fewer than 1,000 requests, one figure of all rounds together; absent where \
         those have fewer, too",
    ),
    less(
        "lat_p99_99_us",
        "us",
        "99.99th percentile of latency; where a round has fewer than 10,000 requests, one figure of all rounds together; absent where \
         those have fewer, too",
    ),
    less("lat_max_us", "us", "largest latency of all rounds").largest(),
    less(
        "cpu_user_ns_per_io",
        "ns",
        "processor time in user mode per request: the exact time of both modes times the share (k + 1) / (n + 2) \
         of user mode (rule of succession), which the kernel samples by ticks; n is the processor time of \
         all rounds of the cell in ticks of 10 ms, k that in user mode; the interval is the rounds' times \
         Wilson's (1927) of the share",
    ),
    less(
        "cpu_sys_ns_per_io",
        "ns",
        "the same in the kernel; both add up to the exact time per request. Of io_uring it is that of the threads \
         that ask: what the kernel's own workers do where requests may block (writes to btrfs, FUSE, zram) is \
         not in it",
    ),
    more("offered_iops", "1/s", "requests per second that the open loop intended"),
    more(
        "min_mb_s",
        "MB/s",
        "slowest single sample of the surface in any round; the curve has each place's median of the rounds",
    )
    .smallest(),
    more(
        "mean_mb_s",
        "MB/s",
        "all sampled bytes over all sampled time (harmonic mean of the samples)",
    ),
    more("max_mb_s", "MB/s", "fastest single sample of the surface in any round").largest(),
    more(
        "sample_mean_mb_s",
        "MB/s",
        "arithmetic mean of the samples' rates, as GNOME Disks shows it",
    ),
    more("start_mb_s", "MB/s", "median rate over the first twentieth of the positions"),
    more("end_mb_s", "MB/s", "median rate over the last twentieth of the positions"),
    less(
        "onset_ms",
        "ms",
        "what writing a part of a stretch and its flush cost beside the bytes: a turn, the filling of a cache \
         that a drive gathers before it begins; rates are without it, or it is not known and not there",
    ),
    less("access_mean_ms", "ms", "mean access time of random reads over the whole surface"),
    less("access_min_ms", "ms", "shortest access of all rounds").smallest(),
    less("access_max_ms", "ms", "longest access of all rounds").largest(),
    more("flushed_iops", "1/s", "writes per second, the final flush included"),
    more("flushed_mb_s", "MB/s", "rate with the final flush included"),
    more(
        "drive_iops",
        "1/s",
        "the same pattern done by the drive itself: direct I/O, no page cache",
    ),
    more("drive_mb_s", "MB/s", "rate of the same pattern done by the drive itself"),
    less(
        "cache_share_pct",
        "%",
        "share of the asked bytes that did not pass the device in the measured time, by the kernel's counters: \
         reads that memory answered, writes that it still held; a small request at random counts as a \
         page of 4 KiB",
    ),
    less("sector_bytes", "bytes", "physical sector that timing shows"),
    less("reported_bytes", "bytes", "physical sector that the drive reports"),
    less("shift_bytes", "bytes", "where the first physical sector begins, behind the first byte"),
    less("penalty_ratio", "1", "time of a misaligned write by that of an aligned one"),
    less("start_bytes", "bytes", "first byte of a partition, or of what a resumed run wrote"),
    less("misaligned_bytes", "bytes", "how far it lies behind a boundary of physical sectors"),
    less("pass_ms", "ms", "wall time of one pass of phybs"),
    more("tps", "1/s", "requests per second of a pass of phybs"),
    more("kib_s", "KiB/s", "rate of a pass of phybs, which it calls kBps"),
    less("time_s", "s", "time to write all of the target once, in order, with the flush behind it"),
    less(
        "flush_s",
        "s",
        "the flush behind the last byte: what caches still held then; it is part of the time and of the mean rate",
    ),
    more("written_bytes", "bytes", "bytes written, lead-ins included"),
    more("knee_bytes", "bytes", "bytes written in one go when the rate fell for good"),
    less("fall_min_pct", "%", "smallest fall of the rate that a burst would have called the end of a cache"),
    more("before_mb_s", "MB/s", "median rate up to the knee"),
    more("after_mb_s", "MB/s", "median rate behind the knee"),
    more(
        "announced_bytes",
        "bytes",
        "size that was looked at: what the drive announces, or --size",
    ),
    more("real_bytes", "bytes", "bytes from the start of the drive that keep data"),
    more(
        "sure_pct",
        "%",
        "chance that a hundredth of bad blocks, spread at random, would have been found",
    ),
    more("module_bytes", "bytes", "distance at which addresses repeat; 0: they do not"),
    less(
        "cache_bytes",
        "bytes",
        "most recent writes that a fake drive can still answer for, or that would have been seen through",
    ),
    more("intact_bytes", "bytes", "sectors that read back as written"),
    less("changed_bytes", "bytes", "sectors with at most seven wrong bits"),
    less("overwritten_bytes", "bytes", "sectors that hold what was written to another address"),
    less("lost_bytes", "bytes", "sectors that hold anything else"),
    less("unreadable_bytes", "bytes", "sectors that the drive could not read"),
    more(
        "silent_bytes",
        "bytes",
        "first byte behind which nothing that was looked at could be read back, because requests failed",
    ),
];

impl Quantity {
    /// What its figures can be: none of these counts, times, rates and shares is ever below nothing.
    pub fn possible(&self) -> RangeInclusive<f64> {
        0.0..=if self.unit == "%" { 100.0 } else { f64::MAX }
    }
}

/// The quantity that ends `key` (its part after the last dot).
pub fn quantity_of(key: &str) -> Option<&'static Quantity> {
    let last = key.rsplit('.').next().unwrap_or(key);
    QUANTITIES.iter().find(|q| q.key == last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_quantities_that_need_their_requests() {
        for percentile in PERCENTILES {
            assert!(quantity_of(percentile.key).is_some(), "{}", percentile.key);
            let needed = 1.0 / (1.0 - percentile.share);
            assert_eq!(percentile.requests_min, needed.round() as u64);
        }
    }

    #[test]
    fn quantities_are_unique_and_found_by_key() {
        for (i, q) in QUANTITIES.iter().enumerate() {
            assert!(QUANTITIES[i + 1..].iter().all(|other| other.key != q.key), "{}", q.key);
            assert_eq!(quantity_of(&format!("test.cell.{}", q.key)), Some(q));
        }
        assert_eq!(quantity_of("transfer.rnd4k_q1t1.read.furlongs"), None);
    }
}
