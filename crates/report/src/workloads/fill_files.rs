//! `fill-files`: rates of files as a file system fills, by their order and by where they lie.

use super::{WorkloadReport, file_rates};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::TestKind;

const EVIDENCE: &[Evidence] =
    &[Evidence::of_writes(Criterion::SequentialWrites, "fill-files.write.mean_mb_s")];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Writing files until it is full",
    evidence: EVIDENCE,
    extremes: "min and max",
    headline: |result| file_rates::headline(result, "write", "written"),
    suits: Some(&["backup"]),
    charts: |result| {
        file_rates::charts(result, "write", ["fill-files", "fill-files-position"], "written")
    },
    ..WorkloadReport::new(TestKind::FillFiles, |result, style| {
        file_rates::table(result, "write", "files, MB/s", style)
    })
};
