//! Reads trace files: whole ones only.

use super::{MAGIC, TEXT_BYTES_MAX, TraceHeader, TraceTotals, VERSION};
use crate::columns::{BLOCK_BYTES_MAX, BLOCK_EVENTS_MAX, decode};
use crate::error::TraceError;
use crate::event::TraceEvent;
use flate2::read::ZlibDecoder;
use serde::de::DeserializeOwned;
use std::io::{Read, Seek, SeekFrom};

/// Bytes before each part: its number, its length, its checksum.
const PART_HEAD: u64 = 12;

pub fn is_trace(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

/// Reads a trace file from its beginning, a block at a time.
#[derive(Debug)]
pub struct TraceReader<R> {
    input: R,
    header: TraceHeader,
    at: u64,
    last_ns: u64,
    sums: TraceTotals,
    totals: Option<TraceTotals>,
}

impl<R: Read> TraceReader<R> {
    pub fn new(mut input: R) -> Result<Self, TraceError> {
        let header = "its header";
        if read_bytes(&mut input, MAGIC.len(), 0, header)? != MAGIC {
            return Err(TraceError::Damaged { at: 0, reason: "it does not begin as a trace file" });
        }
        let at = MAGIC.len() as u64;
        let head = PartHead::read(&mut input, at, header)?;
        if head.number != VERSION {
            return Err(TraceError::Version(head.number));
        }
        let bytes = head.bytes(&mut input, at, TEXT_BYTES_MAX, header)?;
        let header: TraceHeader = text(&bytes, at)?;
        if header.version != head.number {
            let reason = "its header has two different versions";
            return Err(TraceError::Damaged { at, reason });
        }
        if header.tick_ns == 0 {
            return Err(TraceError::Damaged { at, reason: "its unit of time is 0" });
        }
        let at = at + PART_HEAD + u64::from(head.len);
        Ok(Self { input, header, at, last_ns: 0, sums: TraceTotals::default(), totals: None })
    }

    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// The next requests; `None` at the end.
    pub fn block(&mut self) -> Result<Option<Vec<TraceEvent>>, TraceError> {
        if self.totals.is_some() {
            return Ok(None);
        }
        let at = self.at;
        let head = PartHead::read(&mut self.input, at, "its requests")?;
        self.at += PART_HEAD + u64::from(head.len);
        if head.number == 0 {
            self.totals = Some(self.read_end(head, at)?);
            return Ok(None);
        }
        let bytes = head.bytes(&mut self.input, at, BLOCK_BYTES_MAX as u32, "its requests")?;
        let damaged = |reason| TraceError::Damaged { at, reason };
        let count = head.number as usize;
        if count > BLOCK_EVENTS_MAX {
            return Err(damaged("a block is too long"));
        }
        let mut raw = Vec::new();
        let mut unpacked = ZlibDecoder::new(&bytes[..]).take(BLOCK_BYTES_MAX as u64 + 1);
        unpacked.read_to_end(&mut raw).map_err(|_| damaged("a block does not unpack"))?;
        let events = decode(&raw, count, self.header.tick_ns).map_err(damaged)?;
        if events.first().is_some_and(|first| first.at_ns < self.last_ns) {
            return Err(damaged("its times run backwards"));
        }
        self.last_ns = events.last().map_or(self.last_ns, |last| last.at_ns);
        events.iter().for_each(|event| self.sums.add(event));
        Ok(Some(events))
    }

    fn read_end(&mut self, head: PartHead, at: u64) -> Result<TraceTotals, TraceError> {
        let bytes = head.bytes(&mut self.input, at, TEXT_BYTES_MAX, "its totals")?;
        let totals: TraceTotals = text(&bytes, at)?;
        if totals.events != self.sums.events {
            return Err(TraceError::Damaged { at, reason: "it has lost requests" });
        }
        if !totals.are_those_of(&self.sums, self.header.tick_ns) {
            let reason = "its sums are not those of its requests";
            return Err(TraceError::Damaged { at, reason });
        }
        Ok(totals)
    }

    pub fn totals(&self) -> Option<&TraceTotals> {
        self.totals.as_ref()
    }
}

/// Header and totals of a trace file, without reading a block: whether it is whole is seen, whether it is
/// sound is not.
pub fn read_totals(input: impl Read + Seek) -> Result<(TraceHeader, TraceTotals), TraceError> {
    let mut reader = TraceReader::new(input)?;
    loop {
        let at = reader.at;
        let head = PartHead::read(&mut reader.input, at, "its requests")?;
        if head.number == 0 {
            let bytes = head.bytes(&mut reader.input, at, TEXT_BYTES_MAX, "its totals")?;
            let totals: TraceTotals = text(&bytes, at)?;
            if totals.events != reader.sums.events {
                return Err(TraceError::Damaged { at, reason: "it has lost requests" });
            }
            return Ok((reader.header, totals));
        }
        reader.sums.events += u64::from(head.number);
        reader.at += PART_HEAD + u64::from(head.len);
        let to = SeekFrom::Start(reader.at);
        reader.input.seek(to).map_err(TraceError::Read)?;
    }
}

#[derive(Debug, Clone, Copy)]
struct PartHead {
    number: u32,
    len: u32,
    checksum: u32,
}

impl PartHead {
    fn read(input: &mut impl Read, at: u64, within: &'static str) -> Result<Self, TraceError> {
        let bytes = read_bytes(input, PART_HEAD as usize, at, within)?;
        let number =
            |i: usize| u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        Ok(Self { number: number(0), len: number(4), checksum: number(8) })
    }

    /// The part's bytes, within its limit.
    fn bytes(
        self,
        input: &mut impl Read,
        at: u64,
        most: u32,
        within: &'static str,
    ) -> Result<Vec<u8>, TraceError> {
        let at = at + PART_HEAD;
        if self.len > most {
            return Err(TraceError::Damaged { at, reason: "a part is too long" });
        }
        let bytes = read_bytes(input, self.len as usize, at, within)?;
        if crc32c::crc32c(&bytes) != self.checksum {
            return Err(TraceError::Damaged { at, reason: "its checksum is another" });
        }
        Ok(bytes)
    }
}

/// The next `len` bytes, from byte `at` of the file on.
fn read_bytes(
    input: &mut impl Read,
    len: usize,
    at: u64,
    within: &'static str,
) -> Result<Vec<u8>, TraceError> {
    let mut bytes = Vec::with_capacity(len);
    input.take(len as u64).read_to_end(&mut bytes).map_err(TraceError::Read)?;
    if bytes.len() < len {
        return Err(TraceError::Truncated { at: at + bytes.len() as u64, within });
    }
    Ok(bytes)
}

fn text<T: DeserializeOwned>(bytes: &[u8], at: u64) -> Result<T, TraceError> {
    let reason = "a text in it is not understood";
    serde_json::from_slice(bytes).map_err(|_| TraceError::Damaged { at, reason })
}
