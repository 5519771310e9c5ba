//! `trace info`: what a trace holds.

use super::source;
use crate::arguments::TraceInfoArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_report::text;
use drivescope_trace::summary::Summarizer;

pub fn info(arguments: &TraceInfoArguments) -> Result<Code, Failure> {
    let trace = source::open(&arguments.file, &arguments.source)?;
    let (header, name) = (trace.header().clone(), trace.name().to_string());
    let mut sums = Summarizer::default();
    let totals = trace.read(&mut sums)?;
    let summary = sums.finish(&header, &totals);
    if arguments.json {
        output::print_document(&summary)
    } else {
        output::print(&text::trace_summary(&name, &summary, output::style()))
    }
    Ok(Code::Ok)
}
