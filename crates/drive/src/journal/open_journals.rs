//! From journals to the drives of this machine, and back.

use super::affected::{attached_devices, shares_bytes};
use super::claimed_disk::ClaimedDisk;
use super::folder_answers::{check_answers, check_served};
use super::journal_folder::check_folder;
use super::recover::{
    Recovered, cannot_open, damage, discard_if_settled, nameless, recover_opened,
};
use super::rollback::RollbackStep;
use super::run_traces::stranger;
use super::scan::{JournalContents, scan};
use super::storage::{OpenFile, StateFolder, is_made};
use super::writer::{Journal, JournalSettings};
use super::{ByteRange, Disk, DriveIdentity, Folder, JournalError, NotReady};
use crate::error::DriveError;
use crate::gate::{self, RawDisk};
use crate::target::is_silent;
use drivescope_machine::graph::{BlockGraph, Stack};
use drivescope_machine::identity::Sameness;
use drivescope_machine::patience::PATIENCE;
use drivescope_machine::roots::Roots;
use drivescope_machine::uses::all_uses;
use std::io;
use std::path::{Path, PathBuf};

/// A journal whose drive may not have its original contents.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenJournal {
    pub path: PathBuf,
    /// Drive whose originals it holds; absent when the header is damaged.
    pub drive: Option<DriveIdentity>,
    pub run_id: String,
    pub made_at_unix_s: u64,
    /// Restorable bytes.
    pub bytes: u64,
    /// Records that are whole.
    pub records: usize,
    /// Description of damage, if any.
    pub damage: Option<String>,
    /// Whether the run that made it, or a restore, is alive.
    pub is_running: bool,
}

#[derive(Debug, Default)]
pub struct JournalList {
    pub open: Vec<OpenJournal>,
    /// Files left by an interruption while a journal was made or removed; [`restore`] removes them.
    pub leftovers: Vec<PathBuf>,
    /// What could not be read, each with its reason. It may be a journal, of any drive.
    pub unknown: Vec<JournalError>,
}

/// Everything in a folder, which may be missing. Unreadable entries do not hide the others. Errors: the folder itself
/// cannot be read.
pub fn list(folder: &Path) -> Result<JournalList, JournalError> {
    let path = folder.display().to_string();
    let mut listed = JournalList::default();
    let Some(mut folder) = find(folder)? else { return Ok(listed) };
    let names = folder.names().map_err(|e| JournalError::of_file("list", path, e))?;
    for name in names {
        match look(&folder, &name) {
            Ok(FolderEntry::Open(journal)) => listed.open.push(*journal),
            Ok(FolderEntry::Settled) => listed.leftovers.push(folder.path(&name)),
            Ok(FolderEntry::Gone) => {}
            Err(error) => listed.unknown.push(error),
        }
    }
    Ok(listed)
}

enum FolderEntry {
    Open(Box<OpenJournal>),
    Settled,
    /// It has just been removed.
    Gone,
}

fn find(folder: &Path) -> Result<Option<StateFolder>, JournalError> {
    check_served(folder)?;
    StateFolder::find(folder).map_err(|error| cannot_use(folder, error))
}

fn look(folder: &StateFolder, name: &str) -> Result<FolderEntry, JournalError> {
    let path = folder.path(name);
    let text = path.display().to_string();
    let unknown = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => JournalError::Foreign { path: text.clone() },
        _ => JournalError::Unknown { path: text.clone(), why: error.to_string() },
    };
    let (mut file, is_running) = match folder.look(name) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FolderEntry::Gone),
        Err(error) => return Err(unknown(error)),
    };
    let contents = scan(&mut file, is_made(name)).map_err(unknown)?;
    let unattributed = |records, damage| OpenJournal {
        path: path.clone(),
        drive: None,
        run_id: String::new(),
        made_at_unix_s: 0,
        bytes: 0,
        records,
        damage,
        is_running,
    };
    Ok(FolderEntry::Open(Box::new(match contents {
        JournalContents::NeverUsed | JournalContents::Done => {
            return Ok(FolderEntry::Settled);
        }
        JournalContents::Nameless { records, required } => {
            unattributed(records, Some(nameless(records, required.as_ref())))
        }
        JournalContents::Open(originals) => OpenJournal {
            run_id: originals.header.run_id.clone(),
            made_at_unix_s: originals.header.made_at_unix_s,
            bytes: originals.bytes(),
            damage: originals.is_damaged().then(|| damage(&originals)),
            drive: Some(originals.header.drive),
            ..unattributed(originals.saved.len(), None)
        },
    })))
}

/// Refuses a target that shares bytes with a drive whose journal is open; `stack` is everything below the target. A
/// journal of an unknown drive refuses every target, unless the user says that it `is_of_others`; so does an unreadable
/// one.
pub fn refuse_open(
    graph: &BlockGraph,
    stack: &Stack,
    folder: &Path,
    is_of_others: &dyn Fn(&Path) -> bool,
) -> Result<(), JournalError> {
    let listed = list(folder)?;
    for journal in listed.open {
        let path = journal.path.display().to_string();
        let Some(drive) = journal.drive else {
            if is_of_others(&journal.path) {
                continue;
            }
            return Err(JournalError::OfAnyDrive { path });
        };
        if shares_bytes(graph, stack, &drive) {
            return Err(if journal.is_running {
                JournalError::Running { path }
            } else {
                still_open(graph, &drive, path)
            });
        }
    }
    listed.unknown.into_iter().next().map_or(Ok(()), Err)
}

/// Every drive that waits for `restore`, each with what to do first. Errors: the folder cannot be read.
pub fn waiting(graph: &BlockGraph, folder: &Path) -> Result<Vec<JournalError>, JournalError> {
    let waits = |journal: OpenJournal| {
        let drive = journal.drive.filter(|_| !journal.is_running)?;
        Some(still_open(graph, &drive, journal.path.display().to_string()))
    };
    Ok(list(folder)?.open.into_iter().filter_map(waits).collect())
}

/// The drive waits for its contents. Arrays and volumes that udev has started on it since must end first.
fn still_open(graph: &BlockGraph, drive: &DriveIdentity, path: String) -> JournalError {
    let is_drive = |(_, device): &(String, DriveIdentity)| drive.difference(device).is_none();
    let devices = attached_devices(graph).into_iter().filter(is_drive);
    let uses: Vec<String> = devices.flat_map(|(name, _)| all_uses(graph, &name)).collect();
    let first = match uses.as_slice() {
        [] => String::new(),
        uses => format!("first end its use ({}), then ", uses.join("; ")),
    };
    JournalError::StillOpen { drive: drive.to_string(), first, path }
}

/// A journal in `folder` for the claimed device `target` (kernel name). Nothing is made before something
/// is saved.
///
/// Errors: the folder is on that drive, or cannot keep anything; a journal of that drive is open.
pub fn begin(
    roots: &Roots,
    folder: &Path,
    target: &str,
    disk: &dyn Disk,
    settings: JournalSettings,
) -> Result<Journal<StateFolder>, JournalError> {
    let graph = BlockGraph::read(roots);
    check_folder(&graph, folder, target)?;
    check_names(&graph, target)?;
    // The user has already said that journals of unknown drives are not this drive's.
    refuse_open(&graph, &graph.stack_of_device(target), folder, &|_| true)?;
    let made = StateFolder::make(folder).map_err(|error| cannot_use(folder, error))?;
    Ok(Journal::new(made, disk, settings))
}

/// Refuses a device if another one reports the same names and size: a journal could not say to which of them its
/// originals belong. Other paths to the same bytes do not count. Also refuses a device with only a number, which a boot
/// may reassign, unless it is memory, which does not survive a boot.
pub fn check_names(graph: &BlockGraph, target: &str) -> Result<(), JournalError> {
    let Some(own) = DriveIdentity::of(graph.roots(), target) else { return Ok(()) };
    if own.has_only_a_number() && graph.stack_of_device(target).memory_backed.is_none() {
        return Err(JournalError::OnlyNumbered { device: target.to_string() });
    }
    let is_double = |(name, other): &(String, DriveIdentity)| {
        name != target
            && own.difference(other).is_none()
            && !is_one_drive(graph, &own, (target, &own), (name.as_str(), other))
    };
    match attached_devices(graph).into_iter().find(is_double) {
        None => Ok(()),
        Some((double, _)) => {
            Err(JournalError::Double { device: target.to_string(), drive: own.to_string(), double })
        }
    }
}

fn cannot_use(folder: &Path, error: DriveError) -> JournalError {
    let path = folder.display().to_string();
    let source = match error {
        DriveError::Io { source, .. } => source,
        error => io::Error::other(error.to_string()),
    };
    JournalError::of_file("use the folder of", path, source)
}

/// Restores the drive of a journal from it, whichever device that drive is now. `is_sure`: the user says that it
/// is the drive, whatever it holds.
///
/// Errors: as [`super::recover()`], and the drive is not attached, more than once, in use, or holds something else than
/// the run can have left there.
pub fn restore(
    roots: &Roots,
    path: &Path,
    is_sure: bool,
    on: &mut dyn FnMut(RollbackStep),
) -> Result<Recovered, JournalError> {
    let text = path.display().to_string();
    let no_journal =
        |why: &str| JournalError::NotAJournal { path: text.clone(), why: why.to_string() };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| no_journal("it has no name"))?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut folder = find(parent)?.ok_or_else(|| no_journal("it is not there"))?;
    if !super::scan::has_header(&mut folder.look(name).map_err(|e| cannot_open(&text, e))?.0)
        && !super::state_folder()
            .is_ok_and(|state| state.canonicalize().ok() == parent.canonicalize().ok())
    {
        return Err(no_journal("it has no journal header"));
    }
    // Opening a journal for writing, even to lock it, waits for a frozen file system.
    check_answers(parent)?;
    if let Some(settled) = discard_if_settled(&mut folder, name)? {
        return Ok(settled);
    }
    let FolderEntry::Open(journal) = look(&folder, name)? else {
        return Err(JournalError::Gone { path: text });
    };
    let Some(drive) = journal.drive else {
        let what = journal.damage.unwrap_or_default();
        return Err(JournalError::Damaged { path: text, what });
    };
    let device = device_of(roots, &drive, &text)?;
    // Locked before the claim: another restore then names this one, not a device in use.
    let file = folder.open(name).map_err(|error| cannot_open(&text, error))?;
    let disk = claim(roots, &device)?;
    restore_claimed((&mut folder, name, file), &disk, is_sure, on)
}

/// Restores a claimed drive from the open journal of this name. Errors: as [`super::recover()`], and it holds something
/// else than the run can have left there.
pub(crate) fn restore_claimed(
    (folder, name, mut file): (&mut StateFolder, &str, OpenFile),
    disk: &RawDisk,
    is_sure: bool,
    on: &mut dyn FnMut(RollbackStep),
) -> Result<Recovered, JournalError> {
    let identity = identity_of(disk.roots(), disk)?;
    let mut claimed = ClaimedDisk { disk, identity: &identity };
    let path = folder.path(name).display().to_string();
    if !is_sure && let Some(extent) = strange(&mut file, is_made(name), &path, &mut claimed)? {
        return Err(JournalError::Stranger { device: disk.device().path.clone(), path, extent });
    }
    recover_opened(folder, file, name, &mut claimed, on)
}

/// The bytes that distinguish this journal's drive from one with the same names.
fn strange(
    file: &mut OpenFile,
    is_made: bool,
    path: &str,
    disk: &mut ClaimedDisk<'_>,
) -> Result<Option<ByteRange>, JournalError> {
    let contents = scan(file, is_made).map_err(|e| JournalError::of_file("read", path, e))?;
    Ok(match contents {
        JournalContents::Open(it) if it.header.drive.difference(disk.identity).is_none() => {
            stranger(disk, file, &it.saved, it.header.data_seed)
        }
        _ => None,
    })
}

fn claim(roots: &Roots, name: &str) -> Result<RawDisk, JournalError> {
    let node = roots.node(name);
    if is_silent(roots, &node) {
        let why = format!("it does not answer within {} s", PATIENCE.as_secs());
        return Err(JournalError::Failing { device: node.display().to_string(), why });
    }
    gate::claim_to_restore(roots, node.clone()).map_err(|refusal| {
        NotReady::of(&refusal.record.checks)
            .unwrap_or_default()
            .of_device(node.display().to_string())
    })
}

/// Identity of a claimed device, including its own answer.
pub(super) fn identity_of(roots: &Roots, disk: &RawDisk) -> Result<DriveIdentity, JournalError> {
    let device = disk.device();
    let known = DriveIdentity::of(roots, &device.name).ok_or_else(|| JournalError::NotFree {
        device: device.path.clone(),
        why: "the kernel does not describe it any more".to_string(),
    })?;
    let serial = device.own_serial.as_ref().or(device.serial.as_ref());
    let own_serial = serial.filter(|serial| known.serial.as_ref() != Some(serial)).cloned();
    Ok(DriveIdentity { own_serial, ..known })
}

/// Kernel name of the one device that is this drive, or this partition of it.
pub(super) fn device_of(
    roots: &Roots,
    drive: &DriveIdentity,
    journal: &str,
) -> Result<String, JournalError> {
    let graph = BlockGraph::read(roots);
    let attached = attached_devices(&graph);
    let devices: Vec<(&str, &DriveIdentity)> = attached
        .iter()
        .filter(|(_, id)| drive.difference(id).is_none())
        .map(|(name, id)| (name.as_str(), id))
        .collect();
    let path = journal.to_string();
    match devices.as_slice() {
        // Of several ways to one drive any will do: the gate claims the others too.
        [first, others @ ..]
            if others.iter().all(|other| is_one_drive(&graph, drive, *first, *other)) =>
        {
            Ok(first.0.to_string())
        }
        [] => Err(
            match attached.iter().find_map(|(name, id)| difference_of_namesake(drive, name, id)) {
                Some(what) => JournalError::WrongDrive { path, what },
                None => JournalError::NotAttached { path, drive: drive.to_string() },
            },
        ),
        devices => {
            let names: Vec<&str> = devices.iter().map(|(name, _)| *name).collect();
            Err(JournalError::Ambiguous { path, devices: names.join(", ") })
        }
    }
}

/// Whether two attached devices are certainly two paths to one drive: both report a unique identifier.
fn is_one_drive(
    graph: &BlockGraph,
    drive: &DriveIdentity,
    one: (&str, &DriveIdentity),
    other: (&str, &DriveIdentity),
) -> bool {
    let is_sure = |id: &DriveIdentity| matches!(drive.compare(id), Sameness::Sure(_));
    (is_sure(one.1) && is_sure(other.1))
        || graph.is_shared_namespace(&graph.disk_of(one.0), &graph.disk_of(other.0))
}

/// In which way a device that says the same name as the drive, or is in its place, is another one.
fn difference_of_namesake(
    drive: &DriveIdentity,
    name: &str,
    device: &DriveIdentity,
) -> Option<String> {
    let what = drive.drive_difference(device)?;
    let is_namesake = match &drive.serial {
        Some(serial) => device.serial.as_ref() == Some(serial),
        None => device.serial.is_none() && device.is_in_place_of(drive),
    };
    is_namesake.then(|| format!("{name} looks like it, but {what}"))
}
