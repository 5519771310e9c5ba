//! Folders that killed runs left in directories.

use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::own_folder::{self, Cleaned};
use drivescope_drive::{Target, journal, target};
use drivescope_machine::patience::PATIENCE;
use drivescope_model::target::TargetKind;
use drivescope_report::clean as escaped;
use std::path::{Path, PathBuf};

/// `run --clean`; with `only_look` nothing is removed.
pub fn clean(paths: &[PathBuf], only_look: bool) -> Result<Code, Failure> {
    let here = [PathBuf::from(".")];
    let paths = if paths.is_empty() { &here[..] } else { paths };
    let mut code = Code::Ok;
    let mut found = false;
    for path in paths {
        target::check_answers(path)?;
        if path.metadata().is_ok_and(|found| !found.is_dir()) {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path} is not a directory; runs leave nothing there"
            )));
        }
        let (cleaned, removed, left) = if only_look {
            (own_folder::look(path)?, "would remove", "would leave")
        } else {
            check_takes_files(path)?;
            (own_folder::clean(path)?, "removed", "left")
        };
        found |= cleaned != Cleaned::default();
        for folder in cleaned.removed {
            output::print_wrapped(&escaped(&format!("{removed} {}", folder.display())));
        }
        for folder in cleaned.in_use {
            let line = format!("{left} {}: its run is still in progress", folder.display());
            output::print_wrapped(&escaped(&line));
        }
        for (folder, why) in cleaned.kept {
            code = Code::Refused;
            output::complain(&format!("{left} {}: {why}", folder.display()));
        }
    }
    if !found {
        output::print_line("nothing to clean");
    }
    Ok(code)
}

/// Removes files of killed runs from a directory target, except files that were kept, or that this run resumes; a dry
/// run only lists them. Failures are reported and do not stop the run. Errors: the directory takes no files, because
/// writes to its file system hang.
pub fn clean_target(target: &Target, resumes: bool, dry_run: bool) -> Result<(), Failure> {
    if target.info().kind != TargetKind::Directory {
        return Ok(());
    }
    let (found, removed, left) = if dry_run {
        (own_folder::look_for(target.path(), resumes), "would remove", "would leave")
    } else {
        check_takes_files(target.path())?;
        (own_folder::clean_for(target.path(), resumes), "removed", "left")
    };
    let Ok(found) = found else { return Ok(()) };
    for folder in found.removed {
        let note = format!("{removed} {}, left by a killed run", folder.display());
        output::remark(&escaped(&note));
    }
    for (folder, why) in found.kept {
        let note = format!("{left} {}: {why}", folder.display());
        output::remark(&escaped(&note));
    }
    Ok(())
}

/// Refuses a directory on a frozen file system, or on a drive that does not accept writes: a waiting program could not
/// be ended.
fn check_takes_files(path: &Path) -> Result<(), Failure> {
    if !journal::is_deaf(path) {
        return Ok(());
    }
    let message = format!(
        "{} takes no files: a write was not answered within {} s; see dmesg, or fsfreeze --unfreeze",
        path.display(),
        PATIENCE.as_secs()
    );
    Err(Failure { message, code: Code::Device })
}
