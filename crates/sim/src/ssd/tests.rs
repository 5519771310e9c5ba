//! Closed-form checks of the whole drive.

mod behind_passes;
pub(crate) mod computed;
mod garbage;
mod latency;
mod resources;
mod slc;
mod streams;
mod trouble;
