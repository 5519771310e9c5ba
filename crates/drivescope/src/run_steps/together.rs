//! `--together`: several drives at the same time, each on threads of its own, with one document each.

mod rows;

use super::PlannedRun;
use super::measure::{Machine, Outcomes, RunOptions, begin, measure_one};
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use drivescope_bench::plan::together_trial;
use drivescope_drive::Target;
use drivescope_machine::{Roots, shared_paths};
use drivescope_model::document::Run;
use drivescope_model::together::Together;
use drivescope_report::text;
use drivescope_store::Store;
use rows::DriveRows;
use std::thread;

/// Runs all plans at once and prints each result when all have ended. A run that fails does not end the others.
pub fn measure_together(
    planned: Vec<PlannedRun>,
    options: &RunOptions,
    stores: Vec<Option<Store>>,
    signals: &RunSignals,
) -> Result<Code, Failure> {
    let machine = &Machine::here();
    // While nothing else runs.
    planned.iter().for_each(|it| {
        machine.calibration(&it.target);
    });
    let mut runs: Vec<Run> = planned.iter().map(|it| begin(it, options, machine)).collect();
    let together = shared_by(&planned, &runs, signals);
    for run in &mut runs {
        run.together = Some(together.clone());
    }
    if !options.quiet && !options.json && !options.table {
        output::print_line(&text::together_announced(&runs, output::style()));
    }
    let rows = &DriveRows::new(&runs, !options.quiet && output::is_watched());
    let ended: Vec<_> = thread::scope(|scope| {
        let measuring: Vec<_> = (runs.into_iter().zip(planned).zip(stores).enumerate())
            .map(|(row, ((run, planned), mut store))| {
                let listen = move |events, _: &Run, _: &_| rows.listen(row, events);
                scope.spawn(move || {
                    let store = store.as_mut();
                    measure_one(run, planned, options, store, signals, machine, listen)
                })
            })
            .collect();
        measuring.into_iter().map(|it| it.join().expect("a run does not panic")).collect()
    });
    rows.clear();
    let mut outcomes = Outcomes::new(options, signals);
    for outcome in ended {
        match outcome {
            Ok(ended) => {
                outcomes.announce(&ended.run);
                outcomes.add(ended);
            }
            Err(failure) => outcomes.add_failure(failure),
        }
    }
    outcomes.conclude()
}

/// What the targets share, and what they reach at once.
fn shared_by(planned: &[PlannedRun], runs: &[Run], signals: &RunSignals) -> Together {
    let targets: Vec<&Target> = planned.iter().map(|it| &it.target).collect();
    let stacks: Vec<_> = targets.iter().map(|target| target.stack()).collect();
    let shared = shared_paths::of(&Roots::host(), &stacks);
    let trial = together_trial::measure(&targets, &shared, &signals.stop);
    Together {
        targets: runs.iter().map(|run| run.target.path.clone()).collect(),
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        shared,
        trial,
    }
}
