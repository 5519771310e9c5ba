//! Whether a disk uses its queue: with many requests to choose from, it serves the nearest first.

use crate::judging::rate_drop::is_mechanical;
use crate::judging::round::Round;
use crate::judging::test_record::TestRecord;
use crate::loops::phase::LoopMode;
use drivescope_model::cell::Order;
use drivescope_model::drive::Drive;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::rounded;
use drivescope_stats::summary;

/// A disk that chooses among 16 or more requests gains a half and more; below this it takes them as they come.
const GAIN_MIN: f64 = 1.2;
/// A queue in which there is something to choose.
const DEEP_MIN: u32 = 16;
/// Fewer random requests of a cell than this leave an uncertainty of a tenth and more in its rate.
const REQUESTS_MIN: u64 = 100;

/// Whether a queue can speed a drive up: it turns, and no host of virtual machines may limit its requests.
pub(super) fn may_gain(drive: Option<&Drive>, findings: &[Finding]) -> bool {
    drive.is_some_and(Drive::rotates)
        && findings.iter().all(|finding| finding.id != FindingId::IoLimited)
}

/// A finding if random reads of a drive that turns gain nothing from a deep queue.
pub(super) fn no_gain(record: &TestRecord) -> Option<Finding> {
    let rounds = record.rounds();
    if !is_mechanical(rounds) {
        return None; // flash serves many at once; what it gains says nothing of an order
    }
    let alone = of_depth(rounds, |depth| depth == 1)?;
    let deep = of_depth(rounds, |depth| depth >= DEEP_MIN)?;
    let gain = deep.iops / alone.iops;
    (gain < GAIN_MIN && deep.block == alone.block).then(|| {
        let evidence = format!(
            "{}: {} reads/s against {} at queue depth 1, {gain:.2} times as many",
            deep.cell,
            rounded(deep.iops),
            rounded(alone.iops)
        );
        Finding::new(FindingId::NoQueueGain, evidence).about(format!("transfer.{}", deep.cell))
    })
}

struct CellRate<'r> {
    cell: &'r str,
    block: u64,
    iops: f64,
}

/// The first cell of direct random reads whose depth is one of those wanted; its median over the rounds.
fn of_depth(rounds: &[Round], wanted: impl Fn(u32) -> bool) -> Option<CellRate<'_>> {
    let random_reads = |round: &&Round| {
        round.load.as_ref().is_some_and(|load| {
            let shape = load.shape;
            let random = shape.order == Order::Rnd && load.mix.read_percent() == 100;
            random
                && shape.is_plain()
                && load.mode == LoopMode::Closed
                && wanted(shape.depth * shape.threads)
        })
    };
    let first = rounds.iter().find(random_reads)?;
    let of_cell = || rounds.iter().filter(|round| round.cell == first.cell);
    let requests: u64 = of_cell().map(|round| round.measured.recorder.ops).sum();
    let rates: Vec<f64> = of_cell().map(|round| round.measured.iops()).collect();
    let block = first.load.as_ref()?.shape.block.0;
    let iops = summary::median(&rates)?;
    (requests >= REQUESTS_MIN).then_some(CellRate { cell: &first.cell, block, iops })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{changed_model, has, run_on, run_target, suite_of};
    use drivescope_model::drive::DriveKind;
    use drivescope_model::options::TestKind;

    #[test]
    fn request_limit_or_slow_flash_is_not_missing_queue() {
        let limited = [Finding::new(FindingId::IoLimited, "x")];
        let healthy = [Finding::new(FindingId::SystemDisk, "x")];
        let disk = run_target("sim:wd40efrx").drive().unwrap().clone();
        assert!(!may_gain(Some(&disk), &limited));
        assert!(may_gain(Some(&disk), &healthy));
        let of = |kind, rotational_hint| Drive { kind, rotational_hint, rpm: None, ..disk.clone() };
        for (kind, hint, expected) in [
            (DriveKind::HardDisk, true, true),
            (DriveKind::Composite, true, true),
            (DriveKind::Composite, false, false),
            (DriveKind::Virtual, true, false),
            (DriveKind::Loop, true, false),
            (DriveKind::Card, false, false),
        ] {
            assert_eq!(may_gain(Some(&of(kind, hint)), &healthy), expected, "{kind:?} {hint}");
        }
        assert!(!may_gain(None, &[]));
    }

    /// Flash that takes 4 ms for each request, one after the other.
    #[test]
    fn slow_flash_has_no_rotation_finding() {
        let (_file, flash) = changed_model(
            "pm871b-128",
            &[("read_command_us", "read_command_us = 4000"), ("queue_depth", "queue_depth = 1")],
        );
        assert!(!gains_nothing(&flash));
        let (_file, disk) = changed_model("wd40efrx", &[("window = 32", "window = 1")]);
        assert!(gains_nothing(&disk));
    }

    fn gains_nothing(target: &str) -> bool {
        let mut suite = suite_of(TestKind::Transfer);
        (suite.rounds, suite.transfer.time.0) = (1, 3.0);
        suite.transfer.cells =
            ["rnd4k_q1t1.read", "rnd4k_q32t1.read"].map(|cell| cell.parse().unwrap()).to_vec();
        has(&run_on(target, suite), FindingId::NoQueueGain)
    }
}
