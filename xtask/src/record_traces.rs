//! `record-traces`: makes the recorded traces that come with the program, each by a recipe in `xtask/recipes`.
//!
//! A recipe is a shell script with two parts: `prepare` puts its inputs on a fresh ext4, `run` does what is recorded,
//! with cold caches. The file system lies on a loop device with direct I/O that nothing else uses. Needs root, and the
//! programs that the recipes call.
#![expect(
    clippy::disallowed_methods,
    reason = "makes an image, a folder and the traces of the repository"
)]

use crate::programs;
use crate::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Size of the file system.
const SIZE: &str = "4G";
/// Traces are made in this order.
const RECIPES: [&str; 6] =
    ["git-clone", "package-install", "compile", "sqlite-load", "thumbnails", "mail-sync"];
/// Bytes of all traces together, at most.
const BYTES_MAX: u64 = 300_000;
/// Nothing of a file system is left to chance.
const MKFS: [&str; 5] = [
    "-Fq",
    "-U",
    "5eed0001-d01e-4c0e-8a7e-000000000018",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0,hash_seed=5eed0001-d01e-4c0e-8a7e-000000000019",
];

/// Makes all traces, or those named.
pub fn run(names: &[&str]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|name| !RECIPES.contains(name)) {
        return Err(format!("no recipe '{unknown}'; there are {}", RECIPES.join(", ")));
    }
    let root = workspace::root();
    programs::run("cargo", &["build", "--package", "drivescope"])?;
    let folder = root.join("crates/trace/traces");
    for name in RECIPES.iter().filter(|name| names.is_empty() || names.contains(name)) {
        let system = FreshSystem::make(&root.join("target"))?;
        let recipe = root.join(format!("xtask/recipes/{name}.sh"));
        let recipe = recipe.display().to_string();
        system.call("sh", &[&recipe, "prepare", &root.display().to_string()])?;
        system.cool()?;
        let output = folder.join(format!("{name}.trace")).display().to_string();
        let drivescope = root.join("target/debug/drivescope").display().to_string();
        let record = ["trace", "record", "--force", "--device", &system.device, &output, "--"];
        let words = [record.as_slice(), &["sh", &recipe, "run", &root.display().to_string()]];
        system.call(&drivescope, &words.concat())?;
        println!("{}", programs::run("sha256sum", &[&output])?);
    }
    let sizes = RECIPES
        .map(|name| folder.join(format!("{name}.trace")).metadata().map_or(0, |it| it.len()));
    let bytes: u64 = sizes.iter().sum();
    println!("{bytes} bytes in all");
    if bytes > BYTES_MAX { Err(format!("more than {BYTES_MAX} bytes")) } else { Ok(()) }
}

/// A fresh ext4 on a loop device; gone when dropped.
struct FreshSystem {
    image: PathBuf,
    device: String,
    folder: tempfile::TempDir,
}

impl FreshSystem {
    fn make(place: &Path) -> Result<Self, String> {
        let image = place.join(format!("record-traces-{}.img", std::process::id()));
        let file =
            std::fs::File::create(&image).map_err(|e| format!("cannot make an image: {e}"))?;
        drop(file);
        let path = image.display().to_string();
        programs::run("fallocate", &["--length", SIZE, &path])?;
        let device = programs::run("losetup", &["--find", "--show", "--direct-io=on", &path])?;
        let folder = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
        let made = Self { image, device, folder };
        programs::run("mkfs.ext4", &[MKFS.as_slice(), &[&made.device]].concat())?;
        programs::run("mount", &["-o", "noatime", &made.device, &made.at()])?;
        Ok(made)
    }

    fn at(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// Runs a program within the file system.
    fn call(&self, program: &str, words: &[&str]) -> Result<(), String> {
        let status = Command::new(program).args(words).current_dir(self.folder.path()).status();
        match status.map_err(|e| format!("cannot start {program}: {e}"))? {
            status if status.success() => Ok(()),
            status => Err(format!("{program} {} ended with {status}", words.join(" "))),
        }
    }

    /// Mounts it again with nothing of it in memory.
    fn cool(&self) -> Result<(), String> {
        programs::run("umount", &[&self.at()])?;
        programs::run("sh", &["-c", "sync; echo 3 > /proc/sys/vm/drop_caches"])?;
        programs::run("mount", &["-o", "noatime", &self.device, &self.at()]).map(drop)
    }
}

impl Drop for FreshSystem {
    fn drop(&mut self) {
        let unmounted = programs::run("umount", &[&self.at()]);
        let detached = programs::run("losetup", &["--detach", &self.device]);
        let removed = std::fs::remove_file(&self.image).map_err(|e| e.to_string());
        for why in [unmounted.err(), detached.err(), removed.err()].into_iter().flatten() {
            eprintln!("left behind: {why}");
        }
    }
}
