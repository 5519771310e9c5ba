//! Whether a block device holds anything to read. Flash answers reads of what was never written, or was
//! erased, without its chips, and a virtual disk without its storage: at once, and at a rate that no data
//! have. A disk that turns reads its sectors whatever is in them.

use crate::error::BenchError;
use crate::io::offsets::{Offsets, derive_seed};
use crate::io::queue::{IoCompletion, IoOp, IoQueue, IoRequest, IoTask, QueueSpec};
use crate::judging::round::{Round, distinct};
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::session::Session;
use drivescope_drive::Target;
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_model::cell::{Mix, Order};
use drivescope_model::drive::DriveKind;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::target::TargetKind;
use std::io;

/// Places that are examined, and how much of each: one block of most file systems and drives.
pub(crate) const PLACES: u32 = 64;
const BLOCK_BYTES: u32 = 4096;
/// If more than one in this many are deallocated, random reads take a different time.
const ONE_IN: u32 = 10;

/// Remarks on a target with little in it, examined anew.
pub(crate) fn sample(session: &Session<'_>) -> Result<Option<String>, BenchError> {
    if let Some(evidence) = session.target.simulated().and_then(|drive| never_written(drive)) {
        return Ok(Some(evidence));
    }
    let span = session.span(session.device());
    if !knows_what_is_erased(session.target) || span.end - span.start < BLOCK_BYTES.into() {
        return Ok(None);
    }
    let blank = blank_places(session)?.filter(|blank| blank * ONE_IN > PLACES);
    Ok(blank.map(|blank| {
        format!("{blank} of {PLACES} sampled blocks are empty: every byte is 00, or FF")
    }))
}

/// How many of [`PLACES`] blocks hold nothing; `None` if one cannot be read, which the tests will say.
pub(crate) fn blank_places(session: &Session<'_>) -> Result<Option<u32>, BenchError> {
    let device = session.device();
    let seed = derive_seed(session.plan.seed, "blank", 0, 0);
    let offsets =
        Offsets::new(Order::Rnd, session.span(device), BLOCK_BYTES.into(), Mix::READ, 0.0, seed);
    let spec = QueueSpec { depth: 1, ahead: 1, block_bytes: BLOCK_BYTES, dsync: false };
    let control = Control::default();
    let (outcome, _) = session.run_task(device, spec, &control, SampleBlocks { offsets })?;
    Ok(outcome.output)
}

/// The same of a simulated drive, which keeps no contents but knows.
fn never_written(drive: &SimulatedDrive) -> Option<String> {
    let (live, all) = (drive.live_bytes()?, drive.capacity_bytes());
    let nothing = all.saturating_sub(live);
    let percent = nothing as f64 * 100.0 / all.max(1) as f64;
    (nothing > all / u64::from(ONE_IN))
        .then(|| format!("{percent:.0} % of the drive is empty: never written, or erased"))
}

pub(crate) fn notice(record: &mut TestRecord, evidence: &str) {
    let test = record.test();
    let reads = |round: &&Round| match &round.load {
        Some(load) => load.mix.read_percent() > 0,
        None => !round.cell.starts_with("write"),
    };
    let cells = record.rounds().iter().filter(reads).map(|round| &round.cell);
    let about: Vec<String> =
        distinct(cells).into_iter().map(|cell| format!("{test}.{cell}")).collect();
    if !about.is_empty() {
        let finding = Finding::new(FindingId::BlankTarget, evidence);
        record.notice(about.into_iter().fold(finding, Finding::about));
    }
}

/// Whether the drive below may know that a block holds nothing. The file of a loop device is checked in another way.
fn knows_what_is_erased(target: &Target) -> bool {
    let is_real = !target.is_simulated() && target.memory_backed().is_none();
    let kind = target.drive().map(|drive| (drive.kind, drive.rotational_hint));
    let may = match kind {
        Some((DriveKind::Nvme | DriveKind::Ssd | DriveKind::Card | DriveKind::Virtual, _)) => true,
        Some((DriveKind::Composite | DriveKind::Unknown, rotates)) => !rotates,
        _ => false,
    };
    may && is_real && target.info().kind == TargetKind::Block && target.loop_device().is_none()
}

/// Counts the places that hold nothing; `None` if one cannot be read, which the tests will say.
struct SampleBlocks {
    offsets: Offsets,
}

impl IoTask for SampleBlocks {
    type Output = Option<u32>;

    fn run<Q: IoQueue>(mut self, queue: &mut Q) -> io::Result<Option<u32>> {
        let mut done: Vec<IoCompletion> = Vec::with_capacity(queue.slots() as usize);
        let mut blank = 0;
        for _ in 0..PLACES {
            let (_, offset) = self.offsets.draw();
            let request = IoRequest { op: IoOp::Read, offset, len: BLOCK_BYTES, slot: 0 };
            if queue.exchange(request, &mut done)?.is_err() {
                return Ok(None);
            }
            blank += u32::from(is_blank(queue.buffer(0)));
        }
        Ok(Some(blank))
    }
}

/// Whether all bytes are 00, or all FF, as erased flash has them.
fn is_blank(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|&first| {
        matches!(first, 0x00 | 0xff) && bytes.iter().all(|&byte| byte == first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judging::test_record::TestRecord;
    use crate::testing::{VirtualQueue, round};
    use drivescope_model::options::TestKind;

    #[test]
    fn block_of_one_repeated_byte_is_blank() {
        assert!(is_blank(&[0; 4096]) && is_blank(&[0xff; 4096]));
        assert!(!is_blank(&[7; 4096]));
        assert!(!is_blank(&[&[0; 4095][..], &[1]].concat()));
        assert!(!is_blank(&[]), "a simulated drive keeps no data");
    }

    #[test]
    fn an_unreadable_place_is_left_to_the_tests() {
        fn offsets() -> Offsets {
            Offsets::new(Order::Rnd, 0..1 << 30, 4096, Mix::READ, 0.0, 1)
        }
        let mut drive = VirtualQueue::new(2, 1, |_: &IoRequest, _| Err(libc::EIO));
        assert_eq!(SampleBlocks { offsets: offsets() }.run(&mut drive).unwrap(), None);
        let mut drive = VirtualQueue::new(2, 1, |_: &IoRequest, _| Ok(1_000));
        assert_eq!(SampleBlocks { offsets: offsets() }.run(&mut drive).unwrap(), Some(0));
        assert_eq!(drive.served.len(), PLACES as usize);
    }

    #[test]
    fn only_figures_of_reads_are_concerned() {
        let mut record = TestRecord::new(TestKind::Transfer);
        record.add(round("rnd4k_q1t1.read", 100, 4096, Mix::READ));
        record.add(round("rnd4k_q1t1.read", 100, 4096, Mix::READ));
        record.add(round("rnd4k_q1t1.write", 100, 4096, Mix::WRITE));
        record.add(round("rnd4k_q1t1.mix70", 100, 4096, "mix70".parse().unwrap()));
        notice(&mut record, "60 of 64");
        let found = record.finish(1).findings;
        let found = found.iter().find(|finding| finding.id == FindingId::BlankTarget).unwrap();
        assert_eq!(found.metrics, ["transfer.rnd4k_q1t1.read", "transfer.rnd4k_q1t1.mix70"]);
        let mut record = TestRecord::new(TestKind::Surface);
        record.add(round("rnd4k_q1t1.write", 100, 4096, Mix::WRITE));
        notice(&mut record, "60 of 64");
        assert!(record.finish(1).findings.iter().all(|f| f.id != FindingId::BlankTarget));
    }
}
