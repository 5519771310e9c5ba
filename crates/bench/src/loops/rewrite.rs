//! Timed stretches of writes at given places: of the bytes that are there, or of fresh data.

use crate::io::payload::Payload;
use crate::io::queue::{IoFailure, IoQueue, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::chunked_io::{ChunkData, ChunkedIo};
use crate::loops::control::Control;
use crate::loops::fixed_overhead::{StretchParts, fixed_overhead_ns};
use crate::loops::scan::{FailureCount, ScanRegion, TimedRegion};
use std::io;
use std::ops::Range;

/// In a shorter stretch, the flush after each part would take more time than the parts.
const IN_PARTS_MIN: u64 = 64 << 20;
/// The shorter part of a stretch: one in these.
const SHORT_PART: u64 = 4;
const PAGE: u64 = 4096;

/// Bytes that are read between two checks of the stop flag.
const PIECE: u64 = 16 << 20;

/// Writes each place in the given order, and flushes after each. A lead-in is read, never written: it brings the
/// head there.
#[derive(Debug)]
pub struct Rewrite<'c> {
    pub places: Vec<ScanRegion>,
    /// Bytes per request at most.
    pub chunk: u32,
    pub depth: u32,
    /// Writes long stretches in two parts of different length, each with its flush: their times show what does not
    /// depend on the length.
    pub in_parts: bool,
    /// `None` reads each stretch first and writes the same bytes back.
    pub fresh: Option<Payload>,
    pub control: &'c Control,
}

#[derive(Debug)]
pub struct Rewritten {
    /// One entry per place visited: the time of its writes and of the flushes after them; its steady time is
    /// without the fixed overhead of its parts.
    pub timed: Vec<TimedRegion>,
    /// What a part costs beside its bytes, ns, where that can be known.
    pub fixed_overhead_ns: Option<f64>,
    /// Of the writes.
    pub recorder: Recorder,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Stretches written back whose bytes are all alike.
    pub blank: usize,
    pub failures: Vec<IoFailure>,
    /// Bytes to be kept that the drive did not take back, twice.
    pub lost: Option<Range<u64>>,
}

impl IoTask for Rewrite<'_> {
    type Output = Rewritten;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<Rewritten> {
        let mut outcome = Rewritten {
            timed: Vec::with_capacity(self.places.len()),
            fixed_overhead_ns: None,
            recorder: Recorder::of_any_length(),
            read_bytes: 0,
            written_bytes: 0,
            blank: 0,
            failures: Vec::new(),
            lost: None,
        };
        outcome.recorder.start(queue.now());
        let mut stretches = Vec::with_capacity(self.places.len());
        self.visit_all(queue, &mut outcome, &mut stretches)?;
        outcome.fixed_overhead_ns = fixed_overhead_ns(&stretches);
        if let Some(onset) = outcome.fixed_overhead_ns {
            for timed in &mut outcome.timed {
                let parts = self.parts(0, timed.len).len() as f64;
                timed.steady_ns = timed.ns.map(|ns| (ns as f64 - parts * onset) as u64);
            }
        }
        Ok(outcome)
    }
}

impl Rewrite<'_> {
    fn visit_all<Q: IoQueue>(
        &self,
        queue: &mut Q,
        outcome: &mut Rewritten,
        stretches: &mut Vec<StretchParts>,
    ) -> io::Result<()> {
        let mut chunked = ChunkedIo::new(queue, self.chunk, self.depth, self.control);
        let longest = self.places.iter().map(|place| place.len).max().unwrap_or(0) as usize;
        let keeps = self.fresh.is_none() && chunked.moves_data();
        let mut memory = vec![0; if keeps { longest } else { 0 }];
        let mut failing = FailureCount::default();
        for (index, place) in self.places.iter().enumerate() {
            let lens = self.parts(index, place.len);
            let visited = self.visit(&mut chunked, *place, &lens, &mut memory, outcome)?;
            let parts_ns = visited.as_ref().ok().and_then(Option::as_deref);
            if let (Some(&[a, b]), &[a_len, b_len]) = (parts_ns, &lens[..]) {
                stretches.push(StretchParts { first: (a_len, a), second: (b_len, b) });
            }
            let ns = parts_ns.map(|parts| parts.iter().sum());
            outcome.timed.push(TimedRegion::new(place.offset, place.len, ns));
            let is_enough = failing.gives_up(visited.is_err());
            if let Err(failure) = visited {
                outcome.recorder.failed(failure);
                outcome.failures.push(failure);
                // A drive that does not take its own bytes back is not written any more.
                if failure.write || is_enough {
                    break;
                }
            }
            if self.control.stopped() {
                break;
            }
        }
        chunked.publisher.publish(&outcome.recorder);
        Ok(())
    }

    /// Lengths of the parts of a stretch; the shorter one comes first at every second place.
    fn parts(&self, index: usize, len: u64) -> Vec<u64> {
        let short = len / SHORT_PART / PAGE * PAGE;
        match (self.in_parts && len >= IN_PARTS_MIN, index.is_multiple_of(2)) {
            (false, _) => vec![len],
            (true, true) => vec![short, len - short],
            (true, false) => vec![len - short, short],
        }
    }

    /// Writes one place; the time of each part's writes and of the flush after them, in ns. Empty if a stop came in
    /// between. A place that cannot be read is not written.
    fn visit<Q: IoQueue>(
        &self,
        chunked: &mut ChunkedIo<'_, Q>,
        place: ScanRegion,
        parts: &[u64],
        memory: &mut [u8],
        outcome: &mut Rewritten,
    ) -> io::Result<Result<Option<Vec<u64>>, IoFailure>> {
        let ScanRegion { offset, len, lead_in_from, lead_in_len } = place;
        let here = memory.len().min(len as usize);
        let mut read = if self.fresh.is_some() { len } else { 0 };
        while read < len {
            let piece = PIECE.min(len - read);
            let (from, to) = (here.min(read as usize), here.min((read + piece) as usize));
            let keep = ChunkData::ReadInto(&mut memory[from..to]);
            if let Err(failure) = chunked.go(offset + read, piece, keep, None)? {
                return Ok(Err(failure));
            }
            outcome.read_bytes += chunked.stopped_at.map_or(piece, |at| at - (offset + read));
            read += piece;
            if self.control.stopped() {
                return Ok(Ok(None));
            }
        }
        if let Err(failure) = chunked.go(lead_in_from, lead_in_len, ChunkData::ReadDiscard, None)? {
            return Ok(Err(failure));
        }
        outcome.read_bytes += chunked.stopped_at.map_or(lead_in_len, |at| at - lead_in_from);
        let kept = &memory[..here];
        outcome.blank += usize::from(is_blank(kept));
        let data = |from: u64, to: u64| {
            let (from, to) = (here.min(from as usize), here.min(to as usize));
            self.fresh.map_or(ChunkData::WriteFrom(&kept[from..to]), ChunkData::WriteFresh)
        };
        let mut done = Ok(());
        let (mut times, mut at) = (Vec::with_capacity(parts.len()), 0);
        for &part in parts {
            let start = chunked.queue.now();
            // Reads in between do not count as a silence of the drive.
            outcome.recorder.last_ns = start;
            let recorded = Some((&mut outcome.recorder, None));
            done = chunked.go(offset + at, part, data(at, at + part), recorded)?;
            outcome.written_bytes += chunked.stopped_at.map_or(part, |end| end - (offset + at));
            if chunked.stopped_at.is_some() {
                return Ok(Ok(None));
            }
            if done.is_ok() {
                done = chunked.sync()?;
            }
            if done.is_err() {
                break;
            }
            times.push(chunked.queue.now() - start);
            at += part;
        }
        if done.is_err() && self.fresh.is_none() {
            // What the drive may have lost is still in memory: one more attempt, even after a stop.
            chunked.to_its_end = true;
            let again = chunked.go(offset, len, data(0, len), None)?;
            let flushed = chunked.sync()?;
            outcome.lost = again.and(flushed).is_err().then_some(offset..offset + len);
        }
        Ok(done.map(|()| Some(times)))
    }
}

/// Meaningless where no data move.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| bytes.iter().all(|byte| byte == first))
}

#[cfg(test)]
mod tests;
