//! Bounds that the options of several workloads share.

use drivescope_model::units::{Bytes, Secs};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Most rounds; more only help against chance, and a hundred exclude it.
pub const ROUNDS_MAX: u32 = 1000;

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

/// Whether nothing is named twice; `what` names it, as "transfer names the cell".
pub fn check_once<T: PartialEq + Display>(named: &[T], what: &str) -> Result<(), String> {
    repeated(named).map_or(Ok(()), |twice| Err(format!("{what} {twice} twice")))
}

/// Whether a count is one of those that are possible.
pub fn check_count(count: u32, possible: RangeInclusive<u32>, what: &str) -> Result<(), String> {
    ensure(possible.contains(&count), || {
        format!("{what} must be between {} and {}", possible.start(), possible.end())
    })
}

/// Whether shares are parts of something.
pub fn check_percent(shares_pct: &[f64], what: &str) -> Result<(), String> {
    let good = shares_pct.iter().all(|percent| *percent > 0.0 && *percent <= 100.0);
    ensure(good, || format!("{what} must be above 0 and at most 100"))
}

/// `problem`, unless `good`.
pub fn ensure(good: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(problem()) }
}
