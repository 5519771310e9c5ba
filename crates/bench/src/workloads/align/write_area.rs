//! Where a session writes and how: fresh data into its own file, or the bytes that are there.
//!
//! On a raw device every block is read before the writes and written back as it was, outside the timed
//! part; then other data are read, so that the drive's memory does not hold the sectors that a misaligned
//! write needs. At the end all blocks are read again and compared.

use super::alignment_report::{FILE_BLOCK, origin};
use super::offset_ladder::{SPAN_MAX, far_stretch};
use super::timed_accesses::{Accessed, ReadBlocks, TimedAccesses, WriteData};
use crate::error::BenchError;
use crate::io::payload::Payload;
use crate::io::queue::{IoOp, QueueSpec};
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::loops::scan::{Scan, ScanRegion};
use crate::session::Session;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::target::TargetKind;
use std::ops::Range;

/// Read between the originals and the writes: what drives of the time of 512-byte reports hold, twice.
const BETWEEN_BYTES: u64 = SPAN_MAX;
const CHUNK: u32 = 1 << 20;

#[derive(Debug, Clone)]
pub struct WriteArea {
    /// Bytes it may touch; offsets count from their beginning.
    pub span: Range<u64>,
    /// Smallest unit of offsets.
    pub step: u64,
    /// Whether what is there must stay as it is.
    pub kept: bool,
    /// Where the first byte of the target lies on its drive, as far as that is known.
    pub origin: Option<u64>,
    /// How often the drive's memory was filled with something else.
    turns: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct AccessPattern<'w> {
    pub cell: &'w str,
    pub round: u32,
    pub block: u64,
    pub op: IoOp,
    pub reads_first: bool,
    /// Whether each write waits for the medium (force unit access, or what the kernel does instead).
    pub synced: bool,
    pub flushed: bool,
}

impl<'w> AccessPattern<'w> {
    pub fn of(cell: &'w str, round: u32, block: u64, op: IoOp) -> Self {
        Self { cell, round, block, op, reads_first: false, synced: false, flushed: false }
    }
}

impl WriteArea {
    pub fn of(session: &Session<'_>) -> Self {
        let device = session.device();
        let kept = session.target.info().kind == TargetKind::Block;
        let origin = origin(session.target, FILE_BLOCK);
        Self { origin, ..Self::new(session.span(device), u64::from(device.align_bytes()), kept) }
    }

    pub fn new(span: Range<u64>, step: u64, kept: bool) -> Self {
        Self { span, step, kept, origin: Some(0), turns: 0 }
    }

    /// The first offset that is a multiple of `unit` on the drive, or, where that is not known, on the target.
    pub fn first_multiple(&self, unit: u64) -> u64 {
        let begin = self.origin.map_or(0, |origin| (origin + self.span.start) % unit);
        (unit - begin) % unit
    }

    /// What is at the places, to be written back; `None` where nothing must be kept.
    pub fn originals(
        &mut self,
        session: &Session<'_>,
        places: &[u64],
        block: u64,
    ) -> Result<Option<Vec<u8>>, BenchError> {
        if !self.kept {
            return Ok(None);
        }
        let originals = read(session, places, block)?;
        self.fill_drives_memory(session)?;
        Ok(Some(originals))
    }

    fn fill_drives_memory(&mut self, session: &Session<'_>) -> Result<(), BenchError> {
        let far = far_stretch(&self.span, BETWEEN_BYTES, self.turns);
        self.turns += 1;
        let unit = self.step;
        let len = (far.end - far.start) / unit * unit;
        let offset = far.start.next_multiple_of(unit);
        let control = Control::default();
        let places = vec![ScanRegion::new(offset, len)];
        let scan = Scan { places, chunk: CHUNK, depth: 4, data: None, control: &control };
        let spec = QueueSpec { depth: 4, ahead: 1, block_bytes: CHUNK, dsync: false };
        let (worker, _) = session.run_task(session.device(), spec, &control, scan)?;
        match worker.output.recorder.first_error {
            Some(failure) => Err(BenchError::Request { failure, count: 1 }),
            None => Ok(()),
        }
    }

    /// Accesses all places and keeps the phase in the record; returns the time of each, and of all
    /// together, in ns. A failed request or a stop comes back as the error, after the phase was kept.
    pub fn access(
        &self,
        session: &mut Session<'_>,
        record: &mut TestRecord,
        way: AccessPattern<'_>,
        places: Vec<u64>,
        originals: Option<&[u8]>,
    ) -> Result<(Vec<f64>, u64), BenchError> {
        let pass = session.next_pass();
        let control = Control::default();
        let fresh = WriteData::Fresh(Payload::new(session.plan.seed, pass));
        let block = way.block as u32;
        let task = TimedAccesses {
            places,
            block,
            op: way.op,
            reads_first: way.reads_first,
            flushed: way.flushed,
            data: originals.map_or(fresh, WriteData::Kept),
            control: &control,
        };
        let spec = QueueSpec { depth: 1, ahead: 1, block_bytes: block, dsync: way.synced };
        let (worker, counters) = session.run_task(session.device(), spec, &control, task)?;
        let Accessed { ns, recorder, lost } = worker.output;
        if let Some(at) = lost {
            let evidence = format!(
                "writing the same bytes back failed twice at byte {at}: the {block} bytes from there may have changed"
            );
            record.notice(
                Finding::new(FindingId::DataMismatch, evidence).about(record.test().name()),
            );
        }
        let (bytes, elapsed_ns) = (recorder.bytes as f64, recorder.elapsed_ns());
        let measured = PhaseResult { recorder, cpu_cost: worker.cpu_cost, engine: worker.engine };
        let mut kept = counters.end(session, measured, way.cell, way.round);
        let read = if way.op == IoOp::Read || way.reads_first { bytes } else { 0.0 };
        kept.asked = Some((read, if way.op == IoOp::Write { bytes } else { 0.0 }));
        kept.own_metrics = true;
        session.add_round(kept, record)?;
        Ok((ns, elapsed_ns))
    }

    pub fn compare(
        &self,
        session: &Session<'_>,
        places: &[u64],
        block: u64,
        originals: Option<&[u8]>,
    ) -> Result<(), BenchError> {
        let Some(originals) = originals else { return Ok(()) };
        let now = read(session, places, block)?;
        let differs = now.iter().zip(originals).position(|(is, was)| is != was);
        match differs.map(|byte| (byte / block as usize, byte as u64 % block)) {
            Some((number, within)) => Err(BenchError::Mismatch { offset: places[number] + within }),
            None => Ok(()),
        }
    }
}

fn read(session: &Session<'_>, places: &[u64], block: u64) -> Result<Vec<u8>, BenchError> {
    let control = Control::default();
    let task = ReadBlocks { places: places.to_vec(), block: block as u32 };
    let spec = QueueSpec { depth: 1, ahead: 1, block_bytes: block as u32, dsync: false };
    let (worker, _) = session.run_task(session.device(), spec, &control, task)?;
    worker.output.map_err(|failure| BenchError::Request { failure, count: 1 })
}
