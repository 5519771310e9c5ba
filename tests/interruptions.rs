//! SIGINT, SIGTERM and SIGKILL in every stage, and what they leave behind.

use crate::support::json::{array, finding, findings, noticed_other_io, statuses, text};
use crate::support::scratch::{names, own_folder};
use crate::support::{Running, Scratch, TINY, wait_for};
use rustix::fs::OFlags;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::path::PathBuf;
use std::time::Duration;

/// Its first phase never ends by itself.
const ENDLESS: &[&str] =
    &["--test=transfer,latency", "--cells=rnd4k_q1t1.read", "--set=transfer.time=1h"];
/// Its second test never ends by itself.
const ENDLESS_SECOND: &[&str] =
    &["--test=transfer,latency", "--cells=rnd4k_q1t1.read", "--set=latency.time=1h"];

/// Starts an endless run and waits for its data file, which it is still writing.
fn start_and_wait_for_file(scratch: &Scratch, options: &[&[&str]]) -> (Running, PathBuf) {
    let running = scratch.run_call("target", options).start();
    let folder = wait_for("the run's own folder with its file", || {
        own_folder(scratch.target()).filter(|folder| folder.join("data").exists())
    });
    (running.must_be_alive(), folder)
}

/// More than two speed trials read.
const AFTER_TRIALS: u64 = 32 << 20;

fn wait_for_reads(running: &Running) {
    wait_for("reads", || running.io_bytes("read_bytes").filter(|read| *read > AFTER_TRIALS));
}

fn start_and_wait_for_reads(scratch: &Scratch) -> (Running, PathBuf) {
    let (running, folder) = start_and_wait_for_file(scratch, &[TINY, ENDLESS]);
    wait_for_reads(&running);
    (running.must_be_alive(), folder)
}

#[track_caller]
fn kept_run(scratch: &Scratch) -> Value {
    let runs = scratch.drivescope(&["runs", "--json"]).code(0).json();
    assert_eq!(array(&runs).len(), 1, "{runs}");
    scratch.drivescope(&["show", "last", "--json"]).code(0).json()
}

#[test]
fn signal_while_the_file_is_written_ends_cleanly() {
    for signal in [Signal::INT, Signal::TERM] {
        let scratch = Scratch::new();
        let (running, _) = start_and_wait_for_file(&scratch, &[TINY, ENDLESS, &["--size=512M"]]);
        running.signal(signal);
        running.end().code(130).shows(&["interrupted"]);
        assert_eq!(names(scratch.target()), [""; 0]);
        let run = kept_run(&scratch);
        assert_eq!(run["status"], "interrupted");
        assert_eq!(run["tests"][0]["status"], "interrupted");
    }
}

#[test]
fn signal_in_a_phase_keeps_the_measurements() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let scratch = Scratch::new();
        let (running, _) = start_and_wait_for_reads(&scratch);
        running.signal(signal);
        let ended = running.end().code(130);
        assert!(ended.stdout.contains("saved as run"), "{ended}");
        assert!(!ended.stdout.contains("not judged"), "{ended}");
        assert_eq!(names(scratch.target()), [""; 0]);
        let run = kept_run(&scratch);
        assert_eq!(run["status"], "interrupted");
        // The second test was not begun, and the first keeps the phase it was in.
        assert_eq!(array(&run["tests"]).len(), 1);
        assert!(run["tests"][0]["phases"][0]["ops"].as_u64() > Some(0), "{}", run["tests"][0]);
        scratch.drivescope(&["runs"]).code(0).shows(&["interrupted"]);
    }
}

#[test]
fn an_interrupted_run_is_still_one_json_document() {
    let scratch = Scratch::new();
    let options = [TINY, ENDLESS, &["--json", "--no-save"]];
    let (running, _) = start_and_wait_for_file(&scratch, &options);
    let run = running.interrupt().json();
    assert_eq!(run["status"], "interrupted");
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn signal_in_the_first_target_spares_the_second() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("second")).unwrap();
    let (running, _) = start_and_wait_for_file(&scratch, &[TINY, ENDLESS, &["second"]]);
    running.interrupt();
    for folder in ["target", "second"] {
        assert_eq!(names(scratch.path(folder)), [""; 0]);
    }
    assert_eq!(kept_run(&scratch)["target"]["path"], scratch.target());
}

#[test]
fn next_run_removes_a_killed_runs_files() {
    let scratch = Scratch::new();
    let precious = scratch.file("target/.drivescope-notes", "mine");
    let (running, folder) = start_and_wait_for_reads(&scratch);
    assert_eq!(running.kill().signal(), Some(9));
    assert_eq!(names(&folder), ["data", "manifest.json"]);
    let ended = scratch.run("target", &[TINY, &["--test=latency", "--json"]]).code(0);
    assert!(ended.stderr.contains(&format!("removed {}", folder.display())), "{ended}");
    assert_eq!(ended.json()["status"], "done");
    assert_eq!(std::fs::read_to_string(precious).unwrap(), "mine");
    assert_eq!(names(scratch.target()), [".drivescope-notes"]);
}

#[test]
fn clean_removes_a_killed_runs_files() {
    let scratch = Scratch::new();
    for call in [
        scratch.call(&["run", "--clean", "target"]),
        scratch.call(&["run", "--clean"]).in_folder(&scratch.path("target")),
    ] {
        let (running, folder) = start_and_wait_for_file(&scratch, &[TINY, ENDLESS]);
        running.kill();
        let looked = scratch.drivescope(&["run", "--clean", "target", "--dry-run"]).code(0);
        assert!(looked.stdout.starts_with("would remove ") && folder.join("data").exists());
        let ended = call.end().code(0);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        assert!(ended.stdout.contains("removed") && ended.stdout.contains(&name), "{ended}");
        assert_eq!(names(scratch.target()), [""; 0]);
    }
    let ended = scratch.drivescope(&["run", "--clean", "target"]).code(0);
    assert_eq!(ended.stdout, "nothing to clean\n");
    let file = scratch.file("file", "");
    scratch.drivescope(&["run", "--clean", &file]).refused_with(2, &["is not a directory"]);
    let message = scratch.drivescope(&["run", "--clean", "target", "--json"]).refused(2);
    assert!(message.contains("--clean") && message.contains("--json"), "{message}");
}

#[test]
fn folder_of_a_living_run_is_kept() {
    let scratch = Scratch::new();
    let (running, folder) = start_and_wait_for_reads(&scratch);
    let ended = scratch.drivescope(&["run", "--clean", "target"]).code(0);
    assert!(ended.stdout.contains("its run is still in progress"), "{ended}");
    // Neither does another run in the same directory disturb it.
    scratch.run("target", &[TINY, &["--test=latency"]]).code(0);
    assert_eq!(names(&folder), ["data", "manifest.json"]);
    running.must_be_alive().interrupt();
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn foreign_files_are_kept_and_named() {
    let scratch = Scratch::new();
    let (running, folder) = start_and_wait_for_file(&scratch, &[TINY, ENDLESS]);
    running.kill();
    std::fs::write(folder.join("thesis.txt"), "mine").unwrap();
    let ended = scratch.drivescope(&["run", "--clean", "target", "--dry-run"]).code(3);
    assert!(
        ended.stderr.contains("would leave ") && ended.stderr.contains("thesis.txt"),
        "{ended}"
    );
    assert!(folder.join("data").exists());
    let ended = scratch.drivescope(&["run", "--clean", "target"]).code(3);
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    assert!(ended.stderr.contains(&name) && ended.stderr.contains("thesis.txt"), "{ended}");
    assert_eq!(std::fs::read_to_string(folder.join("thesis.txt")).unwrap(), "mine");
    assert!(folder.join("data").exists(), "half a folder would not be recognized");
    // A later run says so too, and works.
    let ended = scratch.run("target", &[TINY, &["--test=latency"]]).code(0);
    assert!(ended.stderr.contains("left "), "{ended}");
    assert_eq!(std::fs::read_to_string(folder.join("thesis.txt")).unwrap(), "mine");
    std::fs::remove_file(folder.join("thesis.txt")).unwrap();
    scratch.drivescope(&["run", "--clean", "target"]).code(0);
    assert!(!folder.exists());
}

#[test]
fn unremovable_folder_shows_in_the_exit_code() {
    let scratch = Scratch::new();
    let options = ["--test=transfer", "--cells=rnd4k_q1t1.read", "--set=transfer.time=1s"];
    let (running, folder) = start_and_wait_for_file(&scratch, &[TINY, &options]);
    std::fs::write(folder.join("thesis.txt"), "mine").unwrap();
    let ended = running.end().code(2);
    assert!(ended.stderr.contains("not empty") && ended.stdout.contains("saved as run"), "{ended}");
    assert_eq!(names(&folder), ["thesis.txt"]);
    assert_eq!(kept_run(&scratch)["status"], "done");
}

#[test]
fn killed_run_loses_only_the_current_test() {
    let scratch = Scratch::new();
    let running = scratch.run_call("target", &[TINY, ENDLESS_SECOND]).start();
    wait_for("the first test in the store", || {
        let runs = scratch.drivescope(&["runs", "--json"]).code(0).json();
        (!array(&runs).is_empty()).then_some(())
    });
    running.must_be_alive().kill();
    let run = kept_run(&scratch);
    assert_eq!(statuses(&run), [("transfer", "done")]);
    // One of two tests ran: the store must not call that done.
    assert_eq!(run["status"], "interrupted");
}

#[test]
fn signals_close_together_are_one() {
    // `timeout` signals its child, and then the group that the child is in.
    let scratch = Scratch::new();
    let (running, _) = start_and_wait_for_reads(&scratch);
    // Stopped, it gets all of them before it can act on the first.
    running.signal(Signal::STOP);
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.signal(Signal::CONT);
    running.signal(Signal::TERM);
    let ended = running.end().code(130);
    assert!(ended.stdout.contains("saved as run"), "{ended}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(lines.len() == 1 && lines[0].contains("drivescope: interrupted: "), "{ended}");
    assert_eq!(names(scratch.target()), [""; 0]);
    assert_eq!(kept_run(&scratch)["status"], "interrupted");
}

#[test]
fn later_signal_ends_at_once_and_cleans_up() {
    let scratch = Scratch::new();
    // Its store is held, so that the end in order has to wait.
    scratch.run("target", &[TINY, &["--test=latency"]]).code(0);
    let (running, _) = start_and_wait_for_reads(&scratch);
    let Some(_holder) = crate::store::holder(&scratch, "") else { return };
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(1200));
    running.signal(Signal::TERM);
    let ended = running.end().code(130);
    assert!(!ended.stdout.contains("verdict"), "it waited: {ended}");
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn early_signal_ends_at_once() {
    // A pipe without a reader holds it up.
    let scratch = Scratch::new();
    let (_reader, writer) = full_pipe();
    let call = scratch.run_call("target", &[&["--dry-run"]]).output_to(writer);
    let running = call.start();
    let status = format!("/proc/{}/status", running.id());
    wait_for("its handlers", || {
        let text = std::fs::read_to_string(&status).ok()?;
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (caught >> (Signal::TERM.as_raw() - 1) & 1 == 1).then_some(())
    });
    running.signal(Signal::TERM);
    let ended = running.end().code(130);
    assert!(ended.stderr.contains("drivescope: interrupted\n"), "{ended}");
}

#[test]
fn early_signals_leave_nothing_half_made() {
    for step in 0..20 {
        let scratch = Scratch::new();
        let running = scratch.run_call("target", &[TINY, ENDLESS]).start();
        std::thread::sleep(Duration::from_millis(4 * step));
        running.signal(Signal::TERM);
        let ended = running.end();
        let store = scratch.store();
        let folder = store.parent().expect("a store lies in a folder");
        let kept = if folder.exists() { names(folder) } else { Vec::new() };
        assert!(kept.iter().all(|name| store.ends_with(name)), "{kept:?} {ended}");
        assert_eq!(names(scratch.target()), [""; 0]);
        // Before the program has looked at signals the kernel ends it.
        if ended.signal() == Some(Signal::TERM.as_raw()) {
            assert!(kept.is_empty() && ended.stderr.is_empty(), "{ended}");
        } else {
            let ended = ended.code(130);
            assert!(ended.stderr.starts_with("drivescope: interrupted"), "{ended}");
        }
    }
}

fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().expect("there are descriptors left");
    let flags = rustix::fs::fcntl_getfl(&writer).expect("the pipe is ours");
    rustix::fs::fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("the pipe is ours");
    while writer.write(&[b'x'; 4096]).is_ok() {}
    while writer.write(b"x").is_ok() {}
    rustix::fs::fcntl_setfl(&writer, flags).expect("the pipe is ours");
    (reader, writer)
}

/// Pausing the program (not its requests) looks like neither a stall nor heat.
#[test]
fn paused_program_does_not_blame_the_drive() {
    let scratch = Scratch::new();
    let options = ["--test=transfer", "--cells=rnd4k_q1t1.read", "--rounds=1", "--json"];
    let running = scratch
        .run_call("target", &[TINY, &options, &["--set=transfer.time=3s", "--no-save"]])
        .start();
    wait_for_reads(&running);
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(1_800));
    running.signal(Signal::CONT);
    let run = running.end().code(0).json();
    let found = findings(&run);
    assert!(found.contains(&"F034"), "{found:?}");
    // Where others use the drive it may stall, and slow down, by itself.
    let of_the_drive = if noticed_other_io(&run) { &[][..] } else { &["F014", "F020"] };
    for id in of_the_drive {
        assert!(!found.contains(id), "{id}: {}", finding(&run, id));
    }
    let evidence = text(&finding(&run, "F034")["evidence"]);
    // On a busy machine other programs are the larger cause.
    let causes = ["drivescope itself was paused", "other programs used"];
    assert!(causes.iter().any(|cause| evidence.contains(cause)), "{evidence}");
}
