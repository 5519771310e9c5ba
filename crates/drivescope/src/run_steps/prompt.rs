//! Asking a person at the terminal for the name of a drive whose contents are at stake.

use crate::exit::{Code, Failure};
use crate::output;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval of checks for signals while nothing is typed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A terminal, presumably with a user at it.
pub struct Terminal {
    stop: Arc<AtomicBool>,
}

impl Terminal {
    /// The terminal, if standard input, output and error all are one. Signals set `stop`.
    pub fn find(stop: &Arc<AtomicBool>) -> Option<Self> {
        let is_terminal = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        is_terminal.then(|| Self { stop: Arc::clone(stop) })
    }

    /// Asks on standard error, and returns the trimmed line. Errors: a signal came, or the input ended before a whole
    /// line. Both name `path` as not written.
    pub fn ask(&self, path: &str, question: &str) -> Result<String, Failure> {
        output::ask(question);
        let (sender, answer) = channel();
        // Reading cannot be interrupted without ending the program, so it gets a thread of its own.
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = sender.send(std::io::stdin().read_line(&mut line).map(|_| line));
        });
        let (why, code) = loop {
            match answer.recv_timeout(LOOK_EVERY) {
                Ok(Ok(line)) if line.ends_with('\n') => match line.trim() {
                    "" => break ("nothing was typed", Code::Refused),
                    line => return Ok(printable(line)),
                },
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    break ("interrupted before it was confirmed", Code::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
                _ => break ("the input ended before it was confirmed", Code::Refused),
            }
        };
        // The question may stand on an unfinished line.
        output::note("");
        Err(Failure { message: format!("{path} is not written: {why}"), code })
    }
}

/// Removes what a terminal would interpret: a refusal repeats the line.
fn printable(line: &str) -> String {
    line.replace(char::is_control, "\u{fffd}")
}
