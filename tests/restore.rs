//! `restore` without any drive: tests/privileged/journal.rs has those that write to one.

use crate::bad_input::can_run_as_nobody;
use crate::support::scratch::names;
use crate::support::{ONE_CELL, Scratch, TINY, is_root};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn unreadable_journals_do_not_block_directories() {
    let scratch = Scratch::new();
    if is_root() && !can_run_as_nobody(&scratch) {
        return;
    }
    let directory = scratch.folder_for_everyone("open");
    let file = scratch.file("file", vec![7; 1 << 20]);
    fs::create_dir(scratch.path("home/state")).unwrap();
    let set = |mode| {
        fs::set_permissions(scratch.path("home/state"), fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o000);
    let options = [TINY, ONE_CELL, &["--no-save", "--size=1M", &file]];
    let ended = scratch.run_call(&directory, &options).without_privileges().end();
    set(0o755);
    let ended = ended.code(0);
    let count = ended.stderr.matches("needs drivescope restore").count();
    assert!(count == 1 && ended.stderr.contains("no permission to read"), "{ended}");
}

#[test]
fn without_a_journal_nothing_is_made() {
    let scratch = Scratch::new();
    let ended = scratch.drivescope(&["restore"]).code(0);
    // The searched folder: runs of another user or home have theirs elsewhere.
    let place = scratch.text("home/state/drivescope/journals");
    let message = format!("no open restore journal in {place}; nothing to restore");
    assert!(ended.stdout.contains(&message), "{ended}");
    assert_eq!(names(scratch.path("home")), [""; 0]);
}

#[test]
fn other_file_is_refused_as_a_journal() {
    let scratch = Scratch::new();
    let file = scratch.file("letter.journal", "Dear reader");
    for path in [file.as_str(), "missing.journal", "target", "/dev/null"] {
        let ended = scratch.drivescope(&["restore", "--journal", path]);
        let code = ended.exit_code();
        assert!(code == Some(2) || code == Some(4), "{ended}");
        assert_eq!(ended.not_panicked().stderr.lines().count(), 1);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "Dear reader");
}

#[test]
fn journal_cut_before_any_save_is_removed() {
    let scratch = Scratch::new();
    let folder = scratch.path("home/state/drivescope/journals");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("torn.journal.new"), vec![0; 5000]).unwrap();
    fs::write(folder.join("notes.txt"), "not a journal").unwrap();
    scratch.drivescope(&["restore"]).code(0).shows(&["nothing to restore from"]);
    assert_eq!(names(&folder), ["notes.txt"]);
}

/// A journal gets its name when its header is durable, so it has been damaged.
#[test]
fn journal_without_a_header_is_reported_and_kept() {
    let scratch = Scratch::new();
    let folder = scratch.path("home/state/drivescope/journals");
    fs::create_dir_all(&folder).unwrap();
    for bytes in [0, 1, 100, 8192, 16384, 300_000] {
        fs::write(folder.join("cut.journal"), vec![0; bytes]).unwrap();
        let ended = scratch.drivescope(&["restore"]).code(1);
        assert!(ended.stderr.contains("cut.journal is damaged: its header is gone"), "{ended}");
        assert_eq!(names(&folder), ["cut.journal"]);
    }
    // It refuses every drive of the machine, until the user says which ones it does not belong to.
    let options = [TINY, ONE_CELL];
    let message = scratch.run("target", &options).code(3).stderr;
    assert!(message.contains("it may belong to any drive") && message.contains("--not-of"));
    let not_of = format!("--not-of={}", folder.join("cut.journal").display());
    scratch.run("target", &[TINY, ONE_CELL, &[&not_of]]).code(0);
    fs::write(folder.join("second.journal"), vec![0; 8192]).unwrap();
    scratch.run("target", &[TINY, ONE_CELL, &[&not_of]]).code(3);
}

#[test]
fn unreadable_journal_does_not_block_the_others() {
    let scratch = Scratch::new();
    let folder = scratch.path("home/state/drivescope/journals");
    fs::create_dir_all(folder.join("1.journal")).unwrap();
    let letter = scratch.file("letter", "Dear reader");
    std::os::unix::fs::symlink(&letter, folder.join("0.journal")).unwrap();
    fs::write(folder.join("torn.journal.new"), "").unwrap();
    let ended = scratch.drivescope(&["restore"]).code(4);
    for words in ["0.journal is a restore journal: it is a symbolic link", "1.journal"] {
        assert!(ended.stderr.contains(words), "{words}: {ended}");
    }
    assert!(ended.stdout.contains("nothing to restore from"), "{ended}");
    assert_eq!(names(&folder), ["0.journal", "1.journal"]);
    let again = scratch.drivescope(&["restore"]).code(4);
    assert!(!again.stdout.contains("nothing to restore"), "{again}");
    assert_eq!(fs::read_to_string(&letter).unwrap(), "Dear reader");
}
