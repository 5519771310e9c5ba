//! The one interface of all tests of the product.

use crate::error::BenchError;
use crate::judging::test_record::TestRecord;
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::PlannedTest;
use drivescope_model::resume::ResumePoint;
use drivescope_model::target::TargetKind;
use drivescope_model::units::Secs;

/// One question asked of a target. Each is in [`crate::workloads::WORKLOADS`].
pub trait Workload: Sync {
    /// Its name is the one on the command line, in suites and in metric keys.
    fn kind(&self) -> TestKind;

    fn question(&self) -> &'static str;

    /// What it reads and writes in a directory, of a file and of a device, for `drivescope tests`.
    fn access(&self) -> &'static str;

    /// For a plan that takes too long.
    fn how_to_shorten(&self, suite: &Suite) -> String;

    /// Why its options cannot be used, if so; completes "suite x: …".
    fn check(&self, suite: &Suite) -> Result<(), String>;

    fn apply(&self, _overrides: &Overrides, _suite: &mut Suite) -> Result<(), String> {
        Ok(())
    }

    /// The given options that only this test has.
    fn given_options(&self, _overrides: &Overrides) -> Vec<GivenOption> {
        Vec::new()
    }

    /// Another test whose options it uses, too.
    fn borrows_options_of(&self) -> Option<TestKind> {
        None
    }

    /// Whether it works on the whole target, from its start: such a test can continue on a device.
    fn takes_whole_target(&self) -> bool {
        matches!(self.continuation(), Some(Continuation { on: TargetKind::Block, .. }))
    }

    /// How it continues after an interruption; `None`: it begins anew.
    fn continuation(&self) -> Option<Continuation> {
        None
    }

    /// Takes one step towards a shorter time on a slow drive, with or without a test file; `false` if none is left.
    fn shorten(&self, _suite: &mut Suite, _has_test_file: bool) -> bool {
        false
    }

    /// Whether its rates count reads and writes together, which a duplex link carries at once.
    fn counts_both_directions(&self) -> bool {
        false
    }

    /// Phases of a round that last for a set time, however many requests a drive does in it.
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

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError>;
}

#[derive(Debug, Clone, Copy)]
pub struct GivenOption {
    /// As typed: `--db`.
    pub name: &'static str,
    pub implies_test: bool,
}

impl GivenOption {
    pub(crate) fn among(all: &[(&'static str, bool, bool)]) -> Vec<Self> {
        let given = all.iter().filter(|(.., is_given)| *is_given);
        given.map(|&(name, implies_test, _)| Self { name, implies_test }).collect()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Continuation {
    pub on: TargetKind,
    /// Whether it reads back what it wrote, so that nothing else may have written since.
    pub reads_back: bool,
    pub continue_at: fn(ResumePoint, &mut Suite),
    /// Whether the options begin where the interrupted test began, which could continue instead.
    pub begins_anew: fn(&Suite) -> bool,
}

pub(crate) fn shorten_rounds(rounds: u32, time: Secs) -> String {
    format!("{rounds} rounds of {time} per cell: use a shorter --time or fewer --rounds")
}
