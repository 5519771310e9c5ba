//! The folder of a run: made, removed, and cleaned when a run was killed.

use super::leftovers::leftover_bytes;
use super::*;

pub(super) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

/// As after a kill: descriptors closed, lock gone, nothing removed.
pub(super) fn killed(mut folder: OwnFolder) {
    drop(folder.manifest.take());
}

fn dead_run(parent: &Path, size: Bytes) -> PathBuf {
    let mut dead = OwnFolder::create(parent, "dead").unwrap();
    dead.create_file("data", size).unwrap();
    let path = dead.path().to_path_buf();
    killed(dead);
    path
}

fn entries(path: &Path) -> usize {
    std::fs::read_dir(path).unwrap().count()
}

#[test]
fn a_folder_goes_with_everything_it_made() {
    let parent = scratch();
    let mut folder = OwnFolder::create(parent.path(), "a1").unwrap();
    let file = folder.create_file("data", Bytes::mib(1)).unwrap();
    assert!(file.writable());
    assert_eq!(file.size_bytes(), 1 << 20);
    assert_eq!(entries(folder.path()), 2);
    drop(folder);
    assert_eq!(entries(parent.path()), 0);
}

#[test]
fn living_run_is_kept_dead_one_cleaned() {
    let parent = scratch();
    let mut living = OwnFolder::create(parent.path(), "alive").unwrap();
    living.create_file("data", Bytes(4096)).unwrap();
    let path = dead_run(parent.path(), Bytes(4096));
    let seen = look(parent.path()).unwrap();
    assert_eq!(entries(&path), 2, "looking removes nothing");
    let cleaned = clean(parent.path()).unwrap();
    assert_eq!(seen, cleaned);
    assert_eq!(cleaned.removed, [path]);
    assert_eq!(cleaned.in_use, [living.path().to_path_buf()]);
    assert_eq!(entries(living.path()), 2);
}

#[test]
fn files_that_are_released_late_are_waited_for() {
    for name in [".fuse_hidden0000000700000001", ".nfs00000000003a2b1c00000001"] {
        let parent = scratch();
        let folder = OwnFolder::create(parent.path(), "late").unwrap();
        let hidden = folder.path().join(name);
        std::fs::write(&hidden, "").unwrap();
        let releasing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            std::fs::remove_file(hidden).unwrap();
        });
        folder.remove().unwrap();
        releasing.join().unwrap();
        assert_eq!(entries(parent.path()), 0);
    }
}

#[test]
fn foreign_file_is_kept_without_waiting() {
    let is_waited_for = |_| {
        let parent = scratch();
        let folder = OwnFolder::create(parent.path(), "shared").unwrap();
        let foreign = folder.path().join("precious");
        std::fs::write(&foreign, "keep").unwrap();
        let start = Instant::now();
        let error = folder.remove().unwrap_err();
        assert!(matches!(error, DriveError::CannotClean { .. }), "{error}");
        assert!(foreign.exists());
        start.elapsed() >= LEAVING_TIME_MAX
    };
    // A busy machine may take as long once; what waits does so each time.
    assert!(!(0..20).all(is_waited_for));
}

#[test]
fn space_held_by_a_dead_run_is_freed() {
    let parent = scratch();
    let mut dead = OwnFolder::create(parent.path(), "dead").unwrap();
    dead.create_file("data", Bytes::mib(8)).unwrap();
    dead.create_file("named", Bytes::mib(8)).unwrap();
    let second_name = parent.path().join("second");
    std::fs::hard_link(dead.path().join("named"), &second_name).unwrap();
    let held = std::fs::File::open(dead.path().join("data")).unwrap();
    killed(dead);
    assert_eq!(clean(parent.path()).unwrap().removed.len(), 1);
    assert_eq!(std::os::unix::fs::MetadataExt::blocks(&held.metadata().unwrap()), 0);
    assert_eq!(second_name.metadata().unwrap().len(), 8 << 20, "another hard link is in use");
    assert_eq!(entries(parent.path()), 1);
}

#[test]
fn cleaning_spares_what_is_not_ours() {
    let parent = scratch();
    let outside = parent.path().join("precious");
    std::fs::write(&outside, "keep").unwrap();
    for (name, manifest) in [
        ("escape", r#"{"purpose":"x","files":["../precious"]}"#),
        ("foreign", "not json"),
        ("extra", r#"{"purpose":"x","files":[]}"#),
    ] {
        let folder = parent.path().join(format!("{PREFIX}{name}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(MANIFEST), manifest).unwrap();
        std::fs::write(folder.join("unknown"), "keep").unwrap();
    }
    let link = parent.path().join(format!("{PREFIX}link"));
    std::os::unix::fs::symlink(parent.path(), &link).unwrap();
    for cleaned in [look(parent.path()), clean(parent.path())].map(Result::unwrap) {
        assert_eq!((cleaned.removed.len(), cleaned.kept.len()), (0, 4));
        let ways = cleaned.kept.iter().filter(|(_, why)| why.contains("by hand"));
        assert_eq!(ways.count(), 3, "what is left, and can go: {:?}", cleaned.kept);
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "keep");
    let extra = parent.path().join(format!("{PREFIX}extra"));
    assert!(extra.join("unknown").exists() && extra.join(MANIFEST).exists());
}

#[test]
fn killed_runs_unfinished_folder_is_cleaned() {
    let parent = scratch();
    std::fs::create_dir(parent.path().join(format!("{PREFIX}empty"))).unwrap();
    let half = parent.path().join(format!("{PREFIX}half"));
    std::fs::create_dir(&half).unwrap();
    std::fs::write(half.join(MANIFEST), "").unwrap();
    assert_eq!(clean(parent.path()).unwrap().removed.len(), 2);
    assert_eq!(entries(parent.path()), 0);
}

#[test]
fn the_floor_is_kept() {
    let parent = scratch();
    let mut folder = OwnFolder::create(parent.path(), "floor").unwrap();
    let room = room(parent.path()).unwrap();
    let error = folder.create_file("data", Bytes(room.0 + (1 << 40))).unwrap_err();
    assert!(matches!(error, DriveError::NoRoom { .. }), "{error}");
    assert_eq!(entries(folder.path()), 1, "nothing but the manifest");
}

#[test]
fn space_freed_first_counts_as_room() {
    let parent = scratch();
    let size = Bytes::mib(8);
    let mut living = OwnFolder::create(parent.path(), "alive").unwrap();
    living.create_file("data", size).unwrap();
    assert_eq!(leftover_bytes(parent.path()), 0, "what is in use stays");
    dead_run(parent.path(), size);
    let found = leftover_bytes(parent.path());
    assert!((size.0..size.0 + (1 << 20)).contains(&found), "{found}");
    clean(parent.path()).unwrap();
    assert_eq!(leftover_bytes(parent.path()), 0);
}

#[test]
fn smaller_size_is_advised_only_if_it_helps() {
    fn say(free: u64, wanted: Option<Bytes>) -> String {
        free_space::too_full(Path::new("/mnt"), (free, 1_074_000_000), wanted).to_string()
    }
    let above = say(1_500_000_000, Some(Bytes(4_000_000_000)));
    assert!(
        above.ends_with("4.00 GB does not fit; free some space or use a smaller --size"),
        "{above}"
    );
    for wanted in [Some(Bytes(0)), None] {
        let below = say(357_000_000, wanted);
        assert!(below.contains("anything more does not fit; free some space, or name"), "{below}");
        assert!(!below.contains("--size"), "{below}");
    }
}

#[test]
fn missing_or_forbidden_parent_is_a_clear_error() {
    let error = OwnFolder::create(Path::new("/nonexistent"), "x").unwrap_err();
    assert!(matches!(error, DriveError::NotFound { .. }), "{error}");
    let error = OwnFolder::create(Path::new("/proc"), "x").unwrap_err();
    assert!(error.to_string().contains("/proc"), "{error}");
}

#[test]
fn folder_removed_by_another_program_is_named() {
    let parent = scratch();
    let mut folder = OwnFolder::create(parent.path(), "gone").unwrap();
    folder.create_file("data", Bytes(8192)).unwrap();
    std::fs::remove_dir_all(folder.path()).unwrap();
    for error in [
        folder.open_file_buffered("data").map(drop).unwrap_err(),
        folder.create_file("more", Bytes(8192)).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, DriveError::FolderGone { .. }), "{error}");
    }
    folder.remove().unwrap();
}

#[test]
fn a_folder_whose_parent_was_renamed_goes_too() {
    let above = scratch();
    let (old, new) = (above.path().join("old"), above.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    let mut folder = OwnFolder::create(&old, "moved").unwrap();
    folder.create_file("data", Bytes(8192)).unwrap();
    std::fs::rename(&old, &new).unwrap();
    folder.remove().unwrap();
    assert_eq!(entries(&new), 0);
}

#[test]
fn file_never_made_is_not_missed() {
    let parent = scratch();
    let mut folder = OwnFolder::create(parent.path(), "full").unwrap();
    let error = folder.create_file("data", Bytes(1 << 60)).unwrap_err();
    assert!(matches!(error, DriveError::NoRoom { .. }), "{error}");
    folder.remove_file("data").unwrap();
    folder.create_file("data", Bytes(4096)).unwrap();
}

/// Each would take the other's folder for that of a killed run before it is locked.
#[test]
fn cleaning_spares_a_folder_in_the_making() {
    let parent = scratch();
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = clean(parent.path());
                }
            });
        }
        let made = (0..300).map(|i| OwnFolder::create(parent.path(), &format!("{i}")).map(drop));
        let failed: Vec<_> = made.filter_map(Result::err).collect();
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(failed.is_empty(), "{failed:?}");
    });
    assert_eq!(entries(parent.path()), 0);
}

/// FAT and NTFS show everything as one user's, whoever made it, with a mode that lets others in.
#[test]
fn owners_count_only_where_they_are_kept() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let parent = scratch();
    for (mode, is_cleaned) in [(0o700, false), (0o777, true), (0o755, true)] {
        let path = dead_run(parent.path(), Bytes(4096));
        chown(&path, Some(65_534), None).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let cleaned = clean(parent.path()).unwrap();
        assert_eq!(cleaned.removed.contains(&path), is_cleaned, "{mode:o}: {cleaned:?}");
        assert_eq!(path.exists(), !is_cleaned);
        if !is_cleaned {
            assert!(cleaned.kept[0].1.contains("another user"), "{cleaned:?}");
            std::fs::remove_dir_all(&path).unwrap();
        }
    }
}
