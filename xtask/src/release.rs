//! `cargo xtask release [FOLDER]`: static programs, packages, sums and the list of parts, made by `packaging/build`
//! from a tree without changes; and `cargo xtask release --try FOLDER`, which installs and runs them.

use crate::programs::run as output_of;
use crate::workspace::root;
use std::process::Command;

/// Where packages lie if no folder is named.
const FOLDER: &str = "target/release-packages/out";

pub fn run(args: &[&str]) -> Result<(), String> {
    match args {
        [] => build(FOLDER),
        ["--try"] => script("try", FOLDER),
        ["--try", folder] => script("try", folder),
        [folder] if !folder.starts_with('-') => build(folder),
        _ => Err("usage: cargo xtask release [--try] [FOLDER]".to_string()),
    }
}

fn build(folder: &str) -> Result<(), String> {
    let tree = root().to_string_lossy();
    let changed = output_of("git", &["-C", &tree, "status", "--porcelain"])?;
    if let Some(first) = changed.lines().next() {
        return Err(format!("the tree has changes ({}): commit or stash them first", first.trim()));
    }
    script("build", folder)
}

fn script(name: &str, folder: &str) -> Result<(), String> {
    let path = root().join("packaging").join(name);
    let status = Command::new(&path).current_dir(root()).arg(folder).status();
    let status = status.map_err(|e| format!("cannot start {}: {e}", path.display()))?;
    if status.success() { Ok(()) } else { Err(format!("packaging/{name}: {status}")) }
}
