//! Reading through the page cache where direct I/O is refused.

use crate::error::BenchError;
use crate::io::device::IoDevice;
use crate::judging::test_record::TestRecord;
use drivescope_model::findings::{Finding, FindingId};

/// Pages in use by others may stay; more than this and the cache answers.
const RESIDENT_MAX: f64 = 0.01;

/// Evicts a file that can only be read through the page cache, and proves it.
pub(crate) fn evict(
    device: &IoDevice,
    cell: &str,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    device.evict()?;
    let test = record.test();
    let refused = "a real transfer refused O_DIRECT".to_string();
    record.notice(Finding::new(FindingId::DirectRefused, refused).about(test.name()));
    if let Some(share) = device.resident_share().filter(|&share| share > RESIDENT_MAX) {
        let evidence = format!(
            "{cell}: {:.0} % of the file stayed in the page cache after eviction",
            share * 100.0
        );
        record.notice(Finding::new(FindingId::PageCache, evidence).about(format!("{test}.{cell}")));
    }
    Ok(())
}
