//! Closed-form checks of the whole drive.

mod behind_passes;
mod buffered;
pub(crate) mod computed;
mod flushes;
mod garbage;
mod latency;
mod merging;
mod resources;
mod slc;
mod streams;
mod throttled;
mod trouble;
mod warmth;
