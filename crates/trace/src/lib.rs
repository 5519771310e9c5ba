//! Traces: the requests of applications to a drive, with their times.
//!
//! A trace file (`file`, described in docs/traces.md) is compact, and whole or refused. [`import`] reads what other
//! tools write, [`record`] records, [`iolog`] writes logs for fio, [`summary`] has a trace's sums.
//! [`built_in`] has the traces of the test `apps`; [`profile`] has the facts for planning a replay.

pub mod built_in;
mod columns;
mod error;
mod event;
pub mod file;
pub mod import;
pub mod iolog;
pub mod open;
pub mod profile;
pub mod record;
pub mod summary;
pub mod synthetic;
#[cfg(test)]
mod testing;

pub use error::TraceError;
pub use event::{EventSink, TraceEvent, TraceOp};
