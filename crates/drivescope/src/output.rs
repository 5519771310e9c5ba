//! Writing to people and pipes. A reader that goes away early (`| head`) is not an error.

mod ascii;

use drivescope_model::json::indented;
use drivescope_model::shortened::shortened_path;
use drivescope_report::{COLUMNS_MAX, Style, wrap};
use indicatif::ProgressBar;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use terminal_size::{Width, terminal_size_of};

/// A write to standard output failed.
static LOST: AtomicBool = AtomicBool::new(false);

/// The reader of standard output is gone.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// The progress bar on standard error: other text must not tear it.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// While a view has the whole screen: text for later, and how to restore the screen.
static HELD: Mutex<Option<Held>> = Mutex::new(None);

struct Held {
    give_back: fn(),
    texts: Vec<HeldText>,
}

enum HeldText {
    Result(String),
    Message(String),
}

/// Holds back all text until [`release`]: a view takes the whole screen, which `give_back` restores.
pub fn hold(give_back: fn()) {
    *held() = Some(Held { give_back, texts: Vec::new() });
}

/// Restores the screen, if a view has it, and writes the text held back. To be called before the program ends.
pub fn release() {
    let Some(Held { give_back, texts }) = held().take() else { return };
    give_back();
    for text in texts {
        match text {
            HeldText::Result(text) => print_as_is(&text),
            HeldText::Message(text) => show(&text),
        }
    }
}

pub fn is_held() -> bool {
    held().is_some()
}

fn held() -> MutexGuard<'static, Option<Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes text for people to standard output, in ASCII if the locale is not UTF-8.
pub fn print(text: &str) {
    print_as_is(&shown(text));
}

/// `text` as the locale can show it.
pub fn shown(text: &str) -> String {
    ascii::shown(text)
}

/// Writes a document for programs, which is UTF-8 everywhere. A closed pipe is ignored, so that the run itself still
/// ends properly; other errors are reported once and remembered for the exit code.
pub fn print_as_is(text: &str) {
    if let Some(held) = &mut *held() {
        held.texts.push(HeldText::Result(text.to_string()));
        return;
    }
    let mut out = std::io::stdout().lock();
    let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) else { return };
    if error.kind() == ErrorKind::BrokenPipe {
        CLOSED.store(true, Ordering::Relaxed);
    } else if !LOST.swap(true, Ordering::Relaxed) {
        complain(&format!("cannot write the result: {error}"));
    }
}

/// Whether standard output is closed or full.
pub fn is_unread() -> bool {
    CLOSED.load(Ordering::Relaxed) || was_lost()
}

pub fn was_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

pub fn print_line(text: &str) {
    print(&format!("{}\n", text.trim_end_matches('\n')));
}

/// A JSON document: indented on a terminal, else on one line (NDJSON).
pub fn print_document(document: &impl Serialize) {
    let json = serde_json::to_string(document).expect("documents are plain data");
    print_json(&if std::io::stdout().is_terminal() { indented(&json) } else { json });
}

/// One of many JSON documents: on one line, even on a terminal.
pub fn print_json_line(document: &impl Serialize) {
    print_json(&serde_json::to_string(document).expect("documents are plain data"));
}

/// Escapes control characters that JSON leaves as they are and a terminal would interpret; they can only stand in
/// strings.
fn print_json(json: &str) {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => text.push(c),
        }
    }
    text.push('\n');
    print_as_is(&text);
}

/// A sentence on standard output, wrapped on a terminal.
pub fn print_wrapped(sentence: &str) {
    print_line(&fitted(sentence, HANG, &std::io::stdout()));
}

/// A message on standard error, wrapped on a terminal.
pub fn note(message: &str) {
    note_under(message, HANG);
}

pub fn remark(text: &str) {
    note(&format!("drivescope: note: {text}"));
}

/// A message on standard error; further lines begin with `hang` spaces.
pub fn note_under(message: &str, hang: usize) {
    show(&fitted(message, hang, &std::io::stderr()));
}

/// Formatted text on standard error. A progress bar makes room for it.
pub fn show(text: &str) {
    let text = shown(text);
    if let Some(held) = &mut *held() {
        held.texts.push(HeldText::Message(text));
        return;
    }
    let write = || {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    };
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

pub fn shares_with(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// A question on standard error; the answer follows on the same line.
pub fn ask(question: &str) {
    let mut error = std::io::stderr().lock();
    let question = shown(&fitted(question, HANG, &error));
    let _ = write!(error, "{question} ").and_then(|()| error.flush());
}

const HANG: usize = 2;

/// Wraps a message between words on a terminal. It stays one line in pipes, and on terminals of unknown width.
fn fitted(message: &str, hang: usize, to: &impl AsFd) -> String {
    match terminal_size_of(to) {
        Some((Width(columns), _)) => wrap(message, COLUMNS_MAX.min(columns.into()), hang),
        None => message.to_string(),
    }
}

/// `None` for pipes, and for terminals of unknown width.
pub fn terminal_columns() -> Option<usize> {
    let (Width(columns), _) = terminal_size_of(std::io::stdout())?;
    Some(columns.into())
}

pub fn complain(message: &str) {
    note(&format!("drivescope: {}", error_line(message)));
}

fn error_line(message: &str) -> String {
    let lines = message.split('\n').map(str::trim).filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join("; ");
    // Names may carry anything, also what a terminal would obey.
    let line = line.replace(char::is_control, "\u{fffd}");
    // A word that not even a path could be is there by mistake.
    line.split(' ').map(shortened_path).collect::<Vec<_>>().join(" ")
}

fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Colours on a terminal only; in pipes names are whole, and `COLUMNS` says how wide a table may be.
pub fn style() -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let columns = terminal_columns().or_else(|| std::env::var("COLUMNS").ok()?.parse().ok());
    let style = columns.map_or(Style::PLAIN, |columns| Style::PLAIN.within(columns));
    Style { colour: colours_wanted() && is_terminal, is_whole: !is_terminal, ..style }
}

/// Whether standard error is a terminal.
pub fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_readable_line() {
        assert_eq!(error_line("no\n  such\n\npath"), "no; such; path");
        assert_eq!(error_line("no \u{1b}[2J"), "no \u{fffd}[2J");
        let long = format!("no suite '{}'; drivescope suites lists them", "x".repeat(100_000));
        let line = error_line(&long);
        assert!(line.len() < 120 && line.ends_with("; drivescope suites lists them"), "{line}");
        let path = format!("no such path: /{}", "a/".repeat(2000));
        assert_eq!(error_line(&path), path);
    }
}
