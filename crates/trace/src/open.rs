//! A trace to be read, of whatever form.

use crate::error::TraceError;
use crate::event::EventSink;
use crate::file::{TraceHeader, TraceReader, TraceTotals};
use crate::import::{ImportOptions, SourceFormat, detect, import};
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

/// Enough to know what a file is: the longest line of any form fits.
const BEGINNING_BYTES: u64 = 64 << 10;
/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// A trace that is open at its beginning.
pub struct OpenTrace<'i> {
    format: SourceFormat,
    header: TraceHeader,
    options: ImportOptions,
    input: Box<dyn Read + 'i>,
}

impl<'i> OpenTrace<'i> {
    /// Finds out what `input` is.
    pub fn new(mut input: Box<dyn Read + 'i>, options: ImportOptions) -> Result<Self, TraceError> {
        let mut beginning = Vec::new();
        let first = (&mut input).take(BEGINNING_BYTES).read_to_end(&mut beginning);
        first.map_err(TraceError::Read)?;
        let format = detect(&beginning)?;
        let header = match format {
            SourceFormat::Trace => TraceReader::new(&beginning[..])?.header().clone(),
            format => TraceHeader::new(format.name(), format.tick_ns()),
        };
        if format == SourceFormat::Trace && options.device.is_some() {
            let why = "is a trace of drivescope, which has one device; omit --device";
            return Err(TraceError::Unsuitable(why.to_string()));
        }
        let input: Box<dyn Read + 'i> = Box::new(Cursor::new(beginning).chain(input));
        Ok(Self { format, header, options, input })
    }

    /// Opens a file.
    pub fn file(path: &Path, options: ImportOptions) -> Result<Self, TraceError> {
        let file = File::open(path).map_err(TraceError::Read)?;
        Self::new(Box::new(file), options)
    }

    /// Its header, or that of the trace that it becomes.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// Hands its requests to `sink`; returns what only the source knows.
    pub fn read(self, sink: &mut dyn EventSink) -> Result<TraceTotals, TraceError> {
        let input = BufReader::with_capacity(READ_BYTES, self.input);
        import(input, self.format, &self.options, sink)
    }
}
