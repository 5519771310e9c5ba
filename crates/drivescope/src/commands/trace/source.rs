//! A trace that was named on the command line.

use crate::arguments::SourceArguments;
use crate::exit::{Code, Failure};
use drivescope_trace::EventSink;
use drivescope_trace::TraceError;
use drivescope_trace::file::{TraceHeader, TraceTotals};
use drivescope_trace::import::ImportOptions;
use drivescope_trace::open::OpenTrace;
use std::io;
use std::path::Path;

pub struct NamedTrace {
    name: String,
    trace: OpenTrace<'static>,
}

pub fn open(path: &Path, arguments: &SourceArguments) -> Result<NamedTrace, Failure> {
    let is_piped = path == Path::new("-");
    let name = if is_piped { "standard input".to_string() } else { path.display().to_string() };
    let options =
        ImportOptions { device: arguments.device.clone(), action: arguments.action.into() };
    let trace = if is_piped {
        OpenTrace::new(Box::new(io::stdin()), options)
    } else {
        OpenTrace::file(path, options)
    };
    let trace = trace.map_err(|error| failure(&name, error))?;
    Ok(NamedTrace { name, trace })
}

impl NamedTrace {
    /// The header of the trace, or of its converted form.
    pub fn header(&self) -> &TraceHeader {
        self.trace.header()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends its requests to `sink`; returns totals that only the source knows.
    pub fn read(self, sink: &mut dyn EventSink) -> Result<TraceTotals, Failure> {
        let Self { name, trace } = self;
        trace.read(sink).map_err(|error| failure(&name, error))
    }
}

pub fn failure(name: &str, error: TraceError) -> Failure {
    let code = match &error {
        TraceError::Write(error) if error.kind() == io::ErrorKind::StorageFull => Code::Refused,
        _ => Code::Usage,
    };
    let joint = if error.is_of_a_line() { ": " } else { " " };
    Failure { message: format!("{name}{joint}{error}"), code }
}
