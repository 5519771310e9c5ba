//! Where runs are kept: finding them again, moving them, and stores that cannot be used.

use crate::bad_input::can_run_as_nobody;
use crate::support::json::{array, text};
use crate::support::scratch::names;
use crate::support::{
    Call, ONE_CELL, Running, Scratch, TINY, is_root, must_have, skip_loudly, wait_for,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub fn with_a_run() -> (Scratch, String) {
    let scratch = Scratch::new();
    let id = add_run(&scratch, &[]);
    (scratch, id)
}

pub fn add_run(scratch: &Scratch, options: &[&str]) -> String {
    let run = scratch.run("target", &[TINY, ONE_CELL, &["--json"], options]).code(0).json();
    text(&run["id"]).to_string()
}

fn ids_of_runs(scratch: &Scratch, options: &[&str]) -> Vec<String> {
    let listed = scratch.drivescope(&[&["runs", "--json"], options].concat()).code(0).json();
    array(&listed).iter().map(|run| text(&run["id"]).to_string()).collect()
}

/// Runs a Python program with the store as `db` (a `sqlite3` connection in autocommit mode); prints a note if there is
/// no Python.
fn python(scratch: &Scratch, program: &str) -> Option<Call> {
    let check = Call::new("sh").arguments(&["-c", "python3 -c 'import sqlite3'"]).end();
    if !check.stderr.is_empty() {
        skip_loudly("needs python3 with sqlite3");
        return None;
    }
    let store = scratch.store();
    let text = format!(
        "import sqlite3, sys\ndb = sqlite3.connect({:?}, isolation_level=None)\n{program}\n",
        store.display().to_string()
    );
    Some(Call::new("python3").arguments(&["-c", &text]))
}

#[test]
fn empty_store_is_neither_error_nor_created() {
    let scratch = Scratch::new();
    scratch.drivescope(&["runs"]).code(0).shows(&["no runs stored yet"]);
    assert_eq!(scratch.drivescope(&["runs", "--json"]).code(0).json(), serde_json::json!([]));
    for arguments in [&["show", "last"][..], &["rerun", "last"], &["export"], &["export", "last"]] {
        scratch.drivescope(arguments).refused_with(2, &["drivescope run"]);
    }
    assert!(scratch.drivescope(&["import", "absent.json"]).refused(2).contains("export"));
    assert_eq!(names(scratch.path("home")), [""; 0]);
}

#[test]
fn run_is_found_by_id_prefix_and_last() {
    let (scratch, id) = with_a_run();
    let whole = scratch.drivescope(&["show", &id, "--json"]).code(0).json();
    assert_eq!(whole["id"], id);
    for name in [&id[..6], &id.to_uppercase(), "last"] {
        let shown = scratch.drivescope(&["show", name, "--json"]).code(0).json();
        assert_eq!(shown, whole, "{name}");
    }
    let shown = scratch.drivescope(&["show", "last"]).code(0).stdout;
    must_have(&shown, &[id.as_str(), "rnd4k_q1t1", "F013"]);
    let verbose = scratch.drivescope(&["show", "last", "--verbose"]).code(0).stdout;
    assert!(verbose.len() > shown.len() && verbose.contains("overhead of drivescope"), "{verbose}");
}

#[test]
fn the_document_kept_is_the_document_printed() {
    let scratch = Scratch::new();
    let printed = scratch.run("target", &[TINY, &["--json"]]).code(0).json();
    assert_eq!(scratch.drivescope(&["show", "last", "--json"]).code(0).json(), printed);
    assert_eq!(scratch.drivescope(&["export"]).code(0).json(), printed);
}

#[test]
fn names_of_no_run_are_refused() {
    let (scratch, id) = with_a_run();
    let other: String = id.chars().map(|c| if c == '0' { '1' } else { '0' }).collect();
    for command in ["show", "rerun", "export"] {
        for (name, part) in [
            (other.as_str(), "no run id starts with"),
            ("zz", "is not a run id"),
            ("", "is not a run id"),
            ("%", "is not a run id"),
        ] {
            let message = scratch.drivescope(&[command, name]).refused(2);
            assert!(message.contains(part), "{command} {name}: {message}");
            assert!(message.contains("drivescope runs lists them"), "{message}");
        }
        let file = scratch.drivescope(&[command, "../../etc/passwd"]).refused(2);
        assert!(file.contains("cannot read ../../etc/passwd"), "{file}");
    }
}

/// As `report` and `compare` always did.
#[test]
fn runs_are_named_by_label_drive_and_file_everywhere() {
    let scratch = Scratch::new();
    let options = ["run", "sim:wd40efrx", "--seed=1", "--cells=rnd4k_q1t1.read", "--label=Red"];
    let run = scratch.drivescope(&[&options[..], &["--json"]].concat()).code(0);
    let (id, file) = (text(&run.json()["id"]).to_string(), scratch.path("run.json"));
    std::fs::write(&file, &run.stdout).unwrap();
    let file = file.to_str().unwrap();
    for name in ["red", "40efrx", file] {
        assert_eq!(scratch.drivescope(&["export", name]).code(0).json()["id"], id.as_str());
        let shown = scratch.drivescope(&["show", name]).code(0).stdout;
        let again = if name == file { file } else { &id };
        must_have(&shown, &[&format!("repeat: drivescope rerun {again}")]);
        scratch.drivescope(&["rerun", name, "--dry-run"]).code(0);
        scratch.drivescope(&["runs", "note", name, name]).code(0);
        assert_eq!(scratch.drivescope(&["show", &id, "--json"]).code(0).json()["note"], name);
    }
    // It may as well be a mistyped id.
    scratch.drivescope(&["runs", "rm", "40efrx", "--yes"]).refused_with(2, &[&id, "--yes"]);
    scratch.drivescope(&["runs", "rm", "red", "--yes"]).code(0);
    scratch.drivescope(&["show", "red"]).refused(2);
}

#[test]
fn runs_are_listed_and_filtered() {
    let scratch = Scratch::new();
    let first = add_run(&scratch, &["--label=disk1"]);
    let second = add_run(&scratch, &["--label=disk10"]);
    add_run(&scratch, &[]);
    let list = |options: &[&str]| ids_of_runs(&scratch, options);
    assert_eq!(list(&[]).len(), 3);
    assert_eq!(list(&["--label=disk1"]), [first.as_str()]);
    assert_eq!(list(&["--label=DISK10"]), [second.as_str()]);
    assert_eq!(list(&["--limit=2"]).len(), 2);
    assert_eq!(list(&["--drive", &scratch.target()]).len(), 3);
    assert_eq!(list(&["--drive=no such drive"]), [""; 0]);
    assert_eq!(list(&["--drive=%"]), [""; 0], "a pattern is taken literally");
    scratch.drivescope(&["runs"]).code(0).shows(&[first.as_str(), "disk10", "quick"]);
}

#[test]
fn last_run_is_the_newest_within_one_second() {
    let scratch = Scratch::new();
    let mut added: Vec<String> = (0..6).map(|_| add_run(&scratch, &[])).collect();
    added.reverse();
    let last = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    assert_eq!(ids_of_runs(&scratch, &[]), added);
    assert_eq!(last["id"], added[0]);
}

#[test]
fn empty_filter_result_does_not_claim_no_runs() {
    let (scratch, id) = with_a_run();
    for filter in ["--label=other", "--drive=other", "--limit=0"] {
        let ended = scratch.drivescope(&["runs", filter]).code(0);
        assert!(!ended.stdout.contains(&id), "{ended}");
        assert!(!ended.stdout.contains("no runs stored yet"), "{ended}");
    }
}

#[test]
fn export_and_import_move_runs_between_stores() {
    let scratch = Scratch::new();
    let ids = [add_run(&scratch, &["--label=one"]), add_run(&scratch, &[])];
    let all = scratch.drivescope(&["export"]).code(0);
    assert_eq!(all.documents().len(), 2);
    let other = scratch.text("other/runs.db");
    let import = scratch.call(&["import", "-", "--store", &other]).input(all.stdout.as_str());
    let imported = import.end().code(0);
    for id in &ids {
        assert!(imported.stdout.contains(id), "{imported}");
    }
    let copied = scratch.drivescope(&["export", "--store", &other]).code(0);
    assert_eq!(copied.stdout, all.stdout);
    // From a file, and twice: the same as once.
    let one = scratch.drivescope(&["export", &ids[0]]).code(0);
    assert!(one.json().is_object(), "one run is one document");
    let file = scratch.file("one.json", &one.stdout);
    let again = scratch.drivescope(&["import", &file, &file, "--store", &other]).code(0);
    assert_eq!(again.stdout.matches("is already stored").count(), 2, "{again}");
    // With the same id and other contents: refused, and nothing of the file is kept.
    let changed = one.stdout.replacen("\"label\":\"one\"", "\"label\":\"two\"", 1);
    assert_ne!(changed, one.stdout);
    let file = scratch.file("changed.json", &changed);
    let message = scratch.drivescope(&["import", &file, "--store", &other]).refused(2);
    assert!(message.contains(&ids[0]) && message.contains("--store FILE"), "{message}");
    assert_eq!(scratch.drivescope(&["export", "--store", &other]).code(0).stdout, all.stdout);
    assert_eq!(ids_of_runs(&scratch, &["--store", &other]).len(), 2);
}

#[test]
fn control_characters_are_not_printed() {
    let scratch = Scratch::new();
    let odd = "odd\u{1b}[31m\u{9b}2J";
    fs::create_dir(scratch.path(odd)).unwrap();
    let label = format!("--label={odd}");
    let options = [TINY, ONE_CELL, &["--json", "--no-save", &label]];
    let run = scratch.run(odd, &options).code(0);
    let file = scratch.file("odd.json", &run.stdout);
    fs::remove_dir(scratch.path(odd)).unwrap();
    for arguments in [
        &["import", &file][..],
        &["import", &file],
        &["import", odd],
        &["runs"],
        &["runs", "--json"],
        &["show", "last"],
        &["show", "last", "--json"],
        &["export"],
        &["rerun", "last"],
    ] {
        let ended = scratch.drivescope(arguments).not_panicked();
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains("odd"), "{arguments:?}: {ended}");
        let obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!said.contains(obeyed), "{arguments:?}: {said:?}");
    }
}

#[test]
fn store_option_overrides_the_environment() {
    let (scratch, id) = with_a_run();
    let store = scratch.store();
    let elsewhere = scratch.call(&["runs"]).env("DRIVESCOPE_STORE", scratch.path("none.db"));
    let elsewhere = elsewhere.end().code(0).stdout;
    assert!(!elsewhere.contains(&id) && elsewhere.contains("none.db"), "{elsewhere}");
    let call = scratch.call(&["runs", "--store", store.to_str().unwrap()]);
    call.env("DRIVESCOPE_STORE", scratch.path("none.db")).end().code(0).shows(&[&id]);
}

#[test]
fn next_command_names_the_named_store() {
    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
    let (scratch, _) = with_a_run();
    let [store, none] = ["a store.db", "none.db"].map(|name| scratch.text(name));
    let runs = scratch.file("runs.json", scratch.drivescope(&["export"]).code(0).stdout);
    scratch.drivescope(&["import", &runs, "--store", &store]).code(0);
    let shown = scratch.drivescope(&["show", "last", "--store", &store]).code(0).stdout;
    assert!(words(&shown).contains(&format!(" --store '{store}'")), "{shown}");
    assert!(!scratch.drivescope(&["show", "last"]).code(0).stdout.contains("--store"));
    let call = scratch.call(&["show", "last"]).env("DRIVESCOPE_STORE", &store).end().code(0);
    assert!(words(&call.stdout).contains(&format!(" --store '{store}'")), "{call}");
    let lists = format!("drivescope runs --store '{store}' lists");
    for command in ["show", "rerun", "export"] {
        scratch.drivescope(&[command, "zz", "--store", &store]).refused_with(2, &[&lists]);
    }
    scratch.drivescope(&["runs", "--drive=none", "--store", &store]).code(0).shows(&[&lists]);
    let message = scratch.drivescope(&["export", "--store", &none]).refused(2);
    assert!(message.contains(&format!("drivescope run . --store {none} creates one")), "{message}");
    let listed = scratch.drivescope(&["runs", "--store", &none]).code(0).stdout;
    assert!(listed.contains(&format!("drivescope run . --store {none} creates one")), "{listed}");
}

#[test]
fn other_document_is_not_imported() {
    let (scratch, _) = with_a_run();
    let good = scratch.drivescope(&["export"]).code(0).stdout;
    let other = scratch.text("other.db");
    for (content, part) in [
        (String::new(), "empty"),
        ("{\"id\": 1".to_string(), "line 1"),
        ("[1, 2]".to_string(), "not a drivescope run"),
        ("{}".to_string(), "not a drivescope run"),
        (good[..good.len() / 2].to_string(), "line"),
        (good.replacen("\"format\":1", "\"format\":99", 1), "format 99"),
        (good.replacen("\"key\"", "\"kay\"", 1), "key"),
        (format!("[{good}, {{}}]"), "document 2"),
        (good.replacen("\"value\":", "\"value\":-", 1), "rnd4k_q1t1.read.mb_s is -"),
    ] {
        let file = scratch.file("runs.json", &content);
        let message = scratch.drivescope(&["import", &file, "--store", &other]).refused(2);
        assert!(message.contains("runs.json") && message.contains(part), "{part}: {message}");
        let kept = ids_of_runs(&scratch, &["--store", &other]);
        assert_eq!(kept, [""; 0], "part of a broken file was kept: {part}");
    }
    let file = scratch.file("runs.json", [0xc3, 0x28]);
    let message = scratch.drivescope(&["import", &file, "--store", &other]).refused(2);
    assert!(message.contains("runs.json") && message.contains("UTF-8"), "{message}");
    // It has no end.
    let message = scratch.drivescope(&["import", "/dev/zero", "--store", &other]).refused(2);
    assert!(message.contains("cannot read /dev/zero: it is not UTF-8 text"), "{message}");
}

/// A Python program that locks the store until it is killed.
pub fn holder(scratch: &Scratch, mode: &str) -> Option<Running> {
    let held = scratch.path("held");
    let program = format!(
        "{mode}\ndb.execute('BEGIN EXCLUSIVE')\ndb.execute('DELETE FROM metrics WHERE 0')\n\
         open({:?}, 'w').close()\nsys.stdin.read()\nimport time\ntime.sleep(600)",
        held.display().to_string()
    );
    let holder = python(scratch, &program)?.start();
    wait_for("the lock", || held.exists().then_some(()));
    Some(holder.must_be_alive())
}

#[test]
fn busy_store_can_be_read_not_written() {
    let (scratch, id) = with_a_run();
    let file = scratch.file("one.json", scratch.drivescope(&["export"]).code(0).stdout);
    let Some(_holder) = holder(&scratch, "") else { return };
    scratch.drivescope(&["runs"]).code(0).shows(&[&id]);
    let message = scratch.drivescope(&["import", &file]).refused(2);
    must_have(&message, &["locked by another process", "try again"]);
}

#[test]
fn locked_store_is_refused_before_the_run() {
    let (scratch, _) = with_a_run();
    let mode = "db.execute('PRAGMA locking_mode=EXCLUSIVE')";
    let Some(_holder) = holder(&scratch, mode) else { return };
    let running = scratch.run_call("target", &[TINY, ONE_CELL]).start();
    scratch.drivescope(&["runs"]).refused_with(2, &["locked by another process"]);
    running.end().refused_with(2, &["locked", "--no-save"]);
    assert_eq!(names(scratch.target()), [""; 0]);
    scratch.run("target", &[TINY, ONE_CELL, &["--no-save"]]).code(0);
}

#[test]
fn store_failure_does_not_lose_the_run() {
    let (scratch, first) = with_a_run();
    let Some(holder) = holder(&scratch, "") else { return };
    let ended = scratch.run("target", &[TINY, &["--test=transfer,latency"]]).code(2);
    let [line] = ended.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("one line was expected: {ended}")
    };
    for part in ["the run is not stored", "locked", "drivescope import"] {
        assert!(line.contains(part), "'{part}' is missing: {ended}");
    }
    assert!(ended.stdout.contains("rnd4k_q1t1") && ended.stdout.contains("verdict"), "{ended}");
    assert!(!ended.stdout.contains("saved as run"), "{ended}");
    assert_eq!(names(scratch.target()), [""; 0]);
    // What it names can be brought in when the store is free again.
    drop(holder);
    let is_document = |word: &&str| word.contains("/run-");
    let file = line.split([' ', ',']).find(is_document).unwrap_or_else(|| panic!("{ended}"));
    let imported = scratch.drivescope(&["import", file]).code(0);
    let run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    assert!(imported.stdout.contains(text(&run["id"])) && run["id"] != first, "{imported}");
    assert_eq!(array(&run["tests"]).len(), 2);
    assert!(!array(&run["verdict"]).is_empty());
}

#[test]
fn store_freed_in_time_has_the_run() {
    let (scratch, _) = with_a_run();
    let Some(holder) = holder(&scratch, "") else { return };
    let options = ["--test=transfer,latency", "--cells=rnd4k_q1t1.read"];
    let running = scratch.run_call("target", &[TINY, &options]).start();
    let document = wait_for("the document beside the store", || {
        let names = names(scratch.store().parent().unwrap());
        names.into_iter().find(|name| name.starts_with("run-") && name.ends_with(".json"))
    });
    drop(holder);
    let ended = running.end().code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    assert!(ended.stdout.contains("saved as run"), "{ended}");
    let left = names(scratch.store().parent().unwrap());
    assert!(!left.contains(&document), "{left:?}");
    assert_eq!(ids_of_runs(&scratch, &[]).len(), 2);
}

#[test]
fn newer_store_is_left_unchanged() {
    let (scratch, _) = with_a_run();
    let Some(update) =
        python(&scratch, "db.execute(\"UPDATE meta SET value='99' WHERE key='schema'\")")
    else {
        return;
    };
    update.end().code(0);
    let before = fs::read(scratch.store()).unwrap();
    let file = scratch.file("empty.json", "[]");
    for arguments in [
        &["runs"][..],
        &["show", "last"],
        &["rerun", "last"],
        &["export"],
        &["import", &file],
        &["run", "target"],
    ] {
        scratch
            .drivescope(arguments)
            .refused_with(2, &["newer drivescope", "schema 99", "update drivescope"]);
    }
    assert!(fs::read(scratch.store()).unwrap() == before, "the store was changed");
    assert_eq!(names(scratch.target()), [""; 0]);
}

#[test]
fn without_a_home_a_run_is_not_saved() {
    let scratch = Scratch::new();
    let options = [TINY, ONE_CELL];
    let call = || scratch.run_call("target", &options).env("XDG_DATA_HOME", "");
    // No user can make a folder in /sys.
    for home in ["", "/sys"] {
        let ended = call().env("HOME", home).end().code(0);
        let (note, way_out) = ("this run is not saved", "--store FILE");
        assert!(ended.stderr.contains(note) && ended.stderr.contains(way_out), "{ended}");
        assert!(
            ended.stdout.contains("rnd4k_q1t1") && !ended.stdout.contains("saved as"),
            "{ended}"
        );
    }
    // A named place is meant.
    let named = [TINY, ONE_CELL, &["--store", "/sys/drivescope/runs.db"]];
    assert!(scratch.run("target", &named).code(2).stderr.contains("--no-save"));
}

#[test]
fn read_only_store_can_be_read() {
    let (scratch, id) = with_a_run();
    if is_root() && !can_run_as_nobody(&scratch) {
        return;
    }
    let folder = scratch.store().parent().unwrap().to_path_buf();
    let folders = [scratch.path("home"), scratch.path("home/data"), folder];
    let set_modes = |mode| {
        for folder in &folders {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set_modes(0o555);
    fs::set_permissions(scratch.store(), fs::Permissions::from_mode(0o444)).unwrap();
    scratch.call(&["runs"]).without_privileges().end().code(0).shows(&[&id]);
    let shown = scratch.call(&["show", "last", "--json"]).without_privileges().end().code(0).json();
    assert_eq!(shown["id"], id);
    scratch.folder_for_everyone("target");
    let call = scratch.run_call("target", &[TINY, ONE_CELL]).without_privileges();
    let note = call.end().code(0).stderr;
    must_have(&note, &["this run is not saved: no permission to use", "--store"]);
    let call = scratch.call(&["run", "target", "--store", "home/new/runs.db"]).without_privileges();
    call.end().refused_with(2, &["no permission"]);
    set_modes(0o755);
}

#[test]
fn two_runs_at_once_are_both_kept() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("second")).unwrap();
    let start = |target: &str| scratch.run_call(target, &[TINY, ONE_CELL]).start();
    let both = [start("target"), start("second")];
    for running in both {
        running.end().code(0);
    }
    assert_eq!(ids_of_runs(&scratch, &[]).len(), 2);
}
