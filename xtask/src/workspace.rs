//! The place of the repository, and its files.

use std::path::{Path, PathBuf};

/// Folders of the root without sources.
const LEFT_OUT: [&str; 2] = ["target", ".git"];

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The text of a file, by its path from the root.
pub fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|e| format!("cannot read {path}: {e}"))
}

/// Writes a file, by its path from the root.
#[expect(clippy::disallowed_methods, reason = "documents of the repository")]
pub fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(root().join(path), text).map_err(|e| format!("cannot write {path}: {e}"))
}

/// The paths from the root of all files whose name ends so, in order.
pub fn files(ends: &[&str]) -> Result<Vec<String>, String> {
    files_below(root(), ends)
}

/// The files of another folder.
pub fn files_below(folder: &Path, ends: &[&str]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    collect(folder, folder, ends, &mut found)
        .map_err(|e| format!("cannot look through the tree: {e}"))?;
    found.sort();
    Ok(found)
}

fn collect(
    root: &Path,
    folder: &Path,
    ends: &[&str],
    found: &mut Vec<String>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            if folder != root || !LEFT_OUT.contains(&name.as_str()) {
                collect(root, &path, ends, found)?;
            }
        } else if ends.iter().any(|end| name.ends_with(end)) {
            let from_root = path.strip_prefix(root).expect("the walk began at the root");
            found.push(from_root.to_string_lossy().into_owned());
        }
    }
    Ok(())
}
