//! HOW drivescope measures: clocks, I/O queues, schedules, recording, validity; one file per test.

mod blank;
mod buffered;
pub mod calibrate;
pub mod clock;
pub mod closed;
pub mod control;
pub mod device;
pub mod engine;
pub mod error;
pub mod expected_speed;
mod fall;
pub mod layout;
pub mod mover;
pub mod offsets;
pub mod onset;
pub mod open;
mod option_checks;
pub mod overrides;
pub mod pace;
pub mod payload;
pub mod phase;
pub mod plan_context;
pub mod planner;
mod processor;
pub mod queue;
pub mod recorder;
pub mod results;
pub mod rewrite;
pub mod scan;
pub mod serial;
pub mod session;
pub mod suites;
pub mod usage;
pub mod validity;
mod whole_drive;
pub mod workload;
pub mod workloads;

#[cfg(test)]
mod testing;
