//! A cell of synced writes: each is flushed before the next one is sent, as a database commits.

use crate::error::BenchError;
use crate::io::payload::Payload;
use crate::io::queue::QueueSpec;
use crate::judging::round::Cache;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::Load;
use crate::loops::serial::SerialLoop;
use crate::session::Session;
use crate::workloads::shared::flush_honesty::flush_lies;

/// Runs a round of `load`, whose latencies include the flushes. It has no ramp: no cache is to be filled.
pub(super) fn measure(
    session: &Session<'_>,
    load: &Load,
    cell: &str,
    round: u32,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    session.phase_started(cell, round, session.plan.suite.rounds);
    let control = Control::default();
    let block_bytes = load.shape.block.0 as u32;
    let task = SerialLoop {
        block_bytes,
        offsets: load.offsets(0),
        payload: Payload::new(load.data_seed, load.pass),
        sync: true,
        think_ns: u64::from(load.shape.think_us) * 1_000,
        time_ns: load.time.nanos(),
        ops_max: load.ops_max,
        control: &control,
    };
    let device = session.device();
    let spec = QueueSpec { depth: 1, ahead: 1, block_bytes, dsync: false };
    let (worker, counters) = session.run_task(device, spec, &control, task)?;
    let recorder = &worker.output;
    if let Some(finding) = flush_lies(session, record, cell, recorder) {
        record.notice(finding);
    }
    let bytes = recorder.bytes as f64;
    let mut kept = counters.end(session, worker.into(), cell, round);
    if device.is_direct() {
        kept.asked = (kept.measured.recorder.errors == 0).then_some((0.0, bytes));
    } else {
        kept.cache = Cache::SyncedWrites;
    }
    session.add_round(kept, record)
}

#[cfg(test)]
mod tests {
    use crate::testing::{run_on, suite_of, value};
    use crate::workload::Workload;
    use crate::workloads::transfer::TransferWorkload;
    use drivescope_model::findings::FindingId;
    use drivescope_model::options::TestKind;
    use drivescope_model::units::Secs;

    #[test]
    fn writes_wait_for_the_platter_unless_flush_lies() {
        let mut suite = suite_of(TestKind::Transfer);
        (suite.rounds, suite.transfer.time) = (3, Secs(1.0));
        suite.transfer.cells =
            ["rnd4k_q1t1.write", "rnd4k_q1t1.sync"].map(|cell| cell.parse().unwrap()).to_vec();
        let rate = |drive: &str| {
            let result = run_on(drive, suite.clone());
            let lies = result.findings.iter().any(|it| {
                it.id == FindingId::FlushIgnored && it.concerns("transfer.rnd4k_q1t1.sync.iops")
            });
            let of = |cell| value(&result, &format!("transfer.rnd4k_q1t1.{cell}.iops")).unwrap();
            (of("sync"), of("write"), lies)
        };
        // 5,400 rpm: half a turn takes 5.6 ms, and the head moves besides.
        let (synced, cached, lies) = rate("sim:wd40efrx");
        assert!(
            (30.0..110.0).contains(&synced) && cached > 2.0 * synced && !lies,
            "{synced} {cached}"
        );
        let (synced, _, lies) = rate("sim:wd40efrx?fault=flush-lies");
        assert!(synced > 200.0 && lies, "{synced}");
    }

    #[test]
    fn a_queue_of_synced_writes_is_refused() {
        let mut suite = suite_of(TestKind::Transfer);
        suite.transfer.cells = vec!["rnd4k_q4t1.sync".parse().unwrap()];
        let message = TransferWorkload.check(&suite).unwrap_err();
        assert!(message.contains("rnd4k_q4t1.sync") && message.contains("q1t1"), "{message}");
    }
}
