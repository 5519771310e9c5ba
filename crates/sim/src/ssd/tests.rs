//! Closed-form checks of the whole drive.

mod calibration;
mod garbage;
mod latency;
mod resources;
mod slc;
mod throttling;
mod trouble;
mod write_buffer;
