//! What the kernel tells: drives, the devices between a path and a drive, mounts, file systems, counters,
//! limits, the host. Nothing here writes, and a lint forbids the calls that could.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")
)]

pub mod backing_file;
pub mod counters;
pub mod error;
pub mod filesystem;
pub mod host;
pub mod limits;
pub mod list;
pub mod mounts;
pub mod processors;
pub mod roots;
pub mod served;
pub mod stack;

pub use roots::Roots;
