//! What a trace holds, as `trace info` shows it.

use serde::Serialize;

/// Of [`TraceSummary::over_time`].
pub const POINTS_MAX: usize = 240;

/// Lower ends of the classes of gaps between requests.
pub const GAPS_FROM_S: [f64; 6] = [0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TraceSummary {
    /// What it was made from.
    pub source: String,
    /// Of the source's times.
    pub resolution_s: f64,
    /// Of the device it was recorded on, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// From its beginning to its last request.
    pub length_s: f64,
    pub requests: u64,
    pub reads: DirectionSummary,
    pub writes: DirectionSummary,
    /// Writes that had to be durable.
    pub fua_writes: u64,
    pub flushes: u64,
    pub discards: u64,
    pub discarded_bytes: u64,
    /// Requests that write zeroes without data.
    pub zeroes: u64,
    pub zeroed_bytes: u64,
    /// End of the last byte that is read, written, zeroed or discarded: the size that a target needs.
    pub end_bytes: u64,
    /// Read or written, in whole MiB.
    pub touched_bytes: u64,
    pub sizes: Vec<SizeClass>,
    /// Of the recording; none where the source has no completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceSummary>,
    /// Times without a request in flight; where the source has no completions, times from one request to the next.
    /// One for each of [`GAPS_FROM_S`].
    pub gaps: Vec<GapClass>,
    /// Bytes moved per interval.
    pub over_time: Vec<u64>,
    pub interval_s: f64,
    /// Most bytes first, where the source names processes.
    pub processes: Vec<ProcessShare>,
    /// Records of the source that are not requests, or incomplete.
    pub skipped: u64,
    /// Records that the source has after later ones.
    pub reordered: u64,
    /// Requests that failed when they were traced.
    pub failed: u64,
    /// Events lost while it was recorded.
    pub lost: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DirectionSummary {
    pub requests: u64,
    pub bytes: u64,
    /// Requests that begin where the one before of their direction ended.
    pub sequential: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SizeClass {
    /// A power of two.
    pub up_to_bytes: u64,
    pub reads: u64,
    pub writes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ServiceSummary {
    /// Time with a request in flight.
    pub busy_s: f64,
    /// While busy.
    pub depth_mean: f64,
    pub depth_max: u64,
    pub lat_mean_us: f64,
    pub lat_max_us: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct GapClass {
    pub from_s: f64,
    pub count: u64,
    pub total_s: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessShare {
    pub name: String,
    pub requests: u64,
    /// Read and written.
    pub bytes: u64,
}
