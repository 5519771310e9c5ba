//! A plan on its way.

use drivescope_drive::Target;
use drivescope_drive::gate::RawDisk;
use drivescope_model::document::TestResult;
use drivescope_model::plan::Plan;

/// A target with its plan.
pub struct PlannedRun {
    /// What is to be run.
    pub plan: Plan,
    /// On what.
    pub target: Target,
    /// The claim of a block device that the plan may write.
    pub claim: Option<RawDisk>,
    /// The result of the interrupted test that the plan continues.
    pub resumed: Option<TestResult>,
}
