//! Values that no document of a measurement can hold, whichever program wrote it.

use super::FormatError;
use drivescope_model::document::Run;

/// Refuses impossible figures and sector sizes. Errors: the first of these, with the name of its field.
pub fn check(run: &Run) -> Result<(), FormatError> {
    let refuse = |what: String| Err(FormatError::NotARun(format!("run {}: {what}", run.id)));
    for metric in run.tests.iter().flat_map(|test| &test.metrics) {
        if let Some(why) = metric.impossible() {
            return refuse(format!(
                "{} is {why}; export the run again, or correct that metric",
                metric.key
            ));
        }
    }
    for (name, bytes) in sectors(run) {
        if bytes == 0 {
            return refuse(format!(
                "{name} is 0, and no drive has such sectors; export the run again, or correct that field"
            ));
        }
    }
    Ok(())
}

fn sectors(run: &Run) -> Vec<(&'static str, u32)> {
    let drive = run.drive.iter().flat_map(|drive| {
        [
            ("drive.logical_sector_bytes", drive.logical_sector_bytes),
            ("drive.physical_sector_bytes", drive.physical_sector_bytes),
        ]
    });
    drive.collect()
}
