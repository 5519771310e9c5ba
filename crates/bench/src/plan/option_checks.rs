//! Bounds that the options of several workloads share.

use drivescope_model::units::{Bytes, Secs};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// More only help against chance, which a hundred exclude.
pub const ROUNDS_MAX: u32 = 1000;

pub const REQUEST_MAX: u64 = 1 << 30;
/// Finer than any chart, and far below what memory holds.
pub const SAMPLES_MAX: u32 = 1_000_000;
/// Ten intervals of a series.
const TIME_MIN: Secs = Secs(0.01);

/// Whether `bytes` can be the length of a request that bypasses the page cache.
pub fn check_request(bytes: Bytes, what: &str) -> Result<(), String> {
    let good = (512..=REQUEST_MAX).contains(&bytes.0) && bytes.0.is_multiple_of(512);
    ensure(good, || format!("{what} must be a multiple of 512 bytes, at most 1 GiB"))
}

pub fn check_time(time: Secs) -> Result<(), String> {
    ensure(time.0 >= TIME_MIN.0, || "a measured time must be at least 10 ms".to_string())
}

/// The first item that occurs twice: its rounds would be mistaken for more rounds of one.
pub fn repeated<T: PartialEq>(named: &[T]) -> Option<&T> {
    named.iter().enumerate().find(|(i, one)| named[..*i].contains(one)).map(|(_, one)| one)
}

/// `what` names it, as "transfer names the cell".
pub fn check_once<T: PartialEq + Display>(named: &[T], what: &str) -> Result<(), String> {
    repeated(named).map_or(Ok(()), |twice| Err(format!("{what} {twice} twice")))
}

pub fn check_count(count: u32, possible: RangeInclusive<u32>, what: &str) -> Result<(), String> {
    ensure(possible.contains(&count), || {
        format!("{what} must be between {} and {}", possible.start(), possible.end())
    })
}

pub fn check_percent(shares_pct: &[f64], what: &str) -> Result<(), String> {
    let good = shares_pct.iter().all(|percent| *percent > 0.0 && *percent <= 100.0);
    ensure(good, || format!("{what} must be above 0 and at most 100"))
}

pub fn ensure(good: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(problem()) }
}
