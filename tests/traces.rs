//! `trace`: conversion there and back, descriptions, and files that are no traces.

use crate::support::Scratch;
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

/// One request a line, from fio's log to a trace and back.
#[test]
fn a_log_of_fio_comes_back_from_a_trace_as_it_was() {
    let scratch = Scratch::new();
    let log: String = std::iter::once("fio version 3 iolog\n0 disk add\n0 disk open\n".to_string())
        .chain(
            (1..=3_000u64)
                .map(|i| format!("{} disk read {} 4096\n", i * 250, i * 7919 % 1000 * 4096)),
        )
        .chain(["750000 disk close\n".to_string()])
        .collect();
    let path = |name: &str| scratch.text(name);
    fs::write(path("a.iolog"), &log).unwrap();
    scratch.drivescope(&["trace", "convert", &path("a.iolog"), &path("a.trace")]).code(0);
    let call = ["trace", "convert", &path("a.trace"), &path("b.iolog"), "--name=disk"];
    scratch.drivescope(&call).code(0);
    assert_eq!(fs::read_to_string(path("b.iolog")).unwrap(), log);
    let (packed, text) = (fs::metadata(path("a.trace")).unwrap().len(), log.len() as u64);
    assert!(packed * 5 < text, "{packed} of {text} bytes");
    let refused = scratch.drivescope(&call).refused(3);
    assert!(refused.contains("--force"), "{refused}");
    scratch
        .drivescope(&["trace", "convert", &path("a.trace"), &path("b.iolog"), "--force"])
        .code(0);
}

#[test]
fn a_trace_tells_its_mix_its_depth_and_its_think_time() {
    let scratch = Scratch::new();
    let path = scratch.text("day.txt");
    fs::write(&path, BLKPARSE).unwrap();
    let text = scratch.drivescope(&["trace", "info", &path]).code(0).stdout;
    for part in ["2 requests", "busy for 30.0 ms", "think time", "jbd2/sda1-8"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let documents = scratch.drivescope(&["trace", "info", &path, "--json"]).code(0).documents();
    let [found] = &documents[..] else { panic!("one object: {documents:?}") };
    assert_eq!(found["writes"]["bytes"], Value::from(8192));
    assert_eq!(found["end_bytes"], Value::from(4096 * 512 + 8192));
    assert_eq!(found["service"]["busy_s"], Value::from(0.03));
}

#[test]
fn what_is_no_trace_is_refused_with_its_place_and_nothing_is_written() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.text(name);
    fs::write(path("good.txt"), BLKPARSE).unwrap();
    scratch.drivescope(&["trace", "convert", &path("good.txt"), &path("good.trace")]).code(0);
    let whole = fs::read(path("good.trace")).unwrap();
    fs::write(path("cut.trace"), &whole[..whole.len() - 10]).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 0x10;
    fs::write(path("changed.trace"), changed).unwrap();
    fs::write(path("two.csv"), "7,R,4096,8192,1\n8,R,0,512,2\n").unwrap();
    fs::write(path("short.iolog"), "fio version 3 iolog\n5 f read 0\n").unwrap();
    fs::write(path("words.txt"), "no trace\n").unwrap();
    for (name, words) in [
        ("cut.trace", "cut off"),
        ("changed.trace", "checksum"),
        ("two.csv", "line 2: a second device"),
        ("short.iolog", "line 2: read needs an offset"),
        ("words.txt", "is no trace that drivescope knows"),
        ("missing.trace", "cannot be read"),
    ] {
        let call = ["trace", "convert", &path(name), &path("out.trace")];
        let error = scratch.drivescope(&call).refused(2);
        assert!(error.contains(words), "{name}: {error}");
        assert!(!scratch.path("out.trace").exists(), "{name}");
    }
    let call = ["trace", "convert", &path("two.csv"), &path("out.trace"), "--device=8"];
    assert!(scratch.drivescope(&call).code(0).stdout.contains("1 request\n"));
    scratch.drivescope(&["trace", "convert", &path("good.txt"), &path("out.csv")]).code(2);
}
