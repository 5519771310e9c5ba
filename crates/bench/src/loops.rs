//! How requests are issued: loops over a queue, the phases made of them, and what they are calibrated with.

pub mod calibrate;
pub mod chunked_io;
pub mod closed;
pub mod control;
pub(crate) mod engine_trial;
pub mod fixed_overhead;
mod in_flight;
pub mod one_thread;
pub mod open;
pub mod phase;
pub mod rewrite;
pub mod scan;
pub mod serial;
pub mod steady_rate;
