//! A target as a queue of requests: engines, buffers, places, clocks, and what is recorded.

pub mod clock;
pub(crate) mod cpu_placement;
pub mod cpu_usage;
pub mod device;
pub(crate) mod draw;
pub mod engine;
pub mod offsets;
pub mod payload;
pub mod queue;
pub mod recorder;
pub mod request_sizes;
