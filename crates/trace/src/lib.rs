//! Traces: what applications asked of a drive, request by request, with its times.
//!
//! A trace file ([`file`], described in docs/traces.md) is compact, and whole or refused. [`import`] reads what other
//! tools write, [`record`] records, [`iolog`] writes what fio replays, [`summary`] says what a trace holds.
//! [`built_in`] has the traces of the test `apps`; [`profile`] is what planning a replay needs.

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
