//! Reads traces that other tools wrote, a line or record at a time: a trace may be larger than memory.

pub(crate) mod blkparse;
mod blktrace;
mod completions;
mod csv;
mod fio_iolog;
pub(crate) mod intake;
mod lines;
mod order;
mod parse;
pub(crate) mod record;

use crate::error::TraceError;
use crate::event::EventSink;
use crate::file::{TraceReader, TraceTotals, is_trace};
use intake::{Intake, Pipeline};
use std::io::BufRead;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFormat {
    Trace,
    /// fio's iolog, versions 2 and 3.
    FioIolog,
    Blkparse,
    /// Binary records of blktrace, merged by `blkparse -d`.
    Blktrace,
    /// MSR Cambridge, 2007.
    Msr,
    /// SYSTOR '17.
    Systor,
    /// Alibaba Cloud, 2020.
    Alibaba,
    /// Tencent Cloud, 2018.
    Tencent,
    /// Storage Performance Council.
    Spc,
}

impl SourceFormat {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::FioIolog => "fio-iolog",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::Msr => "msr-cambridge",
            Self::Systor => "systor17",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Spc => "spc",
        }
    }

    /// The unit in which its times are kept, nanoseconds: none is lost.
    pub const fn tick_ns(self) -> u64 {
        match self {
            Self::Trace | Self::Blkparse | Self::Blktrace | Self::Spc => 1,
            Self::Msr => 100,
            Self::FioIolog | Self::Systor | Self::Alibaba => 1_000,
            Self::Tencent => 1_000_000_000,
        }
    }

    /// Whether its times count from the start of the log; those of the others count from the first request.
    const fn counts_from_start(self) -> bool {
        matches!(self, Self::FioIolog)
    }
}

/// The event of a request whose time counts as its sending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BlockAction {
    /// Issue to the drive (D): the drive's view.
    #[default]
    Issue,
    /// Queueing (Q): the programs' view.
    Queue,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The one device of several whose requests are taken: its number or name in the source.
    pub device: Option<String>,
    pub action: BlockAction,
}

/// The form of a source that begins like this. Errors: an unknown form.
pub fn detect(beginning: &[u8]) -> Result<SourceFormat, TraceError> {
    if is_trace(beginning) {
        return Ok(SourceFormat::Trace);
    }
    if blktrace::is_blktrace(beginning) {
        return Ok(SourceFormat::Blktrace);
    }
    let unknown = |why: &str| Err(TraceError::Unknown(why.to_string()));
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        // The beginning may end within a letter.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&beginning[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return unknown("its bytes are not text"),
    };
    let text = text.trim_start_matches('\u{feff}');
    let Some(first) = text.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return unknown("it is empty");
    };
    if fio_iolog::is_header(first) {
        return Ok(SourceFormat::FioIolog);
    }
    if let Some(format) = csv::format_of(first) {
        return Ok(format);
    }
    // Messages of blkparse may stand before its first event.
    if text.lines().any(blkparse::is_event) {
        return Ok(SourceFormat::Blkparse);
    }
    unknown("its first line is of none of them")
}

/// Passes the requests of a source to `sink`, in the order of their times. Returns facts that only the source has: what
/// was skipped, and who sent.
pub fn import(
    input: impl BufRead,
    format: SourceFormat,
    options: &ImportOptions,
    sink: &mut dyn EventSink,
) -> Result<TraceTotals, TraceError> {
    if format == SourceFormat::Trace {
        return copy(input, sink);
    }
    let mut intake =
        Intake::new(options, Pipeline::new(format.counts_from_start().then_some(0), sink));
    match format {
        SourceFormat::Blktrace => blktrace::read(input, &mut intake)?,
        SourceFormat::FioIolog => {
            lines::read(input, &mut fio_iolog::IologParser::default(), &mut intake)?;
        }
        SourceFormat::Blkparse => {
            lines::read(input, &mut blkparse::BlkparseParser, &mut intake)?;
        }
        _ => lines::read(input, &mut csv::CsvParser::new(format), &mut intake)?,
    }
    intake.finish()
}

fn copy(input: impl BufRead, sink: &mut dyn EventSink) -> Result<TraceTotals, TraceError> {
    let mut reader = TraceReader::new(input)?;
    while let Some(block) = reader.block()? {
        for event in &block {
            sink.event(event)?;
        }
    }
    let totals = reader.totals().cloned().unwrap_or_default();
    if totals.events == 0 { Err(TraceError::Empty) } else { Ok(totals) }
}

#[cfg(test)]
mod tests;
