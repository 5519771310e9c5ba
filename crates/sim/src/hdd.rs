//! The hard disk.
//!
//! [`HardDisk`] is composed of parts that can be read alone, from the platter outwards: `rotation` (the
//! angle at any time), `zones` (how many sectors a track has), `layout` (where each sector is),
//! `seek` (how long the arm takes), `mechanism` (all of these together), `queue` (which command is
//! next), `read_cache` (with `lru_order`) and `write_cache` (what is in the buffer), `smr` (shingled
//! recording), `faults`. [`params`] holds the physical parameters as a model file gives them. The drive
//! itself takes requests in `disk`, decides what to do next in `schedule`, and does it in `reading`, `writing` and
//! `shingled`; `nominal` has the rates and times that follow from the parameters.

mod disk;
mod faults;
mod layout;
mod limits;
mod lru_order;
mod mechanism;
mod nominal;
pub mod params;
mod queue;
mod read_cache;
mod reading;
mod rotation;
mod schedule;
mod seek;
mod seek_check;
mod shingled;
mod smr;
mod validate;
mod write_cache;
mod writing;
mod zones;

pub use disk::HardDisk;
pub use faults::{FailingRegion, HddFaults, SlowRegion};
pub use nominal::ZoneRate;
pub use params::HddParams;

#[cfg(test)]
mod tests;
