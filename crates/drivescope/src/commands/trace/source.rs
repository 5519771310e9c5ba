//! A trace to be read, of whatever form.

use crate::arguments::SourceArguments;
use crate::exit::{Code, Failure};
use drivescope_trace::file::{TraceHeader, TraceReader, TraceTotals};
use drivescope_trace::import::{ImportOptions, SourceFormat, detect, import};
use drivescope_trace::{EventSink, TraceError};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// Enough to know what a file is: the longest line of any form fits.
const BEGINNING_BYTES: u64 = 64 << 10;

/// A trace that is open.
pub struct OpenTrace {
    name: String,
    format: SourceFormat,
    header: TraceHeader,
    options: ImportOptions,
    input: Box<dyn Read>,
}

/// Opens a file, or standard input, and finds out what it is.
pub fn open(path: &Path, arguments: &SourceArguments) -> Result<OpenTrace, Failure> {
    let is_piped = path == Path::new("-");
    let name = if is_piped { "standard input".to_string() } else { path.display().to_string() };
    let unread = |error: io::Error| failure(&name, TraceError::Read(error));
    let mut input: Box<dyn Read> = match is_piped {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).map_err(unread)?),
    };
    let mut beginning = Vec::new();
    (&mut input).take(BEGINNING_BYTES).read_to_end(&mut beginning).map_err(unread)?;
    let format = detect(&beginning).map_err(|error| failure(&name, error))?;
    let header = match format {
        SourceFormat::Trace => {
            let reader = TraceReader::new(&beginning[..]);
            reader.map_err(|error| failure(&name, error))?.header().clone()
        }
        format => TraceHeader::new(format.name(), format.tick_ns()),
    };
    let device = arguments.device.clone();
    if format == SourceFormat::Trace && device.is_some() {
        let why = "is a trace of drivescope, which has one device; omit --device";
        return Err(failure(&name, TraceError::Unsuitable(why.to_string())));
    }
    let options = ImportOptions { device, action: arguments.action.into() };
    let input: Box<dyn Read> = Box::new(Cursor::new(beginning).chain(input));
    Ok(OpenTrace { name, format, header, options, input })
}

impl OpenTrace {
    /// Its header, or that of the trace that it becomes.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// How the file is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hands its requests to `sink`; returns what only the source knows.
    pub fn read(self, sink: &mut dyn EventSink) -> Result<TraceTotals, Failure> {
        let Self { name, format, options, input, .. } = self;
        import(BufReader::with_capacity(1 << 20, input), format, &options, sink)
            .map_err(|error| failure(&name, error))
    }
}

/// What is wrong with a trace of this name.
pub fn failure(name: &str, error: TraceError) -> Failure {
    let code = match &error {
        TraceError::Write(error) if error.kind() == io::ErrorKind::StorageFull => Code::Refused,
        _ => Code::Usage,
    };
    let joint = match error {
        TraceError::Line { .. } | TraceError::Record { .. } => ": ",
        _ => " ",
    };
    Failure { message: format!("{name}{joint}{error}"), code }
}
