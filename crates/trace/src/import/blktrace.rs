//! The binary records of blktrace: 48 bytes in the byte order of the machine, then data that are left out.

use super::BlockAction;
use super::blkparse::BlockKind;
use super::intake::Intake;
use super::parse::{check_end, length};
use crate::error::TraceError;
use crate::event::TraceOp;
use std::io::BufRead;

/// `include/uapi/linux/blktrace_api.h`: magic and version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const RECORD_BYTES: usize = 48;
const SECTOR: u64 = 512;

/// Low half of the action.
const QUEUE: u32 = 1;
const REQUEUE: u32 = 6;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
/// Categories, in its high half.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
/// Commands of SCSI and others that were passed through: they have no place.
const PASSTHROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;
const READ: u32 = 1;
/// The notice that names a process.
const NOTIFY_PROCESS: u32 = 0;

pub fn is_blktrace(beginning: &[u8]) -> bool {
    let Some(first) = beginning.first_chunk() else { return false };
    is_magic(u32::from_le_bytes(*first)) || is_magic(u32::from_be_bytes(*first))
}

fn is_magic(word: u32) -> bool {
    word & 0xffff_ff00 == MAGIC
}

pub fn read(mut input: impl BufRead, intake: &mut Intake<'_>) -> Result<(), TraceError> {
    let mut names = std::collections::HashMap::new();
    let (mut number, mut bytes) = (0, [0; RECORD_BYTES]);
    while fill(&mut input, &mut bytes, number + 1)? {
        number += 1;
        let fault = |reason: String| TraceError::Record { record: number, reason };
        let record = BinaryRecord::parse(&bytes).map_err(fault)?;
        let mut data = vec![0; record.data_len.into()];
        if !data.is_empty() && !fill(&mut input, &mut data, number)? {
            return Err(fault("its data are cut off".to_string()));
        }
        if record.category() & NOTIFY > 0 {
            if record.action & 0xffff == NOTIFY_PROCESS {
                let name = data.split(|byte| *byte == 0).next().unwrap_or_default();
                names.insert(record.pid, String::from_utf8_lossy(name).into_owned());
            }
            continue;
        }
        let name = names.get(&record.pid).map_or("", String::as_str);
        match take(&record, name, intake).map_err(fault)? {
            Some(record) => intake.record(record)?,
            None => intake.skipped += 1,
        }
    }
    Ok(())
}

fn take(
    record: &BinaryRecord,
    name: &str,
    intake: &mut Intake<'_>,
) -> Result<Option<super::record::SourceRecord>, String> {
    let what = record.action & 0xffff;
    let is_taken = match intake.action {
        BlockAction::Issue => matches!(what, ISSUE | REQUEUE | COMPLETE),
        BlockAction::Queue => matches!(what, QUEUE | COMPLETE),
    };
    if !is_taken || record.category() & PASSTHROUGH > 0 {
        return Ok(None);
    }
    let device = format!("{},{}", record.device >> 20, record.device & 0xf_ffff);
    if !intake.takes(&device)? {
        return Ok(None);
    }
    let len = length(record.bytes.into())?;
    let Some(kind) = record.kind(len) else { return Ok(None) };
    let offset = match len {
        0 => 0,
        _ => record.sector.checked_mul(SECTOR).ok_or("its sector is out of range")?,
    };
    check_end(offset, len)?;
    Ok(Some(match what {
        COMPLETE => kind.completion(record.time_ns, offset, len, record.error != 0),
        REQUEUE => kind.requeue(record.time_ns, offset, len),
        _ => {
            let process = if name.is_empty() { 0 } else { intake.process(name) };
            kind.start(record.time_ns, offset, len, process)
        }
    }))
}

/// Fills the buffer; whether there was anything. Errors: it ends within.
fn fill(input: &mut impl BufRead, bytes: &mut [u8], number: u64) -> Result<bool, TraceError> {
    let mut done = 0;
    while done < bytes.len() {
        match input.read(&mut bytes[done..]) {
            Ok(0) if done == 0 => return Ok(false),
            Ok(0) => {
                let reason = "it is cut off; copy or record the file again".to_string();
                return Err(TraceError::Record { record: number, reason });
            }
            Ok(read) => done += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(TraceError::Read(error)),
        }
    }
    Ok(true)
}

struct BinaryRecord {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    error: u16,
    data_len: u16,
}

impl BinaryRecord {
    fn parse(bytes: &[u8; RECORD_BYTES]) -> Result<Self, String> {
        let is_little = is_magic(word(bytes, 0, true));
        let magic = word(bytes, 0, is_little);
        if !is_magic(magic) {
            return Err("it does not begin as a record; is the file damaged?".to_string());
        }
        if magic & 0xff != VERSION {
            return Err(format!("blktrace version {}; version 7 is read", magic & 0xff));
        }
        let word = |at| word(bytes, at, is_little);
        let long = |at| {
            let (low, high) = if is_little { (at, at + 4) } else { (at + 4, at) };
            u64::from(word(high)) << 32 | u64::from(word(low))
        };
        // Error and length of the data share a word.
        let (first, second) = (word(44) as u16, (word(44) >> 16) as u16);
        let (error, data_len) = if is_little { (first, second) } else { (second, first) };
        Ok(Self {
            time_ns: long(8),
            sector: long(16),
            bytes: word(24),
            action: word(28),
            pid: word(32),
            device: word(36),
            error,
            data_len,
        })
    }

    fn category(&self) -> u32 {
        self.action >> 16
    }

    fn kind(&self, len: u32) -> Option<BlockKind> {
        let is = |bit: u32| self.category() & bit > 0;
        let op = match () {
            () if is(DISCARD) => TraceOp::Discard,
            () if is(WRITE) => TraceOp::Write,
            () if is(READ) => TraceOp::Read,
            () if is(FLUSH) => TraceOp::Flush,
            () => return None,
        };
        let kind =
            BlockKind { op, flushes_before: is(FLUSH), fua: op == TraceOp::Write && is(FUA) };
        if len == 0 { kind.without_data() } else { Some(kind) }
    }
}

fn word(bytes: &[u8; RECORD_BYTES], at: usize, is_little: bool) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if is_little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
}
