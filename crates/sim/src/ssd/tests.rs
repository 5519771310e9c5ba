//! Closed-form checks of the whole drive.

mod computed;
mod garbage;
mod latency;
mod resources;
mod slc;
mod streams;
mod trouble;
