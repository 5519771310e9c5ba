//! Simulated drives: pure state machines on a virtual clock.
//!
//! No I/O, no real time, no global state; everything follows from a model's parameters, a seed and the
//! requests. Parts are layered: a medium ([`hdd`], [`ssd`]) implements [`device::SimDevice`]; [`link`] and
//! [`host`] wrap a device and are devices themselves.

pub mod device;
mod event_queue;
pub mod fake_capacity;
pub mod hdd;
pub mod host;
pub mod library;
pub mod link;
mod numbers;
mod param_problem;
mod ranges;
mod reservations;
mod sequential;
mod slab;
pub mod ssd;
pub mod stalls;
#[cfg(test)]
mod testing;

pub use param_problem::ParamProblem;
pub use sequential::{PassEnd, checked_pass, sequential_pass};
