//! The output of blkparse: device, processor, number, time, process, action, kind, then `sector + sectors [name]`.

use super::BlockAction;
use super::intake::Intake;
use super::lines::{LineContent, LineParser};
use super::parse::{check_end, length, number, scaled, seconds_ns};
use super::record::{RecordKind, SourceRecord};
use crate::event::{TraceEvent, TraceOp};

/// Sectors of block traces, whatever the drive has.
const SECTOR: u64 = 512;

#[derive(Debug)]
pub struct BlkparseParser;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockKind {
    pub op: TraceOp,
    pub flushes_before: bool,
    /// It is on the medium when it is done.
    pub fua: bool,
}

impl BlockKind {
    /// From letters such as `R`, `WS`, `FWFSM`: an F before the operation is a flush, one after it makes the write
    /// durable. Of zones only the append (`ZA`) moves data, as a write. `None`: it moves nothing.
    pub fn parse(letters: &str) -> Option<Self> {
        let operation = letters.find(['R', 'W', 'D', 'N', 'Z']);
        let (before, behind) = letters.split_at(operation.unwrap_or(letters.len()));
        let (op, modifiers) = match behind.as_bytes() {
            [b'R', ..] => (TraceOp::Read, ""),
            [b'Z', b'A', ..] => (TraceOp::Write, &behind[2..]),
            [b'Z', ..] => return None,
            [b'W', b'Z', ..] => (TraceOp::WriteZeroes, ""),
            [b'W', ..] => (TraceOp::Write, &behind[1..]),
            [b'D', ..] => (TraceOp::Discard, ""),
            _ if before.contains('F') => (TraceOp::Flush, ""),
            _ => return None,
        };
        let fua = modifiers.contains('F');
        Some(Self { op, flushes_before: before.contains('F'), fua })
    }
}

pub fn is_event(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(7).collect();
    let &[device, cpu, sequence, time, _, action, _] = words.as_slice() else { return false };
    is_device(device)
        && is_number(cpu)
        && is_number(sequence)
        && seconds_ns("", time).is_ok()
        && action.len() <= 2
}

fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok()
}

fn is_device(text: &str) -> bool {
    text.split_once(',').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// The fields of a line besides its kind.
enum BlockMoment {
    Start,
    Requeue,
    Completion,
}

impl LineParser for BlkparseParser {
    fn line(&mut self, line: &str, intake: &mut Intake<'_>) -> Result<LineContent, String> {
        // The sums after the events.
        if line.starts_with("CPU") || line.starts_with("Total (") {
            return Ok(LineContent::End);
        }
        // Its messages stand among the events: files that were added, sequences that are missing.
        if !line.split_whitespace().next().is_some_and(is_device) {
            return Ok(LineContent::Skipped);
        }
        let mut words = line.split_whitespace();
        let mut word = || words.next().ok_or("it ends before its action");
        let (device, _cpu, _sequence) = (word()?, word()?, word()?);
        let at_ns = seconds_ns("the time", word()?)?;
        let (_pid, action, letters) = (word()?, word()?, word()?);
        let moment = match (action, intake.action) {
            ("D", BlockAction::Issue) | ("Q", BlockAction::Queue) => BlockMoment::Start,
            ("R", BlockAction::Issue) => BlockMoment::Requeue,
            ("C", _) => BlockMoment::Completion,
            _ => return Ok(LineContent::Skipped),
        };
        let Some(kind) = BlockKind::parse(letters) else { return Ok(LineContent::Skipped) };
        let (place, name) = bracketed(line).ok_or("it has no name in brackets")?;
        // In parentheses stand the time that `-t` adds, or the bytes of a command that was passed through.
        let (place, _) = place.split_once('(').unwrap_or((place, ""));
        let mut place = place.split_whitespace().skip(7);
        let (offset, len) = match (place.next(), place.next(), place.next()) {
            (Some(sector), Some("+"), Some(sectors)) => {
                let len = length(scaled("the length", sectors, SECTOR)?)?;
                (scaled("the sector", sector, SECTOR)?, len)
            }
            // Flushes have no length, and a meaningless place.
            (_, None, None) => (0, 0),
            _ => return Err("its place is not sector + sectors".to_string()),
        };
        check_end(offset, len)?;
        if !intake.takes(device)? {
            return Ok(LineContent::Skipped);
        }
        let kind = if len == 0 { kind.without_data() } else { Some(kind) };
        let Some(kind) = kind else { return Ok(LineContent::Skipped) };
        Ok(LineContent::Record(match moment {
            BlockMoment::Start => kind.start(at_ns, offset, len, intake.process(name)),
            BlockMoment::Requeue => kind.requeue(at_ns, offset, len),
            BlockMoment::Completion => {
                let errno = number("the error", name.trim_start_matches('-'));
                kind.completion(at_ns, offset, len, errno.is_ok_and(|errno| errno > 0))
            }
        }))
    }
}

impl BlockKind {
    /// A request without a length is a flush or nothing.
    pub fn without_data(self) -> Option<Self> {
        let is_flush = self.op == TraceOp::Flush || self.flushes_before;
        is_flush.then_some(Self { op: TraceOp::Flush, flushes_before: false, fua: false })
    }

    pub fn start(self, at_ns: u64, offset: u64, len: u32, process: u16) -> SourceRecord {
        let Self { op, flushes_before, fua } = self;
        let event = TraceEvent { at_ns, offset, len, op, fua, latency_ns: None, process };
        SourceRecord { event, kind: RecordKind::Start { flushes_before } }
    }

    pub fn requeue(self, at_ns: u64, offset: u64, len: u32) -> SourceRecord {
        SourceRecord { kind: RecordKind::Requeue, ..self.start(at_ns, offset, len, 0) }
    }

    pub fn completion(self, at_ns: u64, offset: u64, len: u32, failed: bool) -> SourceRecord {
        let SourceRecord { event, .. } = self.start(at_ns, offset, len, 0);
        SourceRecord { event, kind: RecordKind::Completion { failed } }
    }
}

/// The text before the brackets, and in them. Names may have brackets.
fn bracketed(line: &str) -> Option<(&str, &str)> {
    let (place, name) = line.split_once('[')?;
    Some((place, name.rsplit_once(']')?.0))
}
