//! Writing to people and pipes. A reader that goes away early (`| head`) is no error.

use drivescope_report::Style;
use std::io::{IsTerminal, Write};

/// Writes to standard output; a closed pipe is ignored, so that the run itself still ends in order.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The same with a line feed.
pub fn print_line(text: &str) {
    print(&format!("{}\n", text.trim_end_matches('\n')));
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes an error, in one line.
pub fn complain(message: &str) {
    let line = message.split('\n').map(str::trim).filter(|l| !l.is_empty());
    note(&format!("drivescope: {}", line.collect::<Vec<_>>().join("; ")));
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
