//! `watch`: lines and summary on drives of known truth, failures, and how it ends.

use crate::support::scratch::{names, own_folder};
use crate::support::terminal::{CTRL_C, OnTerminal};
use crate::support::{Scratch, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, pipe};

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn simulated_disk_has_one_line_per_second() {
    let scratch = Scratch::new();
    let call = ["watch", "sim:wd40efrx", "--time=20s", "--json"];
    let lines = scratch.drivescope(&call).code(0).documents();
    let (seconds, summary) = (of_kind(&lines, "second"), &lines[lines.len() - 1]);
    assert_eq!((seconds.len(), lines.len(), &summary["kind"]), (20, 21, &"summary".into()));
    for (i, second) in seconds.iter().enumerate() {
        assert!((number(&second["start_s"]) - i as f64).abs() < 0.1, "{second}");
        let rate = number(&second["reads"]) / number(&second["elapsed_s"]);
        assert!((number(&second["iops"]) / rate - 1.0).abs() < 1e-9, "{second}");
    }
    let reads: f64 = seconds.iter().map(|second| number(&second["reads"])).sum();
    assert_eq!(reads, number(&summary["reads"]));
    // A turn takes 11.1 ms at 5400 rpm: half of one and a seek.
    let median_us = number(&summary["lat_p50_us"]);
    assert!((10_000.0..17_000.0).contains(&median_us), "{summary}");
    let slowest = seconds.iter().map(|second| number(&second["lat_max_us"])).fold(0.0, f64::max);
    assert_eq!(slowest, number(&summary["slowest"]["lat_us"]));
    assert_eq!((&summary["stalls"], &summary["errors"]), (&0.into(), &0.into()));
    let again = scratch.drivescope(&call).code(0).documents();
    assert_eq!(lines, again, "virtual time is the same every time");
    assert!(!scratch.store().exists(), "nothing is stored");
}

/// `fault=stalls` pauses from 8.5 s to 10 s, from 18.5 s to 20 s, and so on.
#[test]
fn every_stall_is_named_with_time_and_length() {
    let scratch = Scratch::new();
    for (model, healthy_ms) in [("wd40efrx", 30.0), ("kioxia-bg4-128", 1.0)] {
        let target = format!("sim:{model}?fault=stalls");
        let lines = scratch.drivescope(&["watch", &target, "--time=45s", "--json"]).code(0);
        let lines = lines.documents();
        let (stalls, summary) = (of_kind(&lines, "stall"), &lines[lines.len() - 1]);
        assert_eq!((stalls.len(), &summary["stalls"]), (4, &4.into()), "{model}: {summary}");
        for (i, stall) in stalls.iter().enumerate() {
            // What was sent just before waits until its end.
            let (end_s, took_s) = (10.0 * (i + 1) as f64, number(&stall["lat_us"]) / 1e6);
            let late_s = number(&stall["start_s"]) + took_s - end_s;
            assert!((0.0..0.01).contains(&late_s), "{model}: {stall}");
            let longer_ms = (took_s - 1.5) * 1e3;
            assert!((0.0..healthy_ms).contains(&longer_ms), "{model}: {stall}");
        }
        let without: f64 = number(&summary["elapsed_s"]) - number(&summary["stalled_s"]);
        assert!((38.0..39.1).contains(&without), "{model}: {summary}");
    }
    let text = scratch.drivescope(&["watch", "sim:wd40efrx?fault=stalls", "--time=11s"]).code(0);
    assert!(text.stdout.contains("\n0:00:08   ! stall one read took 1.5"), "{text}");
    assert!(text.stdout.contains(" · 1 stall, 1.5 s in all"), "{text}");
}

#[test]
fn a_pipe_gets_plain_lines_of_eighty_columns() {
    let scratch = Scratch::new();
    let ended =
        scratch.drivescope(&["watch", "sim:wd40efrx?fault=failing-region", "--time=3min"]).code(4);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{ended}");
    assert!(!ended.stdout.contains('\u{1b}') && ended.stderr.is_empty(), "{ended}");
    assert!(ended.stdout.contains("\n0:02:"), "{ended}");
}

#[test]
fn failed_reads_are_counted_and_do_not_end() {
    let scratch = Scratch::new();
    let target = "sim:wd40efrx?fault=failing-region";
    let lines = scratch.drivescope(&["watch", target, "--time=5min", "--json"]).code(4).documents();
    let (errors, summary) = (of_kind(&lines, "error"), &lines[lines.len() - 1]);
    assert!(errors.len() > 3, "{summary}");
    assert_eq!(summary["errors"], errors.len());
    let capacity = 4_000_787_030_016.0;
    for error in errors {
        // A thousandth of the drive at its middle, after retries of 2 s.
        let beyond = number(&error["offset"]) - capacity / 2.0;
        assert!((-4096.0..capacity / 1000.0).contains(&beyond), "{error}");
        assert!((1.9..2.2).contains(&number(&error["elapsed_s"])), "{error}");
        assert_eq!(error["errno"], rustix::io::Errno::IO.raw_os_error());
    }
    assert!(number(&summary["elapsed_s"]) > 290.0, "it went on: {summary}");
}

#[test]
fn disappearing_drive_ends_the_watch_with_results() {
    let scratch = Scratch::new();
    let target = "sim:kioxia-bg4-128?fault=gone";
    let ended = scratch.drivescope(&["watch", target, "--time=1min"]).code(4);
    ended.shows(&["! error read at byte", " reads in 20 s · ", " · 1 read failed"]);
}

#[test]
fn watched_directory_uses_a_file_removed_by_signal() {
    let scratch = Scratch::new();
    let (reader, writer) = pipe().unwrap();
    let call = scratch.call(&["watch", "target", "--size=16M", "--json"]).output_to(writer);
    let running = call.start();
    let lines = BufReader::new(reader).lines().map(Result::unwrap);
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    // A drive that others use may stall first, which is named.
    let first = lines.find(|line| line["kind"] == "second").unwrap();
    assert!(own_folder(scratch.target()).is_some());
    running.signal(Signal::INT);
    let last = lines.last().unwrap();
    running.end().code(0);
    assert_eq!(last["kind"], "summary");
    assert!(number(&last["reads"]) >= number(&first["reads"]), "{last}");
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn existing_file_is_only_read_up_to_count() {
    let scratch = Scratch::new();
    let contents = crate::support::noise(1 << 20, 1);
    let file = scratch.file("file", &contents);
    let lines = scratch.drivescope(&["watch", &file, "--count=100", "--json"]).code(0).documents();
    assert_eq!(lines[lines.len() - 1]["reads"], 100);
    assert!(std::fs::read(&file).unwrap() == contents);
    scratch.drivescope(&["watch", &scratch.file("small", "x")]).refused_with(2, &["small"]);
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let scratch = Scratch::new();
    let (reader, writer) = pipe().unwrap();
    let mut running = scratch.call(&["watch", "target", "--size=16M"]).output_to(writer).start();
    drop(BufReader::new(reader).lines().next());
    wait_for("its end", || (!running.is_alive()).then_some(()));
    running.end().code(0);
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn ctrl_c_on_a_terminal_ends_normally() {
    let scratch = Scratch::new();
    let call = scratch.call(&["watch", "target", "--size=16M"]).env("NO_COLOR", "1");
    let mut terminal = OnTerminal::start_with(call, 80);
    terminal.wait_for("reads/s     median");
    terminal.wait_for(" µs ");
    terminal.press(CTRL_C);
    terminal.end().code(0).shows(&["slowest"]);
}

#[test]
fn impossible_watch_is_refused_in_one_line() {
    let scratch = Scratch::new();
    for (arguments, parts) in [
        (&["absent"][..], &["no such path", "drivescope list"][..]),
        (&["target", "--block-size=100"], &["100", "multiple of 512"]),
        (&["target", "--block-size=0"], &["multiple of 512"]),
        (&["target", "--interval=-1s"], &["--interval"]),
        (&["target", "--size=100"], &["at least 1 MiB"]),
        (
            &["sim:wd40efrx", "--size=1M", "--block-size=128K"],
            &["cannot be watched", "fewer than 16 places"],
        ),
        (&["sim:nothing"], &["no model", "nothing"]),
        (&[], &["TARGET"]),
    ] {
        scratch.drivescope(&[&["watch"], arguments].concat()).refused_with(2, parts);
    }
    assert_eq!(names(scratch.target()), [""; 0]);
}
