//! Plans that nobody means: longer than a month.

use crate::exit::Failure;
use drivescope_model::options::TestKind;
use drivescope_model::plan::{Plan, PlannedTest};

/// Longest plan, in days. The largest drives of today are filled and read back within ten.
const DAYS_MAX: f64 = 30.0;

/// Refuses a plan that would not end within a month, and names what makes it so long.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    let days = |seconds: f64| seconds / 86_400.0;
    let total = days(plan.active().map(|planned| planned.cost.seconds).sum());
    let seconds = |planned: &&PlannedTest| planned.cost.seconds;
    let longest = plan.active().max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    match longest {
        Some(longest) if total > DAYS_MAX => Err(Failure::usage(format!(
            "suite {} would take about {total:.0} days, and {DAYS_MAX} are the most: {} alone takes {:.0} ({})",
            plan.suite.name,
            longest.test,
            days(longest.cost.seconds),
            cause(plan, longest.test),
        ))),
        _ => Ok(()),
    }
}

/// The options that say how long a test takes.
fn cause(plan: &Plan, test: TestKind) -> String {
    let suite = &plan.suite;
    let time = match test {
        TestKind::Transfer => suite.transfer.time,
        TestKind::Latency => suite.latency.time,
        TestKind::TinyWrites => suite.tiny_writes.time,
        TestKind::Align => return "ask for less align.time or align.total".to_string(),
        TestKind::Surface => return "ask for fewer surface.samples and accesses".to_string(),
        TestKind::Fill | TestKind::Verify => return "ask for less with --size".to_string(),
    };
    format!("{} rounds of {time} per cell: ask for less --time or --rounds", suite.rounds)
}
