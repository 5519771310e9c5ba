//! Refuses plans longer than a month, which are mistakes.

use crate::exit::Failure;
use drivescope_bench::workloads;
use drivescope_model::plan::{Plan, PlannedTest};

/// In days. The largest drives today are filled and read back within ten.
const DAYS_MAX: f64 = 30.0;

/// Refuses a plan longer than a month, and names its longest part.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    fn days(seconds: f64) -> f64 {
        seconds / 86_400.0
    }
    let total = days(plan.active().map(|planned| planned.cost.seconds).sum());
    let seconds = |planned: &&PlannedTest| planned.cost.seconds;
    let longest = plan.active().max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    match longest {
        Some(longest) if total > DAYS_MAX => Err(Failure::usage(format!(
            "suite {} would take about {total:.0} days; the limit is {DAYS_MAX}; {} alone takes {:.0} ({})",
            plan.suite.name,
            longest.test,
            days(longest.cost.seconds),
            workloads::find(longest.test).how_to_shorten(&plan.suite),
        ))),
        _ => Ok(()),
    }
}
