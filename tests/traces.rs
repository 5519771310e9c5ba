//! `trace`: conversion there and back, descriptions, replays, and files that are no traces.

use crate::support::json::{findings, value};
use crate::support::{Scratch, must_have};
use serde_json::Value;
use std::fs;

const BLKPARSE: &str = "\
  8,0    1        1     0.000000000  812  D   R 2048 + 8 [app]
  8,0    0        1     0.010000000    0  C   R 2048 + 8 [0]
  8,0    1        2     1.010000000  812  D  WS 4096 + 16 [jbd2/sda1-8]
  8,0    0        2     1.030000000    0  C  WS 4096 + 16 [0]
CPU0 (8,0):
 Reads Queued:           1,        4KiB
";

#[test]
fn fio_log_survives_conversion_to_a_trace() {
    let scratch = Scratch::new();
    let log: String = std::iter::once("fio version 3 iolog\n0 disk add\n0 disk open\n".to_string())
        .chain(
            (1..=3_000u64)
                .map(|i| format!("{} disk read {} 4096\n", i * 250, i * 7919 % 1000 * 4096)),
        )
        .chain(["750000 disk close\n".to_string()])
        .collect();
    let path = |name: &str| scratch.text(name);
    scratch.file("a.iolog", &log);
    scratch.drivescope(&["trace", "convert", &path("a.iolog"), &path("a.trace")]).code(0);
    let call = ["trace", "convert", &path("a.trace"), &path("b.iolog"), "--name=disk"];
    scratch.drivescope(&call).code(0);
    assert_eq!(fs::read_to_string(path("b.iolog")).unwrap(), log);
    let (packed, text) = (fs::metadata(path("a.trace")).unwrap().len(), log.len() as u64);
    assert!(packed * 5 < text, "{packed} of {text} bytes");
    scratch.drivescope(&call).refused_with(3, &["--force"]);
    scratch
        .drivescope(&["trace", "convert", &path("a.trace"), &path("b.iolog"), "--force"])
        .code(0);
}

#[test]
fn trace_shows_its_mix_depth_and_think_time() {
    let scratch = Scratch::new();
    let path = scratch.file("day.txt", BLKPARSE);
    let text = scratch.drivescope(&["trace", "info", &path]).code(0).stdout;
    must_have(&text, &["2 requests", "busy for 30.0 ms", "think time", "jbd2/sda1-8"]);
    let documents = scratch.drivescope(&["trace", "info", &path, "--json"]).code(0).documents();
    let [found] = &documents[..] else { panic!("one object: {documents:?}") };
    assert_eq!(found["writes"]["bytes"], Value::from(8192));
    assert_eq!(found["end_bytes"], Value::from(4096 * 512 + 8192));
    assert_eq!(found["service"]["busy_s"], Value::from(0.03));
}

#[test]
fn invalid_trace_is_refused_with_its_position() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.text(name);
    scratch.file("good.txt", BLKPARSE);
    scratch.drivescope(&["trace", "convert", &path("good.txt"), &path("good.trace")]).code(0);
    let whole = fs::read(path("good.trace")).unwrap();
    scratch.file("cut.trace", &whole[..whole.len() - 10]);
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 0x10;
    scratch.file("changed.trace", changed);
    scratch.file("two.csv", "7,R,4096,8192,1\n8,R,0,512,2\n");
    scratch.file("short.iolog", "fio version 3 iolog\n5 f read 0\n");
    scratch.file("words.txt", "no trace\n");
    for (name, words) in [
        ("cut.trace", "cut off"),
        ("changed.trace", "checksum"),
        ("two.csv", "line 2: a second device"),
        ("short.iolog", "line 2: read needs an offset"),
        ("words.txt", "is no trace that drivescope knows"),
        ("missing.trace", "cannot be read"),
    ] {
        let call = ["trace", "convert", &path(name), &path("out.trace")];
        scratch.drivescope(&call).refused_with(2, &[words]);
        assert!(!scratch.path("out.trace").exists(), "{name}");
    }
    let call = ["trace", "convert", &path("two.csv"), &path("out.trace"), "--device=8"];
    assert!(scratch.drivescope(&call).code(0).stdout.contains("1 request\n"));
    scratch.drivescope(&["trace", "convert", &path("good.txt"), &path("out.csv")]).code(2);
}

/// A log of fio with a read every 2 ms and a write after every tenth.
fn log_of(reads: u64) -> String {
    let mut log = "fio version 3 iolog\n0 disk add\n0 disk open\n".to_string();
    for i in 0..reads {
        let at = i * 2_000 + 1;
        log += &format!("{at} disk read {} 4096\n", i * 7919 % 4000 * 4096);
        if i % 10 == 9 {
            log += &format!("{at} disk write {} 8192\n{at} disk datasync 0 0\n", i % 100 * 8192);
        }
    }
    log
}

#[test]
fn replay_keeps_its_times_on_a_simulated_drive() {
    let scratch = Scratch::new();
    let path = scratch.file("day.iolog", log_of(500));
    let call = ["trace", "replay", &path, "sim:samsung-870evo-1tb", "--json", "--no-save"];
    let run = scratch.drivescope(&call).code(0).json();
    assert_eq!((&run["plan"]["suite"]["name"], &run["status"]), (&"replay".into(), &"done".into()));
    let phase = &run["tests"][0]["phases"][0];
    assert_eq!((&phase["ops"], &phase["bytes"]), (&550.into(), &(500 * 4096 + 50 * 8192).into()));
    let run_s = value(&run, "apps.day.run_s");
    assert!((run_s - 0.998).abs() < 0.01, "{run_s}");
    assert_eq!(value(&run, "apps.day.lag_max_us"), 0.0);
    let fast = [&call[..], &["--as-fast-as-possible"]].concat();
    let fast = scratch.drivescope(&fast).code(0).json();
    assert!(value(&fast, "apps.day.run_s") < 0.3, "{}", value(&fast, "apps.day.run_s"));
    let slow = ["trace", "replay", &path, "sim:wd40efrx", "--json", "--no-save"];
    let slow = scratch.drivescope(&slow).code(0).json();
    let late = &slow["tests"][0]["findings"][0];
    assert_eq!(late["id"], "F051", "a disk cannot answer 500 reads a second");
    assert!(late["evidence"].as_str().unwrap().contains("all places in flight"), "{late}");
}

/// A hundredth of its length is nothing.
#[test]
fn short_trace_is_not_late_by_microseconds() {
    let scratch = Scratch::new();
    let reads = "x read 0 4096\nx read 1048576 4096\n";
    let log = format!("fio version 2 iolog\nx add\nx open\n{reads}x close\n");
    let path = scratch.file("moment.iolog", log);
    let call = ["trace", "replay", &path, "sim:samsung-870evo-1tb", "--depth=1", "--json"];
    let run = scratch.drivescope(&[&call[..], &["--no-save"]].concat()).code(0).json();
    assert!(value(&run, "apps.moment.lag_max_us") > 0.0, "the second one waits: {run}");
    assert!(!findings(&run).contains(&"F051"), "{:?}", findings(&run));
}

/// In a directory a trace uses a file of its own, which is removed; an existing file is only read.
#[test]
fn trace_writes_go_only_to_a_scratch_file() {
    let scratch = Scratch::new();
    let (path, folder) = (scratch.file("day.iolog", log_of(50)), scratch.target());
    let call =
        ["trace", "replay", &path, &folder, "--json", "--no-save", "--think-max=1ms", "--force"];
    let run = scratch.drivescope(&call).json();
    let phase = &run["tests"][0]["phases"][0];
    assert_eq!((&phase["ops"], &phase["errors"]), (&55.into(), &0.into()), "{run}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing stays");
    let contents = crate::support::noise(17 << 20, 5);
    let file = scratch.file("existing", &contents);
    let run = scratch
        .drivescope(&["trace", "replay", &path, &file, "--json", "--no-save", "--think-max=1ms"])
        .json();
    let test = &run["tests"][0];
    assert_eq!(test["phases"][0]["ops"], 50, "reads only: {test}");
    assert!(test["reason"].as_str().unwrap().contains("10 writes and flushes"), "{test}");
    assert!(fs::read(&file).unwrap() == contents, "the file is another");
}

#[test]
fn impossible_replay_is_refused_in_one_line() {
    let scratch = Scratch::new();
    let far = format!("fio version 3 iolog\n1 d read 0 4096\n2 d read {} 4096\n", 1u64 << 44);
    let far = scratch.file("far.iolog", far);
    let bad = scratch.file("bad.iolog", "fio version 3 iolog\n5 f read 0\n");
    let good = scratch.file("good.iolog", log_of(3));
    let drive = "sim:wd40efrx";
    for (arguments, words) in [
        (&[&far, drive, "--fit=exact"][..], "17592186048512"),
        (&[&bad, drive], "line 2: read needs an offset"),
        (&[&scratch.text("none.trace"), drive], "none.trace cannot be read"),
        (&["-", drive], "trace convert"),
        (&[&good, drive, "--predict=860evo"], "apps.predict"),
        (&[&good, drive, "--depth=0"], "apps.depth"),
    ] {
        let call = [&["trace", "replay"], arguments].concat();
        scratch.drivescope(&call).refused_with(2, &[words]);
    }
    let packed = ["trace", "replay", &far, drive, "--no-save"];
    scratch.drivescope(&packed).code(0).shows(&["the gaps between the parts"]);
    let call = ["run", drive, "--test=apps", "--set=apps.traces=['wrod']"];
    scratch.drivescope(&call).refused_with(2, &["did you mean 'word'?"]);
}

#[test]
fn recording_needs_root_and_says_so() {
    let scratch = Scratch::new();
    let call = ["trace", "record", "a.trace", "--", "true"];
    let error = scratch.call(&call).without_privileges().end().refused(2);
    assert!(error.contains("needs root") || error.contains("block device"), "{error}");
    scratch.drivescope(&["trace", "record", "a.txt", "--", "true"]).refused_with(2, &[".trace"]);
    scratch.drivescope(&["trace", "record", "a.trace"]).refused(2);
}
