//! What tests do most: phases of load, measured and kept.

use super::{PhaseCounters, Progress, Session};
use crate::error::BenchError;
use crate::io::clock;
use crate::io::device::{IoDevice, WorkerOutcome};
use crate::io::offsets::derive_seed;
use crate::io::queue::{IoTask, QueueSpec};
use crate::judging::round::Round;
use crate::judging::test_record::TestRecord;
use crate::judging::validity::{self, Environment};
use crate::loops::calibrate;
use crate::loops::control::Control;
use crate::loops::engine_trial;
use crate::loops::phase::{self, Load};
use crate::plan::expected_speed::DEPTHS_MIN;
use drivescope_model::cell::{Mix, Shape};
use drivescope_model::drive::Link;
use drivescope_model::event::Event;
use drivescope_model::host::Calibration;
use drivescope_model::options::TestKind;
use drivescope_model::plan::Engine;
use std::ops::Range;

/// Least time between two events with a test's rounds so far: each computes the figures of its cell anew.
const REPORT_EVERY_NS: u64 = 50_000_000;

impl Session<'_> {
    pub fn next_pass(&mut self) -> u64 {
        self.storage.pass += 1;
        self.storage.pass
    }

    /// A closed loop on the data of this run; offsets follow from the plan's seed, cell and round.
    pub fn load(&self, shape: Shape, mix: Mix, span: Range<u64>, cell: &str, round: u32) -> Load {
        let share = |most: u64| most / u64::from(shape.threads);
        let least = u64::from(shape.depth) * DEPTHS_MIN;
        Load {
            ops_max: self.test.round_requests.map_or(u64::MAX, |most| share(most).max(least)),
            seed: derive_seed(self.plan.seed, cell, round, 0),
            ..Load::closed(shape, mix, span, self.plan.seed)
        }
    }

    pub fn phase_started(&self, label: &str, round: u32, rounds: u32) {
        self.emit(Event::PhaseStarted { label: label.to_string(), round, rounds });
    }

    /// Runs a round of `load`, watched, and turns it into a [`Round`]. A failed request ends the test after the
    /// round has been kept in `record`.
    pub fn measure(
        &self,
        load: &Load,
        cell: &str,
        round: u32,
        record: &mut TestRecord,
    ) -> Result<(), BenchError> {
        self.measure_of(load, cell, (round, self.plan.suite.rounds), record)
    }

    /// As [`Session::measure`], for round `round` of `rounds`.
    pub fn measure_of(
        &self,
        load: &Load,
        cell: &str,
        (round, rounds): (u32, u32),
        record: &mut TestRecord,
    ) -> Result<(), BenchError> {
        self.check_stop()?;
        self.phase_started(cell, round, rounds);
        let load = &Load { engine: self.faster_engine(load, cell)?, ..load.clone() };
        let counters = PhaseCounters::begin(self);
        let control = Control::default();
        let device = self.device();
        let mut progress = Progress::new(self, &control);
        let measured = phase::run(device, load, &control, &mut || progress.report())?;
        let mut kept = counters.end(self, measured, cell, round);
        let recorder = &kept.measured.recorder;
        let read_bytes = recorder.sent_bytes - recorder.written_bytes;
        let asked = (read_bytes as f64, recorder.written_bytes as f64);
        // How much a failed request moved is unknown.
        kept.asked = (recorder.errors == 0).then_some(asked);
        kept.load = Some(load.clone());
        self.add_round(kept, record)
    }

    /// The faster engine of a cell, if that is not the likely one; tried before its first round.
    fn faster_engine(&self, load: &Load, cell: &str) -> Result<Option<Engine>, BenchError> {
        if let Some(known) = self.test.engines.borrow().get(cell) {
            return Ok(*known);
        }
        let engine = engine_trial::faster(self.device(), load)?;
        self.test.engines.borrow_mut().insert(cell.to_string(), engine);
        Ok(engine)
    }

    pub fn add_round(&self, mut round: Round, record: &mut TestRecord) -> Result<(), BenchError> {
        let environment = self.environment(record.test());
        round.limiter =
            round.own_limiter.unwrap_or_else(|| validity::limiter(&round, &environment));
        for finding in validity::of_round(&round, &environment) {
            record.notice(finding);
        }
        let failure = round.measured.recorder.first_error;
        let count = round.measured.recorder.errors;
        let cell = (!round.own_metrics).then(|| round.cell.clone());
        record.add(round);
        if let Some(cell) = cell.filter(|_| self.may_report()) {
            let mut so_far = record.so_far(&cell);
            so_far.mark_invalid(&self.findings);
            self.emit(Event::RoundFinished(Box::new(so_far)));
        }
        match failure {
            Some(failure) => Err(BenchError::Request { failure, count }),
            None => self.check_stop(),
        }
    }

    /// Whether rounds so far may be shown again: rounds of a simulated drive can follow each other faster than
    /// anyone reads.
    fn may_report(&self) -> bool {
        let now = clock::now_ns();
        let is_due = now >= self.test.reported_ns.get() + REPORT_EVERY_NS;
        if is_due {
            self.test.reported_ns.set(now);
        }
        is_due
    }

    pub(crate) fn environment(&self, test: TestKind) -> Environment {
        let drive = self.target.drive();
        // What costs nothing here bounds nothing.
        let calibrated =
            |rate: fn(&Calibration) -> f64| self.platform.calibration.map_or(f64::INFINITY, rate);
        Environment {
            test,
            direct: self.is_direct(),
            memory_backed: self.target.memory_backed().is_some(),
            file_system: self.target.info().file_system.is_some(),
            unproven: self.target.unproven().is_some(),
            writes_its_own: self.target.writes_its_own(),
            link_mb_s: drive.and_then(|d| d.link.as_ref()).map(|link| link.payload_mb_s),
            duplex: drive.and_then(|d| d.link.as_ref()).is_some_and(Link::is_duplex),
            shared_mb_s: self.platform.shared_mb_s,
            rpm: drive.and_then(|d| d.rpm).filter(|&rpm| rpm > 1).map(f64::from),
            capacity_bytes: drive.map_or(u64::MAX, |d| d.capacity_bytes),
            whole_bytes: self.whole_bytes(),
            loop_caches: self.target.loop_caches(),
            has_holes: self.target.holes().is_some(),
            loop_cached_share: self.target.loop_cached_share(),
            uncounted: self.target.drives_are_uncounted(),
            warning_c: self.target.warning_c(),
            memory_bytes: self.platform.host.memory_bytes,
            memory_copy_mb_s: calibrated(|it| it.memory_copy_mb_s),
            memory_copy_again: calibrate::memory_copy_mb_s,
            cores: self.platform.host.cpus.max(1),
            generator_mb_s: calibrated(|it| it.generator_mb_s),
            io_limits: self.platform.io_limits.clone(),
        }
    }

    pub fn run_task<T: IoTask>(
        &self,
        device: &IoDevice,
        spec: QueueSpec,
        control: &Control,
        task: T,
    ) -> Result<(WorkerOutcome<T::Output>, PhaseCounters), BenchError> {
        self.run_task_with(device, spec, control, task, &mut || ())
    }

    /// Calls `also` now and then, from the thread that only waits.
    pub fn run_task_with<T: IoTask>(
        &self,
        device: &IoDevice,
        spec: QueueSpec,
        control: &Control,
        task: T,
        also: &mut dyn FnMut(),
    ) -> Result<(WorkerOutcome<T::Output>, PhaseCounters), BenchError> {
        self.check_stop()?;
        let counters = PhaseCounters::begin(self);
        let mut progress = Progress::new(self, control);
        let mut look = || {
            progress.report();
            also();
        };
        let outcome = device.run(spec, task, &mut look)?;
        self.test.remaining.add(control.progress().1);
        Ok((outcome, counters))
    }
}
