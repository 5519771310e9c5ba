//! `restore`: gives drives back what an interrupted run had saved of them.

use crate::arguments::RestoreArguments;
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;
use crate::{output, progress};
use drivescope_drive::journal::{
    self, DriveIdentity, JournalError, JournalList, OpenJournal, Recovered,
};
use drivescope_drive::target;
use drivescope_machine::Roots;
use drivescope_model::units::Bytes;
use drivescope_report::clean;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The worst outcome is the exit code.
pub fn restore(arguments: &RestoreArguments, signals: &RunSignals) -> Result<Code, Failure> {
    signals.begin_held();
    let roots = Roots::host();
    let (chosen, mut code) = match arguments.journal.as_ref().or(arguments.is_of.as_ref()) {
        None => all()?,
        Some(path) => named(&roots, path)?,
    };
    let is_listed = arguments.journal.is_none() && arguments.is_of.is_none();
    let is_known = |path: &Path| {
        arguments.is_of.as_ref().is_some_and(|known| {
            path.canonicalize().is_ok_and(|real| known.canonicalize().ok() == Some(real))
        })
    };
    if chosen.is_empty() {
        if code == Code::Ok {
            // Journals of a run with another home lie elsewhere.
            let folder = journal::state_folder()?;
            let line =
                format!("no open restore journal in {}; nothing to restore", folder.display());
            output::print_line(&clean(&line));
        }
        return Ok(code);
    }
    for (index, path) in chosen.iter().enumerate() {
        match restore_one(&roots, path, is_known(path), signals) {
            Err(JournalError::Gone { path }) if is_listed => output::print_wrapped(&clean(
                &format!("{path} is gone: another drivescope has restored its drive meanwhile"),
            )),
            Err(error) => {
                let failure = Failure::from(error);
                output::complain(&failure.message);
                code = code.max(failure.code);
            }
            Ok(()) => {}
        }
        if signals.was_signalled() && index + 1 < chosen.len() {
            let left = chosen.len() - index - 1;
            output::remark(&format!(
                "interrupted; journals still open: {left}; run drivescope restore again"
            ));
            return Ok(Code::Interrupted);
        }
    }
    Ok(code)
}

/// Every journal of this user, including those that only have to be removed, and the exit code for unreadable ones.
fn all() -> Result<(Vec<PathBuf>, Code), Failure> {
    let listed = journal::list(&journal::state_folder()?)?;
    let code = complained(&listed);
    let mut paths = paths_shown(listed.open);
    paths.extend(listed.leftovers);
    Ok((paths, code))
}

/// The journal with this path, or the journals of the device with this path.
fn named(roots: &Roots, path: &Path) -> Result<(Vec<PathBuf>, Code), Failure> {
    target::check_answers(path)?;
    let Some(name) = roots.block_of_node(path) else {
        return Ok((vec![path.to_path_buf()], Code::Ok));
    };
    let mut listed = journal::list(&journal::state_folder()?)?;
    // One that cannot be looked at may be of this device.
    let code = complained(&listed);
    let device = DriveIdentity::of(roots, &name);
    listed.open.retain(|journal| {
        let pair = journal.drive.as_ref().zip(device.as_ref());
        pair.is_some_and(|(drive, device)| drive.drive_difference(device).is_none())
    });
    Ok((paths_shown(listed.open), code))
}

/// Reports journals that could not be read. The others are restored all the same.
fn complained(listed: &JournalList) -> Code {
    for error in &listed.unknown {
        output::complain(&error.to_string());
    }
    if listed.unknown.is_empty() { Code::Ok } else { Code::Device }
}

fn paths_shown(open: Vec<OpenJournal>) -> Vec<PathBuf> {
    for journal in &open {
        output::print_wrapped(&clean(&described(journal)));
    }
    open.into_iter().map(|journal| journal.path).collect()
}

fn described(journal: &OpenJournal) -> String {
    let drive =
        journal.drive.as_ref().map_or("an unknown drive".to_string(), DriveIdentity::to_string);
    let made = i64::try_from(journal.made_at_unix_s).ok();
    let made = made.and_then(|s| jiff::Timestamp::from_second(s).ok());
    let made = made.map_or(String::new(), |time| {
        format!(
            ", {}",
            time.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M")
        )
    });
    let run = match journal.run_id.as_str() {
        "" => String::new(),
        id => format!(", run {id}"),
    };
    let bytes = Bytes(journal.bytes);
    format!("{}: {bytes} of {drive}{run}{made}", journal.path.display())
}

fn restore_one(
    roots: &Roots,
    path: &Path,
    is_sure: bool,
    signals: &RunSignals,
) -> Result<(), JournalError> {
    let bar = progress::RestoreBar::new();
    let start = Instant::now();
    let recovered = journal::restore(roots, path, is_sure, &mut |step| {
        bar.show(step);
        if signals.was_signalled_again() {
            output::remark(&progress::restore_remaining(step, start.elapsed().as_secs_f64()));
        }
    });
    bar.clear();
    match recovered? {
        Recovered::Restored { bytes } => output::print_wrapped(&format!(
            "restored and verified {}; the journal {} is removed",
            Bytes(bytes),
            path.display()
        )),
        Recovered::NothingToDo => output::print_wrapped(&format!(
            "nothing to restore from {}; the journal is removed",
            path.display()
        )),
    }
    Ok(())
}
