//! Where the files of a database are: trees of the run's own folder, emptied from memory when they are to be cold.

use crate::error::BenchError;
use crate::workloads::shared::files::evictor::Evictor;
use crate::workloads::shared::open_target;
use drivescope_drive::{DriveError, OwnFolder};
use drivescope_model::units::Bytes;
use drivescope_sql::Installed;
use std::path::{Path, PathBuf};

pub(super) const DATABASE: &str = "database";
pub(super) const BACKUP: &str = "backup";
pub(super) const RESTORED: &str = "restored";

pub(super) struct Places<'f> {
    folder: &'f mut OwnFolder,
    other: Option<OwnFolder>,
    /// Who they belong to, if not to this program's user.
    user: Option<(u32, u32)>,
}

impl<'f> Places<'f> {
    pub fn new(folder: &'f mut OwnFolder, other: Option<OwnFolder>) -> Self {
        Self { folder, other, user: None }
    }

    /// Names the programs that will run there, and whose they are.
    pub fn expect(&mut self, installed: &dyn Installed) -> Result<(), DriveError> {
        self.user = installed.user().map(|user| (user.user, user.group));
        for program in installed.programs() {
            self.folder.note_program(&program)?;
            if let Some(other) = &mut self.other {
                other.note_program(&program)?;
            }
        }
        Ok(())
    }

    fn holder(&mut self, name: &str) -> &mut OwnFolder {
        match &mut self.other {
            Some(other) if name == BACKUP => other,
            _ => self.folder,
        }
    }

    pub fn make(&mut self, name: &str) -> Result<PathBuf, DriveError> {
        let user = self.user;
        let holder = self.holder(name);
        holder.create_tree(name)?;
        if let Some((user, group)) = user {
            holder.give_tree(name, user, group)?;
        }
        Ok(holder.path().join(name))
    }

    pub fn path(&mut self, name: &str) -> PathBuf {
        self.holder(name).path().join(name)
    }

    /// Removes one, and what is in it. That there is none is not an error.
    pub fn remove(&mut self, name: &str) -> Result<(), DriveError> {
        self.holder(name).remove_tree(name)
    }

    pub fn check_room(&self) -> Result<(), DriveError> {
        self.folder.check_room(Bytes(0))
    }

    pub fn folder(&mut self) -> &mut OwnFolder {
        self.folder
    }

    /// Where files are flushed that lie in one of them.
    pub fn sync(&self, name: &str) -> Result<(), DriveError> {
        match &self.other {
            Some(other) if name == BACKUP => other.sync_file_system(),
            _ => self.folder.sync_file_system(),
        }
    }

    /// Drops everything from memory; the share of it that is still there, where the kernel reports it.
    pub fn evict(&mut self) -> Result<Option<f64>, DriveError> {
        self.sync(DATABASE)?;
        self.sync(BACKUP)?;
        let mut evictor = Evictor::default();
        for name in [DATABASE, BACKUP] {
            let holder = self.holder(name);
            if holder.has_tree(name) {
                holder.open_tree(name)?.to_read()?.walk(&mut evictor)?;
            }
        }
        Ok(evictor.share())
    }

    /// Removes everything. Servers end first.
    pub fn close(mut self) -> Result<(), BenchError> {
        self.folder.end_programs()?;
        for name in [DATABASE, BACKUP, RESTORED] {
            self.remove(name)?;
        }
        self.other.take().map_or(Ok(()), |other| Ok(other.remove()?))
    }
}

/// A folder for backups in a directory of another drive.
pub(super) fn other_folder(path: &str) -> Result<OwnFolder, DriveError> {
    open_target::folder_in(Path::new(path))
}
