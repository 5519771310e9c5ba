//! `verify`: is the capacity real, does data read back.

mod capacity_probe;
mod capacity_result;
mod own_files;
mod quick;
mod refused_writes;

use crate::error::{BenchError, describe};
use crate::io::device::WorkerOutcome;
use crate::io::offsets::derive_seed;
use crate::io::payload::Payload;
use crate::io::queue::{IoFailure, QueueSpec};
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::loops::scan::{ScanRegion, TimedRegion};
use crate::plan::option_checks::{check_request, ensure};
use crate::plan::plan_context::PlanContext;
use crate::session::{PhaseCounters, Session};
use crate::workload::{Continuation, Workload};
use crate::workloads::shared::open_target;
use crate::workloads::shared::whole_drive::read_back::{ReadBack, ReadBackOutcome};
use crate::workloads::shared::whole_drive::resume_check::{self, StampsNeeded};
use crate::workloads::shared::whole_drive::timed_writes::{
    SoFar, WriteSettings, WrittenSum, flush, write, written_bytes,
};
use capacity_probe::{usual_landmarks, written_with_pushing_max};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::{Suite, TestKind, VerifyMode, VerifyPhase};
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use drivescope_model::resume::{ResumePhase, ResumePoint};
use drivescope_model::target::TargetKind;
use drivescope_model::units::{Bytes, Secs};
use quick::{CHUNK, Quick};
use refused_writes::{RefusedWrites, Writing, is_refusal};
use std::ops::Range;

/// A drive smaller than this has too few blocks to choose from.
const SIZE_MIN: Bytes = Bytes::mib(4);
/// A simulated drive keeps in memory what is written, so this much of it at most can be written.
const SIMULATED_MAX: Bytes = Bytes::gib(4);
/// Largest cache that the search covers: with it, a quick run stays within what f3probe writes.
const CACHE_MAX: u64 = 512 << 20;
const DEPTH: u32 = 4;
/// Pieces in which everything is written: short, so that it can be stopped at any time.
const PIECE: u64 = 64 << 20;
/// The first pass of full runs; no other test comes so far. What an earlier one of the same seed wrote, as a rerun
/// meets it, must not pass for what was last written to a drive.
const FULL_PASS: u64 = 1 << 32;
/// Single reads of a quick run on an honest drive: landmarks and samples.
const QUICK_READS: f64 = 12_000.0;

/// A simulated drive keeps what is written: making and moving this many bytes takes as long as computing a request.
const DATA_PER_REQUEST: f64 = 1_000.0;

pub struct VerifyWorkload;

impl Workload for VerifyWorkload {
    fn kind(&self) -> TestKind {
        TestKind::Verify
    }

    fn question(&self) -> &'static str {
        "is the capacity real, do data read back as written"
    }

    fn access(&self) -> &'static str {
        "in a directory: fills the free space with files of its own; on a file: reads back what an earlier run wrote \
         (verify.phase=read); on a device: everything on it is lost (--destroy SERIAL), with verify.phase=read it only \
         reads"
    }

    fn how_to_shorten(&self, _suite: &Suite) -> String {
        "use a smaller --size".to_string()
    }

    fn check(&self, suite: &Suite) -> Result<(), String> {
        let options = &suite.verify;
        if options.mode == VerifyMode::Quick {
            ensure(options.phase == VerifyPhase::Write, || {
                "verify.phase=read needs verify.mode=full: the quick mode always writes".to_string()
            })?;
            ensure(options.from.0 == 0, || {
                "verify.from needs verify.mode=full: the quick mode always starts from scratch"
                    .to_string()
            })?;
        }
        let whole = check_request(options.cache, "verify.cache").is_ok();
        ensure(whole && options.cache.0 <= CACHE_MAX, || {
            "verify.cache must be a multiple of 512 bytes, at most 512 MiB".to_string()
        })
    }

    fn needs_test_file(&self) -> bool {
        false
    }

    fn continuation(&self) -> Option<Continuation> {
        Some(Continuation {
            on: TargetKind::Block,
            reads_back: true,
            continue_at: |point, suite| {
                let options = &mut suite.verify;
                (options.mode, options.from) = (VerifyMode::Full, Bytes(point.at_bytes));
                options.phase = match point.phase {
                    ResumePhase::VerifyRead => VerifyPhase::Read,
                    _ => VerifyPhase::Write,
                };
            },
            begins_anew: |suite| suite.verify.mode == VerifyMode::Full && suite.verify.from.0 == 0,
        })
    }

    fn plan(&self, context: &PlanContext<'_>) -> PlannedTest {
        if context.target.kind == TargetKind::Directory {
            return own_files::plan(context);
        }
        let skip = |reason: String| context.skipped(self.kind(), reason);
        let options = &context.suite.verify;
        let (size, only_reads) = (context.span_bytes, options.phase == VerifyPhase::Read);
        if let Some(reason) = context.overwrite_refusal().filter(|_| !only_reads) {
            return skip(reason.to_string());
        }
        if size < SIZE_MIN.0 {
            return skip(format!("needs {} or more", SIZE_MIN.binary()));
        }
        let rate = context.sequential_write_mb_s(size) * 1e6;
        let mut test = context.planned(self.kind());
        test.writes = if only_reads { WriteLevel::Read } else { WriteLevel::Destroy };
        test.cost = match options.mode {
            VerifyMode::Quick => {
                let (cost, usual) = quick_cost(context);
                test.at_most = Some(usual);
                cost
            }
            VerifyMode::Full if options.from.0 >= size => {
                return skip(format!("verify.from is beyond the end, {size} bytes"));
            }
            VerifyMode::Full
                if context.target.kind == TargetKind::Simulated && size > SIMULATED_MAX.0 =>
            {
                let most = SIMULATED_MAX.binary();
                let why = "a simulated drive keeps what is written in this machine's memory";
                return skip(format!("{why}: use --size {most} or less, or verify.mode=quick"));
            }
            VerifyMode::Full => {
                let rest = size - options.from.0;
                let (written, read) = match options.phase {
                    VerifyPhase::Write => (rest + push_of(options.cache.0, size), size),
                    VerifyPhase::Read => (0, rest),
                };
                let seconds = (written + read) as f64 / rate;
                let computed_s = context.computed_s((written + read) as f64 / DATA_PER_REQUEST);
                Cost { seconds, read_bytes: read, written_bytes: written, computed_s }
            }
        };
        test
    }

    fn run(&self, session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
        if is_directory(session) {
            return own_files::run(session, record);
        }
        let remark = open_target::open(session)?;
        remark.into_iter().for_each(|remark| record.remark(remark));
        session.device().keep_contents();
        session.pause(session.plan.suite.pause)?;
        let device = session.device();
        let align = u64::from(device.align_bytes());
        let (size, whole) = (session.span_bytes(device) / align * align, device.size_bytes());
        if size < whole / align * align {
            record.metric("capacity.device_bytes", vec![whole as f64]);
            let (part, whole) = (Bytes(size), Bytes(whole));
            record.remark(format!("capacity: only the first {part} of {whole} was tested"));
        }
        match session.plan.suite.verify.mode {
            VerifyMode::Quick => run_quick(session, record, size),
            VerifyMode::Full => run_full(session, record, size),
        }
    }
}

fn is_directory(session: &Session<'_>) -> bool {
    session.target.info().kind == TargetKind::Directory
}

/// What a quick run costs at most, and what on an honest drive.
fn quick_cost(context: &PlanContext<'_>) -> (Cost, String) {
    let (size, cache) = (context.span_bytes, context.suite.verify.cache.0);
    let rate = context.sequential_write_mb_s(size) * 1e6;
    // Blocks are as long as the smallest request.
    let block = u64::from(context.target.io_align_bytes.max(512));
    let landmarks = usual_landmarks(size / block, block) * block;
    let usual = (2 * cache).min(size / 2) + landmarks;
    let most = written_with_pushing_max(size / block, block, cache) * block;
    // Half of what is assumed of random reads: large disks behind bridges are so slow.
    let reads = 2.0 * QUICK_READS / context.typical.iops;
    let honest = Secs(usual as f64 / rate + reads);
    let worst = Secs(most as f64 / rate + reads);
    let words = format!(
        "{} and {honest}; a fake with a cache up to {} and {worst}",
        Bytes(usual),
        Bytes(most)
    );
    let seconds = honest.0;
    let computed_s = context.computed_s(usual as f64 / DATA_PER_REQUEST + QUICK_READS);
    (
        Cost { seconds, read_bytes: QUICK_READS as u64 * block, written_bytes: most, computed_s },
        words,
    )
}

fn run_quick(session: &Session<'_>, record: &mut TestRecord, size: u64) -> Result<(), BenchError> {
    session.phase_started("verify capacity", 1, 1);
    let seed = session.plan.seed;
    let control = Control::default();
    let block_bytes = session.device().align_bytes().max(512);
    let task = Quick {
        bytes: size,
        block_bytes,
        cache_bytes: session.plan.suite.verify.cache.0,
        // Stamps of an earlier run, even one with the same seed, must not look like this one's.
        salt: derive_seed(seed, "verify", 0, 0) ^ session.now_ns(),
        seed: derive_seed(seed, "verify", 1, 0),
        control: &control,
    };
    let spec = QueueSpec { depth: 1, ahead: 0, block_bytes: CHUNK, dsync: false };
    let (worker, counters) = session.run_task(session.device(), spec, &control, task)?;
    let WorkerOutcome { output: outcome, cpu_cost, engine } = worker;
    let asked = (outcome.read_bytes as f64, outcome.written_bytes as f64);
    let measured = PhaseResult { recorder: outcome.recorder, cpu_cost, engine };
    keep(session, record, "capacity", counters, measured, asked)?;
    let Some(probed) = outcome.probed else {
        notice_failures(record, outcome.failed);
        return Err(BenchError::Interrupted);
    };
    let looked = capacity_result::Sampled {
        block_bytes: u64::from(block_bytes),
        announced: size,
        device_bytes: session.device().size_bytes(),
        written: outcome.written_bytes,
        failed: outcome.failed,
    };
    capacity_result::quick(record, &probed, &looked);
    Ok(())
}

fn run_full(session: &Session<'_>, record: &mut TestRecord, size: u64) -> Result<(), BenchError> {
    let options = &session.plan.suite.verify;
    let from = options.from.0 / u64::from(CHUNK) * u64::from(CHUNK);
    let wrote = options.phase == VerifyPhase::Write;
    let data = data_of(session, from, size)?;
    let need = if wrote { StampsNeeded::AllOfPass } else { StampsNeeded::Any(size) };
    resume_check::check(session, data, from, need)?;
    let start = if wrote { 0 } else { from };
    let written = wrote.then(|| [from..size, 0..push_bytes(session, size)]);
    session.expect_transfers(written.into_iter().flatten().chain(Some(start..size)));
    let mut refused = RefusedWrites::default();
    let mut size = size;
    if wrote {
        refused = write_all(session, record, from, size, data)?;
        if let Some(full_at) = refused.full_at {
            size = own_files::cut_short(session, record, full_at)?;
        }
        match push_out(session, record, size, data) {
            // It has done what it is for where the drive takes it.
            Err(error) if is_refusal(&error).is_some() => {}
            end => end.inspect_err(|_| record.resume_at(resume_writing(session, size, size)))?,
        }
        session.device().sync()?;
        own_files::evict(session, record)?;
    }
    let is_whole = start == 0 || was_intact_before(session, options.from.0);
    let readable = start..refused.tail(size).max(start);
    let (mut outcome, end) = read_back(session, record, readable, data, &refused, is_whole)?;
    outcome.add_refused(&refused.failed, refused.tail(size)..size);
    if !wrote && end.is_ok() && !outcome.tally.has_stamps() {
        return Err(resume_check::no_stamps(session.plan.seed));
    }
    let judged_from = if is_whole { 0 } else { start };
    outcome.tally.add_intact(judged_from..start);
    // A run that continues a stopped one knows that everything was written.
    let wrote_all = wrote || session.earlier().is_some();
    capacity_result::full(
        record,
        &outcome,
        capacity_result::Done {
            start: judged_from,
            size,
            device_bytes: session.device().size_bytes(),
            wrote: wrote_all,
            is_in_files: is_directory(session),
        },
    );
    if wrote {
        record.metric("capacity.cache_bytes", vec![push_bytes(session, size) as f64]);
    }
    let at = outcome.tally.first_bad().unwrap_or(outcome.reached).min(outcome.reached);
    let end = if at == size { resume_check::unless_too_late(end) } else { end };
    end.inspect_err(|_| record.resume_at(resume_reading(session, is_whole, at)))
}

/// What is written, or was: the pass after all that left stamps here, or that of the resumed run.
fn data_of(session: &Session<'_>, from: u64, size: u64) -> Result<Payload, BenchError> {
    let seed = session.plan.seed;
    if is_directory(session) {
        return Ok(own_files::data(session));
    }
    let writes = session.plan.suite.verify.phase == VerifyPhase::Write;
    let (begins, before) = (writes && from == 0, if writes && from > 0 { from } else { size });
    let newest = resume_check::newest_pass(session, Payload::new(seed, FULL_PASS), before)?;
    let pass = match newest {
        Some(pass) if begins => FULL_PASS.max(pass.saturating_add(1)),
        Some(pass) => pass,
        None => FULL_PASS,
    };
    Ok(Payload::new(seed, pass))
}

/// Whether the run that this one continues has read everything before `from` and found it intact.
fn was_intact_before(session: &Session<'_>, from: u64) -> bool {
    let resumed = session.earlier().and_then(|result| result.resume);
    resumed.is_some_and(|point| point.intact_before && point.at_bytes == from)
}

fn write_all(
    session: &Session<'_>,
    record: &mut TestRecord,
    from: u64,
    size: u64,
    data: Payload,
) -> Result<RefusedWrites, BenchError> {
    let resume = |timed: &[TimedRegion]| resume_writing(session, from + written_bytes(timed), size);
    let so_far = |timed: &[TimedRegion]| {
        let mut record = TestRecord::new(TestKind::Verify);
        report_written(&mut record, timed, written_bytes(timed), None);
        record.resume_at(resume(timed));
        record
    };
    // What was written to scratch files is gone with them.
    let resumable = (!is_directory(session)).then_some(&so_far as SoFar<'_>);
    let mut sum = WrittenSum::default();
    let end = Writing { session, record, sum: &mut sum, data, size }.all(from, resumable)?;
    let WrittenSum { timed, bytes } = sum;
    // Here, because what is written again after it does not count in the rate.
    let is_whole = end.as_ref().map_or(true, |refused| refused.ranges.is_empty());
    let flushed = end.and_then(|refused| Ok((refused, flush(session)?)));
    report_written(record, &timed, bytes, flushed.as_ref().ok().map(|(_, flush_s)| *flush_s));
    let end = flushed.map(|(refused, _)| refused);
    end.inspect_err(|_| {
        if is_whole {
            record.resume_at(resume(&timed));
        }
    })
}

/// Where to resume writing that was stopped at `at`. After the last piece, that piece is written once more: a
/// cache still has to be pushed out before anything is read back.
fn resume_writing(session: &Session<'_>, at: u64, size: u64) -> ResumePoint {
    let last = size.saturating_sub(1) / PIECE * PIECE;
    session.resume_point(ResumePhase::VerifyWrite, at.min(last))
}

fn push_bytes(session: &Session<'_>, size: u64) -> u64 {
    push_of(session.plan.suite.verify.cache.0, size)
}

fn push_of(cache: u64, size: u64) -> u64 {
    cache.min(size / 2) / u64::from(CHUNK) * u64::from(CHUNK)
}

/// Writes the beginning once more, the same bytes: a cache that answers for what was written last then
/// forgets the end of the drive, where capacity is missing.
fn push_out(
    session: &Session<'_>,
    record: &mut TestRecord,
    size: u64,
    data: Payload,
) -> Result<(), BenchError> {
    let places = ScanRegion::pieces(0, push_bytes(session, size), PIECE);
    let manner = WriteSettings { data, chunk: u64::from(CHUNK), depth: DEPTH };
    write(session, record, "write", places, manner, &mut WrittenSum::default(), None)?
}

/// `bytes`: of all completed requests. The rate counts the flush after the last byte, once it is over.
fn report_written(
    record: &mut TestRecord,
    timed: &[TimedRegion],
    bytes: u64,
    flush_s: Option<f64>,
) {
    let written_s = timed.iter().filter_map(|t| t.ns).sum::<u64>().max(1) as f64 / 1e9;
    let seconds = written_s + flush_s.unwrap_or(0.0);
    record.metric("write.mb_s", vec![written_bytes(timed) as f64 / seconds / 1e6]);
    record.metric("write.written_bytes", vec![bytes as f64]);
    if let Some(flush_s) = flush_s {
        record.metric("write.flush_s", vec![flush_s]);
    }
}

fn read_back(
    session: &Session<'_>,
    record: &mut TestRecord,
    span: Range<u64>,
    data: Payload,
    refused: &RefusedWrites,
    is_whole: bool,
) -> Result<(ReadBackOutcome, Result<(), BenchError>), BenchError> {
    session.phase_started("verify read", 1, 1);
    let control = Control::default();
    let unit = session.device().align_bytes().max(512);
    let Range { start, end: size } = span;
    let (chunk, depth, any_pass) = (CHUNK, DEPTH, false);
    let refused = &refused.ranges;
    let task = ReadBack { span, chunk, unit, depth, data, any_pass, refused, control: &control };
    let spec = QueueSpec { depth: DEPTH, ahead: 1, block_bytes: CHUNK, dsync: false };
    let so_far = || {
        let mut record = TestRecord::new(TestKind::Verify);
        // A run that is killed with only its end before it must leave something to resume.
        let last = size.saturating_sub(1) / u64::from(CHUNK) * u64::from(CHUNK);
        let at = control.settled().max(start).min(last);
        record.resume_at(resume_reading(session, is_whole, at));
        record
    };
    let is_resumable = !is_directory(session);
    if is_resumable {
        session.checkpoint_at_once(so_far);
    }
    let mut checkpoint = || {
        if is_resumable {
            session.checkpoint(so_far);
        }
    };
    let (worker, counters) =
        session.run_task_with(session.device(), spec, &control, task, &mut checkpoint)?;
    let WorkerOutcome { output: outcome, cpu_cost, engine } = worker;
    let measured = PhaseResult { recorder: outcome.recorder.clone(), cpu_cost, engine };
    record.metric("read.mb_s", vec![measured.mb_s()]);
    let asked = ((outcome.reached - start) as f64, 0.0);
    let end = keep(session, record, "read", counters, measured, asked);
    Ok((outcome, end))
}

fn resume_reading(session: &Session<'_>, intact_before: bool, at_bytes: u64) -> ResumePoint {
    ResumePoint { intact_before, ..session.resume_point(ResumePhase::VerifyRead, at_bytes) }
}

fn notice_failures(record: &mut TestRecord, (count, first): (u64, Option<IoFailure>)) {
    if let Some(failure) = first {
        let evidence = describe(&failure, count);
        record.notice(Finding::new(FindingId::IoError, evidence).about("verify"));
    }
}

fn keep(
    session: &Session<'_>,
    record: &mut TestRecord,
    cell: &str,
    counters: PhaseCounters,
    measured: PhaseResult,
    asked: (f64, f64),
) -> Result<(), BenchError> {
    let mut kept = counters.end(session, measured, cell, 1);
    kept.asked = Some(asked);
    kept.own_metrics = true;
    session.add_round(kept, record)
}

#[cfg(test)]
mod tests;
