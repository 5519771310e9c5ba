//! Published traces as comma-separated values, one request a line.

use super::SourceFormat;
use super::intake::Intake;
use super::lines::{LineContent, LineParser};
use super::parse::{check_end, length, number, scaled, seconds_ns};
use super::record::{RecordKind, SourceRecord};
use crate::event::{TraceEvent, TraceOp};

const SECTOR: u64 = 512;
/// FILETIME counts in these.
const FILETIME_NS: u64 = 100;
/// Digits of a FILETIME of this century.
const FILETIME_DIGITS: usize = 18;

/// Heads of published files, with their form.
const HEADS: [(&str, SourceFormat); 5] = [
    ("timestamp,hostname", SourceFormat::Msr),
    ("timestamp,response", SourceFormat::Systor),
    ("device_id,opcode", SourceFormat::Alibaba),
    ("timestamp,offset", SourceFormat::Tencent),
    ("asu,lba", SourceFormat::Spc),
];

#[derive(Debug)]
pub struct CsvParser {
    format: SourceFormat,
}

impl CsvParser {
    pub fn new(format: SourceFormat) -> Self {
        Self { format }
    }
}

fn format_of_head(line: &str) -> Option<SourceFormat> {
    let line = line.to_ascii_lowercase().replace(' ', "");
    HEADS.into_iter().find(|(head, _)| line.starts_with(head)).map(|(_, format)| format)
}

/// The form of a file with this first line: recognized by its head, or by its columns.
pub fn format_of(line: &str) -> Option<SourceFormat> {
    fn is_number(text: &str) -> bool {
        text.parse::<u64>().is_ok()
    }
    fn is_op(text: &str) -> bool {
        matches!(text, "R" | "W" | "r" | "w")
    }
    if let Some(format) = format_of_head(line) {
        return Some(format);
    }
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    match *fields.as_slice() {
        [time, .., _, _, _, _, _]
            if fields.len() == 7 && time.len() == FILETIME_DIGITS && is_number(time) =>
        {
            Some(SourceFormat::Msr)
        }
        [time, _, op, _, _, _] if time.contains('.') && (is_op(op) || op.is_empty()) => {
            Some(SourceFormat::Systor)
        }
        [_, op, offset, len, _] if is_op(op) && is_number(offset) && is_number(len) => {
            Some(SourceFormat::Alibaba)
        }
        [_, lba, size, op, time, ..]
            if is_op(op) && is_number(lba) && is_number(size) && seconds_ns("", time).is_ok() =>
        {
            Some(SourceFormat::Spc)
        }
        [_, _, _, op, _] if fields.iter().all(|field| is_number(field)) && op.len() == 1 => {
            Some(SourceFormat::Tencent)
        }
        _ => None,
    }
}

/// The fields of a line, by name.
struct CsvRequest<'l> {
    device: String,
    at_ns: u64,
    offset: u64,
    len: u64,
    op: &'l str,
    latency_ns: Option<u64>,
}

impl LineParser for CsvParser {
    fn line(&mut self, line: &str, intake: &mut Intake<'_>) -> Result<LineContent, String> {
        if format_of_head(line) == Some(self.format) {
            return Ok(LineContent::Other);
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let request = match self.format {
            SourceFormat::Msr => msr(&fields),
            SourceFormat::Systor => systor(&fields),
            SourceFormat::Alibaba => alibaba(&fields),
            SourceFormat::Tencent => tencent(&fields),
            _ => spc(&fields),
        }?;
        let CsvRequest { device, at_ns, offset, len, op, latency_ns } = request;
        let op = match op {
            "R" | "r" | "Read" | "0" => TraceOp::Read,
            "W" | "w" | "Write" | "1" => TraceOp::Write,
            "" => return Ok(LineContent::Skipped),
            other => return Err(format!("the operation {other:?} is neither read nor write")),
        };
        let len = length(len)?;
        check_end(offset, len)?;
        if !intake.takes(&device)? || len == 0 {
            return Ok(LineContent::Skipped);
        }
        let event = TraceEvent { at_ns, offset, len, op, fua: false, latency_ns, process: 0 };
        Ok(LineContent::Record(SourceRecord { event, kind: RecordKind::Whole }))
    }
}

fn columns(count: usize, fields: &[&str]) -> String {
    format!("it has {} columns, not {count}", fields.len())
}

/// `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, both times in 100 ns.
fn msr<'l>(fields: &[&'l str]) -> Result<CsvRequest<'l>, String> {
    let &[time, host, disk, op, offset, len, response] = fields else {
        return Err(columns(7, fields));
    };
    Ok(CsvRequest {
        device: format!("{host}_{disk}"),
        at_ns: scaled("the time", time, FILETIME_NS)?,
        offset: number("the offset", offset)?,
        len: number("the size", len)?,
        op,
        latency_ns: Some(scaled("the response time", response, FILETIME_NS)?),
    })
}

/// `Timestamp,Response,IOType,LUN,Offset,Size`, both times in seconds; the type may be blank.
fn systor<'l>(fields: &[&'l str]) -> Result<CsvRequest<'l>, String> {
    let &[time, response, op, lun, offset, len] = fields else { return Err(columns(6, fields)) };
    let latency_ns = match response {
        "" => None,
        response => Some(seconds_ns("the response", response)?),
    };
    Ok(CsvRequest {
        device: lun.to_string(),
        at_ns: seconds_ns("the time", time)?,
        offset: number("the offset", offset)?,
        len: number("the size", len)?,
        op,
        latency_ns,
    })
}

/// `device_id,opcode,offset,length,timestamp`, in microseconds.
fn alibaba<'l>(fields: &[&'l str]) -> Result<CsvRequest<'l>, String> {
    let &[device, op, offset, len, time] = fields else { return Err(columns(5, fields)) };
    Ok(CsvRequest {
        device: device.to_string(),
        at_ns: scaled("the time", time, 1_000)?,
        offset: number("the offset", offset)?,
        len: number("the length", len)?,
        op,
        latency_ns: None,
    })
}

/// `Timestamp,Offset,Size,IOType,VolumeID`, in whole seconds and sectors.
fn tencent<'l>(fields: &[&'l str]) -> Result<CsvRequest<'l>, String> {
    let &[time, offset, len, op, volume] = fields else { return Err(columns(5, fields)) };
    Ok(CsvRequest {
        device: volume.to_string(),
        at_ns: scaled("the time", time, 1_000_000_000)?,
        offset: scaled("the offset", offset, SECTOR)?,
        len: scaled("the size", len, SECTOR)?,
        op,
        latency_ns: None,
    })
}

/// `ASU,LBA,Size,Opcode,Timestamp`, sectors, bytes and seconds; further columns are each user's own.
fn spc<'l>(fields: &[&'l str]) -> Result<CsvRequest<'l>, String> {
    let &[unit, lba, len, op, time, ..] = fields else { return Err(columns(5, fields)) };
    Ok(CsvRequest {
        device: unit.to_string(),
        at_ns: seconds_ns("the time", time)?,
        offset: scaled("the LBA", lba, SECTOR)?,
        len: number("the size", len)?,
        op,
        latency_ns: None,
    })
}
