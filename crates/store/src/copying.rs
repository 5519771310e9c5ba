//! Moving runs between stores. What was moved once is known the second time, so that an interrupted copy is continued
//! by the same command.

use crate::error::{StoreError, StoreFault};
use crate::store::{Added, Store};
use drivescope_model::document::Run;

/// Runs in one transaction: few enough for memory, many enough that commits do not count.
const BATCH: usize = 50;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    pub new: u64,
    /// They were there, unchanged.
    pub known: u64,
    /// Interrupted parts of them were there.
    pub completed: u64,
    /// Another run, or a part of this one, is there under the id.
    pub differing: Vec<String>,
    /// Runs that the server does not take while it takes others, with the reason.
    pub refused: Vec<(String, String)>,
    /// Runs that this program cannot read, for example of a newer version, with the reason.
    pub unreadable: Vec<(String, String)>,
}

impl CopyReport {
    pub fn copied(&self) -> u64 {
        self.new + self.completed
    }

    fn count(&mut self, added: Added) {
        match added {
            Added::New => self.new += 1,
            Added::Known => self.known += 1,
            Added::Completed => self.completed += 1,
        }
    }
}

/// Copies all runs, the oldest first; `on_batch` hears how many of how many are done. Errors: a store fails; what is
/// copied by then stays.
pub fn copy(
    from: &Store,
    to: &mut Store,
    on_batch: &mut dyn FnMut(usize, usize),
) -> Result<CopyReport, StoreError> {
    let ids = from.ids()?;
    let mut report = CopyReport::default();
    for (number, batch) in ids.chunks(BATCH).enumerate() {
        add(read(from, batch, &mut report)?, to, &mut report)?;
        on_batch((number * BATCH + batch.len()).min(ids.len()), ids.len());
    }
    Ok(report)
}

/// Sends runs of `local` that wait for the server `to`. Each that is there afterwards waits no longer.
pub fn send_waiting(
    ids: &[String],
    local: &mut Store,
    to: &mut Store,
) -> Result<CopyReport, StoreError> {
    let server = to.location().clone();
    let mut report = CopyReport::default();
    for id in ids {
        let run = read(local, std::slice::from_ref(id), &mut report)?;
        let there = report.copied() + report.known;
        add(run, to, &mut report)?;
        if report.copied() + report.known > there {
            local.clear_waiting(id, &server)?;
        }
    }
    Ok(report)
}

fn read(from: &Store, ids: &[String], report: &mut CopyReport) -> Result<Vec<Run>, StoreError> {
    let mut runs = Vec::new();
    for id in ids {
        match from.get(id) {
            Ok(run) => runs.push(run),
            // Removed since it was listed.
            Err(error) if error.fault == StoreFault::NoRun => {}
            Err(error) if error.fault == StoreFault::Document => {
                report.unreadable.push((id.clone(), error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(runs)
}

/// All together, or one by one if one of them is refused.
fn add(runs: Vec<Run>, to: &mut Store, report: &mut CopyReport) -> Result<(), StoreError> {
    let error = match to.add_all(&runs) {
        Ok(added) => {
            added.into_iter().for_each(|added| report.count(added));
            return Ok(());
        }
        Err(error) => error,
    };
    match (error.fault, &runs[..]) {
        (StoreFault::Differs, [run]) => report.differing.push(run.id.clone()),
        (StoreFault::NotTaken, [run]) => report.refused.push((run.id.clone(), error.to_string())),
        (StoreFault::Differs | StoreFault::NotTaken, _) => {
            for run in runs {
                add(vec![run], to, report)?;
            }
        }
        _ => return Err(error),
    }
    Ok(())
}
