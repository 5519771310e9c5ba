//! What `watch` reports while it reads: a line a second, stalls, failed reads, and a summary. With `--json` each is one
//! JSON object.

use serde::Serialize;

/// Steps of [`WatchSecond::steps`] per decade of latency.
pub const STEPS_PER_DECADE: usize = 6;
/// Steps in all: five decades, from 10 µs to 1 s.
pub const STEPS: usize = 5 * STEPS_PER_DECADE;
/// Where the first of them begins.
const STEPS_FROM_US: f64 = 10.0;

/// The step of a latency; shorter ones than the first are in the first, longer ones than the last in the last.
pub fn step_of(latency_us: f64) -> usize {
    let decades = (latency_us.max(STEPS_FROM_US) / STEPS_FROM_US).log10();
    ((decades * STEPS_PER_DECADE as f64) as usize).min(STEPS - 1)
}

/// One report of `watch`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchLine {
    /// The reads of a second.
    Second(WatchSecond),
    /// A stall that has ended.
    Stall(WatchedRead),
    /// A read that failed.
    Error(WatchError),
    /// The last line.
    Summary(WatchSummary),
}

/// The reads of a second, or of the time until the next one ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchSecond {
    /// When it began: RFC 3339; none in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The same in seconds since the first read.
    pub start_s: f64,
    /// Its length.
    pub elapsed_s: f64,
    /// Reads that succeeded.
    pub reads: u64,
    /// The same per second.
    pub iops: f64,
    /// Median latency; none without a read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p50_us: Option<f64>,
    /// Latency that one read of a hundred exceeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p99_us: Option<f64>,
    /// Longest latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_max_us: Option<f64>,
    /// Reads that failed.
    pub errors: u64,
    /// How many reads took how long, in logarithmic steps: [`step_of`].
    #[serde(skip)]
    pub steps: Vec<u64>,
}

/// A read that took long.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchedRead {
    /// When it was sent: RFC 3339; none in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The same in seconds since the first read.
    pub start_s: f64,
    /// How long it took.
    pub lat_us: f64,
    /// How many times the median that is.
    pub medians: f64,
    /// Where it was.
    pub offset: u64,
}

/// A read that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchError {
    /// When it was sent: RFC 3339; none in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The same in seconds since the first read.
    pub start_s: f64,
    /// How long that took.
    pub elapsed_s: f64,
    /// Where it was.
    pub offset: u64,
    /// What the system said: an error number, or 0 for a read that found the end.
    pub errno: i32,
    /// The same in words.
    pub message: String,
}

/// All reads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchSummary {
    /// Reads that succeeded.
    pub reads: u64,
    /// Reads that failed.
    pub errors: u64,
    /// From the first read to the end of the last.
    pub elapsed_s: f64,
    /// Reads that succeeded, per second.
    pub iops: f64,
    /// Median latency; none without a read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p50_us: Option<f64>,
    /// 90 % took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p90_us: Option<f64>,
    /// 99 % took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p99_us: Option<f64>,
    /// The slowest of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<WatchedRead>,
    /// Number of stalls.
    pub stalls: u64,
    /// The time they took together.
    pub stalled_s: f64,
    /// What a read had to exceed to be one, as the median was at the end.
    pub stall_from_us: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_sixths_of_decades_and_hold_everything() {
        let latencies = [0.0, 10.0, 14.6, 14.7, 99.9, 100.1, 999_999.0, 1e6, 1e12];
        let steps = latencies.map(step_of);
        assert_eq!(steps, [0, 0, 0, 1, 5, 6, 29, 29, 29]);
    }
}
