//! A place of its own for each test, with a store and configuration of its own.

use super::runner::{Call, Ended};
use drivescope_drive::own_folder;
use drivescope_model::Bytes;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What tests write at a time, generously.
const ROOM_MIN: Bytes = Bytes::gib(2);

/// A scratch directory below the build directory, which lies on a real drive; removed at the end.
///
/// It holds `target` (a directory to measure) and `home`, where everything goes that the program
/// keeps for its user, so that the store of whoever runs the tests is never touched.
pub struct Scratch {
    folder: tempfile::TempDir,
}

/// Everything about a directory's entries that a test of another file could disturb.
#[derive(Debug, PartialEq)]
pub struct Listing {
    folder_changed: (i64, i64),
    entries: BTreeMap<PathBuf, (u64, i64, i64, u32)>,
}

impl Scratch {
    pub fn new() -> Self {
        must_have_room();
        let folder = tempfile::Builder::new()
            .prefix("t-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("the build directory is writable");
        // Other users must reach what is inside: some tests run the program as one.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let scratch = Self { folder };
        for name in ["target", "home"] {
            fs::create_dir(scratch.path(name)).expect("it is empty");
        }
        scratch
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The same as text, for arguments.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("the build directory has a UTF-8 name").to_string()
    }

    pub fn target(&self) -> String {
        self.text("target")
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).expect("the scratch directory is writable");
        self.text(name)
    }

    /// A directory for the user `nobody` to write in.
    pub fn folder_for_everyone(&self, name: &str) -> String {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("the scratch directory is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("it is ours");
        self.text(name)
    }

    /// The program's default store.
    pub fn store(&self) -> PathBuf {
        self.path("home/data/drivescope/runs.db")
    }

    /// A call of the program that knows nothing of the user's own files.
    pub fn call(&self, arguments: &[&str]) -> Call {
        Call::new(env!("CARGO_BIN_EXE_drivescope"))
            .arguments(arguments)
            .in_folder(self.folder.path())
            .with_home(&self.path("home"))
    }

    /// Runs the program to its end.
    pub fn drivescope(&self, arguments: &[&str]) -> Ended {
        self.call(arguments).end()
    }

    /// `run` on `target` with further arguments, to its end.
    pub fn run(&self, target: &str, options: &[&[&str]]) -> Ended {
        self.run_call(target, options).end()
    }

    /// The same, not started yet.
    pub fn run_call(&self, target: &str, options: &[&[&str]]) -> Call {
        self.call(&["run", target]).arguments(&merged(options))
    }
}

/// The program keeps a tenth of every file system free, so on a fuller one nearly every test would fail with
/// words of its own; the reason is said here.
fn must_have_room() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let room = own_folder::room(folder).expect("the build directory is there");
    assert!(
        room >= ROOM_MIN,
        "too little free space for these tests in {}: the program keeps 10 % of a file system (64 MiB to 1 GiB) \
         free, and of {ROOM_MIN} that must lie above that there are {room}; free some space, or build elsewhere \
         (CARGO_TARGET_DIR)",
        folder.display()
    );
}

/// All options; a later `--name=value` takes the place of an earlier one, except for `--set`.
fn merged<'o>(options: &[&[&'o str]]) -> Vec<&'o str> {
    let mut all: Vec<&str> = Vec::new();
    for option in options.concat() {
        if let Some((name, _)) = option.split_once('=').filter(|(name, _)| *name != "--set") {
            all.retain(|known| known.split('=').next() != Some(name));
        }
        all.push(option);
    }
    all
}

/// What is in a folder now: names, sizes, times of change, modes.
pub fn listing(folder: impl AsRef<Path>) -> Listing {
    let folder = folder.as_ref();
    let changed = fs::metadata(folder).expect("the folder is there");
    let entries = fs::read_dir(folder).expect("the folder is there").map(|entry| {
        let entry = entry.expect("the folder can be read");
        let meta = entry.metadata().expect("only the test removes entries");
        let facts = (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.mode());
        (entry.file_name().into(), facts)
    });
    Listing { folder_changed: (changed.mtime(), changed.mtime_nsec()), entries: entries.collect() }
}

/// Names in a folder, sorted.
pub fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("the folder can be read").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The program's own folder in `target`, if there is one.
pub fn own_folder(target: impl AsRef<Path>) -> Option<PathBuf> {
    let own = names(&target).into_iter().find(|name| name.starts_with(".drivescope-"))?;
    Some(target.as_ref().join(own))
}
