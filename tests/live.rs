//! `run --live` on a real terminal: its keys, and how it leaves the terminal.

use crate::support::scratch::names;
use crate::support::terminal::{CTRL_C, OnTerminal};
use crate::support::{ONE_CELL, Scratch, wait_for};
use rustix::process::Signal;
use std::time::Duration;

/// Enters and leaves the alternate screen.
const SCREEN: [&str; 2] = ["\u{1b}[?1049h", "\u{1b}[?1049l"];
const KEYS: &str = "p pause between phases";

/// Two tests that never end by themselves.
const ENDLESS: &[&str] =
    &["--test=transfer,latency", "--cells=rnd4k_q1t1.read", "--size=16M", "--time=1h"];

fn start(scratch: &Scratch, target: &str, options: &[&str]) -> OnTerminal {
    let call = scratch.run_call(target, &[&["--live", "--no-save"], options]);
    let terminal = OnTerminal::start_with(call.env("NO_COLOR", "1").env("TERM", "xterm"), 80);
    terminal.wait_for(SCREEN[0]);
    terminal.wait_for(KEYS);
    assert!(terminal.is_raw());
    terminal
}

/// Waits for the end; the terminal must be restored, with nothing drawn afterwards.
#[track_caller]
fn end(scratch: &Scratch, terminal: OnTerminal, code: i32) -> String {
    terminal.wait_for(SCREEN[1]);
    wait_for("the terminal's own settings", || (!terminal.is_raw()).then_some(()));
    let ended = terminal.end().code(code);
    assert_eq!(names(scratch.target()), [""; 0]);
    let (_, after) = ended.stdout.rsplit_once(SCREEN[1]).expect("it was waited for");
    assert!(!after.contains(SCREEN[0]) && !after.contains(KEYS), "{ended}");
    after.to_string()
}

#[test]
fn skip_and_end_keys_keep_the_measurements() {
    let scratch = Scratch::new();
    let mut terminal = start(&scratch, "target", ENDLESS);
    // The first phase is under way once its graph is there. Words are all that is drawn in one piece.
    terminal.wait_for("round");
    terminal.press("s");
    terminal.wait_for("span100");
    terminal.press("q");
    let result = end(&scratch, terminal, 130);
    assert!(result.contains("transfer  skipped: on request; partial results"), "{result}");
    assert!(result.contains("latency  interrupted"), "{result}");
    assert!(result.contains("rnd4k_q1t1  IOPS"), "what was measured is shown: {result}");
    assert!(result.contains("interrupted: saving partial results"), "held back: {result}");
}

#[test]
fn a_paused_run_waits_for_the_same_key() {
    let scratch = Scratch::new();
    let options = [ONE_CELL, &["--size=16M", "--time=2s", "--rounds=3"]].concat();
    let mut terminal = start(&scratch, "target", &options);
    terminal.press("p");
    // The first letter stands there already.
    terminal.wait_for("ausing");
    // A round takes two seconds. Too short a wait would only see less.
    std::thread::sleep(Duration::from_secs(3));
    assert!(terminal.running.is_alive());
    terminal.press("p");
    let result = end(&scratch, terminal, 0);
    assert!(!result.contains("skipped") && !result.contains("interrupted"), "{result}");
}

#[test]
fn signals_restore_the_terminal() {
    for is_key in [true, false] {
        let scratch = Scratch::new();
        let mut terminal = start(&scratch, "target", ENDLESS);
        if is_key {
            terminal.press(CTRL_C)
        } else {
            terminal.running.signal(Signal::TERM)
        }
        end(&scratch, terminal, 130);
    }
}

#[test]
fn simulated_run_ends_on_the_usual_screen() {
    let scratch = Scratch::new();
    let terminal = start(&scratch, "sim:wd40efrx", &["--suite=first", "--seed=1"]);
    let result = end(&scratch, terminal, 0);
    assert!(result.contains("A simulated SATA hard disk"), "{result}");
}

#[test]
fn live_view_without_a_terminal_is_refused_first() {
    let scratch = Scratch::new();
    let message = scratch.drivescope(&["run", "target", "--live"]).refused(2);
    assert!(message.contains("needs a terminal") && message.contains("omit --live"), "{message}");
    for other in ["--quiet", "--dry-run"] {
        scratch.drivescope(&["run", "target", "--live", other]).refused_with(2, &[other]);
    }
    assert!(!scratch.store().exists());
}
