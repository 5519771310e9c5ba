//! `cargo xtask compare copy`: the copy of `drivescope run --files` against `cp -r` and a sync of the file system, on
//! the same tree, the same file system and with the same cold cache, in alternating pairs.

use super::mounted::Mounted;
use super::ours::{Drivescope, metric};
use super::table;
use super::turns::{in_turns, middle};
use crate::programs::run;
use rustix::fs::Advice;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where it is compared.
const SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// The image must hold the tree, two copies and the floor of free space.
const IMAGE_MIB: u64 = 12 << 10;
/// Pause before each side.
const SETTLE: Duration = Duration::from_secs(5);
/// How often a process's memory is sampled.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

/// The section of docs/performance.md; `tree` is what is copied.
pub fn section(
    drivescope: &Drivescope,
    pairs: usize,
    folder: &Path,
    tree: &Path,
) -> Result<String, String> {
    let mut rows = String::new();
    for name in SYSTEMS {
        let image = match Mounted::make(name, folder, IMAGE_MIB) {
            Ok(image) => image,
            Err(why) => {
                eprintln!("SKIPPED: {name}: {why}");
                continue;
            }
        };
        let source = image.folder().join("tree");
        run("cp", &["-r", text(tree), text(&source)])?;
        // drivescope leaves symbolic links out, which cp would make.
        run("find", &[text(&source), "-type", "l", "-delete"])?;
        let target = image.folder();
        let all = in_turns(pairs, || ours(drivescope, target, &source), || cps(target, &source))?;
        let ratio = middle(&all, |pair| pair.0 / pair.1);
        rows += &format!(
            "| {name} | {:.3} s | {:.3} s | {ratio:.3} | {} |\n",
            middle(&all, |pair| pair.0),
            middle(&all, |pair| pair.1),
            table::yes((0.9..=1.1).contains(&ratio))
        );
    }
    let head = "| file system | drivescope | cp -r, sync | drivescope / cp | within 10 % |\n|---|---|---|---|---|\n";
    let files = run("find", &[text(tree), "-type", "f"])?.lines().count();
    Ok(format!("{files} files of {}, {pairs} pairs.\n\n{head}{rows}", tree.display()))
}

/// Seconds that our copy takes, the sync of the file system included.
fn ours(drivescope: &Drivescope, target: &Path, tree: &Path) -> Result<f64, String> {
    settle(target)?;
    value(&run_measured(drivescope, target, tree)?.0, "copy.files.copy.time_s")
}

/// The document of one round of copying a tree, and the most memory that it had, in kB.
pub(super) fn run_measured(
    drivescope: &Drivescope,
    target: &Path,
    tree: &Path,
) -> Result<(Value, u64), String> {
    let mut command = Command::new(drivescope.path());
    command.arg("run").arg(target).arg("--files").arg(tree);
    command.args(["--test", "copy", "--rounds", "1", "--json", "--no-save", "--quiet"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("cannot start drivescope: {e}"))?;
    // The kernel keeps the maximum until `wait` reaps the process.
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kb = 0;
    let mut document = Vec::new();
    let mut output = child.stdout.take().ok_or("drivescope has no output")?;
    let reader = std::thread::spawn(move || {
        let read = output.read_to_end(&mut document);
        read.map(|_| document)
    });
    while !reader.is_finished() {
        let peak = std::fs::read_to_string(&status).ok().and_then(|text| high_water_kb(&text));
        peak_kb = peak_kb.max(peak.unwrap_or(0));
        std::thread::sleep(LOOK_EVERY);
    }
    let ended = child.wait().map_err(|e| format!("drivescope: {e}"))?;
    let document = reader.join().map_err(|_| "the reader of drivescope's output ended")?;
    let document = document.map_err(|e| format!("drivescope: {e}"))?;
    serde_json::from_slice(&document)
        .map(|document| (document, peak_kb))
        .map_err(|e| format!("drivescope gave no document: {e} ({ended})"))
}

/// The line `VmHWM` of a process's status.
fn high_water_kb(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// A metric of a document.
pub(super) fn value(document: &Value, key: &str) -> Result<f64, String> {
    metric(&document["tests"][0], key).ok_or(format!("no metric {key}"))
}

/// Seconds that `cp -r` and a sync of the file system take.
fn cps(target: &Path, tree: &Path) -> Result<f64, String> {
    settle(target)?;
    let (seconds, own) = cp(target, tree)?;
    std::fs::remove_dir_all(&own).map_err(|e| format!("cannot remove {}: {e}", own.display()))?;
    Ok(seconds)
}

/// Seconds that `cp -r` and a sync of the file system take, and the folder that holds the copy. The files are as cold
/// as ours: dropped one by one, so that directories stay in memory on both sides. Without copies by
/// reference, and in a folder of its own, as ours: ext4 spreads the entries of the root directory over the drive.
pub(super) fn cp(target: &Path, tree: &Path) -> Result<(f64, PathBuf), String> {
    evict(tree)?;
    let own = target.join("folder-of-cp");
    std::fs::create_dir(&own).map_err(|e| format!("{}: {e}", own.display()))?;
    let start = Instant::now();
    run("cp", &["-r", "--reflink=never", text(tree), text(&own.join("copy"))])?;
    run("sync", &["--file-system", text(target)])?;
    Ok((start.elapsed().as_secs_f64(), own))
}

/// Lets the file system finish the deletion of the last copy, so that neither side pays for it.
pub(super) fn settle(target: &Path) -> Result<(), String> {
    run("sync", &["--file-system", text(target)])?;
    std::thread::sleep(SETTLE);
    Ok(())
}

pub(super) fn evict(folder: &Path) -> Result<(), String> {
    let say = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(say)? {
        let entry = entry.map_err(say)?;
        let kind = entry.file_type().map_err(say)?;
        if kind.is_dir() {
            evict(&entry.path())?;
        } else if kind.is_file() {
            let file = File::open(entry.path()).map_err(say)?;
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(|e| say(e.into()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn peak_memory_is_read_from_process_status() {
        let status = "Name:\tdrivescope\nVmPeak:\t  999 kB\nVmHWM:\t   76460 kB\nThreads:\t1\n";
        assert_eq!(super::high_water_kb(status), Some(76_460));
        assert_eq!(super::high_water_kb("Name:\tgone\n"), None);
    }
}
