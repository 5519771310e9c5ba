//! `verify`
use super::{Context, no_overwriting, planned, skipped};
use crate::error::BenchError;
use crate::results::TestRecord;
use crate::session::Session;
use drivescope_model::options::TestKind;
use drivescope_model::plan::PlannedTest;
pub(super) fn plan(context: &Context<'_>) -> PlannedTest {
    if let Some(reason) = no_overwriting(context.target.kind) {
        return skipped(TestKind::Verify, context, reason);
    }
    planned(TestKind::Verify, context)
}
pub(super) fn run(_: &mut Session<'_>, _: &mut TestRecord) -> Result<(), BenchError> {
    Err(BenchError::Unsuitable("not yet".into()))
}
