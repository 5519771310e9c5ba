//! The one interface of all tests of the product.

use crate::error::BenchError;
use crate::overrides::Overrides;
use crate::plan_context::PlanContext;
use crate::session::Session;
use crate::test_record::TestRecord;
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::PlannedTest;
use drivescope_model::units::Secs;

/// A test: one question asked of a target. Each stands in [`crate::workloads::WORKLOADS`].
pub trait Workload: Sync {
    /// Which test; its name is the one on the command line, in suites and in metric keys.
    fn kind(&self) -> TestKind;

    /// The question it answers, for `drivescope tests`.
    fn question(&self) -> &'static str;

    /// What it reads and writes in a directory, of a file and of a device, for `drivescope tests`.
    fn access(&self) -> &'static str;

    /// Which options make it shorter, for a plan that takes too long.
    fn how_to_shorten(&self, suite: &Suite) -> String;

    /// Why its options cannot be used, if so; completes "suite x: …".
    fn check(&self, suite: &Suite) -> Result<(), String>;

    /// Takes over what the command line changes in its options.
    fn apply(&self, _overrides: &Overrides, _suite: &mut Suite) -> Result<(), String> {
        Ok(())
    }

    /// How many phases of a round last for a set time, however many requests a drive does in it.
    fn timed_phases(&self, _suite: &Suite) -> usize {
        0
    }

    /// Whether its reads are answered without the medium where nothing was ever written.
    fn reads_existing_data(&self) -> bool {
        false
    }

    /// Whether it works on the target itself, or on the test file in a directory. Others make files of their own.
    fn needs_test_file(&self) -> bool {
        true
    }

    /// What it would do on a target, before anything runs: cost, what it may write, why it cannot run.
    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest;

    /// Measures.
    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError>;
}

/// How to shorten a workload whose cells each take a set time per round.
pub(crate) fn shorten_rounds(rounds: u32, time: Secs) -> String {
    format!("{rounds} rounds of {time} per cell: use a shorter --time or fewer --rounds")
}
