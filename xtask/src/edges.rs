//! Checks which crate uses which: the edges of docs/architecture.md.

use crate::workspace;
use toml::Table;

/// The crates that each crate may use. Tests and benches may use others.
const ALLOWED: [(&str, Uses); 15] = [
    ("drivescope-model", Uses::Only(&[])),
    ("drivescope-stats", Uses::Only(&[])),
    ("drivescope-sim", Uses::Only(&["model"])),
    ("drivescope-machine", Uses::Only(&["model"])),
    ("drivescope-drive", Uses::Only(&["model", "sim", "machine"])),
    ("drivescope-mount", Uses::Only(&["model", "sim", "machine"])),
    ("drivescope-trace", Uses::Only(&["model", "machine"])),
    ("drivescope-sql", Uses::Only(&["model"])),
    ("drivescope-bench", Uses::Only(&["model", "stats", "machine", "drive", "trace", "sql"])),
    ("drivescope-store", Uses::Only(&["model"])),
    ("drivescope-report", Uses::Only(&["model", "stats"])),
    ("drivescope-web", Uses::Only(&["model", "report", "store"])),
    ("drivescope-fleet", Uses::Only(&["model", "store", "bench"])),
    ("drivescope", Uses::Every),
    ("xtask", Uses::Every),
];

/// The two programs, which nothing may use.
const PROGRAMS: [&str; 2] = ["drivescope", "xtask"];

#[derive(Debug, Clone, Copy)]
enum Uses {
    /// These, without the prefix of their names.
    Only(&'static [&'static str]),
    /// All but the programs.
    Every,
}

/// Fails with one line per edge that is not allowed.
pub fn check() -> Result<(), String> {
    let mut faults = Vec::new();
    for path in workspace::files(&["Cargo.toml"])? {
        faults.extend(faults_of(&workspace::read(&path)?).map_err(|e| format!("{path}: {e}"))?);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The forbidden edges of one manifest.
fn faults_of(manifest: &str) -> Result<Vec<String>, String> {
    let manifest: Table = manifest.parse().map_err(|e: toml::de::Error| e.to_string())?;
    // The root has no package of its own.
    let Some(package) = manifest.get("package").and_then(|package| package.get("name")) else {
        return Ok(Vec::new());
    };
    let package = package.as_str().ok_or("the package's name is not a text")?;
    let Some((_, uses)) = ALLOWED.iter().find(|(name, _)| *name == package) else {
        let fault =
            format!("{package} is not in the list of xtask/src/edges.rs: give it its edges");
        return Ok(vec![fault]);
    };
    let line = |used: String| format!("{package} must not use {used} (docs/architecture.md)");
    Ok(used(&manifest).into_iter().filter(|used| !is_allowed(*uses, used)).map(line).collect())
}

fn is_allowed(uses: Uses, used: &str) -> bool {
    match uses {
        Uses::Only(names) => {
            used.strip_prefix("drivescope-").is_some_and(|name| names.contains(&name))
        }
        Uses::Every => !PROGRAMS.contains(&used),
    }
}

/// The crates of this workspace that a manifest names, for every platform; those of tests and
/// benches are left out.
fn used(manifest: &Table) -> Vec<String> {
    let mut found = Vec::new();
    let platforms = manifest.get("target").and_then(|target| target.as_table());
    let parts = platforms.into_iter().flat_map(|p| p.values()).filter_map(|part| part.as_table());
    for part in std::iter::once(manifest).chain(parts) {
        for section in ["dependencies", "build-dependencies"] {
            for (name, value) in part.get(section).and_then(|s| s.as_table()).into_iter().flatten()
            {
                let renamed = value.get("package").and_then(|package| package.as_str());
                let name = renamed.unwrap_or(name);
                if name.starts_with("drivescope") || name == "xtask" {
                    found.push(name.to_string());
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_has_allowed_edges_only() {
        check().unwrap();
    }

    #[test]
    fn forbidden_edges_are_found_wherever_they_stand() {
        for (package, rest, faults) in [
            ("drivescope-store", "[dependencies]\ndrivescope-model.workspace = true", 0),
            ("drivescope-store", "[dependencies]\ndrivescope-drive.workspace = true", 1),
            ("drivescope-store", "[dev-dependencies]\ndrivescope-drive.workspace = true", 0),
            ("drivescope-model", "[build-dependencies]\ndrivescope-stats = { path = \"x\" }", 1),
            ("drivescope-stats", "[target.'cfg(unix)'.dependencies]\ndrivescope-model = \"1\"", 1),
            ("drivescope-sim", "[dependencies]\nd = { package = \"drivescope-bench\" }", 1),
            ("drivescope", "[dependencies]\ndrivescope-bench = \"1\"\ndrivescope-sim = \"1\"", 0),
            ("drivescope", "[dependencies]\nxtask = \"1\"", 1),
            ("drivescope-bench", "[dependencies]\ndrivescope = \"1\"\nserde = \"1\"", 1),
            ("drivescope-new", "", 1),
        ] {
            let manifest = format!("[package]\nname = \"{package}\"\n{rest}\n");
            assert_eq!(faults_of(&manifest).unwrap().len(), faults, "{package} {rest}");
        }
        assert!(faults_of("[workspace]\nmembers = []").unwrap().is_empty());
        assert!(faults_of("[package").is_err());
    }
}
