//! What all integration tests share.

#[cfg(feature = "web")]
pub mod http;
pub mod json;
#[cfg(feature = "fleet")]
pub mod pooler;
#[cfg(feature = "postgres")]
pub mod postgres_server;
pub mod runner;
pub mod scratch;
mod skip;
pub mod snapshot;
pub mod terminal;

pub use runner::{Call, Ended, Running};
pub use scratch::Scratch;
pub use skip::skip_loudly;

use std::time::{Duration, Instant};

/// Set in CI and in the soak: repeating tests run at full length.
const THOROUGH: &str = "DRIVESCOPE_TESTS_THOROUGH";

/// Set in the soak.
const SOAK: &str = "DRIVESCOPE_TESTS_SOAK";

/// Number of repetitions: few on a developer's machine, all in CI.
pub fn few_or_all(few: u64, all: u64) -> u64 {
    if is_thorough() { all } else { few }
}

/// Every `nth` case, or each of them in CI.
pub fn every<T>(nth: usize, all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().step_by(if is_thorough() { 1 } else { nth })
}

/// The soak (`cargo xtask soak`) has time for what takes minutes.
pub fn is_soak() -> bool {
    std::env::var_os(SOAK).is_some_and(|value| !value.is_empty())
}

fn is_thorough() -> bool {
    std::env::var_os(THOROUGH).is_some_and(|value| !value.is_empty())
}

/// The smallest run with numbers: 16 MiB, one round of 10 ms, no ramps.
pub const TINY: &[&str] = &[
    "--size=16M",
    "--rounds=1",
    "--set=transfer.time=10ms",
    "--set=transfer.ramp=0s",
    "--set=latency.time=10ms",
    "--set=latency.ramp=0s",
    "--set=tiny-writes.time=10ms",
    "--set=tiny-writes.writes=20",
    "--set=surface.samples=3",
    "--set=surface.sample=1M",
    "--set=surface.accesses=10",
];

/// Whether an argument belongs to these tests: [`TINY`] has options of several, and the program refuses others.
fn fits(argument: &std::ffi::OsStr, tests: &str) -> bool {
    let shared = TINY.iter().find(|shared| argument == **shared);
    let test = shared.and_then(|shared| shared.strip_prefix("--set=")?.split('.').next());
    test.is_none_or(|test| tests.split(',').any(|planned| planned == test))
}

/// The cheapest cell, for tests that need a run, but not its numbers.
pub const ONE_CELL: &[&str] = &["--test=transfer", "--cells=rnd4k_q1t1.read"];

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A longer wait is a hang, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Waits for `what`; panics if it does not come.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

#[track_caller]
pub fn must_have(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
}

/// Incompressible bytes, the same for the same seed.
pub fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        // xorshift64 of Marsaglia.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}
