//! Closed-form checks of the whole drive.

mod buffered;
mod calibration;
mod flushes;
mod garbage;
mod latency;
mod merging;
mod resources;
mod slc;
mod temperature;
mod throttled;
mod trouble;
