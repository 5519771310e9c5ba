//! Bounds that the options of several workloads share.

use drivescope_model::units::{Bytes, Secs};

/// Longest request.
pub const REQUEST_MAX: u64 = 1 << 30;
/// Most places that are visited: finer than any chart, and far below what memory holds.
pub const SAMPLES_MAX: u32 = 1_000_000;
/// Shortest measured time: ten intervals of a series.
const TIME_MIN: Secs = Secs(0.01);

/// Whether `bytes` can be the length of a request that bypasses the page cache.
pub fn check_request(bytes: Bytes, what: &str) -> Result<(), String> {
    let good = (512..=REQUEST_MAX).contains(&bytes.0) && bytes.0.is_multiple_of(512);
    ensure(good, || format!("{what} must be a multiple of 512 bytes, at most 1 GiB"))
}

/// Whether a measured time is long enough.
pub fn check_time(time: Secs) -> Result<(), String> {
    ensure(time.0 >= TIME_MIN.0, || "a measured time must be at least 10 ms".to_string())
}

/// The first that was there before: its rounds would be mistaken for more rounds of one.
pub fn repeated<T: PartialEq>(named: &[T]) -> Option<&T> {
    named.iter().enumerate().find(|(i, one)| named[..*i].contains(one)).map(|(_, one)| one)
}

/// `problem`, unless `good`.
pub fn ensure(good: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(problem()) }
}
