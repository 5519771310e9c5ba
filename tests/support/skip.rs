//! Tests that cannot run here: each reports that at once, and again at the end of `cargo test`: it leaves a line in a
//! file beside the test programs, which the last one, `xtask/tests/what_was_skipped.rs`, prints and removes.

#![expect(clippy::disallowed_methods, reason = "the list is a file of the tests' own")]

use std::io::Write;
use std::path::PathBuf;

/// Set in CI, where every test must run.
const MUST_RUN: &str = "DRIVESCOPE_TESTS_MUST_RUN";

/// Reports that a test did not run, or fails where it must run.
pub fn skip_loudly(reason: &str) {
    let must_run = std::env::var_os(MUST_RUN).is_some_and(|value| !value.is_empty());
    assert!(!must_run, "{MUST_RUN} is set, but this test cannot run here: {reason}");
    note_skipped(reason);
}

/// Reports that a test, or a part of it, did not run, for a reason that CI has as well.
pub fn note_skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_string();
    // Not `eprintln!`: the test harness would show that only for tests that fail.
    let _ = writeln!(std::io::stderr().lock(), "SKIPPED: {test}: {reason}");
    // One write, so that lines of several tests do not mix.
    let line = format!("{reason}\t{test}\n").replace('\r', "");
    let kept = skipped_file().and_then(|path| {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path).ok()?;
        (&file).write_all(line.as_bytes()).ok()
    });
    if kept.is_none() {
        let _ = writeln!(std::io::stderr().lock(), "(not in the list at the end: no file for it)");
    }
}

/// The file with the skipped tests of the current `cargo test`. Its name has the id and start time of that process: ids
/// are reused.
pub fn skipped_file() -> Option<PathBuf> {
    let cargo = std::os::unix::process::parent_id();
    let stat = std::fs::read_to_string(format!("/proc/{cargo}/stat")).ok()?;
    // The name, in brackets, may have blanks; the start is the 22nd field, the 20th after it.
    let start = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
    let programs = std::env::current_exe().ok()?.parent()?.to_path_buf();
    Some(programs.join(format!("skipped-tests-{cargo}-{start}")))
}
