//! Whether the disk of the folder of journals answers to writes.

use super::JournalError;
use super::journal_folder::existing;
use super::storage::touch;
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

/// Refuses a folder whose disk does not answer to writes in time, such as a frozen file system: a process that writes
/// there waits, deaf to every signal.
pub fn check_answers(folder: &Path) -> Result<(), JournalError> {
    let here = existing(folder).as_os_str().to_os_string();
    match aside::silent(FOLDER_OF_JOURNALS, &[here], PATIENCE) == [true] {
        false => Ok(()),
        true => {
            let why = format!("no answer within {} s", PATIENCE.as_secs());
            Err(JournalError::of_file("write", folder.display().to_string(), io::Error::other(why)))
        }
    }
}
