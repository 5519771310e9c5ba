//! Replaying traces: requests at the times and places of a trace, whatever its length.
//!
//! A thread reads the trace and turns its requests into steps ([`steps`]), some blocks ahead ([`feed`]); the loop
//! ([`task`]) sends them, and has nothing but the queue and the clock to do. Where a trace does not fit on the target,
//! its used parts are packed ([`footprint`]).

pub mod feed;
pub mod footprint;
pub mod steps;
pub mod task;

#[cfg(test)]
mod tests;
