//! `trace convert`: from one form of traces to another.

use super::source::{self, NamedTrace, failure};
use crate::arguments::ConvertArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::document_file::DocumentFile;
use drivescope_model::number::whole;
use drivescope_report::clean;
use drivescope_trace::file::TraceWriter;
use drivescope_trace::iolog::IologWriter;
use drivescope_trace::{EventSink, TraceError, TraceEvent};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetFormat {
    Trace,
    Iolog,
}

pub fn convert(arguments: &ConvertArguments) -> Result<Code, Failure> {
    let format = format_of(&arguments.output)?;
    if arguments.name.is_empty() || arguments.name.contains(char::is_whitespace) {
        return Err(Failure::usage("--name must be a path without blanks, which fio cannot read"));
    }
    let trace = source::open(&arguments.input, &arguments.source)?;
    let name = arguments.output.display().to_string();
    let file = DocumentFile::named(&arguments.output, arguments.force)?;
    let refused = |error| failure(&name, TraceError::Write(error));
    let requests = file.write_with(refused, |file| match format {
        TargetFormat::Trace => write_trace(trace, file, &name),
        TargetFormat::Iolog => write_iolog(trace, file, &name, &arguments.name),
    })?;
    output::print_wrapped(&clean(&format!("wrote {name}: {}", counted(requests))));
    Ok(Code::Ok)
}

fn counted(requests: u64) -> String {
    format!("{} request{}", whole(requests), if requests == 1 { "" } else { "s" })
}

fn format_of(path: &Path) -> Result<TargetFormat, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("trace") => Ok(TargetFormat::Trace),
        Some("iolog") => Ok(TargetFormat::Iolog),
        _ => Err(Failure::usage(format!(
            "{} ends in neither .trace nor .iolog, which say what to write",
            path.display()
        ))),
    }
}

fn write_trace(trace: NamedTrace, file: &mut File, name: &str) -> Result<u64, Failure> {
    let refused = |error| failure(name, error);
    let header = trace.header().clone();
    let mut writer = TraceWriter::new(BufWriter::new(file), &header).map_err(refused)?;
    let totals = trace.read(&mut writer)?;
    Ok(writer.finish(totals).map_err(refused)?.1.events)
}

fn write_iolog(
    trace: NamedTrace,
    file: &mut File,
    name: &str,
    opened: &str,
) -> Result<u64, Failure> {
    let refused = |error| failure(name, error);
    let mut writer = IologWriter::new(BufWriter::new(file), opened).map_err(refused)?;
    let mut requests = 0;
    let mut count = |event: &TraceEvent| {
        requests += 1;
        writer.event(event)
    };
    trace.read(&mut count)?;
    writer.finish().map_err(refused)?;
    Ok(requests)
}
