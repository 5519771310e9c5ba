//! `read-files`: rates of files that are read back, by the order of writing and by where they lie.

use super::{WorkloadReport, file_rates};
use crate::terminal::sections;
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::TestKind;

const EVIDENCE: &[Evidence] =
    &[Evidence::of_writes(Criterion::SequentialReads, "read-files.read.mean_mb_s")];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Reading the files back",
    evidence: EVIDENCE,
    extremes: "min and max",
    headline: |result| file_rates::headline(result, "read", "read"),
    suits: Some(&["media library"]),
    charts: |result| {
        file_rates::charts(result, "read", ["read-files", "read-files-position"], "read back")
    },
    ..WorkloadReport::new(TestKind::ReadFiles, |result, style| {
        sections([
            file_rates::table(result, "read", "cold, MB/s", style),
            file_rates::table(result, "again", "again, MB/s", style),
        ])
    })
};
