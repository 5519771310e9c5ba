//! The user that a server runs as: database servers refuse to run as root.

use crate::SqlError;
use drivescope_model::options::DatabaseKind;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUser {
    pub name: String,
    pub user: u32,
    pub group: u32,
}

impl ServerUser {
    /// The user that the server runs as: `None` if that is this program's own user, who is not root.
    pub(crate) fn for_server(
        database: DatabaseKind,
        user: &'static str,
    ) -> Result<Option<Self>, SqlError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        match known.lines().find_map(|line| Self::parse(line).filter(|it| it.name == user)) {
            Some(found) => Ok(Some(found)),
            None => Err(SqlError::NoUser { database, user }),
        }
    }

    /// A line of passwd(5).
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(':');
        let name = fields.next()?.to_string();
        let mut numbers = fields.skip(1);
        let [user, group] = [numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?];
        Some(Self { name, user, group })
    }

    pub(crate) fn applies_to(&self, command: &mut Command) {
        // std drops the other groups of root too, before it changes the user.
        command.uid(self.user).gid(self.group);
    }

    /// Whether this user can work in a folder; every directory above must let it pass.
    pub(crate) fn check_reach(&self, folder: &Path) -> Result<(), SqlError> {
        if self.can_enter(folder) {
            return Ok(());
        }
        let closed = folder.ancestors().filter(|above| !self.can_enter(above)).last();
        Err(SqlError::CannotEnter {
            user: self.name.clone(),
            path: closed.unwrap_or(folder).into(),
        })
    }

    /// Tried by a process of this user, so that access lists count as well.
    fn can_enter(&self, folder: &Path) -> bool {
        let mut command = Command::new("/bin/true");
        self.applies_to(&mut command);
        match command.current_dir(folder).status() {
            Err(error) => error.kind() != ErrorKind::PermissionDenied,
            Ok(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_line() {
        let line = "postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash";
        let found = ServerUser::parse(line).unwrap();
        assert_eq!((found.name.as_str(), found.user, found.group), ("postgres", 101, 104));
        assert_eq!(ServerUser::parse("postgres:x"), None);
    }
}
