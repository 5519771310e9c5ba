//! Sources that are texts, line by line.

use super::intake::Intake;
use super::record::SourceRecord;
use crate::error::TraceError;
use std::io::{BufRead, Read};

/// Far above the longest line of any known form.
const LINE_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug, PartialEq, Eq)]
pub enum LineContent {
    Record(SourceRecord),
    /// A line that is not a request, as expected: a head, a name.
    Other,
    /// A request or event that is not taken.
    Skipped,
    /// No requests follow: the rest is a report.
    End,
}

pub trait LineParser {
    /// Reads a line, which is not empty. Errors: the mistake.
    fn line(&mut self, line: &str, intake: &mut Intake<'_>) -> Result<LineContent, String>;
}

pub fn read(
    mut input: impl BufRead,
    parser: &mut dyn LineParser,
    intake: &mut Intake<'_>,
) -> Result<(), TraceError> {
    let (mut number, mut bytes) = (0, Vec::new());
    loop {
        bytes.clear();
        number += 1;
        let mut limited = (&mut input).take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut bytes).map_err(TraceError::Read)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let fault = |reason: String| TraceError::Line { line: number, reason };
        if bytes.len() as u64 == LINE_BYTES_MAX {
            return Err(fault("it is longer than 64 KiB".to_string()));
        }
        // Names of processes may be anything.
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            continue;
        }
        match parser.line(text, intake).map_err(fault)? {
            LineContent::Record(record) => intake.record(record)?,
            LineContent::Other => {}
            LineContent::Skipped => intake.skipped += 1,
            LineContent::End => return Ok(()),
        }
    }
}
