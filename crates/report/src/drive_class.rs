//! How a drive stands beside the drives of its class.

pub(crate) mod known_drives;
pub(crate) mod strips;
