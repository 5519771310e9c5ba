//! One request of a trace.

use crate::error::TraceError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceOp {
    Read,
    Write,
    /// Makes earlier writes durable; has no length.
    Flush,
    Discard,
    /// Lets the drive write zeroes by itself: no data are sent.
    WriteZeroes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceEvent {
    /// When it was sent, nanoseconds after the beginning of the trace.
    pub at_ns: u64,
    pub offset: u64,
    /// Bytes; 0 of a flush.
    pub len: u32,
    pub op: TraceOp,
    /// A write that had to be on the medium before it was done.
    pub fua: bool,
    pub latency_ns: Option<u64>,
    /// The process that sent it: an index into the names of the trace, from 1; 0 is not known.
    pub process: u16,
}

impl TraceEvent {
    /// The first byte after it.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }

    /// Whether it moves data: a read or a write.
    pub fn moves_data(&self) -> bool {
        matches!(self.op, TraceOp::Read | TraceOp::Write)
    }
}

/// Takes the requests of a trace, in the order of their times.
pub trait EventSink {
    fn event(&mut self, event: &TraceEvent) -> Result<(), TraceError>;
}

impl<F: FnMut(&TraceEvent) -> Result<(), TraceError>> EventSink for F {
    fn event(&mut self, event: &TraceEvent) -> Result<(), TraceError> {
        self(event)
    }
}
