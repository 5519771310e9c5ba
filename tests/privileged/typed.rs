//! Contents given up by typing the device's name at a terminal.

use super::guards::{Loop, image_of_noise, tool};
use super::{is_privileged, privileged_scratch};
use crate::support::json::{array, text};
use crate::support::terminal::{CTRL_C, CTRL_D, OnTerminal};
use crate::support::{Ended, Scratch};
use crate::terminal::must_wrap;
use std::fs;

const QUESTION: &str = "anything else stops: ";
const VERIFY: &[&str] = &["--test=verify", "--set=verify.cache=1MiB", "--write=destroy"];

fn device(scratch: &Scratch) -> Option<(Loop, String, String)> {
    let image = image_of_noise(scratch, 64);
    let device = Loop::attach(&image, &[])?;
    let phrase = format!("{}:{}", device.name(), 64 << 20);
    Some((device, image, phrase))
}

/// Starts `verify` on a terminal, waits for the question, and lets `answer` act.
fn asked(scratch: &Scratch, node: &str, answer: impl FnOnce(&mut OnTerminal)) -> Ended {
    let mut program = OnTerminal::start(scratch.run_call(node, &[VERIFY]));
    program.wait_for(QUESTION);
    answer(&mut program);
    program.end()
}

#[test]
fn typed_name_confirms_and_is_recorded() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, image, phrase)) = device(&scratch) else { return };
    let before = fs::read(&image).unwrap();
    let ended = asked(&scratch, &device.node, |program| program.press(&format!(" {phrase} \n")));
    let ended = ended.measured();
    let place =
        |words: &str| ended.stdout.find(words).unwrap_or_else(|| panic!("{words}: {ended}"));
    // The plan in numbers, and what is on the device, stand above the question.
    assert!(place("EVERYTHING IS LOST") < place(QUESTION), "{ended}");
    assert!(place("unknown data at byte 0") < place(QUESTION), "{ended}");
    assert!(place(&phrase) < place("the capacity is real"), "{ended}");
    assert!(fs::read(&image).unwrap() != before, "nothing was written");
    let run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    let check = array(&run["gate"]).iter().find(|check| check["check"] == "confirmation").unwrap();
    let words = format!("{phrase} was typed and matches the device");
    assert_eq!(text(&check["evidence"]), words);
}

/// Refusals and the gate's question on 80 and 60 columns.
#[test]
fn gate_messages_fit_the_terminal() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, ..)) = device(&scratch) else { return };
    let refused = ["run", &device.node, "--test=verify", "--destroy=WD-WX11D1234567"];
    must_wrap(&scratch, &refused, 3);
    let call = scratch.run_call(&device.node, &[VERIFY]).env("NO_COLOR", "1");
    let mut program = OnTerminal::start_with(call, 60);
    program.wait_for("stops: ");
    program.press("no\n");
    let ended = program.end().code(3);
    let (_, question) = ended.stdout.split_once("To let").unwrap();
    assert!(question.lines().all(|line| line.trim_end().chars().count() <= 60), "{ended}");
    assert!(question.lines().take(2).any(|line| line.contains("stops: no")), "{ended}");
}

#[test]
fn anything_else_stops_and_changes_nothing() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, image, phrase)) = device(&scratch) else { return };
    let before = fs::read(&image).unwrap();
    let shouted = format!("{}\n", phrase.to_uppercase());
    let unfinished = format!("{phrase}{CTRL_D}{CTRL_D}");
    for (keys, code, words) in [
        ("\n", 3, "not written: nothing was typed"),
        ("yes\n", 3, "yes was typed, but the device reports"),
        (shouted.as_str(), 3, "was typed, but the device reports"),
        (CTRL_D, 3, "not written: the input ended"),
        (unfinished.as_str(), 3, "not written: the input ended"),
        (CTRL_C, 130, "not written: interrupted"),
    ] {
        asked(&scratch, &device.node, |program| program.press(keys)).code(code).shows(&[words]);
    }
    assert!(fs::read(&image).unwrap() == before, "the image changed");
    let runs = scratch.drivescope(&["runs", "--json"]).code(0).json();
    assert_eq!(array(&runs).len(), 0, "{runs}");
}

/// All targets are confirmed before the first is claimed.
#[test]
fn wrong_second_answer_spares_the_first_target() {
    if !is_privileged() {
        return;
    }
    let scratches = [Scratch::new(), Scratch::new()];
    let [one, two] = &scratches;
    let (Some(one), Some(two)) = (device(one), device(two)) else { return };
    let ((first, image, phrase), (second, ..)) = (one, two);
    let before = fs::read(&image).unwrap();
    let call = scratches[0].run_call(&first.node, &[VERIFY, &[&second.node]]);
    let mut program = OnTerminal::start(call);
    program.wait_for(&format!("To let {}", first.node));
    program.press(&format!("{phrase}\n"));
    program.wait_for(&format!("To let {}", second.node));
    program.press("no\n");
    program.end().code(3).shows(&["no was typed, but the device reports"]);
    assert!(fs::read(&image).unwrap() == before, "the first image changed");
}

#[test]
fn quiet_or_no_terminal_asks_no_question() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, image, phrase)) = device(&scratch) else { return };
    let before = fs::read(&image).unwrap();
    let flag = format!("--destroy '{phrase}'");
    // The right name in a pipe is no person.
    let piped = scratch.run_call(&device.node, &[VERIFY]).input(format!("{phrase}\n")).end();
    let piped = piped.code(3);
    assert!(piped.stderr.contains(&flag) && !piped.stderr.contains(QUESTION), "{piped}");
    for silent in ["--quiet", "--json"] {
        let call = scratch.run_call(&device.node, &[VERIFY, &[silent]]);
        let ended = OnTerminal::start(call).end().code(3);
        assert!(ended.stdout.contains(&flag) && !ended.stdout.contains(QUESTION), "{ended}");
    }
    // A wrong serial on the command line is a mistake, and no reason to ask.
    let call = scratch.run_call(&device.node, &[&["--test=verify", "--destroy=WD-1234"]]);
    let ended = OnTerminal::start(call).end().code(3);
    assert!(!ended.stdout.contains(QUESTION), "{ended}");
    assert!(fs::read(&image).unwrap() == before, "the image changed");
}

/// A user may take any time to answer.
#[test]
fn device_changed_during_the_question_is_refused() {
    let Some(scratch) = privileged_scratch() else { return };
    let Some((device, image, phrase)) = device(&scratch) else { return };
    let ended = asked(&scratch, &device.node, |program| {
        let file = fs::OpenOptions::new().write(true).open(&image).unwrap();
        file.set_len(48 << 20).unwrap();
        tool("losetup", &["--set-capacity", &device.node]).unwrap();
        program.press(&format!("{phrase}\n"));
    });
    ended.code(3).shows(&["not the device that was shown: its size was"]);
    assert_eq!(fs::metadata(&image).unwrap().len(), 48 << 20);
    let rest = crate::support::noise(64 << 20, 11);
    assert!(fs::read(&image).unwrap() == rest[..48 << 20], "the image changed");
}
