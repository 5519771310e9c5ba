//! Many files at once: which, where they are kept (a directory, or a simulated file system), and what a phase on them
//! comes to.

pub(crate) mod evictor;
pub(crate) mod file_curve;
pub(crate) mod file_phase;
pub(crate) mod file_set;
pub(crate) mod file_store;
pub(crate) mod real_files;
pub(crate) mod simulated_files;
