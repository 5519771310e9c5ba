//! What the kernel tells: drives, the devices between a path and a drive, mounts, file systems, counters,
//! limits, the host. Nothing here writes, and a lint forbids the calls that could.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")
)]

pub mod aside;
pub mod ata;
#[cfg(any(test, feature = "testing"))]
pub mod ata_image;
pub mod backing_file;
pub mod block_device;
pub mod counters;
pub mod error;
pub mod exports;
pub mod extents;
pub mod filesystem;
pub mod graph;
pub mod host;
pub mod identity;
pub mod limits;
pub mod list;
pub mod loop_status;
pub mod mounts;
pub mod open_handles;
pub mod other_measurements;
mod overlay;
pub mod patience;
pub mod processes;
pub mod processors;
pub mod roots;
pub mod served;
pub mod shared_paths;
pub mod silent_loops;
pub mod udev;
pub mod uses;

#[cfg(test)]
#[path = "../../../tests/support/skip.rs"]
#[expect(dead_code, reason = "other test programs use more of it")]
mod skip;

pub use graph::BlockGraph;
pub use roots::Roots;
