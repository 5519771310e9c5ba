//! `cargo xtask compare copy`: the copy of `drivescope run --files` against `cp -r` and a sync of the file system, on
//! the same tree, the same file system and with the same cold cache, in alternating pairs.

use super::mounted::{Mounted, run};
use super::ours::Drivescope;
use rustix::fs::Advice;
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Where it is compared.
const SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// The image must hold the tree, two copies and the floor of free space.
const IMAGE_MIB: u64 = 12 << 10;

fn text(path: &Path) -> &str {
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
        let mut all = Vec::new();
        for pair in 0..=pairs {
            let both = if pair % 2 == 0 {
                let ours = ours(drivescope, image.folder(), &source)?;
                (ours, cps(image.folder(), &source)?)
            } else {
                let cps = cps(image.folder(), &source)?;
                (ours(drivescope, image.folder(), &source)?, cps)
            };
            // The first pair only makes both sides equal.
            if pair > 0 {
                all.push(both);
            }
        }
        let median = |pick: &dyn Fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = all.iter().map(pick).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let ratio = median(&|pair| pair.0 / pair.1);
        let within = if (0.9..=1.1).contains(&ratio) { "yes" } else { "**no**" };
        rows += &format!(
            "| {name} | {:.3} s | {:.3} s | {ratio:.3} | {within} |\n",
            median(&|pair| pair.0),
            median(&|pair| pair.1)
        );
    }
    let head = "| file system | drivescope | cp -r, sync | drivescope / cp | within 10 % |\n|---|---|---|---|---|\n";
    let files = run("find", &[text(tree), "-type", "f"])?.lines().count();
    Ok(format!("{files} files of {}, {pairs} pairs.\n\n{head}{rows}", tree.display()))
}

/// Seconds that our copy takes, the sync of the file system included.
fn ours(drivescope: &Drivescope, target: &Path, tree: &Path) -> Result<f64, String> {
    let mut command = Command::new(drivescope.path());
    command.arg("run").arg(target).args([
        "--test",
        "copy",
        "--rounds",
        "1",
        "--json",
        "--no-save",
        "--quiet",
    ]);
    let output = command
        .arg("--files")
        .arg(tree)
        .output()
        .map_err(|e| format!("cannot start drivescope: {e}"))?;
    let run: Value = serde_json::from_slice(&output.stdout).map_err(|e| {
        format!("drivescope gave no document: {e}: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    let metrics = run["tests"][0]["metrics"].as_array();
    let time =
        metrics.and_then(|all| all.iter().find(|metric| metric["key"] == "copy.files.copy.time_s"));
    time.and_then(|metric| metric["value"].as_f64())
        .ok_or("no metric copy.files.copy.time_s".to_string())
}

/// Seconds that `cp -r` and a sync of the file system take, on files that are as cold as ours: dropped one by one,
/// so that what is known of directories stays in memory on both sides. Without copies by reference, as ours.
fn cps(target: &Path, tree: &Path) -> Result<f64, String> {
    run("sync", &["--file-system", text(target)])?;
    evict(tree)?;
    let copy = target.join("copy-of-cp");
    let start = Instant::now();
    run("cp", &["-r", "--reflink=never", text(tree), text(&copy)])?;
    run("sync", &["--file-system", text(target)])?;
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_dir_all(&copy).map_err(|e| format!("cannot remove the copy: {e}"))?;
    Ok(seconds)
}

fn evict(folder: &Path) -> Result<(), String> {
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
