//! Servers that a run starts in trees of its folder. The manifest names the program before it is started, so that
//! whoever removes the folder, a later run too, can end it first.
//!
//! A process is ours if it runs such a program and its working directory is one of these trees: both are asked of the
//! kernel, not of a file.

use super::manifest::Manifest;
use super::{OwnFolder, trees};
use crate::error::DriveError;
use drivescope_machine::Roots;
use drivescope_machine::processes::processes;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Gid, Mode, Uid};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a server may take to end by itself, and the kernel to end it then.
const QUIT_TIME_MAX: Duration = Duration::from_secs(3);
const KILL_TIME_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl OwnFolder {
    /// Names a program that is about to be started in a tree.
    pub fn note_program(&mut self, program: &Path) -> Result<(), DriveError> {
        let real = std::fs::canonicalize(program);
        let real = real.map_err(|error| DriveError::from_io("find", program, error))?;
        let name = real.to_string_lossy().into_owned();
        if self.holds.programs.contains(&name) {
            return Ok(());
        }
        self.holds.programs.push(name);
        self.write_manifest()
    }

    /// Gives a tree to another user, who may then pass through the folder, but not look into it.
    pub fn give_tree(&mut self, name: &str, user: u32, group: u32) -> Result<(), DriveError> {
        let path = self.path.join(name);
        let tree = trees::open(self.dir.as_fd(), name)
            .map_err(|errno| DriveError::from_errno("open", &path, errno))?;
        let (owner, group) = (Uid::from_raw(user), Gid::from_raw(group));
        rustix::fs::fchown(&tree, Some(owner), Some(group))
            .map_err(|errno| DriveError::from_errno("give away", &path, errno))?;
        let mode = Mode::RWXU | Mode::XGRP | Mode::XOTH;
        rustix::fs::fchmod(&self.dir, mode)
            .map_err(|errno| DriveError::from_errno("open up", &self.path, errno))
    }

    pub fn end_programs(&self) -> Result<(), DriveError> {
        end(&self.path, self.dir.as_fd(), &self.holds)
    }
}

/// Ends the programs of a manifest that run in its trees: they may end by themselves first.
pub(super) fn end(path: &Path, dir: BorrowedFd<'_>, holds: &Manifest) -> Result<(), DriveError> {
    if holds.programs.is_empty() {
        return Ok(());
    }
    let begun = Instant::now();
    let mut quit_sent = false;
    loop {
        let found = running(dir, holds);
        if found.is_empty() {
            return Ok(());
        }
        let is_over = begun.elapsed() > QUIT_TIME_MAX;
        if begun.elapsed() > KILL_TIME_MAX {
            let why = "a server that was started in it does not end".to_string();
            return Err(DriveError::CannotClean { path: path.to_path_buf(), why });
        }
        // PostgreSQL ends at once by SIGQUIT and takes its children and shared memory along.
        let signal = if is_over { Signal::KILL } else { Signal::QUIT };
        if is_over || !quit_sent {
            for process in &found {
                // It may have ended meanwhile; else it is found again.
                let _ = pidfd_send_signal(process, signal);
            }
            quit_sent = true;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn running(dir: BorrowedFd<'_>, holds: &Manifest) -> Vec<OwnedFd> {
    let place = |name: &String| {
        let found = rustix::fs::statat(dir, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some((found.st_dev, found.st_ino))
    };
    let places: Vec<_> = holds.trees.iter().filter_map(place).collect();
    let roots = Roots::host();
    let is_ours = |process: &str| {
        let folder = roots.proc.join(process);
        let Ok(program) = std::fs::read_link(folder.join("exe")) else { return false };
        let runs_it = holds.programs.iter().any(|known| program == Path::new(known));
        let works_in = rustix::fs::stat(folder.join("cwd"));
        runs_it && works_in.is_ok_and(|found| places.contains(&(found.st_dev, found.st_ino)))
    };
    let held = |process: &String| {
        let number: i32 = process.parse().ok()?;
        // Held first, then inspected: the number cannot belong to another process by then.
        let held = pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?;
        is_ours(process).then_some(held)
    };
    processes(&roots).iter().filter_map(held).collect()
}

#[cfg(test)]
mod tests {
    use crate::own_folder::tests::{killed, scratch};
    use crate::own_folder::{OwnFolder, clean};
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command};
    use std::time::Duration;

    fn sleeper(folder: &Path) -> Child {
        Command::new("sleep").arg("1000").current_dir(folder).spawn().unwrap()
    }

    fn sleep_program() -> PathBuf {
        let places = ["/usr/bin/sleep", "/bin/sleep"].map(PathBuf::from);
        places.into_iter().find(|it| it.exists()).unwrap()
    }

    /// The next run ends what a killed run has started, and leaves alone what only looks like it.
    #[test]
    fn server_of_a_dead_run_ends_first() {
        let dir = scratch();
        let mut folder = OwnFolder::create(dir.path(), "programs").unwrap();
        folder.note_program(&sleep_program()).unwrap();
        folder.create_tree("data").unwrap();
        let tree = folder.path().join("data");
        let mut ours = sleeper(&tree);
        let mut elsewhere = sleeper(dir.path());
        let mut other_program =
            Command::new("tail").args(["-f", "/dev/null"]).current_dir(&tree).spawn().unwrap();
        killed(folder);
        let waiting = std::thread::spawn(move || ours.wait().unwrap());
        // What other tests start holds the lock too, until it has begun.
        let cleaned = (0..100)
            .map(|_| clean(dir.path()).unwrap())
            .inspect(|_| std::thread::sleep(Duration::from_millis(50)))
            .find(|cleaned| cleaned.in_use.is_empty())
            .unwrap();
        assert_eq!(cleaned.removed.len(), 1, "{cleaned:?}");
        assert!(!waiting.join().unwrap().success());
        std::thread::sleep(Duration::from_millis(50));
        assert!(elsewhere.try_wait().unwrap().is_none(), "another folder");
        assert!(other_program.try_wait().unwrap().is_none(), "another program");
        for child in [&mut elsewhere, &mut other_program] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
