//! What several workloads share.

pub(crate) mod buffered;
pub(crate) mod deallocated;
pub(crate) mod files;
pub(crate) mod flush_honesty;
pub(crate) mod open_target;
pub mod replay;
pub(crate) mod test_file;
pub(crate) mod whole_drive;
pub(crate) mod zone_figures;
