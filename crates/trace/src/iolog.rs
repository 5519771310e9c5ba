//! Writes an iolog of version 3, which fio replays.

use crate::error::TraceError;
use crate::event::{EventSink, TraceEvent, TraceOp};
use std::io::Write;

/// Writes requests as they come.
///
/// A write that had to be durable is followed by a `datasync`, which fio has instead. fio forgets the delay after a
/// line of time 0, so times begin at 1 µs.
#[derive(Debug)]
pub struct IologWriter<W: Write> {
    out: W,
    /// The path that fio opens, unless its `replay_redirect` names something else.
    name: String,
    last_us: u64,
}

impl<W: Write> IologWriter<W> {
    /// Begins a log of requests to the file or device `name`.
    pub fn new(mut out: W, name: &str) -> Result<Self, TraceError> {
        let head = format!("fio version 3 iolog\n0 {name} add\n0 {name} open\n");
        out.write_all(head.as_bytes()).map_err(TraceError::Write)?;
        Ok(Self { out, name: name.to_string(), last_us: 1 })
    }

    pub fn finish(mut self) -> Result<W, TraceError> {
        writeln!(self.out, "{} {} close", self.last_us, self.name).map_err(TraceError::Write)?;
        self.out.flush().map_err(TraceError::Write)?;
        Ok(self.out)
    }

    fn line(&mut self, action: &str, offset: u64, len: u32) -> Result<(), TraceError> {
        let Self { out, name, last_us } = self;
        writeln!(out, "{last_us} {name} {action} {offset} {len}").map_err(TraceError::Write)
    }
}

impl<W: Write> EventSink for IologWriter<W> {
    fn event(&mut self, event: &TraceEvent) -> Result<(), TraceError> {
        self.last_us = self.last_us.max(event.at_ns / 1_000);
        match event.op {
            TraceOp::Read => self.line("read", event.offset, event.len),
            TraceOp::Write => self.line("write", event.offset, event.len),
            TraceOp::Discard => self.line("trim", event.offset, event.len),
            // fio has no request that writes zeroes without data.
            TraceOp::WriteZeroes => self.line("write", event.offset, event.len),
            TraceOp::Flush => self.line("datasync", 0, 0),
        }?;
        if event.fua { self.line("datasync", 0, 0) } else { Ok(()) }
    }
}
