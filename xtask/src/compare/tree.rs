//! `cargo xtask compare tree`: listing a tree against `find`, and copying and deleting it against `cp -r` and `rm -r`,
//! on the file system where the tree is; and how much memory that takes.

use super::copy;
use super::ours::Drivescope;
use super::turns::{in_turns, middle};
use crate::programs::run;
use drivescope_drive::own_folder::source_tree::SourceTree;
use std::path::Path;
use std::time::Instant;

/// Pairs of listings, which take seconds.
const LISTINGS: usize = 5;

/// The section of docs/files.md. Needs root: directories are dropped from memory.
pub fn section(drivescope: &Drivescope, pairs: usize, tree: &Path) -> Result<String, String> {
    let beside = tree.parent().ok_or("the tree is a whole file system")?;
    let mut rows = String::new();
    for (name, is_cold) in [("list, cold", true), ("list, in memory", false)] {
        let listed = in_turns(LISTINGS, || our_listing(tree, is_cold), || find(tree, is_cold))?;
        let listed = row(name, &listed);
        // The copies of a large tree take minutes.
        eprint!("{listed}");
        rows += &listed;
    }
    let (mut copies, mut deletions, mut peak_kb) = (Vec::new(), Vec::new(), 0);
    for pair in 0..pairs {
        let mut ours = None;
        if pair % 2 == 0 {
            ours = Some(our_copy(drivescope, beside, tree)?);
        }
        let (copied, deleted) = theirs(beside, tree)?;
        let ours = ours.map_or_else(|| our_copy(drivescope, beside, tree), Ok)?;
        peak_kb = peak_kb.max(ours.peak_kb);
        copies.push((ours.copied_s, copied));
        deletions.push((ours.deleted_s, deleted));
    }
    rows += &row("copy", &copies);
    rows += &row("delete", &deletions);
    let files = SourceTree::open(tree).and_then(|tree| tree.count_files());
    let files = files.map_err(|error| error.to_string())?;
    let head =
        "| what | drivescope | find, cp -r, rm -r | drivescope / the other |\n|---|---|---|---|\n";
    Ok(format!("{files} files, {pairs} pairs, memory at most {peak_kb} kB.\n\n{head}{rows}"))
}

/// Seconds of ours and theirs, pair by pair.
fn row(name: &str, pairs: &[(f64, f64)]) -> String {
    let (ours, theirs) = (middle(pairs, |pair| pair.0), middle(pairs, |pair| pair.1));
    let ratio = middle(pairs, |pair| pair.0 / pair.1);
    format!("| {name} | {ours:.2} s | {theirs:.2} s | {ratio:.2} |\n")
}

/// Directories and inodes are dropped too.
fn forget_all() -> Result<(), String> {
    run("sync", &[])?;
    std::fs::write("/proc/sys/vm/drop_caches", "3")
        .map_err(|error| format!("/proc/sys/vm/drop_caches: {error}"))
}

fn timed(work: impl FnOnce() -> Result<(), String>, is_cold: bool) -> Result<f64, String> {
    if is_cold {
        forget_all()?;
    }
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

fn our_listing(tree: &Path, is_cold: bool) -> Result<f64, String> {
    let list = || SourceTree::open(tree)?.count_files();
    timed(|| list().map(|_| ()).map_err(|error| error.to_string()), is_cold)
}

fn find(tree: &Path, is_cold: bool) -> Result<f64, String> {
    let count = format!("find '{}' | wc -l", copy::text(tree));
    timed(|| run("sh", &["-c", &count]).map(|_| ()), is_cold)
}

/// The figures of one run.
struct TreeRun {
    copied_s: f64,
    deleted_s: f64,
    peak_kb: u64,
}

fn our_copy(drivescope: &Drivescope, target: &Path, tree: &Path) -> Result<TreeRun, String> {
    copy::settle(target)?;
    forget_all()?;
    let (document, peak_kb) = copy::run_measured(drivescope, target, tree)?;
    let value = |key: &str| copy::value(&document, key);
    let (copied_s, deleted_s) =
        (value("copy.files.copy.time_s")?, value("copy.files.delete.time_s")?);
    Ok(TreeRun { copied_s, deleted_s, peak_kb })
}

/// The same steps: copied and flushed, dropped from memory, read, deleted and flushed.
fn theirs(beside: &Path, tree: &Path) -> Result<(f64, f64), String> {
    copy::settle(beside)?;
    forget_all()?;
    let (copied, own) = copy::cp(beside, tree)?;
    copy::evict(&own)?;
    run("sh", &["-c", &format!("tar -c -f - -C '{}' . | cat > /dev/null", copy::text(&own))])?;
    let delete = || {
        run("rm", &["-r", copy::text(&own)])?;
        run("sync", &["--file-system", copy::text(beside)]).map(|_| ())
    };
    Ok((copied, timed(delete, false)?))
}
