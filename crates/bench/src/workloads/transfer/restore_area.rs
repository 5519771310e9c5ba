//! The part of a block device that a test overwrites and puts back: planned before, confessed after.

use crate::judging::test_record::TestRecord;
use crate::plan::plan_context::PlanContext;
use drivescope_drive::journal;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::plan::{Cost, Restores, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;
use std::ops::Range;

/// Areas begin and end at multiples of this, which suits every sector and erase block in use.
const UNIT: u64 = 1 << 20;

/// What a test that writes `asked` bytes would restore on this target; `None` where it restores nothing.
/// Errors: there is no folder for the originals.
pub(super) fn of(context: &PlanContext<'_>, asked: Bytes) -> Result<Option<Restores>, String> {
    if context.target.kind != TargetKind::Block || context.allowed != WriteLevel::Restore {
        return Ok(None);
    }
    let folder = journal::state_folder().map_err(|error| error.to_string())?;
    let area = area(context.span_bytes, asked);
    let area_bytes = area.end - area.start;
    Ok(Some(Restores {
        from_bytes: area.start,
        area_bytes,
        journal: folder.display().to_string(),
        journal_bytes: journal::file_bytes(area_bytes),
    }))
}

/// The middle of a span: its rates are average, and the partition table and the heads of file systems lie elsewhere, so
/// that a drive that waits for `drivescope restore` is still recognized.
fn area(span: u64, asked: Bytes) -> Range<u64> {
    let len = asked.0.min(span) / UNIT * UNIT;
    let from = (span - len) / 2 / UNIT * UNIT;
    from..from + len
}

pub(super) fn cost(restores: &Restores, context: &PlanContext<'_>) -> Cost {
    let bytes = restores.area_bytes;
    // Read for the journal, written back, read again; the journal's own disk is charged as the drive.
    let seconds = 4.0 * bytes as f64 / (context.typical.mb_s * 1e6);
    Cost { seconds, read_bytes: 2 * bytes, written_bytes: bytes, computed_s: 0.0 }
}

/// Says of these cells that they hold for the area.
pub(super) fn notice_confined(record: &mut TestRecord, area: &Range<u64>, cells: &[String]) {
    let evidence = format!(
        "writes only {} from byte {} ({}), restored afterwards",
        Bytes(area.end - area.start),
        area.start,
        Bytes(area.start)
    );
    for cell in cells {
        let about = format!("{}.{cell}", record.test());
        record.notice(Finding::new(FindingId::ConfinedWrites, evidence.clone()).about(about));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_lies_in_the_middle_and_within() {
        let mib = 1 << 20;
        assert_eq!(area(1000 * mib, Bytes::mib(200)), 400 * mib..600 * mib);
        assert_eq!(area(64 * mib + 512, Bytes::mib(16)), 24 * mib..40 * mib);
        assert_eq!(area(10 * mib + 512, Bytes::mib(256)), 0..10 * mib);
        assert!(area(512, Bytes::mib(1)).is_empty());
    }
}
