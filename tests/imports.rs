//! `import`: several files, results of other programs, and documents of unknown origin.

use crate::support::{Scratch, must_have};
use serde_json::Value;
use std::fs;
use std::path::Path;

const EXAMPLE: &str = include_str!("../docs/examples/run.json");
const OF_FIO: &str = include_str!("../crates/store/fixtures/fio_job_error.json");
const TWO_FILES: &str = include_str!("../crates/store/fixtures/fio_two_devices_in_one_job.json");
const OF_A_CLIENT: &str = include_str!("../crates/store/fixtures/fio_client_server.json");
const OF_CRYSTAL_DISK_MARK: &str = include_str!("../crates/store/fixtures/crystaldiskmark_8.txt");

#[test]
fn good_files_are_imported_beside_bad_ones() {
    let scratch = Scratch::new();
    let (bad, good) = (scratch.file("bad.json", "{}"), scratch.file("good.json", EXAMPLE));
    let other = scratch.file("other.json", OF_FIO);
    let ended = scratch.drivescope(&["import", &bad, &good, "absent.json", &other]).code(2);
    must_have(
        &ended.stderr,
        &["bad.json: document 1", "cannot read absent.json", "2 of 4 imported"],
    );
    assert_eq!(ended.stdout.matches("imported run").count(), 2, "{ended}");
    // Alone, its reason is enough.
    let message = scratch.drivescope(&["import", &bad]).refused(2);
    assert!(!message.contains("imported"), "{message}");
}

#[test]
fn results_of_other_programs_say_what_they_are() {
    let scratch = Scratch::new();
    for (text, parts) in [
        (OF_FIO, &["of /dev/sdx; m ended with error 5 (Input/output error)"][..]),
        (TWO_FILES, &["2 files in one figure", "/dev/sdx, /dev/sdy"]),
        (OF_A_CLIENT, &["of /dev/sdx on host-a"]),
        (OF_CRYSTAL_DISK_MARK, &["of unknown", "no date"]),
    ] {
        let file = scratch.file("result", text);
        must_have(&scratch.drivescope(&["import", &file]).code(0).stdout, parts);
    }
    scratch.drivescope(&["runs"]).code(0).shows(&["failed"]);
}

#[test]
fn texts_of_small_programs_are_shown() {
    let scratch = Scratch::new();
    for (text, parts) in [
        (
            "/dev/sdx:\n Timing O_DIRECT disk reads: 300 MB in  3.00 seconds = 100.00 MB/sec\n",
            &["seq2m_q1t1", "105", "/dev/sdx"][..],
        ),
        (
            "--- /dev/sdx (block device 20 GiB) ioping statistics ---\n9 requests completed in 22.5 ms, 36 KiB read, \
             400 iops, 1.56 MiB/s\nmin/avg/max/mdev = 531.2 us / 2.50 ms / 23.7 ms / 12.5 ms\n",
            &["ioping", "400", "23.7 ms"],
        ),
        (
            "F3 read 8.0\n  Data OK: 1.00 GB (2097152 sectors)\n Overwritten: 1.00 MB (2048 sectors)\nAverage \
             reading speed: 100.00 MB/s\n",
            &["verify", "105", "1.05 MB that did not read back"],
        ),
    ] {
        let file = scratch.file("result", text);
        scratch.drivescope(&["import", &file]).code(0);
        must_have(&scratch.drivescope(&["show", &file]).code(0).stdout, parts);
    }
}

#[test]
fn powershell_output_is_read() {
    let scratch = Scratch::new();
    let units = std::iter::once(0xfeff).chain(OF_A_CLIENT.encode_utf16());
    let file = scratch.file("result.json", units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    scratch.drivescope(&["import", &file]).code(0);
}

#[test]
fn sector_size_0_is_refused_by_name() {
    let scratch = Scratch::new();
    let mut run: Value = serde_json::from_str(EXAMPLE).unwrap();
    run["drive"]["logical_sector_bytes"] = 0.into();
    let file = scratch.file("run.json", run.to_string());
    let message = scratch.drivescope(&["advise", &file, "--need", "vms:100GB,fast"]).refused(2);
    must_have(&message, &["drive.logical_sector_bytes is 0"]);
}

/// Displayed texts of a document, with control characters.
const SHOWN: [&str; 16] = [
    "/label",
    "/note",
    "/tool/version",
    "/target/path",
    "/drive/name",
    "/drive/path",
    "/drive/model",
    "/drive/serial",
    "/drive/firmware",
    "/host/name",
    "/host/cpu",
    "/plan/suite/name",
    "/plan/suite/summary",
    "/tests/0/reason",
    "/tests/0/metrics/0/key",
    "/tests/0/metrics/0/unit",
];
const OBEYED: &str = "\u{1b}[31m\u{9b}2J\u{7}\u{7f}\r";

/// No control characters except line feeds and the program's own escape sequences.
#[track_caller]
fn is_harmless(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let found = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r'));
    assert_eq!(found, None, "{what}: {text}");
    // CSV ends lines so.
    assert!(!text.replace("\r\n", "\n").contains('\r'), "{what}: {text}");
}

#[test]
fn control_characters_reach_neither_terminal_nor_file() {
    let scratch = Scratch::new();
    let mut run: Value = serde_json::from_str(EXAMPLE).unwrap();
    for field in SHOWN {
        let (parent, name) = field.rsplit_once('/').unwrap();
        let at = &mut run.pointer_mut(parent).unwrap()[name];
        *at = format!("{}{OBEYED}", at.as_str().unwrap_or("x")).into();
    }
    let key = run["tests"][0]["metrics"][1]["key"].as_str().unwrap().to_string();
    run["tests"][0]["metrics"][1]["key"] = key.replacen('.', &format!(".{OBEYED}"), 1).into();
    let file = scratch.file("run.json", run.to_string());
    is_harmless("import", scratch.drivescope(&["import", &file]).code(0).stdout.as_bytes());
    let mut second: Value = serde_json::from_str(EXAMPLE).unwrap();
    second["id"] = "0123456789ab".into();
    let plain = scratch.file("plain.json", second.to_string());
    for call in [
        &["show", "last"][..],
        &["show", "last", "--md"],
        &["show", "last", "--csv"],
        &["show", "last", "--json"],
        &["runs"],
        &["runs", "--json"],
        &["history", "0123456789"],
        &["export"],
        &["compare", &file, &plain, "--force"],
        &["compare", &file, &plain, "--force", "--all"],
    ] {
        let ended = scratch.drivescope(call);
        is_harmless(&format!("{call:?}"), ended.stdout.as_bytes());
        is_harmless(&format!("{call:?}"), ended.stderr.as_bytes());
        assert!(!ended.stdout.is_empty(), "{call:?}: {ended}");
    }
    let folder = format!("{}/", scratch.text("pages"));
    scratch.drivescope(&["report", "last", "-o", &folder]).code(0);
    assert!(files_below(Path::new(&folder)) > 3);
}

/// Checks every file of a folder; returns their number.
fn files_below(folder: &Path) -> usize {
    let entries =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .map(|path| {
            if path.is_dir() {
                return files_below(&path);
            }
            is_harmless(&path.display().to_string(), &fs::read(&path).expect("a file"));
            1
        })
        .sum()
}
