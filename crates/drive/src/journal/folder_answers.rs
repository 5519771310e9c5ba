//! Whether a folder, such as the folder of journals, answers reads and writes.

use super::JournalError;
use super::journal_folder::existing;
use super::storage::touch;
use crate::target;
use drivescope_machine::aside;
use drivescope_machine::patience::PATIENCE;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The name of [`look`] among those of [`aside::answer`].
pub const FOLDER_OF_JOURNALS: &str = "folder";

/// Makes a file without a name in each folder, where the file system supports that.
pub fn look(folders: &[OsString], has_answered: &(dyn Fn(usize) + Sync)) {
    for (index, folder) in folders.iter().enumerate() {
        touch(Path::new(folder));
        has_answered(index);
    }
}

/// Whether the disk of a folder does not answer to writes in time, such as a frozen file system: a process that writes
/// there waits, deaf to every signal.
pub fn is_deaf(folder: &Path) -> bool {
    aside::silent(FOLDER_OF_JOURNALS, &[folder.into()], PATIENCE) == [true]
}

/// Refuses a folder whose disk does not answer to writes in time.
pub fn check_answers(folder: &Path) -> Result<(), JournalError> {
    if is_deaf(existing(folder)) { Err(no_answer("write", folder)) } else { Ok(()) }
}

/// Refuses a folder that lies on a server which does not answer in time.
pub(super) fn check_served(folder: &Path) -> Result<(), JournalError> {
    target::check_answers(folder).map_err(|_| no_answer("read", folder))
}

fn no_answer(what: &'static str, folder: &Path) -> JournalError {
    let why = format!("no answer within {} s", PATIENCE.as_secs());
    JournalError::of_file(what, folder.display().to_string(), io::Error::other(why))
}
