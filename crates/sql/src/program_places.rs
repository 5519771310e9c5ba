//! Where programs of servers are.

use std::path::{Path, PathBuf};

/// The first of these folders that has a program of this name; each may end in `*`, which stands for a version, of
/// which the highest counts. The search path comes last.
pub(crate) fn folder_with(program: &str, places: &[&str]) -> Option<PathBuf> {
    // The programs beside the real place count, not those beside a link.
    program_in(program, places)?.parent().map(Path::to_path_buf)
}

/// The program itself, where [`folder_with`] looks for it; its real place, if that is a link.
pub(crate) fn program_in(program: &str, places: &[&str]) -> Option<PathBuf> {
    let known = places.iter().flat_map(|place| match place.split_once('*') {
        Some((before, after)) => versions(before, after),
        None => vec![PathBuf::from(place)],
    });
    let search = std::env::var_os("PATH").unwrap_or_default();
    let listed: Vec<PathBuf> = known.chain(std::env::split_paths(&search)).collect();
    let found = listed.into_iter().find(|folder| folder.join(program).is_file())?;
    std::fs::canonicalize(found.join(program)).ok()
}

/// `BEFORE*AFTER` for every version there is, the highest first.
fn versions(before: &str, after: &str) -> Vec<PathBuf> {
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let number = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix(prefix)?.parse::<u32>().ok()
    };
    let mut numbers: Vec<u32> = entries.filter_map(number).collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers.into_iter().map(|number| PathBuf::from(format!("{before}{number}{after}"))).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files of their own")]

    use super::*;

    #[test]
    fn the_highest_version_is_found() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for version in ["9", "15", "16"] {
            std::fs::create_dir_all(dir.path().join(format!("pg-{version}/bin"))).unwrap();
        }
        for version in ["9", "15"] {
            std::fs::write(dir.path().join(format!("pg-{version}/bin/db-server")), "").unwrap();
        }
        let place = format!("{}/pg-*/bin", dir.path().display());
        let found = folder_with("db-server", &[&place]).unwrap();
        assert!(found.ends_with("pg-15/bin"), "{found:?}");
        assert_eq!(folder_with("no-such-server", &[&place]), None);
    }
}
