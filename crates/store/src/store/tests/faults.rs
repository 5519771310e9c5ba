//! A file that is held, damaged, foreign or out of reach.
#![expect(clippy::disallowed_methods, reason = "tests damage files of their own")]

use super::*;
use crate::testing::skip;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;

/// Both ways to open the store must fail with this fault; the messages.
fn refused(location: &StoreLocation, fault: StoreFault) -> [String; 2] {
    [Store::open(location), Store::open_existing(location)].map(|result| {
        let error = result.unwrap_err();
        assert_eq!(error.fault, fault, "{error}");
        error.to_string()
    })
}

#[test]
fn devices_and_folders_are_never_opened() {
    let folder = tempfile::tempdir().unwrap();
    for (path, word) in [
        (folder.path().to_path_buf(), "a folder"),
        (folder.path().join("absent/"), "a folder"),
        (PathBuf::from("/dev/null"), "a device"),
        (PathBuf::from("/dev/zero"), "a device"),
    ] {
        for message in refused(&StoreLocation::of_file(path), StoreFault::Location) {
            assert!(message.contains(word), "{message}");
        }
    }
}

/// SQLite cannot make its journal where a folder has that name.
#[test]
fn store_that_cannot_be_made_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    std::fs::create_dir(folder.path().join("runs.db-journal")).unwrap();
    Store::open(&StoreLocation::of_file(path.clone())).unwrap_err();
    assert!(!path.exists());
    // Earlier contents stay.
    std::fs::write(&path, "").unwrap();
    Store::open(&StoreLocation::of_file(path.clone())).unwrap_err();
    assert!(path.exists());
}

/// After a kill with a full log, the next connection to close would move the log into the file.
#[test]
fn foreign_file_and_log_stay_unchanged() {
    fn log(path: &Path) -> PathBuf {
        PathBuf::from(format!("{}-wal", path.display()))
    }
    let folder = tempfile::tempdir().unwrap();
    let [living, dead] = ["living.db", "dead.db"].map(|name| folder.path().join(name));
    let owner = Connection::open(&living).unwrap();
    owner.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    owner.execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)").unwrap();
    for (from, to) in [(living.clone(), "dead.db"), (log(&living), "dead.db-wal")] {
        let named = tempfile::Builder::new().prefix(to).rand_bytes(0).tempfile_in(folder.path());
        let mut copy = named.unwrap();
        copy.write_all(&std::fs::read(from).unwrap()).unwrap();
        copy.keep().unwrap();
    }
    let bytes = || [&dead, &log(&dead)].map(|path| std::fs::read(path).unwrap());
    let before = bytes();
    refused(&StoreLocation::of_file(dead.clone()), StoreFault::Foreign);
    assert!(bytes() == before);
}

#[test]
fn held_store_is_locked_but_readable() {
    let (_folder, location) = place();
    let short = Duration::from_millis(20);
    let mut store = Store::open_with(&location, short).unwrap();
    store.save(&rich_run(ID)).unwrap();
    let mut holder = raw(&location);
    let hold = holder.transaction_with_behavior(TransactionBehavior::Exclusive).unwrap();

    let run = rich_run("ffffffffffff");
    for error in [store.save(&run).unwrap_err(), store.add_all(&[run]).unwrap_err()] {
        assert_eq!(error.fault, StoreFault::Locked);
        assert!(error.to_string().contains("for 0.02 s; try again"), "{error}");
    }
    assert_eq!(store.get(ID).unwrap().id, ID, "readers do not wait for a writer");
    assert_eq!(Store::open_with(&location, short).unwrap().get(ID).unwrap().id, ID);

    drop(hold);
    store.save(&rich_run("ffffffffffff")).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 2);
}

#[test]
fn a_store_held_exclusively_cannot_be_opened() {
    let (_folder, location) = place();
    drop(Store::open(&location).unwrap());
    let holder = raw(&location);
    holder.pragma_update(None, "locking_mode", "EXCLUSIVE").unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let short = Duration::from_millis(20);
    for result in [Store::open_with(&location, short), Store::open_existing_with(&location, short)]
    {
        assert_eq!(result.unwrap_err().fault, StoreFault::Locked);
    }
}

#[test]
fn a_link_to_nowhere_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("runs.db");
    std::os::unix::fs::symlink(folder.path().join("absent/runs.db"), &link).unwrap();
    let error = Store::open(&StoreLocation::of_file(link)).unwrap_err();
    assert_eq!(error.fault, StoreFault::Io, "{error}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1, "the probe is gone");
}

#[test]
fn garbage_is_reported_and_left_as_it_is() {
    for garbage in [&b"x"[..], b"not a database, but a letter\n", &[0; 4096], &[0xff; 100]] {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(garbage).unwrap();
        let location = StoreLocation::of_file(file.path());
        for message in refused(&location, StoreFault::Corrupt) {
            assert!(message.contains(&path_of(&location).display().to_string()), "{message}");
            assert!(message.contains("move it away"), "{message}");
        }
        assert_eq!(std::fs::read(file.path()).unwrap(), garbage);
    }
}

fn copy_of_a_full_store() -> NamedTempFile {
    let (_folder, location, mut store) = opened();
    let runs: Vec<Run> = (0..40).map(|i| run_at(&format!("{i:012x}"), i)).collect();
    store.add_all(&runs).unwrap();
    drop(store);
    let mut copy = NamedTempFile::new().unwrap();
    copy.write_all(&std::fs::read(path_of(&location)).unwrap()).unwrap();
    copy
}

#[test]
fn a_truncated_store_is_reported() {
    let length = copy_of_a_full_store().as_file().metadata().unwrap().len();
    // The last bytes of a page may be unused, so that nothing is lost with one byte.
    for kept in [50, 100, 4096, length / 2, length - 4096] {
        let copy = copy_of_a_full_store();
        copy.as_file().set_len(kept).unwrap();
        let result = Store::open_existing(&StoreLocation::of_file(copy.path())).and_then(read_all);
        let error = result.expect_err(&format!("{kept} of {length} bytes"));
        assert_eq!(error.fault, StoreFault::Corrupt, "{kept} of {length} bytes: {error}");
    }
}

fn read_all(store: Store) -> Result<(), StoreError> {
    for summary in store.list(&Filter::default())? {
        store.get(&summary.id)?;
    }
    Ok(())
}

#[test]
fn a_store_with_a_spoiled_page_is_reported() {
    let mut copy = copy_of_a_full_store();
    copy.seek(SeekFrom::Start(4096)).unwrap();
    copy.write_all(&[0x5a; 4096 * 20]).unwrap();
    let location = StoreLocation::of_file(copy.path());
    let result = Store::open(&location).and_then(|mut store| {
        store.list(&Filter::default())?;
        store.save(&rich_run(ID))
    });
    assert_eq!(result.unwrap_err().fault, StoreFault::Corrupt);
}

#[test]
fn newer_store_is_refused_and_unchanged() {
    let (_folder, location) = place();
    drop(Store::open(&location).unwrap());
    raw(&location).execute("UPDATE meta SET value = '9' WHERE key = 'schema'", []).unwrap();
    let before = std::fs::read(path_of(&location)).unwrap();
    for message in refused(&location, StoreFault::NewerSchema) {
        assert!(message.contains("(schema 9, this one reads up to 1); update"), "{message}");
    }
    assert_eq!(std::fs::read(path_of(&location)).unwrap(), before);
}

#[test]
fn foreign_databases_are_refused_and_unchanged() {
    for tables in [
        "CREATE TABLE bookmarks (url TEXT)",
        "CREATE TABLE meta (a); CREATE TABLE runs (b); CREATE TABLE metrics (c)",
        "CREATE TABLE meta (key, value); CREATE TABLE runs (b); CREATE TABLE metrics (c);
         INSERT INTO meta VALUES ('schema', 'one')",
        "CREATE TABLE meta (key, value); CREATE TABLE runs (b); CREATE TABLE metrics (c);
         INSERT INTO meta VALUES ('schema', '0')",
    ] {
        let file = NamedTempFile::new().unwrap();
        let location = StoreLocation::of_file(file.path());
        raw(&location).execute_batch(tables).unwrap();
        let before = std::fs::read(file.path()).unwrap();
        refused(&location, StoreFault::Foreign);
        assert_eq!(std::fs::read(file.path()).unwrap(), before);
    }
}

#[test]
fn changed_tables_and_documents_are_reported() {
    let (_folder, location, mut store) = opened();
    store.save(&rich_run(ID)).unwrap();
    for (change, word) in [
        ("UPDATE runs SET document = '{\"format\": 1'", "not JSON"),
        ("UPDATE runs SET document = '[]'", "not JSON"),
        ("UPDATE runs SET document = x'00'", "damaged"),
    ] {
        raw(&location).execute(change, []).unwrap();
        let error = store.get(ID).unwrap_err();
        assert_eq!(error.fault, StoreFault::Corrupt, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let newer = r#"UPDATE runs SET document = '{"format": 2, "id": "0123456789ab"}'"#;
    raw(&location).execute(newer, []).unwrap();
    let error = store.get(ID).unwrap_err();
    assert_eq!(error.fault, StoreFault::Document);
    assert!(error.to_string().contains("update drivescope"), "{error}");
    // Such a run is listed all the same.
    assert_eq!(ids(&store, &Filter::default()), [ID]);

    raw(&location).execute("DROP TABLE metrics", []).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap_err().fault, StoreFault::Corrupt);
}

#[test]
fn a_path_below_a_file_is_reported() {
    let file = NamedTempFile::new().unwrap();
    let location = StoreLocation::of_file(file.path().join("drivescope/runs.db"));
    for message in refused(&location, StoreFault::Io) {
        assert!(message.contains("Not a directory"), "{message}");
    }
}

#[test]
fn proc_takes_no_store() {
    // Refused to root too, unlike a folder without write permission.
    for folder in ["/proc/self/drivescope", "/proc/self"] {
        let location = StoreLocation::of_file(format!("{folder}/runs.db"));
        let error = Store::open(&location).unwrap_err();
        assert!(error.to_string().contains(folder), "{error}");
    }
}

/// Sets the mode of a folder until dropped, so that the temporary folder can be removed.
struct Mode<'a>(&'a Path);

impl<'a> Mode<'a> {
    fn of(path: &'a Path, mode: u32) -> Self {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        Self(path)
    }
}

impl Drop for Mode<'_> {
    fn drop(&mut self) {
        let _ = std::fs::set_permissions(self.0, std::fs::Permissions::from_mode(0o700));
    }
}

/// Whether this user is subject to modes; otherwise prints that the test is skipped.
fn modes_bind(folder: &Path) -> bool {
    let bind = std::fs::create_dir(folder.join("probe")).is_err();
    if !bind {
        skip::note_skipped("this user (root?) may write to folders of mode 0500");
    }
    bind
}

#[test]
fn folder_without_write_permission_is_read_only() {
    let (_folder, location) = place();
    Store::open(&location).unwrap().save(&rich_run(ID)).unwrap();
    let folder = path_of(&location).parent().unwrap();
    let _mode = Mode::of(folder, 0o500);
    if !modes_bind(folder) {
        return;
    }
    let mut store = Store::open_existing(&location).unwrap();
    assert_eq!(store.get(ID).unwrap(), rich_run(ID));
    assert_eq!(store.save(&rich_run(ID)).unwrap_err().fault, StoreFault::Denied);
    for path in [path_of(&location), &folder.join("other/runs.db"), &folder.join("other.db")] {
        let error = Store::open(&StoreLocation::of_file(path)).unwrap_err();
        assert_eq!(error.fault, StoreFault::Denied, "{error}");
    }
}

#[test]
fn a_file_without_permission_is_reported() {
    let (_folder, location) = place();
    Store::open(&location).unwrap().save(&rich_run(ID)).unwrap();
    let folder = path_of(&location).parent().unwrap();
    {
        let _mode = Mode::of(folder, 0o500);
        if !modes_bind(folder) {
            return;
        }
    }
    let _mode = Mode::of(path_of(&location), 0o400);
    let mut store = Store::open_existing(&location).unwrap();
    assert_eq!(store.get(ID).unwrap().id, ID);
    assert_eq!(store.save(&rich_run(ID)).unwrap_err().fault, StoreFault::Denied);
    drop(store);
    let error = Store::open(&location).unwrap_err();
    assert_eq!(error.fault, StoreFault::Denied, "before a run, not after it");
    let _mode = Mode::of(path_of(&location), 0o000);
    refused(&location, StoreFault::Denied);
}
