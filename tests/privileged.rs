//! What needs root: loop devices, memory devices, file systems of every kind, failing devices.
//!
//! Only devices that a test attached itself are used, and each is detached by a guard, also when the
//! test fails. Guards are declared in the order scratch directory, device, mount, so that they go in
//! the opposite one.

mod block_device;
mod container;
mod failing;
mod file_systems;
mod fill_verify;
mod gate;
mod give_back;
mod guards;
mod journal;
mod journal_place;
mod journal_room;
mod list;
mod memory;
mod originals;
mod other_ways;
mod pages;
mod power_cut;
mod raw;
mod record;
mod resume;
mod same_bytes;
mod served;
mod served_geometry;
mod sharing;
mod signatures;
mod sim_mount;
mod stamps;
mod steady;
mod together;
mod typed;
mod verify_directory;
mod volume;
mod whole_read;

use crate::support::{Scratch, is_root, skip_loudly};

fn is_privileged() -> bool {
    if !is_root() {
        skip_loudly("needs root");
    }
    is_root()
}

fn privileged_scratch() -> Option<Scratch> {
    is_privileged().then(Scratch::new)
}
