//! Traces: what applications asked of a drive, request by request, with its times.
//!
//! A trace file ([`file`], described in docs/traces.md) is compact, and whole or refused. [`import`] reads what other
//! tools write, [`iolog`] writes what fio replays, [`summary`] says what a trace holds.

mod columns;
mod error;
mod event;
pub mod file;
pub mod import;
pub mod iolog;
pub mod summary;
#[cfg(test)]
mod testing;

pub use error::TraceError;
pub use event::{EventSink, TraceEvent, TraceOp};
