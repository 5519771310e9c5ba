//! The probe on a queue: blocks are requests, stamps are the test data of a salt.

use super::capacity_probe::{Blocks, Probed, ProbedContents, Stopped, probe};
use crate::io::payload::{Payload, SECTOR, SectorContents};
use crate::io::queue::{IoCompletion, IoFailure, IoOp, IoQueue, IoRequest, IoTask};
use crate::io::recorder::Recorder;
use crate::loops::control::{Control, Publisher};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

pub(super) const CHUNK: u32 = 1 << 20;
#[derive(Debug)]
pub(super) struct Quick<'c> {
    /// Bytes that the drive announces; the search looks at whole blocks.
    pub bytes: u64,
    /// Bytes of a block: the smallest request.
    pub block_bytes: u32,
    pub cache_bytes: u64,
    /// Seed of the stamps: one that was never written to the drive before.
    pub salt: u64,
    /// Seed of the choice of blocks.
    pub seed: u64,
    pub control: &'c Control,
}

#[derive(Debug)]
pub(super) struct QuickOutcome {
    /// What was found; `None` if the search did not finish.
    pub probed: Option<Probed>,
    /// All requests. Failed ones are not errors of the search: their blocks count as unreadable.
    pub recorder: Recorder,
    pub read_bytes: u64,
    /// Bytes written, those included that only push others out of a cache.
    pub written_bytes: u64,
    pub failed: (u64, Option<IoFailure>),
}

impl IoTask for Quick<'_> {
    type Output = QuickOutcome;

    fn run<Q: IoQueue>(self, queue: &mut Q) -> io::Result<QuickOutcome> {
        let mut recorder = Recorder::of_any_length();
        recorder.start(queue.now());
        let mut drive = QueueBlocks {
            done: Vec::with_capacity(queue.slots() as usize),
            publisher: Publisher::new(self.control),
            outcome: QuickOutcome {
                probed: None,
                recorder,
                read_bytes: 0,
                written_bytes: 0,
                failed: (0, None),
            },
            queue_error: None,
            refused: FailedWrites::default(),
            quick: &self,
            queue,
        };
        let probed = probe(&mut drive, self.cache_bytes, self.seed);
        drive.outcome.probed = probed.ok();
        drive.publisher.publish(&drive.outcome.recorder);
        drive.queue_error.map_or(Ok(drive.outcome), Err)
    }
}

struct QueueBlocks<'t, Q> {
    quick: &'t Quick<'t>,
    queue: &'t mut Q,
    done: Vec<IoCompletion>,
    publisher: Publisher<'t>,
    refused: FailedWrites,
    outcome: QuickOutcome,
    queue_error: Option<io::Error>,
}

/// The bytes whose last write failed, as stretches that do not touch: start and end.
#[derive(Debug, Default)]
struct FailedWrites(BTreeMap<u64, u64>);

impl FailedWrites {
    fn note(&mut self, written: Range<u64>, good: bool) {
        let before = self.0.range(..written.end).rev();
        let touched: Vec<Range<u64>> = before
            .map(|(&start, &end)| start..end)
            .take_while(|known| known.end > written.start)
            .collect();
        for known in touched {
            self.0.remove(&known.start);
            if known.start < written.start {
                self.0.insert(known.start, written.start);
            }
            if known.end > written.end {
                self.0.insert(written.end, known.end);
            }
        }
        if !good {
            self.0.insert(written.start, written.end);
        }
    }

    fn has(&self, at: u64) -> bool {
        self.0.range(..=at).next_back().is_some_and(|(_, &end)| at < end)
    }
}

impl<Q: IoQueue> QueueBlocks<'_, Q> {
    /// Sends a request and waits for it; whether it went well.
    fn one(&mut self, request: IoRequest) -> Result<bool, Stopped> {
        let sent = self.queue.now();
        let end = self.queue.exchange(request, &mut self.done).map_err(|error| {
            self.queue_error = Some(error);
            Stopped
        })?;
        let now = self.queue.now();
        if let Err(failure) = end {
            self.outcome.failed.0 += 1;
            self.outcome.failed.1.get_or_insert(failure);
            if matches!(failure.errno, libc::ENODEV | libc::ENXIO) {
                self.outcome.recorder.failed(failure);
                return Err(Stopped);
            }
        } else {
            self.outcome.recorder.requests += 1;
            self.outcome.recorder.complete(now, now - sent, u64::from(request.len));
        }
        let is_stopped = self.publisher.tick(now, &self.outcome.recorder);
        if is_stopped { Err(Stopped) } else { Ok(end.is_ok()) }
    }
}

impl<Q: IoQueue> Blocks for QueueBlocks<'_, Q> {
    fn count(&self) -> u64 {
        self.quick.bytes / self.block_bytes()
    }

    fn block_bytes(&self) -> u64 {
        u64::from(self.quick.block_bytes)
    }

    fn write(&mut self, first: u64, count: u64, pass: u64) -> Result<(), Stopped> {
        let data = Payload::new(self.quick.salt, pass);
        let end = (first + count) * self.block_bytes();
        let mut offset = first * self.block_bytes();
        while offset < end {
            let len = u64::from(CHUNK).min(end - offset) as u32;
            data.fill(&mut self.queue.buffer(0)[..len as usize], offset);
            let good = self.one(IoRequest { op: IoOp::Write, offset, len, slot: 0 })?;
            self.refused.note(offset..offset + u64::from(len), good);
            self.outcome.written_bytes += u64::from(len);
            offset += u64::from(len);
        }
        Ok(())
    }

    fn read(&mut self, block: u64) -> Result<ProbedContents, Stopped> {
        let (offset, len) = (block * self.block_bytes(), self.quick.block_bytes);
        self.outcome.read_bytes += u64::from(len);
        if !self.one(IoRequest { op: IoOp::Read, offset, len, slot: 0 })? {
            return Ok(ProbedContents::Unreadable);
        }
        let data = Payload::new(self.quick.salt, 0);
        let (sectors, _) = self.queue.buffer(0)[..len as usize].as_chunks::<SECTOR>();
        for (sector, at) in sectors.iter().zip((offset..).step_by(SECTOR)) {
            match data.held(sector, at) {
                SectorContents::Own { .. } => {}
                // Blocks are moved as a whole: the distance of a sector is that of its block.
                SectorContents::Other { offset: from, pass } => {
                    let block = from / u64::from(len);
                    return Ok(ProbedContents::Other { block, pass });
                }
                // What the drive refused to write it cannot have lost.
                SectorContents::Changed | SectorContents::Lost if self.refused.has(at) => {
                    return Ok(ProbedContents::Unreadable);
                }
                SectorContents::Changed | SectorContents::Lost => return Ok(ProbedContents::Lost),
            }
        }
        Ok(ProbedContents::Own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_refused_until_it_is_written() {
        fn has(refused: &FailedWrites, places: &[u64]) -> Vec<bool> {
            places.iter().map(|&at| refused.has(at)).collect()
        }
        let mut refused = FailedWrites::default();
        refused.note(0..100, false);
        refused.note(40..60, true);
        assert_eq!(
            has(&refused, &[0, 39, 40, 59, 60, 99, 100]),
            [true, true, false, false, true, true, false]
        );
        refused.note(50..80, false);
        refused.note(30..55, true);
        assert_eq!(
            has(&refused, &[29, 30, 54, 55, 79, 99]),
            [true, false, false, true, true, true]
        );
        refused.note(0..200, true);
        assert!(refused.0.is_empty());
    }
}
