//! What `watch` reports while it reads: a line a second, stalls, failed reads, and a summary. With `--json` each is one
//! JSON object.

use serde::Serialize;

/// Of [`WatchSecond::steps`], per decade of latency.
pub const STEPS_PER_DECADE: usize = 6;
/// Five decades, from 10 µs to 1 s.
pub const STEPS: usize = 5 * STEPS_PER_DECADE;
const STEPS_FROM_US: f64 = 10.0;

/// Shorter latencies than the first step are in the first, longer ones than the last in the last.
pub fn step_of(latency_us: f64) -> usize {
    let decades = (latency_us.max(STEPS_FROM_US) / STEPS_FROM_US).log10();
    ((decades * STEPS_PER_DECADE as f64) as usize).min(STEPS - 1)
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WatchLine {
    Second(WatchSecond),
    /// After its end.
    Stall(WatchedRead),
    Error(WatchError),
    /// The last line.
    Summary(WatchSummary),
}

/// The reads of a second, or of the time until the next read ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchSecond {
    /// RFC 3339; none in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Since the first read.
    pub start_s: f64,
    pub elapsed_s: f64,
    /// Successful.
    pub reads: u64,
    /// Of the successful reads.
    pub iops: f64,
    /// None without a read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p50_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p99_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_max_us: Option<f64>,
    pub errors: u64,
    /// Reads by latency, in logarithmic steps: [`step_of`].
    #[serde(skip)]
    pub steps: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchedRead {
    /// When it was sent: RFC 3339; none in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Since the first read.
    pub start_s: f64,
    pub lat_us: f64,
    /// Multiple of the median.
    pub medians: f64,
    pub offset: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchError {
    /// When it was sent: RFC 3339; none in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Since the first read.
    pub start_s: f64,
    /// How long it took to fail.
    pub elapsed_s: f64,
    pub offset: u64,
    /// 0 for a read that found the end.
    pub errno: i32,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchSummary {
    /// Successful.
    pub reads: u64,
    pub errors: u64,
    /// To the end of the last read.
    pub elapsed_s: f64,
    /// Of the successful reads.
    pub iops: f64,
    /// None without a read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p50_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p90_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat_p99_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<WatchedRead>,
    pub stalls: u64,
    pub stalled_s: f64,
    /// Longer reads were stalls, by the median at the end.
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
