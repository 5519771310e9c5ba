//! HOW drivescope measures: clocks, I/O queues, schedules, recording, validity; one module per workload.

pub mod error;
pub mod io;
pub mod judging;
pub mod loops;
pub mod plan;
pub mod planner;
pub mod runner;
pub mod session;
pub mod suites;
pub mod watch;
pub mod workload;
pub mod workloads;

#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
#[cfg(test)]
mod testing;
