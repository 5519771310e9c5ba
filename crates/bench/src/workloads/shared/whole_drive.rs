//! What the workloads that write a whole drive share.

pub(crate) mod read_back;
pub(crate) mod resume_check;
pub(crate) mod sample_read;
pub(crate) mod timed_writes;
