//! The file of a store and its folder.

use super::*;

#[test]
fn absent_store_reads_empty_and_is_not_created() {
    let (folder, location) = place();
    let mut store = Store::open_existing(&location).unwrap();
    assert_eq!(store.list(&Filter::default()).unwrap(), []);
    assert_eq!(store.get("last").unwrap_err().fault, StoreFault::NoRun);
    assert_eq!(store.get("0").unwrap_err().fault, StoreFault::NoRun);
    let error = store.save(&rich_run(ID)).unwrap_err();
    assert_eq!(error.fault, StoreFault::Missing, "{error}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn empty_file_reads_empty_and_becomes_a_store() {
    let file = NamedTempFile::new().unwrap();
    let location = StoreLocation::of_file(file.path());
    assert_eq!(Store::open_existing(&location).unwrap().list(&Filter::default()).unwrap(), []);
    assert_eq!(file.as_file().metadata().unwrap().len(), 0);
    Store::open(&location).unwrap().save(&rich_run(ID)).unwrap();
    assert_eq!(Store::open_existing(&location).unwrap().get("last").unwrap().id, ID);
}

#[test]
fn folder_is_private_and_log_is_used() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, location, store) = opened();
    let folder = path_of(&location).parent().unwrap();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let text = |name: &str| store.select(name, &[], SqlRow::text).unwrap().remove(0);
    let number = |name: &str| store.select(name, &[], SqlRow::int).unwrap().remove(0);
    assert_eq!(text("PRAGMA journal_mode"), "wal");
    assert_eq!(number("PRAGMA synchronous"), 2, "FULL");
    assert_eq!(number("PRAGMA foreign_keys"), 1);
    assert_eq!(number("PRAGMA busy_timeout"), 5000);
    assert_eq!(number("PRAGMA user_version"), 0);
}

#[test]
fn names_that_sqlite_treats_specially_are_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x?mode=memory", "50% größer #1.db", "-x", "a'b\"c.db"] {
        let location = StoreLocation::of_file(folder.path().join(name));
        Store::open(&location).unwrap().save(&rich_run(ID)).unwrap();
        assert!(path_of(&location).is_file(), "{name}");
        assert_eq!(Store::open_existing(&location).unwrap().get(ID).unwrap().id, ID, "{name}");
    }
    let relative = Store::open_existing(&StoreLocation::of_file(":memory:")).unwrap();
    assert!(path_of(relative.location()).is_absolute() && !relative.exists);
}
