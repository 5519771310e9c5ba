//! HOW drivescope measures: clocks, I/O queues, schedules, recording, validity; one module per workload.

mod buffered;
pub mod calibrate;
pub mod chunked_io;
pub mod clock;
pub mod closed;
pub mod control;
mod cpu_contention;
mod cpu_placement;
mod cpu_split;
pub mod cpu_usage;
mod deallocated;
mod draw;
pub mod engine;
mod engine_trial;
pub mod error;
pub mod expected_speed;
mod files;
pub mod fixed_overhead;
mod flush_honesty;
pub mod in_turns;
pub mod io_device;
pub mod offsets;
pub mod open;
mod open_target;
mod option_checks;
pub mod overrides;
pub mod payload;
pub mod phase;
pub mod plan_context;
pub mod planner;
pub mod queue;
mod rate_drop;
pub mod recorder;
pub mod replay;
pub mod rewrite;
pub mod round;
mod round_volume;
pub mod runner;
pub mod scan;
pub mod serial;
pub mod session;
mod slow_drive;
pub mod speed_trial;
pub mod steady_rate;
pub mod suites;
mod test_file;
pub mod test_record;
mod time_limit;
mod unused_options;
pub mod validity;
pub mod watch;
mod whole_drive;
pub mod workload;
pub mod workloads;
mod zone_figures;

#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
mod skip;
#[cfg(test)]
mod testing;
