//! One timed phase on files: watched, with the final flush inside its time.

use super::file_store::FileStep;
use crate::error::BenchError;
use crate::io::cpu_usage::{CpuCost, CpuScope, CpuUsage};
use crate::io::recorder::Recorder;
use crate::judging::round::Cache;
use crate::judging::test_record::TestRecord;
use crate::loops::control::Control;
use crate::loops::phase::PhaseResult;
use crate::session::{PhaseCounters, Progress, Session};

/// How often a phase checks the time while it moves bytes, and files.
const LOOK_EVERY_BYTES: u64 = 8 << 20;
const LOOK_EVERY_FILES: u64 = 64;

#[derive(Debug, Clone, Copy)]
pub(crate) struct FilePhase<'c> {
    pub cell: &'c str,
    pub round: u32,
    pub rounds: u32,
    pub cache: Cache,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FileTally {
    pub files: u64,
    pub bytes: u64,
    pub time_s: f64,
    pub flush_s: f64,
    /// Bytes that the device wrote meanwhile, where counters show it.
    pub device_written_bytes: Option<u64>,
}

impl FileTally {
    /// Rate, the final flush included.
    pub fn mb_s(&self) -> f64 {
        self.bytes as f64 / self.time_s.max(1e-9) / 1e6
    }

    /// Files per second, the final flush included.
    pub fn files_s(&self) -> f64 {
        self.files as f64 / self.time_s.max(1e-9)
    }
}

impl FilePhase<'_> {
    /// Runs `work`, which reports its steps, then `flush`; keeps the round in `record`.
    ///
    /// Errors: what `work` or `flush` ended with, or that the run is to end.
    pub fn run<T>(
        &self,
        session: &Session<'_>,
        record: &mut TestRecord,
        work: impl FnOnce(&mut dyn FnMut(FileStep) -> bool) -> Result<T, BenchError>,
        flush: impl FnOnce() -> Result<(), BenchError>,
    ) -> Result<(T, FileTally), BenchError> {
        session.check_stop()?;
        session.phase_started(self.cell, self.round, self.rounds);
        let counters = PhaseCounters::begin(session);
        let control = Control::default();
        let mut progress = Progress::new(session, &control);
        let mut recorder = Recorder::of_any_length();
        let (cpu_before, start) = (CpuUsage::of(CpuScope::Thread), session.now_ns());
        recorder.start(start);
        let (mut last, mut unseen_bytes, mut unseen_files) = (start, 0, 0);
        let mut watch = |step: FileStep| {
            match step {
                FileStep::Moved(bytes) => {
                    unseen_bytes += bytes;
                    control.add(0, bytes);
                }
                FileStep::Done(bytes) => {
                    let now = session.now_ns();
                    recorder.complete(now, now - last, bytes);
                    recorder.requests += 1;
                    last = now;
                    unseen_files += 1;
                    control.add(1, 0);
                }
            }
            if unseen_bytes >= LOOK_EVERY_BYTES || unseen_files >= LOOK_EVERY_FILES {
                (unseen_bytes, unseen_files) = (0, 0);
                progress.report();
            }
            !control.stopped()
        };
        let outcome = work(&mut watch);
        session.check_stop()?;
        let outcome = outcome?;
        let worked = session.now_ns();
        flush()?;
        let end = session.now_ns();
        let usage = CpuUsage::of(CpuScope::Thread).since(cpu_before);
        let mut kept = counters.end(
            session,
            measured(session, recorder, usage, end - start),
            self.cell,
            self.round,
        );
        kept.cache = self.cache;
        kept.own_metrics = true;
        let tally = FileTally {
            files: kept.measured.recorder.ops,
            bytes: kept.measured.recorder.bytes,
            time_s: (end - start) as f64 / 1e9,
            flush_s: (end - worked) as f64 / 1e9,
            device_written_bytes: kept.top.map(|top| top.written_bytes),
        };
        // A slow answer of the file system is not a stall of the drive: a file of gigabytes takes seconds.
        kept.measured.recorder.gap_max_ns = 0;
        session.add_round(kept, record)?;
        Ok((outcome, tally))
    }
}

fn measured(
    session: &Session<'_>,
    recorder: Recorder,
    usage: CpuUsage,
    wall_ns: u64,
) -> PhaseResult {
    let is_real = session.simulated().is_none();
    let usage = if is_real { usage } else { CpuUsage::default() };
    let cpu_cost = CpuCost { usage, busiest_cpu_ns: usage.cpu_ns, wall_ns, ..CpuCost::default() };
    PhaseResult { recorder, cpu_cost, engine: None }
}
