//! Where a run keeps the contents that its tests overwrite and put back.

use super::PlannedRun;
use crate::exit::Failure;
use crate::output;
use crate::progress::restore_remaining;
use crate::signals::RunSignals;
use drivescope_bench::session::RestoreJournal;
use drivescope_drive::journal;
use drivescope_machine::Roots;
use drivescope_machine::graph::BlockGraph;
use drivescope_model::plan::{Plan, PlannedTest, Restores, WriteLevel};
use drivescope_model::units::Bytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

fn restores(plan: &Plan) -> Option<&Restores> {
    plan.active().find_map(|planned| planned.restores.as_ref())
}

/// Refuses plans whose journal would lie on the drive itself or in memory, or that has no place or room: before
/// anything is claimed.
pub fn check(runs: &[PlannedRun]) -> Result<(), Failure> {
    let graph = BlockGraph::read(&Roots::host());
    for run in runs {
        let Some(restores) = restores(&run.plan) else { continue };
        let folder = Path::new(&restores.journal);
        if let Some(name) = run.target.stack().names.first() {
            journal::check_folder(&graph, folder, name)?;
            journal::check_names(&graph, name)?;
        }
        journal::check_writable(folder)?;
        journal::check_answers(folder)?;
        journal::check_room(folder, restores.journal_bytes)?;
    }
    warn_of_sparse(runs);
    warn_of_members(runs);
    Ok(())
}

/// Warns of a sleeping array, which stays asleep after a kill: udev notices it only at the next boot.
fn warn_of_members(runs: &[PlannedRun]) {
    for run in runs.iter().filter(|run| restores(&run.plan).is_some()) {
        for member in run.target.sleeping_members() {
            output::remark(&format!(
                "{member}; should this run be killed, run drivescope restore first of all: at the next boot, udev \
                 would start it with test patterns in it"
            ));
        }
    }
}

/// Warns of plans that may fill the file system of a loop device's sparse file: other programs would find no room
/// there, and holes could not be restored.
fn warn_of_sparse(runs: &[PlannedRun]) {
    for run in runs {
        let Some(file) = run.target.sparse_file() else { continue };
        let of_tests = run.plan.active().filter(|planned| planned.writes >= WriteLevel::SameBytes);
        let of_test = |planned: &PlannedTest| {
            planned.restores.as_ref().map_or(planned.cost.written_bytes, |it| it.area_bytes)
        };
        let written = of_tests.map(of_test).fold(0, u64::saturating_add);
        let wanted = written.min(file.missing_bytes);
        // A tenth of what is free should stay so.
        if wanted > file.free_bytes / 10 * 9 {
            output::remark(&format!(
                "writing {} may take up to {} for its sparse file {}, and {} are free there: that file system may \
                 fill up",
                run.target.info().path,
                Bytes(wanted),
                file.path.display(),
                Bytes(file.free_bytes)
            ));
        }
    }
}

/// The place for the before-images. During the restore, signals are answered with the time left.
pub fn journal<'s>(
    plan: &Plan,
    run_id: &str,
    signals: &'s RunSignals,
) -> Option<RestoreJournal<'s>> {
    let folder = PathBuf::from(&restores(plan)?.journal);
    let mut begun: Option<Instant> = None;
    let on_step = move |step: journal::RollbackStep| {
        let begin = *begun.get_or_insert_with(Instant::now);
        if signals.was_signalled_again() {
            output::remark(&restore_remaining(step, begin.elapsed().as_secs_f64()));
        }
    };
    let run = (run_id.to_string(), plan.seed);
    Some(RestoreJournal::new(folder, run, Arc::clone(&signals.held), on_step))
}
