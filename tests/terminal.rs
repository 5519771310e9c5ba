//! What a person sees on a terminal: lines that end between words.

use crate::support::terminal::OnTerminal;
use crate::support::{Ended, Scratch};

const COLUMNS: u16 = 80;

/// On a terminal and in a pipe, messages must have the same words; each terminal line must fit, and the pipe gets one
/// line per message.
#[track_caller]
pub fn must_wrap(scratch: &Scratch, arguments: &[&str], code: i32) -> Ended {
    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_string).collect::<Vec<_>>()
    }
    fn width(line: &str) -> usize {
        line.trim_end().chars().count()
    }
    let piped = scratch.drivescope(arguments).code(code);
    let call = scratch.call(arguments).env("NO_COLOR", "1");
    let shown = OnTerminal::start_with(call, COLUMNS).end().code(code);
    assert_eq!(words(&shown.stdout), words(&piped.stderr), "{shown}");
    let is_one_word = |line: &str| words(line).len() == 1;
    for line in shown.stdout.lines() {
        assert!(width(line) <= usize::from(COLUMNS) || is_one_word(line), "{line}");
    }
    assert!(
        piped.stderr.lines().any(|line| width(line) > COLUMNS.into()),
        "nothing to wrap: {piped}"
    );
    shown
}

/// Words of a text, without comment signs.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| *word != "#").collect()
}

#[test]
fn narrow_lists_break_between_words() {
    let scratch = Scratch::new();
    for arguments in [&["sim", "list"][..], &["sim", "show", "wd10ears"], &["suites"], &["tests"]] {
        let piped = scratch.drivescope(arguments).code(0);
        for columns in [60, 40] {
            let call = scratch.call(arguments).env("NO_COLOR", "1");
            let shown = OnTerminal::start_with(call, columns).end().code(0);
            assert_eq!(words(&shown.stdout), words(&piped.stdout), "{shown}");
            let width = |line: &str| line.trim_end().chars().count();
            let fits = |line: &str| width(line) <= usize::from(columns);
            assert!(shown.stdout.lines().all(fits), "{columns}: {shown}");
        }
    }
    let wide = scratch.drivescope(&["sim", "show", "wd10ears"]).code(0).stdout;
    assert!(wide.lines().any(|line| line.chars().count() > 100), "a pipe gets the file as it is");
}

#[test]
fn messages_end_between_words() {
    let scratch = Scratch::new();
    let name = "a-name-of-some-length/".repeat(3);
    let shown = must_wrap(&scratch, &["run", &name], 2);
    assert!(shown.stdout.lines().skip(1).all(|line| line.starts_with("  ")), "{shown}");
}

#[test]
fn results_take_the_width_of_the_terminal() {
    let scratch = Scratch::new();
    let arguments = ["run", "sim:wd40efrx", "--suite=first", "--seed=1", "--no-save", "--quiet"];
    for columns in [60, 80, 120, 160] {
        let call = scratch.call(&arguments).env("NO_COLOR", "1");
        let shown = OnTerminal::start_with(call, columns).end().code(0);
        let mut lines = shown.stdout.lines().map(str::trim_end);
        assert!(lines.clone().all(|line| line.chars().count() <= columns.into()), "{shown}");
        assert!(
            lines.next().unwrap().starts_with("A simulated SATA hard disk: good for"),
            "{shown}"
        );
        // Times stand beside the rates where there is room.
        let mut heads = lines.filter(|line| line.contains("read"));
        assert_eq!(
            heads.any(|line| line.contains("p50") && line.starts_with("transfer")),
            columns >= 120
        );
    }
}

#[test]
fn terminal_shows_the_table_pipe_only_the_result() {
    let scratch = Scratch::new();
    let cells = "--cells=seq1m_q1t1.read,rnd4k_q1t1.read";
    let arguments =
        ["run", "target", "--test=transfer", cells, "--size=16M", "--time=300ms", "--no-save"];
    let row = "seq1m_q1t1  MB/s";
    let call = scratch.call(&arguments).env("NO_COLOR", "1");
    let terminal = OnTerminal::start_with(call, COLUMNS);
    // Before anything is measured; then over itself, until the result stands there.
    terminal.wait_for(&format!("{row}      -"));
    let shown = terminal.end().code(0);
    let cleared = shown.stdout.matches("\u{1b}[2K").count();
    assert!(cleared > 10 && shown.stdout.matches(row).count() > 2, "{shown}");
    let piped = scratch.drivescope(&arguments).code(0);
    assert_eq!((piped.stdout.matches(row).count(), &*piped.stderr), (1, ""), "{piped}");
}
