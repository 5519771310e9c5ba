//! Writes everything, past the places that the drive refuses: it cannot have lost refused data, and later places may be
//! good.

use super::{CHUNK, DEPTH, PIECE};
use crate::error::{BenchError, is_full, is_want_of_the_host};
use crate::io::payload::Payload;
use crate::io::queue::IoFailure;
use crate::judging::test_record::TestRecord;
use crate::loops::scan::ScanRegion;
use crate::session::Session;
use crate::workloads::shared::whole_drive::timed_writes::{
    SoFar, WriteSettings, WrittenSum, write, written_bytes,
};
use std::ops::Range;

/// Refused requests in a row after which places all over the rest are tried; and the number of these places.
const IN_A_ROW_MAX: u64 = 64;
const TRIES: u64 = 16;
/// Refused requests after which writing ends: each may take a dying drive seconds.
const REFUSED_MAX: u64 = 1024;

#[derive(Debug, Default)]
pub(super) struct RefusedWrites {
    pub ranges: Vec<Range<u64>>,
    pub failed: (u64, Option<IoFailure>),
    in_a_row: u64,
    /// Where the file system had no room for more: nothing is known to be written from there on.
    pub full_at: Option<u64>,
}

impl RefusedWrites {
    fn note(&mut self, failure: &IoFailure) -> u64 {
        let end = failure.offset + u64::from(failure.len);
        match self.ranges.last_mut() {
            Some(last) if last.end == failure.offset => {
                last.end = end;
                self.in_a_row += 1;
            }
            _ => {
                self.ranges.push(failure.offset..end);
                self.in_a_row = 1;
            }
        }
        self.failed.0 += 1;
        self.failed.1.get_or_insert(*failure);
        end
    }

    /// The start of the refused stretch that reaches the end of the drive; the end if there is none.
    pub fn tail(&self, size: u64) -> u64 {
        self.ranges.last().filter(|last| last.end == size).map_or(size, |last| last.start)
    }
}

/// The failure, if the drive refused a write and may take others elsewhere.
pub(super) fn is_refusal(error: &BenchError) -> Option<IoFailure> {
    let BenchError::Request { failure, .. } = error else { return None };
    let is_gone = matches!(failure.errno, libc::ENODEV | libc::ENXIO);
    let refused = failure.write && failure.len > 0 && !is_gone;
    (refused && !is_want_of_the_host(failure.errno)).then_some(*failure)
}

/// Writes of one run, up to `size`.
pub(super) struct Writing<'w, 's> {
    pub session: &'w Session<'s>,
    pub record: &'w mut TestRecord,
    pub sum: &'w mut WrittenSum,
    pub data: Payload,
    pub size: u64,
}

impl Writing<'_, '_> {
    fn pieces(
        &mut self,
        places: Vec<ScanRegion>,
        depth: u32,
        so_far: Option<SoFar<'_>>,
    ) -> Result<Result<(), BenchError>, BenchError> {
        let manner = WriteSettings { data: self.data, chunk: u64::from(CHUNK), depth };
        write(self.session, self.record, "write", places, manner, self.sum, so_far)
    }

    /// Writes from `from` on; the inner error ends the test. A run with refused writes cannot be resumed, so
    /// `so_far` is called only before the first of them.
    pub fn all(
        &mut self,
        from: u64,
        so_far: Option<SoFar<'_>>,
    ) -> Result<Result<RefusedWrites, BenchError>, BenchError> {
        let (mut refused, mut at) = (RefusedWrites::default(), from);
        while at < self.size {
            let resumable = so_far.filter(|_| refused.ranges.is_empty());
            let places = ScanRegion::pieces(at, self.size, PIECE);
            let before = self.sum.timed.len();
            let end = self.pieces(places, DEPTH, resumable)?;
            let reached = at + written_bytes(&self.sum.timed[before..]);
            let is_full = matches!(&end, Err(BenchError::Request { failure, .. })
                if is_full(failure, self.session.target.info().kind));
            if is_full || (end.is_ok() && reached < self.size) {
                refused.full_at = Some(reached / u64::from(CHUNK) * u64::from(CHUNK));
                break;
            }
            let Err(error) = end else { break };
            let Some(failure) = is_refusal(&error) else { return Ok(Err(error)) };
            let piece = at + (failure.offset - at) / PIECE * PIECE;
            match self.chunk_by_chunk(piece, &mut refused)? {
                Ok(next) => at = next,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(refused))
    }

    /// Writes a piece with a refused request, one request after the other; returns where to continue.
    fn chunk_by_chunk(
        &mut self,
        from: u64,
        refused: &mut RefusedWrites,
    ) -> Result<Result<u64, BenchError>, BenchError> {
        let (mut at, end) = (from, (from + PIECE).min(self.size));
        while at < end {
            let places = ScanRegion::pieces(at, end, u64::from(CHUNK));
            let Err(error) = self.pieces(places, 1, None)? else { break };
            let Some(failure) = is_refusal(&error) else { return Ok(Err(error)) };
            at = refused.note(&failure);
            if refused.failed.0 >= REFUSED_MAX {
                return Ok(Err(error));
            }
            if refused.in_a_row >= IN_A_ROW_MAX && at < self.size {
                if self.takes_nothing_from(at)? {
                    let last = refused.ranges.last_mut().expect("many were just noted");
                    last.end = self.size;
                    return Ok(Ok(self.size));
                }
                refused.in_a_row = 0;
            }
        }
        Ok(Ok(end))
    }

    /// Whether the drive refuses all of some places that are spread over the rest.
    fn takes_nothing_from(&mut self, from: u64) -> Result<bool, BenchError> {
        let chunk = u64::from(CHUNK);
        let rest = (self.size - from).div_ceil(chunk);
        for index in 0..TRIES.min(rest) {
            let offset = from + index * rest / TRIES.min(rest) * chunk;
            let place = ScanRegion::new(offset, chunk.min(self.size - offset));
            match self.pieces(vec![place], 1, None)? {
                Err(error) if is_refusal(&error).is_some() => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(false),
            }
        }
        Ok(true)
    }
}
