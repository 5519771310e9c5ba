//! Whether a drive has on its medium what it was told to flush.

use crate::session::Session;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_model::options::TestKind;

/// A rotating drive that has each random write on its medium before it answers waits half a turn for the place
/// on average, and seeks besides: more than two in a turn, and its flush returns too early.
pub(crate) fn flush_lies(
    session: &Session<'_>,
    test: TestKind,
    cell: &str,
    iops: f64,
) -> Option<Finding> {
    let rpm = f64::from(session.target.drive()?.rpm.filter(|&rpm| rpm > 1)?);
    let allowed = 2.0 * rpm / 60.0;
    (iops > allowed).then(|| {
        let evidence = format!(
            "{cell}: {} writes/s, each flushed, is more than {rpm:.0} rpm allows ({allowed:.0}/s)",
            rounded(iops)
        );
        Finding::new(FindingId::WriteCached, evidence).about(format!("{test}.{cell}"))
    })
}
