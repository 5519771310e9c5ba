//! The closed list of quantities: the last part of every metric key.

use std::ops::RangeInclusive;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Last part of the key.
    pub key: &'static str,
    pub unit: &'static str,
    pub smaller_is_better: bool,
    pub of_rounds: OfRounds,
    pub about: &'static str,
}

/// Which of its rounds a metric's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfRounds {
    /// With its interval.
    Median,
    /// An extreme of single samples is one of all rounds.
    Smallest,
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

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// Of its quantity.
    pub key: &'static str,
    /// The share of requests that are not slower.
    pub share: f64,
    /// The fewest requests that can hold it, 1/(1 - share): of fewer, none need lie beyond it, and the figure
    /// would only be another name for the largest.
    pub requests_min: u64,
}

/// Requests beyond a percentile from which a round gives one of its own.
const BEYOND_MIN: u64 = 10;

impl Percentile {
    /// A round with fewer adds to the figure of all rounds together.
    pub const fn round_requests_min(&self) -> u64 {
        self.requests_min * BEYOND_MIN
    }
}

const fn percentile(key: &'static str, share: f64, requests_min: u64) -> Percentile {
    Percentile { key, share, requests_min }
}

pub const PERCENTILES: [Percentile; 5] = [
    percentile("lat_p50_us", 0.5, 2),
    percentile("lat_p90_us", 0.9, 10),
    percentile("lat_p99_us", 0.99, 100),
    percentile("lat_p99_9_us", 0.999, 1_000),
    percentile("lat_p99_99_us", 0.9999, 10_000),
];

pub const QUANTITIES: &[Quantity] = &[
    more("mb_s", "MB/s", "10^6 bytes moved per second of measured time"),
    more("iops", "1/s", "requests completed per second of measured time"),
    less("lat_mean_us", "us", "mean latency"),
    less(
        "lat_p50_us",
        "us",
        "median latency; like all percentiles by nearest rank, the smallest latency that this percentage of the \
         requests do not exceed, within the 0.1 % of a histogram's bin. Of each round if at least ten of its requests \
         lie beyond it, else of all rounds together (`pooled`)",
    ),
    less("lat_p90_us", "us", "90th percentile of latency"),
    less("lat_p99_us", "us", "99th percentile of latency"),
    less("lat_p99_9_us", "us", "99.9th percentile of latency"),
    less("lat_p99_99_us", "us", "99.99th percentile of latency"),
    less("lat_max_us", "us", "largest latency of all rounds").largest(),
    less(
        "cpu_user_ns_per_io",
        "ns",
        "user-mode processor time per request: the exact time of both modes, split by the (k + 1) / (n + 2) \
         of the kernel's samples that were in user mode (rule of succession; n ticks of 10 ms over all \
         rounds, k of them in user mode); its interval is that of the rounds times Wilson's (1927) for the \
         share",
    ),
    less(
        "cpu_sys_ns_per_io",
        "ns",
        "the same for kernel mode; both add up to the exact time per request. With io_uring it covers the \
         submitting threads, not the kernel's own workers, which serve requests that may block (writes to \
         btrfs, FUSE, zram)",
    ),
    more("offered_iops", "1/s", "requests per second the open loop intended to send"),
    more(
        "min_mb_s",
        "MB/s",
        "slowest single sample in any round; the curve shows the median of the rounds at each position",
    )
    .smallest(),
    more("mean_mb_s", "MB/s", "all sampled bytes divided by all sampled time"),
    more("max_mb_s", "MB/s", "fastest single sample in any round").largest(),
    more("sample_mean_mb_s", "MB/s", "arithmetic mean of the sampled rates, as in GNOME Disks"),
    more("start_mb_s", "MB/s", "median rate over the first twentieth of the positions"),
    more("end_mb_s", "MB/s", "median rate over the last twentieth of the positions"),
    less(
        "onset_ms",
        "ms",
        "fixed cost of writing a stretch and flushing it, besides its bytes: a turn of the disk, or filling a \
         cache before the drive begins. Rates exclude it; absent where it is not known",
    ),
    less("access_mean_ms", "ms", "mean access time of random reads over the whole surface"),
    less("access_min_ms", "ms", "shortest access of all rounds").smallest(),
    less("access_max_ms", "ms", "longest access of all rounds").largest(),
    more("flushed_iops", "1/s", "writes per second, including the final flush"),
    more("flushed_mb_s", "MB/s", "rate including the final flush"),
    more("drive_iops", "1/s", "the same pattern on the drive itself: direct I/O, no page cache"),
    more("drive_mb_s", "MB/s", "rate of that pattern on the drive itself"),
    less(
        "cache_share_pct",
        "%",
        "share of the requested bytes that did not reach the device within the measured time, by the kernel's \
         counters: reads answered from memory, writes still in memory; a small random request counts as a 4 \
         KiB page",
    ),
    less("sector_bytes", "bytes", "physical sector, as shown by timing"),
    less("reported_bytes", "bytes", "physical sector, as reported by the drive"),
    less("shift_bytes", "bytes", "offset of the first physical sector from the first byte"),
    less("penalty_ratio", "1", "time of a misaligned write divided by that of an aligned one"),
    less("start_bytes", "bytes", "first byte of a partition, of a zone, of what a resumed run wrote, or of what a full `surface` read"),
    less("misaligned_bytes", "bytes", "distance from the last boundary of physical sectors"),
    less("pass_ms", "ms", "wall time of one phybs pass"),
    more("tps", "1/s", "requests per second of one phybs pass"),
    more("kib_s", "KiB/s", "rate of one phybs pass, which phybs calls kBps"),
    less(
        "time_s",
        "s",
        "time of all of it, including the final flush: of `fill` to write the whole target once, in order; of `copy` \
         to make, copy, read or delete all files; of `fill-files` to write them; of `sql` of the whole phase",
    ),
    less("flush_s", "s", "the final flush, of what caches still held; included in the time and in the mean rate"),
    more("files_s", "1/s", "files per second, including the final flush"),
    more("files", "1", "files made, copied or read"),
    more("at_pct", "%", "where on the way from empty to full: percent of all bytes written, in the order of writing"),
    more("written_bytes", "bytes", "bytes written, lead-ins included"),
    more("knee_bytes", "bytes", "bytes written without a pause when the rate dropped for good"),
    less("fall_min_pct", "%", "smallest drop of the rate that would have counted as the end of a cache"),
    more("before_mb_s", "MB/s", "median rate before the knee"),
    more("after_mb_s", "MB/s", "median rate after the knee"),
    more("announced_bytes", "bytes", "size under test: what the drive announces, or --size"),
    more("device_bytes", "bytes", "what the drive announces, where only a part of it is under test"),
    more("free_bytes", "bytes", "free space of a directory's file system, above the floor"),
    more("real_bytes", "bytes", "bytes, from the start of the drive, that keep their data"),
    more("sure_pct", "%", "chance of finding one per cent of bad blocks spread at random"),
    more("module_bytes", "bytes", "distance at which addresses repeat; 0 if they do not"),
    less(
        "cache_bytes",
        "bytes",
        "most recent writes that a fake drive can still return, or the largest such cache that would have \
         been noticed; of `geometry`, what a cache of the drive holds",
    ),
    more("intact_bytes", "bytes", "sectors that read back as written"),
    less("changed_bytes", "bytes", "sectors with at most seven wrong bits"),
    less("overwritten_bytes", "bytes", "sectors that hold what was written to another address"),
    less("lost_bytes", "bytes", "sectors that hold anything else"),
    less("unreadable_bytes", "bytes", "sectors that the drive could not read"),
    more("silent_bytes", "bytes", "first byte after which nothing could be read because requests failed"),
    less("stretches", "1", "stretches of the drive that could not be read, or that read slowly"),
    less("slow_bytes", "bytes", "bytes of the stretches that read slowly"),
    less(
        "failing_region_pct",
        "%",
        "smallest share of the drive that, if it could not be read, would have been seen with 98 % confidence; in one \
         piece or in many",
    ),
    less(
        "slow_region_pct",
        "%",
        "smallest share of the drive, in one piece, that would have been seen with 98 % confidence if it read at less \
         than three quarters of the rate around it",
    ),
    more("failing_seen_pct", "%", "confidence that unreadable 0.1 % of the drive would have been seen"),
    more("slow_seen_pct", "%", "confidence that a slow piece of 0.1 % of the drive would have been seen"),
    more("statements_s", "1/s", "statements per second, all threads together"),
    more("commits_s", "1/s", "durable transactions per second, all clients together"),
    less("server_us", "us", "time that the server itself counted for a statement, mean"),
    less("cpu_us", "us", "processor time of the database for a statement, mean; of SQLite with the test's own part"),
    less(
        "logical_reads",
        "1",
        "pages that a statement asked of the database's buffers, whether they were there or not, mean",
    ),
    less("flushes_per_commit", "1", "flushes that the drive was asked for, by commits; other programs' count too"),
    less("device_read_bytes", "bytes", "bytes read from the uppermost device in the phase"),
    less("device_written_bytes", "bytes", "bytes written to it"),
    more("device_iops", "1/s", "reads and writes of the device per second"),
    more("request_bytes", "bytes", "mean length of a read or write of the device"),
    more("depth_mean", "1", "reads and writes in flight at the device, mean"),
    more("device_busy_pct", "%", "share of the phase with something in flight at the device"),
    less("run_s", "s", "time of a replayed trace, from its start to its last completion, think time included"),
    less("think_s", "s", "the part of it in which the application thought: nothing was due and nothing in flight"),
    less("busy_s", "s", "the part of it with at least one request in flight"),
    more("busy_mb_s", "MB/s", "bytes of a trace divided by the busy time"),
    less("lag_p99_us", "us", "99th percentile of how much later than due requests were sent"),
    less("lag_max_us", "us", "the longest of these delays").largest(),
    less("recorded_s", "s", "time of the same trace on the drive that it was recorded on"),
    less("predicted_s", "s", "time of the same trace on the simulated drive that `predict` names, in virtual time"),
    more(
        "score",
        "1",
        "100 × the geometric mean over the traces of a set of think_s / run_s: at 100, programs never wait for the \
         drive",
    ),
    less(
        "range_ratio",
        "1",
        "largest distance between the points of the window of `steady`, as a share of their mean; at most 0.2 when steady",
    ),
    less(
        "drift_ratio",
        "1",
        "change of the least-squares line over that window, up or down, as a share of the mean; at most 0.1 when steady",
    ),
    more("kept_ratio", "1", "rate in that window over that of the first round or pass"),
    less("first_round", "1", "the round with which that window begins"),
    less("last_round", "1", "the round with which it ends, the last one"),
    more("rpm", "1/min", "revolutions per minute, by the times of answers"),
    more("count", "1", "how many there are"),
    more("track_bytes", "bytes", "bytes of a track"),
    less("end_bytes", "bytes", "first byte after a zone"),
    more("share_pct", "%", "share of the drive"),
    less("read_bytes", "bytes", "bytes read for an answer"),
    less("resolved_bytes", "bytes", "widest gap left between samples around a border of two zones: narrower zones may be missed"),
    less("residual_pct", "%", "root mean square distance of the zones' rates from the law of constant linear density"),
    less("skew_pct", "%", "pause between two tracks, percent of a turn; the interval is its range"),
    less("average_ms", "ms", "mean movement of the arm between random cylinders, without overhead and rotation"),
    less("next_track_ms", "ms", "movement to the track before, or to another head, whichever is shorter"),
    less("full_stroke_ms", "ms", "movement over the whole drive"),
    less("overhead_us", "us", "fixed time of a command, of host, link and drive together, without seek, rotation and the reading of its data"),
    more("read_ahead_bytes", "bytes", "bytes that the drive reads on by itself behind a single read"),
    more("stream_bytes", "bytes", "bytes of one stream that the drive still holds"),
    more("pass_tracks", "1", "tracks in order on one head before a serpentine disk changes to the next"),
    more("band_bytes", "bytes", "bytes of a shingled disk that are rewritten together"),
    more("log_bytes", "bytes", "random writes that a shingled disk takes before it has to clean"),
    less("unit_bytes", "bytes", "smallest writes that an SSD does not have to complete by reading"),
    less("cost_us", "us", "what a flush adds to a write"),
    more("recovered_bytes", "bytes", "bytes that a fast cache takes again after a short rest"),
    more("places", "1", "of `geometry`, far places of which the drive still holds each; of `surface`, places read"),
    more("gain_ratio", "1", "random reads per second with many requests in flight over those one at a time"),
    less("depth", "1", "requests in flight that reach 90 % of the highest rate"),
    less("write_ms", "ms", "median time of a small write"),
    less("slowdown_ratio", "1", "time to read an area in order that was written at random, over one that was not"),
    more("span_bytes", "bytes", "span up to which random reads find their map entries in fast memory"),
];

impl Quantity {
    /// None of these counts, times, rates and shares is ever below 0.
    pub fn possible(&self) -> RangeInclusive<f64> {
        0.0..=if self.unit == "%" { 100.0 } else { f64::MAX }
    }
}

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
