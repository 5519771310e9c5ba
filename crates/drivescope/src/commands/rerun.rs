//! `rerun`: the plan of a stored run again, on the same target.

use crate::arguments::RerunArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::named_run;
use crate::run_steps::write_permission::WritePermission;
use crate::run_steps::{PlannedRun, carry_out, leftovers, targets};
use crate::signals::RunSignals;
use drivescope_bench::plan::overrides::Overrides;
use drivescope_bench::{planner, suites};
use drivescope_model::plan::{Engine, Plan, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_report::clean;
use std::path::PathBuf;

/// Makes the plan anew, since the target may have changed, and carries it out.
pub fn rerun(arguments: RerunArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let outcome = arguments.outcome;
    let earlier = named_run(&arguments.run, outcome.store.store.as_deref())?;
    let Plan { suite, seed, engine, own_bytes, .. } = earlier.plan;
    // What was imported may have come from anywhere.
    let mut suite = suites::adapt(suite, &Overrides::default())?;
    let path = &earlier.target.path;
    if path.contains(char::REPLACEMENT_CHARACTER) {
        let message = format!(
            "{path} was not UTF-8, so the run does not have the whole path; use drivescope run PATH"
        );
        return Err(Failure::usage(message));
    }
    let permission = WritePermission::of(&arguments.raw);
    let target = targets::find(&[PathBuf::from(path)], permission.as_ref(), &arguments.raw.not_of)?
        .remove(0);
    // Where io_uring is refused now, threads must do, as for a new run.
    let asked = Some(engine).filter(|engine| *engine == Engine::Threads);
    let engine = targets::engine_for(&target, asked, outcome.quiet)?;
    leftovers::clean_target(&target, false, outcome.dry_run)?;
    if let (Some(then), Some(now), false) = (&earlier.drive, target.drive(), outcome.quiet)
        && (&then.model, &then.serial) != (&now.model, &now.serial)
    {
        fn name(model: &Option<String>) -> String {
            model.clone().unwrap_or_else(|| "unknown".to_string())
        }
        let (then, now) = (name(&then.model), name(&now.model));
        output::remark(&clean(&format!("the drive was {then} in that run, and is {now} now")));
    }
    // What is a directory now may have been a file or a device then.
    if target.info().kind == TargetKind::Directory && own_bytes.0 > 0 {
        suite.size = own_bytes;
    }
    let level = permission.as_ref().map_or(WriteLevel::Read, |permission| permission.level);
    let plan = planner::plan(suite, seed, engine, &target, true, level)?;
    let runs = vec![PlannedRun { plan, target, claim: None, resumed: None, ended: Vec::new() }];
    carry_out(runs, outcome, (earlier.label, earlier.price), permission, signals)
}
