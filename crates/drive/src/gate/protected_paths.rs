//! Places that must not lie on the device: the running system, homes, what drivescope keeps.

use super::checks::{ok, refused, unknown, uses};
use drivescope_machine::graph::{BlockGraph, Footprint};
use drivescope_machine::uses::DeviceUse;
use drivescope_model::WriteLevel;
use drivescope_model::gate::Check;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnPaths {
    /// The database of runs.
    pub store: Option<PathBuf>,
    pub journal: Option<PathBuf>,
}

/// The checks `places`, `system` and `journal`.
pub(crate) fn check(
    graph: &BlockGraph,
    footprint: &Footprint,
    level: WriteLevel,
    own: &OwnPaths,
) -> Vec<Check> {
    let program = std::fs::read_link(graph.roots().proc.join("self/exe")).ok();
    let mut checks = places(graph, footprint, program.as_deref(), own);
    checks.push(system(graph, footprint, level, program.as_deref()));
    if level == WriteLevel::Restore {
        checks.push(journal(graph, footprint, own.journal.as_deref()));
    }
    checks
}

/// The devices below a path, or below its nearest existing parent directory.
fn devices_of(graph: &BlockGraph, path: &Path) -> Vec<String> {
    let existing = path.ancestors().find(|dir| dir.exists());
    existing.map(|dir| graph.stack_of_path(dir).names).unwrap_or_default()
}

/// Whatever is used below these paths is mounted; this says what it is used for.
fn places(
    graph: &BlockGraph,
    footprint: &Footprint,
    program: Option<&Path>,
    own: &OwnPaths,
) -> Vec<Check> {
    let mut all: Vec<(&str, PathBuf)> = ["/", "/boot", "/usr", "/home"]
        .iter()
        .map(|place| ("the directory", PathBuf::from(place)))
        .collect();
    let working = std::fs::read_link(graph.roots().proc.join("self/cwd")).ok();
    all.extend(working.map(|dir| ("the working directory", dir)));
    all.extend(program.map(|program| ("this program", program.to_path_buf())));
    all.extend(own.store.clone().map(|store| ("the store of runs", store)));
    all.extend(own.journal.clone().map(|journal| ("the restore journal", journal)));
    let found = all.iter().filter_map(|(what, path)| {
        let devices = devices_of(graph, path);
        let device = devices.iter().find(|name| overlaps(footprint, name))?;
        let path = path.display();
        let evidence = format!("{what} {path} is on {}", footprint.describe(device));
        Some(DeviceUse::new(evidence, format!("findmnt --target {path}")))
    });
    uses("places", found.collect(), "/, /boot, /usr, /home, the program and its data are elsewhere")
}

/// Whether a device below some place is overwritten with the target. A place on a sibling has the
/// disk of a target partition below it too, and is not overwritten.
fn overlaps(footprint: &Footprint, name: &str) -> bool {
    footprint.has(name) && !footprint.is_shared_in_part(name)
}

/// A drive with the running system is never written other than with its own bytes.
fn system(
    graph: &BlockGraph,
    footprint: &Footprint,
    level: WriteLevel,
    program: Option<&Path>,
) -> Check {
    let mut system: BTreeSet<String> = graph.system_devices();
    system.extend(program.into_iter().flat_map(|program| devices_of(graph, program)));
    let command = "findmnt --target / ; swapon --show";
    if system.is_empty() {
        let evidence = "the system drive is not visible here (a container, or a diskless system): the \
                        kernel's claim decides";
        return unknown("system", evidence, command);
    }
    match footprint.on_same_drives().find(|name| system.contains(*name)) {
        Some(name) if level >= WriteLevel::Restore => refused(
            "system",
            format!("{name} holds the running system; no option overrides this"),
            command,
        ),
        Some(name) => {
            ok("system", format!("{name} holds the running system; its contents do not change"))
        }
        None => ok("system", "the running system is elsewhere"),
    }
}

/// The journal must survive whatever happens to the target's device.
fn journal(graph: &BlockGraph, footprint: &Footprint, journal: Option<&Path>) -> Check {
    let command = "findmnt --target";
    let Some(journal) = journal else {
        return unknown("journal", "no journal directory is set", "");
    };
    let devices = devices_of(graph, journal);
    let shared = devices.iter().find(|name| footprint.on_same_drives().any(|ours| ours == *name));
    let path = journal.display();
    match shared {
        Some(name) => refused(
            "journal",
            format!("the journal directory {path} is also on {name}; choose one on another drive"),
            &format!("{command} {path}"),
        ),
        None if devices.is_empty() => unknown(
            "journal",
            format!("cannot see which drive holds the journal directory {path}"),
            &format!("{command} {path}"),
        ),
        None => ok("journal", format!("{path} is on {}", devices.join(", "))),
    }
}
