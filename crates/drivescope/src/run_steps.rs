//! The steps of a run, in this order: targets, write permission, (resume,) claim, measure, save.

mod before_images;
mod claim;
mod dry_run;
mod earlier_capacity;
pub mod fio_jobs;
pub mod job_ticket;
pub mod leftovers;
pub mod max_duration;
mod measure;
pub mod phybs_table;
mod prompt;
mod report_file;
pub mod resume;
mod run_document;
mod save;
pub mod targets;
mod temperature_log;
mod together;
pub mod write_permission;

use crate::arguments::{OutcomeArguments, ShowOptions};
use crate::exit::{Code, Failure};
use crate::live_view;
use crate::output;
use crate::signals::RunSignals;
use crate::store_access::{check_answers, open_for_run, own_file};
use drivescope_bench::error::BenchError;
use drivescope_drive::Target;
use drivescope_drive::document_file::DocumentFile;
use drivescope_drive::gate::RawDisk;
use drivescope_model::document::TestResult;
use drivescope_model::plan::Plan;
use drivescope_model::units::Price;
use drivescope_store::{Store, StoreError, StoreFault, StoreLocation, store_words};
pub use measure::Measurer;
use measure::{RunOptions, measure};
use prompt::Terminal;
use report_file::ReportFile;
pub use save::SaveOutcome;
use write_permission::WritePermission;

pub const STOPPING: &str = "interrupted: saving partial results; Ctrl-C again quits now";

pub struct PlannedRun {
    pub plan: Plan,
    pub target: Target,
    /// Claim of a block device that the plan may write.
    pub claim: Option<RawDisk>,
    /// Result of the interrupted test that the plan continues.
    pub resumed: Option<TestResult>,
    /// Results of the tests that the interrupted run had ended, where they count for this one.
    pub ended: Vec<TestResult>,
}

/// Prints the plans (dry run), or claims the devices and runs them.
pub fn carry_out(
    mut runs: Vec<PlannedRun>,
    outcome: OutcomeArguments,
    (label, price): (Option<String>, Option<Price>),
    permission: Option<WritePermission>,
    signals: &RunSignals,
) -> Result<Code, Failure> {
    runs.iter().try_for_each(|run| max_duration::check(&run.plan))?;
    if let Some(permission) = &permission {
        runs.iter().try_for_each(|run| permission.check_plan(&run.plan))?;
    }
    let OutcomeArguments {
        dry_run,
        quiet,
        live,
        together,
        job,
        no_save,
        metrics,
        output,
        show,
        store,
    } = outcome;
    let job = job.as_deref().map(job_ticket::read).transpose()?;
    let together = together && runs.len() > 1;
    live.then(live_view::check_terminal).transpose()?;
    let (ShowOptions { json, verbose, table }, store) = (show, store.store.as_deref());
    if table {
        runs.iter().try_for_each(|run| phybs_table::check(&run.plan))?;
    }
    let metrics = metrics.map(|path| DocumentFile::named(&path, true)).transpose()?;
    let report = output.map(|path| ReportFile::named(&path, runs.len())).transpose()?;
    if dry_run {
        return dry_run::dry_run(&runs, store, json, permission.as_ref());
    }
    if let Some(permission) = &permission {
        let kept_in = StoreLocation::parse(store).ok().filter(|_| !no_save);
        claim_devices(&mut runs, permission, kept_in, !quiet && !json, signals)?;
    }
    let open = || if no_save { Ok(None) } else { open_store(store, permission.is_some(), signals) };
    // Runs side by side write to the store by a connection each.
    let count = if together { runs.len() } else { 1 };
    let mut opened = (0..count).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
    signals.begin(STOPPING);
    // Of the local store, if the server of the named one is away.
    let kept_in = opened[0].as_ref().map(|opened| opened.words().to_string());
    let store_words = kept_in.unwrap_or_else(|| store_words(store));
    let options = RunOptions {
        label,
        price,
        quiet,
        has_several: runs.len() > 1,
        live,
        together,
        json,
        verbose,
        table,
        job,
        metrics,
        report,
        store_words,
    };
    if together {
        return together::measure_together(runs, &options, opened, signals);
    }
    measure(runs, &options, opened.pop().flatten(), signals)
}

/// Claims what the plans write to; whoever sits at the terminal may be asked.
fn claim_devices(
    runs: &mut [PlannedRun],
    permission: &WritePermission,
    kept_in: Option<StoreLocation>,
    may_ask: bool,
    signals: &RunSignals,
) -> Result<(), Failure> {
    signals.begin(STOPPING);
    let own = claim::own_places(kept_in.and_then(|store| own_file(&store)));
    let terminal = if may_ask { Terminal::find(&signals.stop) } else { None };
    before_images::check(runs)?;
    claim::claim_all(runs, permission, &own, terminal.as_ref())
}

/// A signal meanwhile ends the run afterwards, so that no half-made store is left. An earlier signal has already been
/// handled. Where the server of a store is away, the local store takes its place. Without a writable home and without
/// --store, a note says that the run is not saved.
pub fn open_store(
    store: Option<&str>,
    is_claimed: bool,
    signals: &RunSignals,
) -> Result<Option<Store>, Failure> {
    if !is_claimed {
        signals.begin("");
    }
    let location = StoreLocation::parse(store);
    location.iter().try_for_each(check_answers)?;
    let opened = location.and_then(|location| open_for_run(&location));
    let is_homeless = |error: &StoreError| {
        let of_home = [StoreFault::Location, StoreFault::Denied, StoreFault::ReadOnly];
        store.is_none() && of_home.contains(&error.fault)
    };
    let opened = match opened {
        Ok(store) => Some(store),
        Err(error) if is_homeless(&error) => {
            output::remark(&format!("this run is not saved: {error}"));
            None
        }
        Err(error) => {
            let failure = Failure::from(error);
            let message = format!("{}, or run with --no-save", failure.message);
            return Err(Failure { message, ..failure });
        }
    };
    if !is_claimed && signals.was_signalled() {
        return Err(BenchError::Interrupted.into());
    }
    Ok(opened)
}
