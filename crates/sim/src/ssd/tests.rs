//! Closed-form checks of the whole drive.

mod garbage;
mod latency;
mod slc;
mod streams;
mod trouble;
