//! Zoned block devices: what may be planned on them.

use super::*;
use crate::plan::plan_context::HOST_MANAGED;
use crate::testing::{plan_context, run_target, suite_of};
use drivescope_model::drive::{Drive, Zoned};
use drivescope_model::options::{FillMode, Suite, SurfaceWrite, VerifyPhase};
use drivescope_model::plan::{PlannedTest, WriteLevel};
use drivescope_model::target::{TargetInfo, TargetKind};

/// The plan of a test on a block device that may be overwritten, whose drive reports these zones.
fn planned_on(zoned: Option<Zoned>, suite: &Suite) -> PlannedTest {
    let target = run_target("sim:wd40efrx");
    let drive = Drive { zoned, ..target.drive().unwrap().clone() };
    let info = TargetInfo { kind: TargetKind::Block, ..target.info().clone() };
    find(suite.tests[0]).plan(&plan_context(suite, &info, &drive))
}

#[test]
fn nothing_is_written_to_zones_of_the_host() {
    let refused = |test: &PlannedTest| test.skip.as_deref() == Some(HOST_MANAGED);
    for test in [TestKind::Align, TestKind::Fill, TestKind::Verify] {
        let planned = planned_on(Some(Zoned::HostManaged), &suite_of(test));
        assert!(refused(&planned), "{planned:?}");
    }
    let mut surface = suite_of(TestKind::Surface);
    surface.surface.write = SurfaceWrite::SameBytes;
    for suite in [surface, suite_of(TestKind::Transfer)] {
        let planned = planned_on(Some(Zoned::HostManaged), &suite);
        assert_eq!((planned.skip, planned.writes), (None, WriteLevel::Read));
        assert!(!planned.omitted.is_empty());
        assert!(planned.omitted.iter().all(|part| part.ends_with(HOST_MANAGED)));
    }
}

#[test]
fn zones_of_the_host_can_be_read() {
    let mut verify = suite_of(TestKind::Verify);
    verify.verify.phase = VerifyPhase::Read;
    for suite in [verify, suite_of(TestKind::Latency)] {
        let planned = planned_on(Some(Zoned::HostManaged), &suite);
        assert_eq!((planned.skip, planned.writes), (None, WriteLevel::Read));
    }
}

#[test]
fn declared_shingled_disk_is_only_filled_in_full() {
    for zoned in [None, Some(Zoned::DriveManaged), Some(Zoned::HostAware)] {
        let mut fill = suite_of(TestKind::Fill);
        let planned = planned_on(zoned, &fill);
        match zoned {
            None => assert_eq!(planned.skip, None),
            Some(zoned) => {
                let reason = planned.skip.unwrap();
                let told = reason.contains("fill.mode=full") && reason.contains(zoned.name());
                assert!(told, "{reason}");
            }
        }
        fill.fill.mode = FillMode::Full;
        assert_eq!(planned_on(zoned, &fill).writes, WriteLevel::Destroy);
    }
}

#[test]
fn every_test_has_its_workload() {
    for (kind, workload) in TestKind::ALL.into_iter().zip(WORKLOADS) {
        assert_eq!(workload.kind(), kind);
    }
}
