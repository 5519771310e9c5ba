//! `tiny-writes`: what a program that writes a few bytes at a time will see, cached and uncached,
//! beside what the drive itself does (seed 001: a script of 16-byte writes, and `dd bs=512`).
//!
//! Every pattern runs as such a program would run it: one `pwrite` or `pread` at a time through the
//! page cache, which is empty at the start of each round (except where the cell is called warm).

use super::{Context, no_writes, planned, skipped};
use crate::control::Control;
use crate::device::Device;
use crate::error::BenchError;
use crate::offsets::{Offsets, derive_seed};
use crate::payload::Payload;
use crate::phase::Measured;
use crate::queue::QueueSpec;
use crate::results::TestRecord;
use crate::serial::{SerialLoop, SerialOutcome};
use crate::session::Session;
use drivescope_model::cell::{Mix, Order};
use drivescope_model::event::Event;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::TestKind;
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_stats::summary;
use std::ops::Range;

/// The unit in which the drive itself does a tiny write: a page of the file system.
const DRIVE_BLOCK: u32 = 4096;

/// Through which path a pattern goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    /// The page cache, empty at first.
    Cold,
    /// The page cache, as the round before left it.
    Warm,
    /// Direct I/O: the drive itself.
    Direct,
}

/// One pattern of access.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    cell: &'static str,
    mix: Mix,
    order: Order,
    path: Path,
    /// Flush after every write.
    sync: bool,
    /// The cell that shows the same done by the drive itself.
    drive: Option<&'static str>,
}

/// In the order they run; each `drive` cell is one of them.
const PATTERNS: [Pattern; 8] = [
    pattern("rnd16_buffered", Mix::WRITE, Order::Rnd, Path::Cold, false, Some("rnd4k_direct")),
    pattern("rnd16_sync", Mix::WRITE, Order::Rnd, Path::Cold, true, Some("rnd4k_direct_sync")),
    pattern("rnd4k_direct", Mix::WRITE, Order::Rnd, Path::Direct, false, None),
    pattern("rnd4k_direct_sync", Mix::WRITE, Order::Rnd, Path::Direct, true, None),
    pattern("seq512_write", Mix::WRITE, Order::Seq, Path::Cold, false, Some("seq_direct_write")),
    pattern("seq512_read_warm", Mix::READ, Order::Seq, Path::Warm, false, Some("seq_direct_read")),
    pattern("seq512_read_cold", Mix::READ, Order::Seq, Path::Cold, false, Some("seq_direct_read")),
    pattern("seq_direct_write", Mix::WRITE, Order::Seq, Path::Direct, false, None),
];

/// The drive's own sequential reads, apart because a file target has only reads.
const SEQ_DIRECT_READ: Pattern =
    pattern("seq_direct_read", Mix::READ, Order::Seq, Path::Direct, false, None);

const fn pattern(
    cell: &'static str,
    mix: Mix,
    order: Order,
    path: Path,
    sync: bool,
    drive: Option<&'static str>,
) -> Pattern {
    Pattern { cell, mix, order, path, sync, drive }
}

fn patterns() -> impl Iterator<Item = Pattern> {
    PATTERNS.into_iter().chain([SEQ_DIRECT_READ])
}

pub(super) fn plan(context: &Context<'_>) -> PlannedTest {
    let refused = match context.target.kind {
        TargetKind::Block => Some("needs a directory"),
        _ => no_writes(context, WriteLevel::OwnFiles),
    };
    if let Some(reason) = refused {
        return skipped(TestKind::TinyWrites, context, reason);
    }
    let options = &context.suite.tiny_writes;
    let mut test = planned(TestKind::TinyWrites, context);
    let rounds = f64::from(context.suite.rounds);
    let phases = patterns().count() as f64;
    // Flushing random pages costs about one random write each.
    let flush = f64::from(options.writes) / (context.assumed.iops * context.assumed.queue_gain);
    let stream = context.assumed.mb_s * 1e6 * options.time.0 * rounds;
    test.cost = Cost {
        seconds: (phases * options.time.0 + flush.min(60.0)) * rounds,
        read_bytes: (3.0 * stream) as u64,
        written_bytes: (2.0 * stream) as u64 + u64::from(options.writes) * 4096,
    };
    test
}

pub(super) fn run(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let suite = &session.plan.suite;
    let size = suite.tiny_writes.size;
    let (buffered, direct) = session.data_file_both_ways(size)?;
    let span = 0..buffered.size_bytes().min(size.0);
    for round in 1..=suite.rounds {
        for pattern in patterns() {
            session.pause(suite.pause)?;
            let device = if pattern.path == Path::Direct { &direct } else { &buffered };
            run_pattern(session, device, pattern, round, span.clone(), record)?;
        }
    }
    compare_with_drive(record);
    Ok(())
}

fn run_pattern(
    session: &mut Session<'_>,
    device: &Device,
    pattern: Pattern,
    round: u32,
    span: Range<u64>,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    let pass = session.next_pass();
    let options = &session.plan.suite.tiny_writes;
    let block_bytes = block_of(pattern, options, device);
    let seed = derive_seed(session.plan.seed, pattern.cell, round, 0);
    // Small writes go anywhere, not to multiples of their size; direct I/O needs whole blocks.
    let anywhere = pattern.order == Order::Rnd && pattern.path != Path::Direct;
    let step = if anywhere { 1 } else { u64::from(block_bytes) };
    let span = span.start..span.end - if anywhere { u64::from(block_bytes) } else { 0 };
    if pattern.path == Path::Cold {
        device.evict()?;
    }
    let rounds = session.plan.suite.rounds;
    session.emit(Event::PhaseStarted { label: pattern.cell.to_string(), round, rounds });
    let control = Control::default();
    let random = pattern.order == Order::Rnd;
    let task = SerialLoop {
        block_bytes,
        offsets: Offsets::new(pattern.order, span, step, pattern.mix, 0.0, seed),
        payload: Payload::new(session.plan.seed, pass),
        sync: pattern.sync,
        final_sync: pattern.mix.writes() && !pattern.sync,
        time_ns: options.time.nanos(),
        ops_max: if random { u64::from(options.writes) } else { u64::MAX },
        control: &control,
    };
    // Where direct I/O is refused, a write to "the drive" is done when it has arrived there.
    let dsync = pattern.path == Path::Direct && !device.is_direct();
    let spec = QueueSpec { depth: 1, ahead: 1, block_bytes, dsync };
    let (worker, watch) = session.watched(device, spec, &control, task)?;
    let SerialOutcome { recorder, final_sync_ns, queue_error } = worker.output;
    if let Some(source) = queue_error {
        return Err(BenchError::Engine { engine: "threads", other: "uring", source });
    }
    let flushed_s = (recorder.elapsed_ns() + final_sync_ns) as f64 / 1e9;
    let (ops, bytes) = (recorder.ops as f64, recorder.bytes as f64);
    if let Some(finding) = flush_lies(session, pattern, ops / recorder.elapsed_ns() as f64 * 1e9) {
        record.notice(finding);
    }
    let measured = Measured { recorder, effort: worker.effort };
    let mut kept = watch.end(session, measured, pattern.cell, round);
    kept.cached_on_purpose = pattern.path != Path::Direct;
    if pattern.mix.writes() && !pattern.sync && flushed_s > 0.0 {
        kept.extra.push(("flushed_iops", ops / flushed_s));
        kept.extra.push(("flushed_mb_s", bytes / flushed_s / 1e6));
    }
    session.keep(kept, record)
}

/// A rotating drive that has each random write on its medium before it answers waits half a turn for the place
/// on average, and seeks besides: more than two in a turn, and its flush returns too early.
fn flush_lies(session: &Session<'_>, pattern: Pattern, iops: f64) -> Option<Finding> {
    let rpm = f64::from(session.target.drive()?.rpm.filter(|&rpm| rpm > 1)?);
    let allowed = 2.0 * rpm / 60.0;
    (pattern.sync && iops > allowed).then(|| {
        let evidence = format!(
            "{}: {iops:.0} writes/s, each flushed, are more than {rpm:.0} rpm allow ({allowed:.0}/s)",
            pattern.cell
        );
        Finding::new(FindingId::WriteCached, evidence).about(format!("tiny-writes.{}", pattern.cell))
    })
}

/// Bytes per request of a pattern.
fn block_of(
    pattern: Pattern,
    options: &drivescope_model::options::TinyWritesOptions,
    device: &Device,
) -> u32 {
    match (pattern.path, pattern.order) {
        (Path::Direct, Order::Rnd) => DRIVE_BLOCK,
        // The smallest stream the drive itself takes: the asked block, or its own unit.
        (Path::Direct, Order::Seq) => {
            (options.stream_block.0 as u32).next_multiple_of(device.align_bytes())
        }
        (_, Order::Rnd) => options.write.0 as u32,
        (_, Order::Seq) => options.stream_block.0 as u32,
    }
}

/// Puts the drive's own figures beside what a program sees.
fn compare_with_drive(record: &mut TestRecord) {
    let mut metrics = Vec::new();
    for pattern in patterns() {
        let Some(drive_cell) = pattern.drive else { continue };
        let (Some(seen), Some(drive)) =
            (medians(record, pattern.cell), medians(record, drive_cell))
        else {
            continue;
        };
        let share = (100.0 * (1.0 - drive.0 / seen.0)).max(0.0);
        metrics.push((pattern.cell, "drive_iops", drive.0));
        metrics.push((pattern.cell, "drive_mb_s", drive.1));
        metrics.push((pattern.cell, "cache_share_pct", share));
        let unflushed = pattern.mix.writes() && !pattern.sync;
        if unflushed && share > 0.0 {
            let evidence = format!(
                "{}: a program sees {:.0} writes/s, the drive does {:.0}",
                pattern.cell, seen.0, drive.0
            );
            let about = format!("tiny-writes.{}", pattern.cell);
            record.notice(Finding::new(FindingId::Unflushed, evidence).about(about));
        }
    }
    for (cell, quantity, value) in metrics {
        record.metric(&format!("{cell}.{quantity}"), vec![value]);
    }
}

/// Median rates of a cell: requests and MB per second.
fn medians(record: &TestRecord, cell: &str) -> Option<(f64, f64)> {
    let rounds = record.rounds().iter().filter(|round| round.cell == cell);
    let (iops, mb_s): (Vec<f64>, Vec<f64>) =
        rounds.map(|round| (round.measured.iops(), round.measured.mb_s())).unzip();
    Some((summary::median(&iops)?, summary::median(&mb_s)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comparison_names_a_pattern_of_the_drive() {
        for pattern in patterns() {
            if let Some(drive) = pattern.drive {
                let found = patterns().find(|p| p.cell == drive).unwrap();
                assert_eq!(found.path, Path::Direct);
                assert_eq!((found.order, found.sync), (pattern.order, pattern.sync));
                assert_eq!(found.mix, pattern.mix);
            }
        }
    }
}
