//! Whether a drive has on its medium what a flush should have written there.

use crate::io::recorder::Recorder;
use crate::judging::rate_drop::is_mechanical;
use crate::judging::test_record::TestRecord;
use crate::session::Session;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::{latency_us, rounded};
use drivescope_stats::summary;
use drivescope_stats::uniform_wait::is_without_waits;

/// A page of one-bit cells, the fastest of flash to write, is programmed in 200 to 500 µs.
const FLUSH_LEAST_US: f64 = 100.0;

/// No disk turns faster, times a minute.
const RPM_MAX: u32 = 15_000;

/// A rotating drive that has each random write on its medium before it answers waits half a turn for the place
/// on average, and seeks besides: more than two in a turn, and by more than chance makes of the few of a short round,
/// and its flush returns too early.
pub(crate) fn flush_lies(
    session: &Session<'_>,
    record: &TestRecord,
    cell: &str,
    recorder: &Recorder,
) -> Option<Finding> {
    let drive = session.target.drive().filter(|drive| drive.rotates())?;
    // What hides how fast it turns may hide as well that it does not: slow reads show a disk.
    let is_disk = || is_mechanical(record.rounds());
    let rpm = f64::from(drive.rpm.or_else(|| is_disk().then_some(RPM_MAX))?);
    let allowed = 2.0 * rpm / 60.0;
    let (writes, elapsed_s) = (recorder.ops as f64, recorder.elapsed_ns() as f64 / 1e9);
    is_without_waits(writes, elapsed_s * rpm / 60.0).then(|| {
        let iops = writes / elapsed_s.max(1e-9);
        let of = if drive.rpm.is_some() { "" } else { ", the speed of the fastest disks," };
        let evidence = format!(
            "{cell}: {} writes/s, each flushed, is more than {rpm:.0} rpm{of} allows ({allowed:.0}/s)",
            rounded(iops)
        );
        Finding::new(FindingId::FlushIgnored, evidence).about(format!("{}.{cell}", record.test()))
    })
}

/// A drive of flash whose flush costs no time although it reports a cache that needs one: rounds of the cell
/// `flushed`, where each write is followed by a flush, against those of the same writes without, `plain`, by any two of
/// them: one slow round of `plain` would hide what a flush takes.
pub(crate) fn free_flush(
    session: &Session<'_>,
    record: &TestRecord,
    plain: &str,
    flushed: &str,
) -> Option<Finding> {
    session.target.drive().filter(|drive| stores_on_flash(drive) && session.is_direct())?;
    let us = |cell: &str| -> Vec<f64> {
        record.rounds_of(cell).map(|round| 1e6 / round.measured.iops()).collect()
    };
    let (plain_us, flushed_us) = (summary::min(&us(plain))?, summary::max(&us(flushed))?);
    let flush_us = flushed_us - plain_us;
    (flush_us < FLUSH_LEAST_US).then(|| {
        let evidence = format!(
            "{flushed}: {} writes/s, so a flush takes {}; flash needs over {FLUSH_LEAST_US:.0} µs to store a page",
            rounded(1e6 / flushed_us),
            latency_us(flush_us.max(0.0))
        );
        Finding::new(FindingId::FreeFlush, evidence).about(format!("{}.{flushed}", record.test()))
    })
}

/// Behind a virtual machine's disk the host may store data as it likes; a disk is compared with its rotation.
fn stores_on_flash(drive: &Drive) -> bool {
    let is_flash = match drive.kind {
        DriveKind::Ssd | DriveKind::Nvme | DriveKind::Card => true,
        DriveKind::Simulated => !drive.rotational_hint,
        _ => false,
    };
    is_flash && drive.write_cache.as_deref() != Some("write through")
}

#[cfg(test)]
mod tests {
    use crate::testing::{changed_model, run_on, suite_of};
    use drivescope_model::findings::{Finding, FindingId};
    use drivescope_model::options::TestKind;

    /// Where the speed is unknown, that of the fastest disks is the bound; a drive may be an SSD behind a bridge.
    #[test]
    fn fastest_rotation_bounds_disk_of_unknown_speed() {
        fn lies(target: &str, cells: &[&str]) -> Option<String> {
            let mut suite = suite_of(TestKind::Transfer);
            (suite.rounds, suite.transfer.time.0) = (2, 1.0);
            suite.transfer.cells = cells.iter().map(|cell| cell.parse().unwrap()).collect();
            let result = run_on(target, suite);
            let of = |finding: &Finding| finding.id == FindingId::FlushIgnored;
            result.findings.iter().find(|finding| of(finding)).map(|it| it.evidence.clone())
        }
        let (_file, disk) = changed_model("wd40efrx", &[("rotation_rpm", "")]);
        let both = ["rnd4k_q1t1.read", "rnd4k_q1t1.sync"];
        assert_eq!(lies(&disk, &both), None);
        let lying = format!("{disk}?fault=flush-lies");
        let evidence = lies(&lying, &both).unwrap();
        assert!(evidence.contains("15000 rpm, the speed of the fastest disks"), "{evidence}");
        assert_eq!(lies(&lying, &both[1..]), None, "nothing shows that it turns");
    }

    #[test]
    fn ignored_flush_is_found_on_flash_and_disks() {
        fn findings(test: TestKind, target: &str) -> Vec<FindingId> {
            let mut suite = suite_of(test);
            (suite.rounds, suite.tiny_writes.writes) = (3, 300);
            (suite.tiny_writes.time.0, suite.transfer.time.0) = (0.1, 0.2);
            suite.transfer.cells =
                ["rnd4k_q1t1.write", "rnd4k_q1t1.sync"].map(|cell| cell.parse().unwrap()).to_vec();
            let result = run_on(target, suite);
            let flush = [FindingId::FreeFlush, FindingId::FlushIgnored];
            let ids = result.findings.iter().map(|finding| finding.id);
            ids.filter(|id| flush.contains(id)).collect()
        }
        for (model, expected) in [
            ("pm871b-128", FindingId::FreeFlush),
            ("kioxia-bg4-128", FindingId::FreeFlush),
            ("laptop-ssd-2015", FindingId::FreeFlush),
            ("wd40efrx", FindingId::FlushIgnored),
        ] {
            for test in [TestKind::Transfer, TestKind::TinyWrites] {
                assert_eq!(findings(test, &format!("sim:{model}")), [], "{model} {test}");
                let lying = findings(test, &format!("sim:{model}?fault=flush-lies"));
                assert_eq!(lying, [expected], "{model} {test}");
            }
        }
    }
}
