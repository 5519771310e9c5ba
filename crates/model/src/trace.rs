//! What a trace holds, as `trace info` shows it.

use serde::Serialize;

/// Points of [`TraceSummary::over_time`] at most.
pub const POINTS_MAX: usize = 240;

/// The lower ends of the classes of gaps between requests, s.
pub const GAPS_FROM_S: [f64; 6] = [0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];

/// What a trace holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TraceSummary {
    /// What it was made from.
    pub source: String,
    /// Resolution of the source's times, s.
    pub resolution_s: f64,
    /// Size of the device it was recorded on, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// From its beginning to its last request, s.
    pub length_s: f64,
    /// Requests.
    pub requests: u64,
    /// Reads.
    pub reads: DirectionSummary,
    /// Writes.
    pub writes: DirectionSummary,
    /// Writes that had to be durable.
    pub fua_writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// How much they discard.
    pub discarded_bytes: u64,
    /// Requests that write zeroes without data.
    pub zeroes: u64,
    /// How much they write.
    pub zeroed_bytes: u64,
    /// End of the last byte that is read, written, zeroed or discarded: the size that a target needs.
    pub end_bytes: u64,
    /// How much of it is read or written, in whole MiB.
    pub touched_bytes: u64,
    /// Reads and writes by their length.
    pub sizes: Vec<SizeClass>,
    /// What the drive of the recording did; none where the source has no completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceSummary>,
    /// Times without a request in flight, by their length; where the source has no completions, times between the
    /// sending of one and of the next. One for each of [`GAPS_FROM_S`].
    pub gaps: Vec<GapClass>,
    /// Bytes moved per interval.
    pub over_time: Vec<u64>,
    /// Length of such an interval, s.
    pub interval_s: f64,
    /// Who sent how much, most first, where the source says so.
    pub processes: Vec<ProcessShare>,
    /// Records of the source that are not requests, or incomplete.
    pub skipped: u64,
    /// Records of the source that stood behind later ones.
    pub reordered: u64,
    /// Requests that failed when they were traced.
    pub failed: u64,
    /// Events that were lost while it was recorded.
    pub lost: u64,
}

/// Requests of one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DirectionSummary {
    /// Number of requests.
    pub requests: u64,
    /// How much they moved.
    pub bytes: u64,
    /// Requests that begin where the one before of their direction ended.
    pub sequential: u64,
}

/// Requests of one length, or of lengths up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SizeClass {
    /// A power of two, the longest of the class.
    pub up_to_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// What the drive of the recording did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ServiceSummary {
    /// Time with a request in flight, s.
    pub busy_s: f64,
    /// Mean number of requests in flight within it.
    pub depth_mean: f64,
    /// Most requests in flight.
    pub depth_max: u64,
    /// Mean latency.
    pub lat_mean_us: f64,
    /// Longest latency.
    pub lat_max_us: f64,
}

/// Gaps of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct GapClass {
    /// The shortest of it, s.
    pub from_s: f64,
    /// How many.
    pub count: u64,
    /// How long they are together, s.
    pub total_s: f64,
}

/// What one process sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessShare {
    /// Its name.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Bytes read and written.
    pub bytes: u64,
}
