//! The files that open anything for writing. Within `crates/drive` and `crates/mount` no lint of the compiler stops it,
//! so this list does: whoever adds a line here adds a way to lose data, and a reviewer sees it.

use crate::workspace;

/// Each file that may, and what it writes.
const WRITERS: [(&str, &str); 6] = [
    ("drive/src/document_file.rs", "the document of a run whose store cannot be written"),
    ("drive/src/gate/kernel_calls.rs", "block devices, for the gate alone"),
    ("drive/src/journal/storage.rs", "journals, in their folder"),
    ("drive/src/own_folder.rs", "files of its own in the folder it made"),
    ("mount/src/backing.rs", "the file of a simulated drive"),
    ("mount/src/loop_device.rs", "the loop device of a simulated drive"),
];

/// What opening for writing looks like in Rust.
const MARKS: [&str; 5] =
    ["OFlags::RDWR", "OFlags::WRONLY", "OpenOptions", "File::options", "File::create"];

/// The crates without that lint.
const UNLINTED: [&str; 2] = ["drive/src/", "mount/src/"];

/// The part of a file before its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

#[test]
fn only_listed_files_open_anything_for_writing() {
    let mut faults = Vec::new();
    let mut writers = Vec::new();
    for path in workspace::files(&[".rs"]).unwrap() {
        let Some(name) = path.strip_prefix("crates/").filter(|_| !is_test(&path)) else { continue };
        if !UNLINTED.iter().any(|place| name.starts_with(place)) {
            continue;
        }
        let text = workspace::read(&path).unwrap();
        if !MARKS.iter().any(|mark| without_tests(&text).contains(mark)) {
            continue;
        }
        writers.push(name.to_string());
        if !WRITERS.iter().any(|(known, _)| *known == name) {
            faults.push(format!("{path} opens something for writing: see xtask/src/writers.rs"));
        }
    }
    let gone = WRITERS.iter().filter(|(name, _)| !writers.iter().any(|writer| writer == name));
    faults.extend(gone.map(|(name, what)| format!("{name} is listed, but does not write {what}")));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// The gate alone makes the handle that writes to devices, and nobody copies it.
#[test]
fn a_raw_disk_is_made_by_the_gate_alone() {
    let handle = workspace::read("crates/drive/src/gate/raw_disk.rs").unwrap();
    assert!(handle.contains("pub(super) fn new("), "only the gate may call it");
    assert!(!handle.contains("Clone") && !handle.contains("impl AsFd"), "it must not be copied");
    let fields =
        handle.split("pub struct RawDisk {").nth(1).and_then(|rest| rest.split('}').next());
    assert!(!fields.unwrap().contains("pub "), "its fields are private");
}
