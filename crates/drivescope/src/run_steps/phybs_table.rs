//! `--table`: the table of phybs.

use crate::exit::Failure;
use crate::output;
use drivescope_model::document::Run;
use drivescope_model::options::{AlignMethod, TestKind};
use drivescope_model::plan::Plan;
use drivescope_report::text;

const NO_PASSES: &str =
    "--table prints the passes of phybs, and this run has none; use run --suite phybs";

/// Refuses a plan without passes of phybs.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    let makes_passes = plan.suite.align.method == AlignMethod::Phybs
        && plan.active().any(|planned| planned.test == TestKind::Align);
    if makes_passes { Ok(()) } else { Err(Failure::usage(NO_PASSES)) }
}

/// Errors: the run has no passes of phybs.
pub fn phybs_table(run: &Run) -> Result<String, Failure> {
    text::phybs_table(run).ok_or_else(|| Failure::usage(NO_PASSES))
}

/// Several targets each under their name.
pub fn print_tables(runs: &[Run]) -> Result<(), Failure> {
    for (number, run) in runs.iter().enumerate() {
        if runs.len() > 1 {
            let gap = if number > 0 { "\n" } else { "" };
            output::print_line(&format!("{gap}{}", run.target.path));
        }
        output::print(&phybs_table(run)?);
    }
    Ok(())
}
