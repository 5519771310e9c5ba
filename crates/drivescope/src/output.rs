//! Writing to people and pipes. A reader that goes away early (`| head`) is no error.

use drivescope_report::Style;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be written to standard output.
static LOST: AtomicBool = AtomicBool::new(false);

/// Writes to standard output. A closed pipe is ignored, so that the run itself still ends in order;
/// anything else is said once and remembered for the exit code.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && error.kind() != ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::Relaxed)
    {
        complain(&format!("cannot write the result: {error}"));
    }
}

/// Whether a part of the result was lost.
pub fn was_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// The same with a line feed.
pub fn print_line(text: &str) {
    print(&format!("{}\n", text.trim_end_matches('\n')));
}

/// Writes a JSON document. JSON itself escapes only half of what a terminal would obey; the rest, which
/// can only stand in its strings, is escaped here.
pub fn print_json(json: &str) {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => text.push(c),
        }
    }
    print_line(&text);
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a question to standard error; the answer follows on the same line.
pub fn ask(question: &str) {
    let mut error = std::io::stderr().lock();
    let _ = write!(error, "{question}").and_then(|()| error.flush());
}

/// Writes an error, in one line.
pub fn complain(message: &str) {
    let lines = message.split('\n').map(str::trim).filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join("; ");
    // Names may carry anything, also what a terminal would obey.
    let line = line.replace(char::is_control, "\u{fffd}");
    note(&format!("drivescope: {line}"));
}

fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Colours on a terminal only.
pub fn style() -> Style {
    Style { colour: colours_wanted() && std::io::stdout().is_terminal() }
}

/// Whether a person watches standard error.
pub fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}
