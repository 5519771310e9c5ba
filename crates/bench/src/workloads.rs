//! The tests of the product, one module each: their options, cost, what they may write, phases and metrics.

mod align;
mod apps;
mod copy;
mod fill;
mod fill_files;
mod geometry;
mod latency;
mod read_files;
mod self_test;
pub(crate) mod shared;
mod sql;
mod steady;
mod surface;
mod tiny_writes;
mod transfer;
mod verify;

use crate::workload::Workload;
use drivescope_model::options::TestKind;

/// Every workload, in the order in which `drivescope tests` lists them.
pub const WORKLOADS: [&dyn Workload; TestKind::ALL.len()] = [
    &transfer::TransferWorkload,
    &latency::LatencyWorkload,
    &surface::SurfaceWorkload,
    &tiny_writes::TinyWritesWorkload,
    &align::AlignWorkload,
    &fill::FillWorkload,
    &verify::VerifyWorkload,
    &apps::AppsWorkload,
    &copy::CopyWorkload,
    &fill_files::FillFilesWorkload,
    &read_files::ReadFilesWorkload,
    &steady::SteadyWorkload,
    &sql::SqlWorkload,
    &geometry::GeometryWorkload,
    &self_test::SelfTestWorkload,
];

pub fn find(test: TestKind) -> &'static dyn Workload {
    let found = WORKLOADS.into_iter().find(|workload| workload.kind() == test);
    found.expect("tested: every kind stands in the table")
}

#[cfg(test)]
mod testing {
    pub mod old_disks;
    pub mod random_disks;
}
#[cfg(test)]
mod tests;
