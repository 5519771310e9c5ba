//! A place of its own for each test, with a store and configuration of its own.

use super::runner::{Call, Ended};
use drivescope_drive::own_folder;
use drivescope_model::Bytes;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Generous upper bound of what tests write at a time.
const ROOM_MIN: Bytes = Bytes::gib(2);

/// A scratch directory below the build directory, which is on a real drive; removed at the end. It has `target` (a
/// directory to measure) and `home` (the program's data), so that the store of the user is never touched.
pub struct Scratch {
    folder: tempfile::TempDir,
}

/// Properties of a directory's entries that other tests do not change.
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

    /// `small.toml` in it: the flash model pm871b-128 with so few bytes that a whole drive is soon written.
    pub fn small_flash_model(&self, capacity_bytes: u64) {
        let shown = self.drivescope(&["sim", "show", "pm871b-128"]).code(0).stdout;
        let small = |line: &str| match line.split_once(" =").map(|(field, _)| field) {
            Some("capacity_bytes") => format!("capacity_bytes = {capacity_bytes}"),
            Some("spare_share") => "spare_share = 0.45".to_string(),
            Some("pages_per_block") => "pages_per_block = 96".to_string(),
            Some("static_gb") => "static_gb = 0.01".to_string(),
            _ => line.to_string(),
        };
        let model: Vec<String> = shown.lines().map(small).collect();
        self.file("small.toml", model.join("\n"));
    }

    pub fn folder_for_everyone(&self, name: &str) -> String {
        let path = self.path(name);
        fs::create_dir_all(&path).expect("the scratch directory is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("it is ours");
        self.text(name)
    }

    pub fn store(&self) -> PathBuf {
        self.path("home/data/drivescope/runs.db")
    }

    /// A call without access to the user's own files.
    pub fn call(&self, arguments: &[&str]) -> Call {
        Call::new(env!("CARGO_BIN_EXE_drivescope"))
            .arguments(arguments)
            .in_folder(self.folder.path())
            .with_home(&self.path("home"))
    }

    pub fn drivescope(&self, arguments: &[&str]) -> Ended {
        self.call(arguments).end()
    }

    pub fn run(&self, target: &str, options: &[&[&str]]) -> Ended {
        self.run_call(target, options).end()
    }

    pub fn run_call(&self, target: &str, options: &[&[&str]]) -> Call {
        self.call(&["run", target]).arguments(&merged(options))
    }
}

/// The program keeps a tenth of every file system free, so on a fuller one nearly every test would fail for another
/// reason.
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

/// A later `--name=value` replaces an earlier one, except for `--set`.
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

/// Names, sizes, times of change, modes.
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

pub fn names(folder: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("the folder can be read").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub fn own_folder(target: impl AsRef<Path>) -> Option<PathBuf> {
    let own = names(&target).into_iter().find(|name| name.starts_with(".drivescope-"))?;
    Some(target.as_ref().join(own))
}
