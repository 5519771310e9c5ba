//! Writes trace files.

use super::{MAGIC, TraceHeader, TraceTotals};
use crate::columns::{BLOCK_EVENTS_MAX, encode};
use crate::error::TraceError;
use crate::event::{EventSink, TraceEvent};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// Writes requests as they come, and the totals at the end.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    out: W,
    tick_ns: u64,
    block: Vec<TraceEvent>,
    totals: TraceTotals,
}

impl<W: Write> TraceWriter<W> {
    pub fn new(mut out: W, header: &TraceHeader) -> Result<Self, TraceError> {
        out.write_all(&MAGIC).map_err(TraceError::Write)?;
        let text = serde_json::to_vec(header).expect("a header is plain data");
        write_part(&mut out, header.version, &text)?;
        let block = Vec::with_capacity(BLOCK_EVENTS_MAX);
        Ok(Self { out, tick_ns: header.tick_ns.max(1), block, totals: TraceTotals::default() })
    }

    /// Ends the file. `source_totals` has facts that only the source has: records skipped, and the senders.
    pub fn finish(mut self, source_totals: TraceTotals) -> Result<(W, TraceTotals), TraceError> {
        self.write_block()?;
        let TraceTotals { skipped, reordered, failed, lost, processes, .. } = source_totals;
        let totals = TraceTotals { skipped, reordered, failed, lost, processes, ..self.totals };
        let text = serde_json::to_vec(&totals).expect("totals are plain data");
        write_part(&mut self.out, 0, &text)?;
        self.out.flush().map_err(TraceError::Write)?;
        Ok((self.out, totals))
    }

    fn write_block(&mut self) -> Result<(), TraceError> {
        if self.block.is_empty() {
            return Ok(());
        }
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        let bytes = encode(&self.block, self.tick_ns);
        let packed = packed.write_all(&bytes).and_then(|()| packed.finish());
        let packed = packed.expect("writing to a vector does not fail");
        write_part(&mut self.out, self.block.len() as u32, &packed)?;
        self.block.clear();
        Ok(())
    }
}

impl<W: Write> EventSink for TraceWriter<W> {
    /// Requests must come in the order of their times.
    fn event(&mut self, event: &TraceEvent) -> Result<(), TraceError> {
        if event.at_ns < self.totals.end_ns {
            let why = "its requests are not in the order of their times";
            return Err(TraceError::Unsuitable(why.to_string()));
        }
        self.totals.add(event);
        self.block.push(*event);
        if self.block.len() == BLOCK_EVENTS_MAX { self.write_block() } else { Ok(()) }
    }
}

/// A number, the length of the bytes, their checksum, and the bytes.
fn write_part(out: &mut impl Write, number: u32, bytes: &[u8]) -> Result<(), TraceError> {
    let mut write = |number: u32| out.write_all(&number.to_le_bytes());
    write(number).map_err(TraceError::Write)?;
    write(bytes.len() as u32).map_err(TraceError::Write)?;
    write(crc32c::crc32c(bytes)).map_err(TraceError::Write)?;
    out.write_all(bytes).map_err(TraceError::Write)
}
