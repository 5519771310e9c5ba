//! The trace file: a header, blocks of requests, and totals at the end. docs/traces.md describes its bytes.

mod reader;
mod writer;

pub use reader::{TraceReader, is_trace, read_totals};
pub use writer::TraceWriter;

use crate::event::{TraceEvent, TraceOp};
use serde::{Deserialize, Serialize};

/// How every trace file begins. The first byte is not text, and line ends that a transfer changes are seen.
const MAGIC: [u8; 8] = *b"\x89DSTRC\r\n";
/// The only version that this program writes and reads.
const VERSION: u32 = 1;
/// Header and totals are short texts; the names of processes are most of them.
const TEXT_BYTES_MAX: u32 = 8 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHeader {
    pub version: u32,
    /// The unit of its times, nanoseconds.
    pub tick_ns: u64,
    /// Its origin: `fio-iolog`, `blkparse`, `recorded`, …
    pub source: String,
    /// Resolution of the source's times, if it is coarser than its unit; nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_ns: Option<u64>,
    /// Size of the device it was recorded on, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
}

impl TraceHeader {
    pub fn new(source: &str, tick_ns: u64) -> Self {
        let source = source.to_string();
        Self { version: VERSION, tick_ns, source, resolution_ns: None, device_bytes: None }
    }
}

/// The end of a trace file: everything that planning a replay needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceTotals {
    pub events: u64,
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub discards: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub zeroes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discarded_bytes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub zeroed_bytes: u64,
    /// When the last request was sent, nanoseconds.
    pub end_ns: u64,
    /// End of the last byte that is read, written, zeroed or discarded.
    pub end_bytes: u64,
    pub longest_bytes: u32,
    /// Whether every request that moves data has a latency.
    pub has_latencies: bool,
    /// Records of the source that are not requests, or incomplete.
    #[serde(default)]
    pub skipped: u64,
    /// Records of the source that stood after later ones.
    #[serde(default)]
    pub reordered: u64,
    #[serde(default)]
    pub failed: u64,
    /// Events that were lost while it was recorded: with any, the trace is incomplete.
    #[serde(default)]
    pub lost: u64,
    /// Names of the processes that sent requests; the first has index 1.
    #[serde(default)]
    pub processes: Vec<String>,
}

impl TraceTotals {
    /// Whether these sums, which a file with times in `tick_ns` has, match its requests. Older files have
    /// neither the bytes of discards nor their ends in `end_bytes`.
    fn are_those_of(&self, requests: &Self, tick_ns: u64) -> bool {
        let sums = |it: &Self| {
            let counts = [it.events, it.reads, it.writes, it.flushes, it.discards, it.zeroes];
            let bytes = [it.read_bytes, it.written_bytes, it.zeroed_bytes];
            (counts, bytes, it.end_ns / tick_ns, it.longest_bytes, it.has_latencies)
        };
        let is_early = self.discards > 0 && self.discarded_bytes == 0;
        let is_end = if is_early {
            self.end_bytes <= requests.end_bytes
        } else {
            let ends = |it: &Self| (it.end_bytes, it.discarded_bytes);
            ends(self) == ends(requests)
        };
        sums(self) == sums(requests) && is_end
    }

    pub fn add(&mut self, event: &TraceEvent) {
        let is_first = self.reads + self.writes == 0;
        self.events += 1;
        self.end_ns = self.end_ns.max(event.at_ns);
        match event.op {
            TraceOp::Read => {
                self.reads += 1;
                self.read_bytes += u64::from(event.len);
            }
            TraceOp::Write => {
                self.writes += 1;
                self.written_bytes += u64::from(event.len);
            }
            TraceOp::Flush => self.flushes += 1,
            TraceOp::Discard => {
                self.discards += 1;
                self.discarded_bytes += u64::from(event.len);
            }
            TraceOp::WriteZeroes => {
                self.zeroes += 1;
                self.zeroed_bytes += u64::from(event.len);
            }
        }
        if event.op != TraceOp::Flush {
            self.end_bytes = self.end_bytes.max(event.end());
        }
        if event.moves_data() {
            self.longest_bytes = self.longest_bytes.max(event.len);
            let is_known = event.latency_ns.is_some();
            self.has_latencies = is_known && (is_first || self.has_latencies);
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
