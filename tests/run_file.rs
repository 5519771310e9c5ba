//! `run` on an existing file: it is read, and never written.

use crate::support::json::{array, keys, statuses, test_of, text};
use crate::support::{ONE_CELL, Scratch, TINY, must_have, noise};
use std::fs;
use std::os::unix::fs::MetadataExt;

fn state(path: &str) -> (Vec<u8>, i64, i64, i64, i64, u32) {
    let meta = fs::metadata(path).expect("the file is there");
    let (mtime, ctime) = (meta.mtime(), meta.ctime());
    (
        fs::read(path).expect("it can be read"),
        mtime,
        meta.mtime_nsec(),
        ctime,
        meta.ctime_nsec(),
        meta.mode(),
    )
}

#[test]
fn a_file_is_read_and_not_changed() {
    let scratch = Scratch::new();
    let file = scratch.file("disk image", noise(20 << 20, 3));
    let before = state(&file);
    let options = ["--json", "--rounds=3"];
    let run = scratch.run(&file, &[TINY, &options]).measured().json();
    assert!(state(&file) == before, "the file was changed");
    assert_eq!((&run["target"]["kind"], &run["status"]), (&"file".into(), &"done".into()));
    assert_eq!(
        statuses(&run),
        [
            ("transfer", "done"),
            ("latency", "done"),
            ("surface", "skipped"),
            ("tiny-writes", "skipped")
        ]
    );
    for key in keys(&run) {
        assert!(!key.contains("write"), "{key} of a file that is only read");
    }
    let left_out = text(&test_of(&run, "transfer")["reason"]);
    must_have(left_out, &["seq1m_q8t1.write", "rnd4k_q1t1.write", "never written"]);
    for test in array(&run["plan"]["tests"]) {
        assert_eq!(test["writes"], "read", "{test}");
    }
    assert!(run["plan"].get("own_folder").is_none());
    assert_eq!(crate::support::scratch::names(scratch.path("")), ["disk image", "home", "target"]);
}

#[test]
fn text_says_file_unchanged_and_names_skipped_tests() {
    let scratch = Scratch::new();
    let file = scratch.file("image", noise(20 << 20, 3));
    for options in [&["--dry-run"][..], TINY] {
        let ended = scratch.run(&file, &[options]).measured();
        ended.shows(&["your file is not changed", "left out", "rnd4k_q1t1.write", "never written"]);
    }
}

#[test]
fn read_only_file_is_enough() {
    let scratch = Scratch::new();
    let file = scratch.file("image", noise(2 << 20, 3));
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    scratch.run(&file, &[TINY, ONE_CELL]).measured();
}

#[test]
fn file_of_any_length_is_read_fully() {
    let scratch = Scratch::new();
    for length in [64 << 10, (1 << 20) + 1, (1 << 20) + 511, (2 << 20) - 512] {
        let file = scratch.file("image", noise(length, 5));
        let options = ["--test=transfer,latency", "--cells=rnd4k_q4t1.read", "--json"];
        let run = scratch.run(&file, &[TINY, &options]).measured().json();
        assert_eq!(run["target"]["size_bytes"], length);
        assert_eq!(statuses(&run), [("transfer", "done"), ("latency", "done")], "{length}");
    }
}

#[test]
fn size_narrows_the_span_of_a_file() {
    let scratch = Scratch::new();
    let file = scratch.file("image", noise(20 << 20, 3));
    let options = ["--test=transfer", "--cells=seq1m_q1t1.read", "--json", "--size=8M"];
    scratch.run(&file, &[&options]).refused_with(2, &["needs 16 MiB or more"]);
    scratch.run(&file, &[TINY, &options[..3], &["--size=16M"]]).measured();
}

#[test]
fn too_small_file_names_the_needed_size() {
    let scratch = Scratch::new();
    let empty = scratch.file("empty", "");
    scratch.run(&empty, &[]).refused_with(2, &["0 B", "with contents"]);
    let small = scratch.file("small", "0123456789");
    let message = scratch.run(&small, &[]).refused(2);
    must_have(
        &message,
        &["no test of this suite can run", "--cells rnd4k_q32t1.read", "needs 64 KiB"],
    );
    assert!(message.matches("_q").count() == 1 && message.len() < 330, "{message}");
    // Some tests fit, others do not: the run continues with the fitting ones.
    let medium = scratch.file("medium", noise(1 << 20, 1));
    let run = scratch.run(&medium, &[TINY, &["--json"]]).measured().json();
    let left_out = text(&test_of(&run, "transfer")["reason"]);
    assert!(left_out.contains("seq1m_q8t1.read") && left_out.contains("16 MiB"), "{left_out}");
    assert!(!scratch.path("small-drivescope").exists());
}

#[test]
fn writing_test_is_refused_on_a_file() {
    let scratch = Scratch::new();
    let file = scratch.file("image", noise(20 << 20, 3));
    for options in [
        &["--test=tiny-writes"][..],
        &["--test=transfer", "--cells=rnd4k_q1t1.write,rnd4k_q1t1.mix70"],
    ] {
        scratch.run(&file, &[options]).refused_with(2, &["existing files are never written"]);
    }
}

#[test]
fn the_surface_of_a_large_file_is_drawn() {
    let scratch = Scratch::new();
    // Mostly a hole: the size counts, not what is allocated.
    let file = scratch.file("image", noise(1 << 20, 3));
    let handle = fs::OpenOptions::new().write(true).open(&file).unwrap();
    handle.set_len(1 << 30).unwrap();
    drop(handle);
    let options = ["--test=surface", "--json", "--size=1G", "--rounds=1"];
    let run = scratch.run(&file, &[TINY, &options]).measured().json();
    assert_eq!(statuses(&run), [("surface", "done")]);
    for key in ["surface.read.mean_mb_s", "surface.access.access_mean_ms"] {
        assert!(keys(&run).iter().any(|known| known == key), "no {key} in {:?}", keys(&run));
    }
    let series = array(&run["tests"][0]["series"]);
    assert!(series.iter().any(|s| s["x_unit"] == "bytes" && array(&s["x"]).len() == 3));
}
