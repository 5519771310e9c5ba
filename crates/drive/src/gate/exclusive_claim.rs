//! The descriptors that keep a device claimed.

use std::fs::File;

/// A claimed device, as long as this is kept.
#[derive(Debug)]
pub(super) struct ExclusiveClaim {
    /// The exclusive descriptor.
    pub device: File,
    /// The one with the advisory lock, when that is on another node: the disk of a partition. Nobody
    /// asks it anything; it must only stay open.
    pub _lock: Option<File>,
    /// Other devices with the same bytes.
    pub aliases: Vec<AliasClaim>,
}

/// Another device with the target's bytes: nobody can mount it meanwhile.
#[derive(Debug)]
pub(super) struct AliasClaim {
    /// Kernel name.
    pub name: String,
    /// Its exclusive descriptor.
    pub _claim: File,
}
