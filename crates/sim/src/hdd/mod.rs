//! The hard disk.
//!
//! [`HardDisk`] is composed of parts that can be read alone, from the platter outwards: [`rotation`] (the
//! angle at any time), [`zones`] (how many sectors a track has), [`layout`] (where each sector is),
//! [`seek`] (how long the arm takes), [`mechanism`] (all of these together), [`queue`] (which command is
//! next), [`read_cache`] (with [`recency`]) and [`write_cache`] (what is in the buffer), [`smr`] (shingled
//! recording), [`faults`]. [`params`] holds the physical parameters as a model file gives them. The drive
//! itself takes requests in `disk`, decides what to do next in `schedule`, and does it in `reading`, `writing` and
//! `shingled`; `streaming` computes long sequential passes at once, for which `moving` moves
//! the drive on; `truth` tells tests what is so.

mod bounds;
mod disk;
pub mod faults;
pub mod layout;
pub mod mechanism;
mod moving;
pub mod params;
pub mod queue;
pub mod read_cache;
mod reading;
pub mod recency;
pub mod rotation;
mod schedule;
pub mod seek;
mod seek_check;
mod shingled;
pub mod smr;
mod streaming;
mod truth;
mod validate;
pub mod write_cache;
mod writing;
pub mod zones;

pub use disk::HardDisk;
pub use faults::{FailingRegion, Faults, SlowRegion};
pub use params::{HddParams, ParamProblem};
pub use truth::ZoneRate;

#[cfg(test)]
pub(crate) mod tests;
