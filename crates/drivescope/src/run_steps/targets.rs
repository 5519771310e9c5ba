//! From paths to targets that may be measured.

use super::write_permission::WritePermission;
use crate::exit::Failure;
use crate::mistakes::no_target;
use crate::output;
use drivescope_bench::io::engine;
use drivescope_drive::Target;
use drivescope_drive::gate;
use drivescope_drive::journal::{self, JournalError};
use drivescope_drive::simulated::spec::PREFIX;
use drivescope_drive::target::check_answers;
use drivescope_machine::Roots;
use drivescope_machine::graph::BlockGraph;
use drivescope_model::plan::Engine;
use drivescope_model::target::TargetKind;
use drivescope_report::clean;
use std::fs::Metadata;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// All targets, without duplicates. Written ones must not share bytes either.
pub fn find(
    paths: &[PathBuf],
    permission: Option<&WritePermission>,
    journals_of_others: &[PathBuf],
) -> Result<Vec<Target>, Failure> {
    let roots = Roots::host();
    let are_written = permission.is_some();
    let mut targets: Vec<Target> = Vec::new();
    for path in paths {
        let device = device_named(path);
        let path = device.as_ref().unwrap_or(path);
        let target = Target::find(path, &roots).map_err(|error| no_target(path, error))?;
        if targets.iter().any(|known| known.is_same_as(&target)) {
            let message = format!("{} is given twice; name each target once", path.display());
            return Err(Failure::usage(message));
        }
        let overlaps = targets.iter().filter_map(|known| known.overlap(&target));
        if let Some(overlap) = overlaps.into_iter().find(|both| both.is_same || are_written) {
            let message = format!("two of these targets share bytes: {}", overlap.how);
            return Err(Failure::usage(format!("{message}; name one of them")));
        }
        if are_written {
            targets.iter().try_for_each(|known| check_lock(&roots, known, &target))?;
        }
        targets.push(target);
    }
    refuse_open(&targets, journals_of_others)?;
    if let Some(permission) = permission {
        targets.iter().try_for_each(|target| permission.check_target(target))?;
    }
    Ok(targets)
}

/// `/dev/vda` for `vda`, as `drivescope list` names it, unless the current directory has something of that name.
pub fn device_named(path: &Path) -> Option<PathBuf> {
    let is_name = path.components().count() == 1 && path.file_name() == Some(path.as_os_str());
    let device = Path::new("/dev").join(path);
    let is_device = |meta: Metadata| meta.file_type().is_block_device();
    (is_name && device.metadata().is_ok_and(is_device) && path.symlink_metadata().is_err())
        .then_some(device)
}

/// One target that is read.
pub fn find_one(path: &Path) -> Result<Target, Failure> {
    let mut found = find(&[path.to_path_buf()], None, &[])?;
    Ok(found.pop().expect("one path is one target"))
}

/// Refuses two partitions of one disk: a claim locks the whole disk, so the second would be refused.
fn check_lock(roots: &Roots, one: &Target, other: &Target) -> Result<(), Failure> {
    fn name(target: &Target) -> Option<String> {
        let is_block = target.info().kind == TargetKind::Block;
        target.stack().names.first().filter(|_| is_block).cloned()
    }
    let names = name(one).zip(name(other));
    let disk = names.and_then(|(one, other)| gate::common_disk(roots, &one, &other));
    let Some(disk) = disk else { return Ok(()) };
    let (one, other) = (&one.info().path, &other.info().path);
    let both =
        format!("{one} and {other} are partitions of {disk}, and writing locks the whole disk");
    Err(Failure::usage(format!("{both}; write to one at a time")))
}

/// Refuses targets on drives whose contents are not restored. If the journals cannot be read, a block device is
/// refused; directories and files, which take no raw write, are measured with a note.
fn refuse_open(targets: &[Target], journals_of_others: &[PathBuf]) -> Result<(), Failure> {
    fn real(path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
    let is_of_others = |journal: &Path| {
        real(journal)
            .is_some_and(|it| journals_of_others.iter().any(|said| real(said) == Some(it.clone())))
    };
    let Ok(folder) = journal::state_folder() else { return Ok(()) };
    let graph = BlockGraph::read(&Roots::host());
    let mut is_told = false;
    for target in targets.iter().filter(|target| target.simulated().is_none()) {
        match journal::refuse_open(&graph, target.stack(), &folder, &is_of_others) {
            Ok(()) => {}
            Err(
                error @ (JournalError::StillOpen { .. }
                | JournalError::Running { .. }
                | JournalError::OfAnyDrive { .. }),
            ) => return Err(error.into()),
            Err(error) if target.info().kind == TargetKind::Block => return Err(error.into()),
            Err(_) if is_told => {}
            Err(error) => {
                is_told = true;
                let message = error.to_string();
                let why = message.split("; ").next().unwrap_or(&message);
                let note = "cannot determine whether a drive needs drivescope restore";
                output::remark(&format!("{note}: {why}"));
            }
        }
    }
    Ok(())
}

/// Refuses a directory in memory: its numbers would not describe a drive.
pub fn check_is_on_a_drive(target: &Target) -> Result<(), Failure> {
    let Some(evidence) = target.in_memory_only() else { return Ok(()) };
    // What takes no files at all, such as /proc, is refused for that.
    target.room()?;
    let path = &target.info().path;
    let way_on = "name a directory on a drive, or measure memory with --force";
    Err(Failure::usage(format!("{path} is on no drive: {evidence}; {way_on}")))
}

/// A simulated drive has its own engine; others use the requested one or the best.
pub fn engine_for(target: &Target, asked: Option<Engine>, quiet: bool) -> Result<Engine, Failure> {
    for note in target.notes().iter().filter(|_| !quiet) {
        output::remark(&clean(note));
    }
    match target.simulated() {
        Some(_) => Ok(Engine::Sim),
        None => choose_engine(asked, quiet),
    }
}

fn choose_engine(asked: Option<Engine>, quiet: bool) -> Result<Engine, Failure> {
    let probe = engine::choose(asked).map_err(Failure::usage)?;
    if let (Some(reason), false) = (&probe.reason, quiet) {
        output::remark(&format!("{reason}; using threads"));
    }
    Ok(probe.engine)
}

/// The absolute path of a file to be read.
pub fn file(path: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(path) = path else { return Ok(None) };
    check_answers(path)?;
    let real = std::fs::canonicalize(path).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}; name a file", path.display()))
    })?;
    Ok(Some(real.display().to_string()))
}

/// The absolute path of a directory to copy from; a simulated drive stays as it is. Errors: it is not there, or its
/// name is not UTF-8.
pub fn source(path: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(path) = path else { return Ok(None) };
    if path.to_str().is_some_and(|text| text.starts_with(PREFIX)) {
        return Ok(path.to_str().map(str::to_string));
    }
    check_answers(path)?;
    let shown = path.display();
    let real = std::fs::canonicalize(path).map_err(|error| {
        Failure::usage(format!("cannot copy from {shown}: {error}; name a directory"))
    })?;
    if !real.is_dir() {
        return Err(Failure::usage(format!("cannot copy from {shown}: it is not a directory")));
    }
    match real.to_str() {
        Some(text) => Ok(Some(text.to_string())),
        None => Err(Failure::usage(format!(
            "cannot copy from {shown}: its name is not UTF-8; use a link to it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_names_of_block_devices_stand_for_them() {
        for name in ["null", "./vda", "/dev/vda", "dev/vda", "..", ".", "", "no such device", "src"]
        {
            assert_eq!(device_named(Path::new(name)), None, "{name}");
        }
        let disks = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
        let nodes = disks.map(|disk| disk.file_name()).filter(|name| {
            let meta = Path::new("/dev").join(name).metadata();
            meta.is_ok_and(|meta| meta.file_type().is_block_device())
        });
        for name in nodes {
            let device = device_named(Path::new(&name));
            assert_eq!(device, Some(Path::new("/dev").join(&name)));
        }
    }
}
