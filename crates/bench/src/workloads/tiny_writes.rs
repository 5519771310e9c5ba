//! `tiny-writes`: what a program that writes a few bytes at a time will see, cached and uncached,
//! beside what the drive itself does ("Hard Drive Metrics That Matter": a script of 16-byte writes, and `dd bs=512`).
//!
//! Every pattern runs as such a program would run it: one `pwrite` or `pread` at a time through the
//! page cache, which is empty at the start of each round (except where the cell is called warm).

mod drive_comparison;
mod patterns;

use crate::error::BenchError;
use crate::io::device::IoDevice;
use crate::io::offsets::{Offsets, derive_seed};
use crate::io::payload::Payload;
use crate::io::queue::QueueSpec;
use crate::io::recorder::Recorder;
use crate::judging::round::Cache;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::serial::{FinalFlush, SerialLoop};
use crate::plan::expected_speed::{DEPTHS_MIN, ExpectedSpeed};
use crate::plan::option_checks::{check_time, ensure};
use crate::plan::overrides::Overrides;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workload::{Workload, shorten_rounds};
use crate::workloads::shared::flush_honesty::{flush_lies, free_flush};
use crate::workloads::shared::open_target;
use drive_comparison::{CounterSource, compare_with_drive};
use drivescope_model::cell::Order;
use drivescope_model::options::{Suite, TestKind, TinyWritesOptions};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::{Bytes, Secs};
use patterns::{IoPath, Pattern, WARMING, check_cells, chosen};
use std::ops::Range;

/// Fewest writes that say something on a slow drive.
const SLOW_WRITES_MIN: u32 = 100;
/// Calls of `write` through the page cache per second, of one thread.
const CACHED_IOPS: f64 = 2e6;
/// The same on a simulated host; how many of them are computed in the time of a request to the drive; and how many
/// a round has at most: a gigabyte of the smallest says as much as ten.
const SIMULATED_CACHED_IOPS: f64 = 0.8e6;
const CACHED_GAIN: f64 = 5.0;
const SIMULATED_STREAM_MAX: u64 = 2_000_000;
/// Several rounds of a stream share these, so that ten do not take as long to compute as ten gigabytes.
const SIMULATED_STREAMS_MAX: u64 = 1_200_000;
/// A stream past the page cache has fewer: the drive itself does each of its requests. A fast drive does this many a
/// second.
const SIMULATED_DIRECT_PART: u64 = 3;
const SIMULATED_DIRECT_IOPS: f64 = 20e3;
/// The unit in which the drive itself does a tiny write: a page of the file system.
const DRIVE_BLOCK: u32 = 4096;
const PART_UNIT: u64 = 1 << 20;
const THINKTIME_MAX: Secs = Secs(1.0);

pub struct TinyWritesWorkload;

impl Workload for TinyWritesWorkload {
    fn kind(&self) -> TestKind {
        TestKind::TinyWrites
    }

    fn question(&self) -> &'static str {
        "how fast are programs that write a few bytes at a time"
    }

    fn access(&self) -> &'static str {
        "in a directory: writes files of its own; not on a file or a device"
    }

    fn how_to_shorten(&self, suite: &Suite) -> String {
        shorten_rounds(suite.rounds, suite.tiny_writes.time)
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        fn small(bytes: Bytes) -> bool {
            (1..=1 << 20).contains(&bytes.0)
        }
        let options = &suite.tiny_writes;
        check_time(options.time)?;
        check_cells(&options.cells)?;
        ensure(options.thinktime.0 <= THINKTIME_MAX.0, || {
            format!("tiny-writes.thinktime must be at most {THINKTIME_MAX}")
        })?;
        ensure(small(options.write) && small(options.stream_block) && options.writes > 0, || {
            "tiny-writes.write and stream_block must be between 1 byte and 1 MiB".to_string()
        })?;
        let largest = options.write.0.max(options.stream_block.0).max(4096);
        ensure(options.size.0 >= largest * 16, || {
            "tiny-writes.size must hold 16 of the largest blocks and at least 64 KiB".to_string()
        })
    }

    fn apply(&self, overrides: &Overrides, suite: &mut Suite) -> Result<(), String> {
        let options = &mut suite.tiny_writes;
        options.size = overrides.size.map_or(options.size, |size| options.size.min(size));
        options.time = overrides.time.unwrap_or(options.time);
        Ok(())
    }

    fn shorten(&self, suite: &mut Suite, has_test_file: bool) -> bool {
        let options = &mut suite.tiny_writes;
        let is_long = has_test_file && options.writes > SLOW_WRITES_MIN;
        if is_long {
            options.writes = (options.writes / 2).max(SLOW_WRITES_MIN);
        }
        is_long
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        let refused = match context.target.kind {
            TargetKind::Block => Some("needs a directory"),
            _ => context.write_refusal(WriteLevel::OwnFiles),
        };
        if let Some(reason) = refused {
            return context.skipped(self.kind(), reason);
        }
        let options = &context.suite.tiny_writes;
        let mut test = context.planned(self.kind());
        let rounds = f64::from(context.suite.rounds);
        let phases = chosen(options).count() as f64;
        // Flushing random pages costs about one random write each.
        let flush = f64::from(options.writes) / (context.typical.iops * context.typical.queue_gain);
        let stream = context.typical.mb_s * 1e6 * options.time.0 * rounds;
        let cached = chosen(options)
            .filter(|it| it.mix.writes() && it.order == Order::Seq && it.path != IoPath::Direct);
        let cached_bytes = CACHED_IOPS * options.stream_block.0 as f64 * options.time.0;
        let write_back_s = context.write_back_s(cached_bytes.min(options.size.0 as f64));
        let flush = flush.min(60.0) + write_back_s * cached.count() as f64;
        test.cost = Cost {
            seconds: (phases * options.time.0 + flush) * rounds,
            read_bytes: (3.0 * stream) as u64,
            written_bytes: round_bytes(context).saturating_mul(context.suite.rounds.into()),
            computed_s: context
                .computed_s(computed_requests(options, context.suite.rounds) * rounds),
        };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        let suite = &session.plan.suite;
        let TinyWritesOptions { size, new_file, .. } = suite.tiny_writes;
        let (buffered, direct) = open_target::buffered_and_direct(session, size, new_file)?;
        let span = 0..buffered.size_bytes().min(size.0);
        let (streams, at_random) = parts(&span, &suite.tiny_writes);
        for round in 1..=suite.rounds {
            if !session.has_time_for(round, record) {
                break;
            }
            for pattern in chosen(&suite.tiny_writes) {
                session.pause(suite.pause)?;
                let device = if pattern.path == IoPath::Direct { &direct } else { &buffered };
                let part = if pattern.may_scatter() { &at_random } else { &streams };
                run_pattern(session, device, pattern, round, part.clone(), record)?;
                if pattern.mix.writes() {
                    session.free_replaced_blocks()?;
                }
            }
        }
        let counted = CounterSource::on(session.target);
        let has_drive = session.target.memory_backed().is_none();
        compare_with_drive(record, &at_random, counted, has_drive);
        if let Some(finding) = free_flush(session, record, "rnd4k_direct", "rnd4k_direct_sync") {
            record.notice(finding.about("tiny-writes.rnd16_sync"));
        }
        Ok(())
    }
}

/// The parts of a file for streams, and for writes that may scatter them: a half each if both run.
fn parts(span: &Range<u64>, options: &TinyWritesOptions) -> (Range<u64>, Range<u64>) {
    let has = |scatters: bool| chosen(options).any(|pattern| pattern.may_scatter() == scatters);
    let middle = span.start + (span.end - span.start) / 2 / PART_UNIT * PART_UNIT;
    if middle == span.start || !has(true) || !has(false) {
        return (span.clone(), span.clone());
    }
    (span.start..middle, middle..span.end)
}

/// Requests that a stream on a simulated host has in a round at most.
fn simulated_stream_max(path: IoPath, rounds: u32) -> u64 {
    let most = match u64::from(rounds) {
        0 | 1 => SIMULATED_STREAM_MAX,
        several => SIMULATED_STREAMS_MAX / several,
    };
    if path == IoPath::Direct { most / SIMULATED_DIRECT_PART } else { most }
}

/// Requests of a round on a simulated drive, in those of the drive: the page cache answers most.
fn computed_requests(options: &TinyWritesOptions, rounds: u32) -> f64 {
    let of = |pattern: Pattern| match pattern.order {
        Order::Rnd => f64::from(options.writes),
        Order::Seq => {
            let (iops, gain) = match pattern.path {
                IoPath::Direct => (SIMULATED_DIRECT_IOPS, 1.0),
                _ => (SIMULATED_CACHED_IOPS, CACHED_GAIN),
            };
            (simulated_stream_max(pattern.path, rounds) as f64).min(iops * options.time.0) / gain
        }
    };
    chosen(options).map(of).sum()
}

/// Bytes that all patterns of a round write at most. A small write anywhere takes a page, and sometimes two.
fn round_bytes(context: &PlanContext<'_>) -> u64 {
    let options = &context.suite.tiny_writes;
    let fastest = context.fastest.unwrap_or(context.typical);
    let of = |pattern: Pattern| {
        let block = block_of(pattern, options, context.target.io_align_bytes);
        let cached = pattern.path != IoPath::Direct;
        let requests = match pattern.order {
            Order::Rnd => u64::from(options.writes),
            Order::Seq => stream_requests(cached, block.into(), options, fastest),
        };
        let page = if cached && pattern.order == Order::Rnd { DRIVE_BLOCK } else { 0 };
        requests.saturating_mul(u64::from(block) + u64::from(page))
    };
    chosen(options).filter(|pattern| pattern.mix.writes()).map(of).fold(0, u64::saturating_add)
}

fn run_pattern(
    session: &mut Session<'_>,
    device: &IoDevice,
    pattern: Pattern,
    round: u32,
    span: Range<u64>,
    record: &mut TestRecord,
) -> Result<(), BenchError> {
    let pass = session.next_pass();
    let options = &session.plan.suite.tiny_writes;
    let block_bytes = block_of(pattern, options, device.align_bytes());
    let seed = derive_seed(session.plan.seed, pattern.cell, round, 0);
    // Small writes go anywhere, not to multiples of their size; direct I/O needs whole blocks.
    let anywhere = pattern.order == Order::Rnd && pattern.path != IoPath::Direct;
    let step = if anywhere { 1 } else { u64::from(block_bytes) };
    let span = span.start..span.end - if anywhere { u64::from(block_bytes) } else { 0 };
    let span = match pattern.path {
        IoPath::Warm => {
            span.start..(span.start + just_written(record, round)).clamp(step, span.end)
        }
        IoPath::Cold | IoPath::Direct => span,
    };
    if pattern.path == IoPath::Cold {
        device.evict()?;
    }
    let ops_max = most(pattern, session, &span, block_bytes);
    if pattern.mix.writes() {
        let taken = ops_max.saturating_mul(block_bytes.max(DRIVE_BLOCK).into());
        session.check_room_to_overwrite(taken)?;
    }
    session.phase_started(pattern.cell, round, session.plan.suite.rounds);
    let control = Control::default();
    let task = SerialLoop {
        block_bytes,
        offsets: Offsets::new(pattern.order, span.clone(), step, pattern.mix, 0.0, seed),
        payload: Payload::new(session.plan.seed, pass),
        sync: pattern.sync,
        think_ns: options.thinktime.nanos(),
        time_ns: options.time.nanos(),
        ops_max,
        control: &control,
    };
    // Where direct I/O is refused, a write to "the drive" is done when it has arrived there.
    let dsync = pattern.path == IoPath::Direct && !device.is_direct();
    let spec = QueueSpec { depth: 1, ahead: 1, block_bytes, dsync };
    let (worker, counters) = session.run_task(device, spec, &control, task)?;
    let recorder = &worker.output;
    let (ops, bytes) = (recorder.ops as f64, recorder.bytes as f64);
    let lie = pattern.sync.then(|| flush_lies(session, record, pattern.cell, recorder));
    if let Some(finding) = lie.flatten() {
        record.notice(finding);
    }
    let mut kept = counters.end(session, worker.into(), pattern.cell, round);
    kept.cache = cache_of(pattern);
    if pattern.path == IoPath::Direct && kept.measured.recorder.errors == 0 {
        kept.asked = Some(if pattern.mix.writes() { (0.0, bytes) } else { (bytes, 0.0) });
    }
    if pattern.mix.writes() && !pattern.sync {
        // After the counters were read: what is not on the drive by then, the page cache still has.
        let flush_ns = flush(device, spec, &mut kept.measured.recorder)?;
        let flushed_s = (kept.measured.recorder.elapsed_ns() + flush_ns) as f64 / 1e9;
        kept.extra.push(("flushed_iops", ops / flushed_s.max(1e-9)));
        kept.extra.push(("flushed_mb_s", bytes / flushed_s.max(1e-9) / 1e6));
    }
    session.add_round(kept, record)
}

fn cache_of(pattern: Pattern) -> Cache {
    match pattern {
        Pattern { path: IoPath::Direct, .. } => Cache::Past,
        Pattern { sync: true, .. } => Cache::SyncedWrites,
        _ if pattern.mix.writes() => Cache::Writes,
        _ => Cache::Reads,
    }
}

/// Bytes that the stream of writes of this round wrote: what the page cache has for the reads that follow.
fn just_written(record: &TestRecord, round: u32) -> u64 {
    let stream = record.rounds().iter().rfind(|r| r.cell == WARMING && r.round == round);
    stream.map_or(0, |round| round.measured.recorder.bytes)
}

/// Waits until everything written is on the drive, and returns how long that took; a failure is added to
/// `recorder`, as one of the requests before it would be.
fn flush(device: &IoDevice, spec: QueueSpec, recorder: &mut Recorder) -> Result<u64, BenchError> {
    if recorder.errors > 0 {
        return Ok(0);
    }
    let (flush_ns, failure) = device.run(spec, FinalFlush, &mut || ())?.output;
    if let Some(failure) = failure {
        recorder.failed(failure);
    }
    Ok(flush_ns)
}

fn most(pattern: Pattern, session: &Session<'_>, span: &Range<u64>, block_bytes: u32) -> u64 {
    let options = &session.plan.suite.tiny_writes;
    let speeds = ExpectedSpeed::upper_bound(session.target).filter(|_| pattern.mix.writes());
    let simulated_max = simulated_stream_max(pattern.path, session.plan.suite.rounds);
    let most = if session.target.is_simulated() { simulated_max } else { u64::MAX };
    let bound = speeds.map_or(most, |fastest| {
        let cached = pattern.path != IoPath::Direct;
        stream_requests(cached, block_bytes.into(), options, fastest)
    });
    match (pattern.order, pattern.path) {
        (Order::Rnd, _) => u64::from(options.writes),
        // After the end it would continue at the start, which is in memory by then.
        (Order::Seq, IoPath::Cold) => ((span.end - span.start) / u64::from(block_bytes)).min(bound),
        (Order::Seq, _) => bound,
    }
}

/// Requests of `block_bytes` that a round of a stream of tiny writes sends at fastest.
fn stream_requests(
    cached: bool,
    block_bytes: u64,
    options: &TinyWritesOptions,
    fastest: ExpectedSpeed,
) -> u64 {
    let iops = if cached { CACHED_IOPS } else { fastest.iops };
    let iops = iops.min(fastest.mb_s * 1e6 / block_bytes as f64);
    ((iops * options.time.0) as u64).max(DEPTHS_MIN)
}

fn block_of(pattern: Pattern, options: &TinyWritesOptions, align_bytes: u32) -> u32 {
    match (pattern.path, pattern.order) {
        (IoPath::Direct, Order::Rnd) => DRIVE_BLOCK,
        // The smallest stream the drive itself takes: the asked block, or its own unit.
        (IoPath::Direct, Order::Seq) => {
            (options.stream_block.0 as u32).next_multiple_of(align_bytes.max(1))
        }
        (_, Order::Rnd) => options.write.0 as u32,
        (_, Order::Seq) => options.stream_block.0 as u32,
    }
}

#[cfg(test)]
mod tests;
