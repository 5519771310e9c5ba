//! fio's iolog: `time file action [offset length]`, in version 2 without the time.
//!
//! Times of version 3 are microseconds from the start. In version 2, `wait N` holds everything back until N
//! milliseconds after fio's start: so does its code, though its manual says microseconds since the last wait.

use super::intake::Intake;
use super::lines::{LineContent, LineParser};
use super::parse::{check_end, length, number};
use super::record::{RecordKind, SourceRecord};
use crate::event::{TraceEvent, TraceOp};

const ACTIONS: [&str; 11] = [
    "add",
    "open",
    "close",
    "wait",
    "read",
    "write",
    "trim",
    "sync",
    "datasync",
    "sync_file_range",
    "syncfs",
];

#[derive(Debug, Default)]
pub struct IologParser {
    version: u64,
    /// In version 2, the time until which the last wait held everything back.
    waited_ns: u64,
}

/// Whether a file that begins with this line is an iolog, of any version.
pub fn is_header(line: &str) -> bool {
    version(line).is_some()
}

fn version(line: &str) -> Option<&str> {
    line.strip_prefix("fio version ")?.strip_suffix(" iolog")
}

impl LineParser for IologParser {
    fn line(&mut self, line: &str, intake: &mut Intake<'_>) -> Result<LineContent, String> {
        if let Some(version) = version(line) {
            if self.version > 0 {
                return Err("a second log begins here (write_iolog appends); keep one".to_string());
            }
            self.version = match version {
                "2" => 2,
                "3" => 3,
                other => return Err(format!("iolog version {other}; versions 2 and 3 are read")),
            };
            return Ok(LineContent::Other);
        }
        let (at_ns, line) = match self.version {
            3 => {
                let (time, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                let us = number("the time", time)?;
                (us.checked_mul(1_000).ok_or("the time is out of range")?, rest.trim())
            }
            _ => (self.waited_ns, line),
        };
        let (file, words) = file_and_words(line);
        let [action, place @ ..] = words.as_slice() else {
            return Err("it has no action".to_string());
        };
        let (action, place) = (*action, place);
        let op = match action {
            "add" | "open" | "close" if place.is_empty() => return Ok(LineContent::Other),
            "wait" => return self.wait(place),
            "read" => TraceOp::Read,
            "write" => TraceOp::Write,
            "trim" => TraceOp::Discard,
            "sync" | "datasync" => TraceOp::Flush,
            // They write back the page cache, and need not reach the medium.
            "sync_file_range" | "syncfs" => return Ok(LineContent::Skipped),
            other => return Err(format!("the action {other:?} is none of fio's")),
        };
        let &[offset, len] = place else {
            return Err(format!("{action} needs an offset and a length"));
        };
        let (offset, len) = (number("the offset", offset)?, length(number("the length", len)?)?);
        check_end(offset, len)?;
        if !intake.takes(file)? || (len == 0 && op != TraceOp::Flush) {
            return Ok(LineContent::Skipped);
        }
        let (offset, len) = if op == TraceOp::Flush { (0, 0) } else { (offset, len) };
        let event = TraceEvent { at_ns, offset, len, op, fua: false, latency_ns: None, process: 0 };
        Ok(LineContent::Record(SourceRecord { event, kind: RecordKind::Whole }))
    }
}

/// The name of the file, which may have blanks, and the words after it: the action, and where it has them, two numbers.
fn file_and_words(line: &str) -> (&str, Vec<&str>) {
    let mut rest = line;
    let mut words = Vec::new();
    // From its end: a name may also have the word of an action in it.
    while let Some((before, word)) = rest.rsplit_once(char::is_whitespace) {
        words.insert(0, word);
        rest = before.trim_end();
        let is_bare = matches!(word, "add" | "open" | "close") && words.len() == 1;
        if is_bare || (words.len() > 1 && ACTIONS.contains(&word)) || words.len() == 3 {
            break;
        }
    }
    // A line that is not fio's is named by its second word.
    if words.first().is_none_or(|word| !ACTIONS.contains(word)) {
        let mut all = line.split_whitespace();
        return (all.next().unwrap_or_default(), all.collect());
    }
    (rest, words)
}

impl IologParser {
    /// fio ignores waits in version 3.
    fn wait(&mut self, place: &[&str]) -> Result<LineContent, String> {
        let until = place.first().ok_or("wait needs a time")?;
        if self.version == 2 {
            let ms = number("the wait", until)?;
            let ns = ms.checked_mul(1_000_000).ok_or("the wait is out of range")?;
            self.waited_ns = self.waited_ns.max(ns);
        }
        Ok(LineContent::Other)
    }
}
