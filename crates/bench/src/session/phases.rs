//! What tests do most: phases of load, measured and kept.

use super::{Progress, Session, Watch};
use crate::control::Control;
use crate::device::{Device, WorkerOutcome};
use crate::error::BenchError;
use crate::offsets::derive_seed;
use crate::phase::{self, Load, Pace};
use crate::queue::{QueueSpec, Task};
use crate::results::{Round, TestRecord};
use crate::validity;
use drivescope_model::cell::{Mix, Shape};
use drivescope_model::event::Event;
use drivescope_model::units::Secs;
use std::ops::Range;

impl Session<'_> {
    /// A fresh number for the data of the next writing phase.
    pub fn next_pass(&mut self) -> u64 {
        self.pass += 1;
        self.pass
    }

    /// A closed loop on the data of this run; offsets follow from the plan's seed, cell and round.
    pub fn load(&self, shape: Shape, mix: Mix, span: Range<u64>, cell: &str, round: u32) -> Load {
        Load {
            shape,
            mix,
            pace: Pace::Closed,
            span,
            ramp: Secs(0.0),
            time: Secs(0.0),
            ops_max: u64::MAX,
            seed: derive_seed(self.plan.seed, cell, round, 0),
            data_seed: self.plan.seed,
            pass: 0,
            studies_span: false,
        }
    }

    /// Runs a round of `load`, watched, and turns it into a [`Round`]. A failed request ends the test
    /// after the round has been kept in `record`.
    pub fn measure(
        &self,
        load: &Load,
        cell: &str,
        round: u32,
        record: &mut TestRecord,
    ) -> Result<(), BenchError> {
        self.check_stop()?;
        let rounds = self.plan.suite.rounds;
        self.emit(Event::PhaseStarted { label: cell.to_string(), round, rounds });
        let watch = Watch::begin(self);
        let control = Control::default();
        let device = self.open_device();
        let mut progress = Progress::new(self, &control);
        let measured = phase::run(device, load, &control, || progress.look())?;
        let mut kept = watch.end(self, measured, cell, round);
        let recorder = &kept.measured.recorder;
        let bytes = |requests: u64| requests as f64 * load.shape.block.0 as f64;
        let asked = (bytes(recorder.requests - recorder.writes), bytes(recorder.writes));
        // Of a request that failed nobody knows how much was moved.
        kept.asked = (recorder.errors == 0).then_some(asked);
        kept.load = Some(load.clone());
        self.keep(kept, record)
    }

    /// Keeps a round with its findings; errors and stops end the test.
    pub fn keep(&self, mut round: Round, record: &mut TestRecord) -> Result<(), BenchError> {
        let facts = validity::Facts::of(self, record.test());
        round.limiter = validity::limiter(&round, &facts);
        for finding in validity::of_round(&round, &facts) {
            if record.notice(finding.clone()) {
                self.emit(Event::Noticed(finding));
            }
        }
        let failure = round.measured.recorder.first_error;
        let count = round.measured.recorder.errors;
        record.add(round);
        match failure {
            Some(failure) => Err(BenchError::Request { failure, count }),
            None => self.check_stop(),
        }
    }

    /// Runs one task on `device`, watched; returns its output and the frame of a [`Round`].
    pub fn watched<T: Task>(
        &self,
        device: &Device,
        spec: QueueSpec,
        control: &Control,
        task: T,
    ) -> Result<(WorkerOutcome<T::Output>, Watch), BenchError> {
        self.watched_by(device, spec, control, task, || ())
    }

    /// The same, and calls `also` now and then, from the thread that only waits.
    pub fn watched_by<T: Task>(
        &self,
        device: &Device,
        spec: QueueSpec,
        control: &Control,
        task: T,
        mut also: impl FnMut(),
    ) -> Result<(WorkerOutcome<T::Output>, Watch), BenchError> {
        self.check_stop()?;
        let watch = Watch::begin(self);
        let mut progress = Progress::new(self, control);
        let look = || {
            progress.look();
            also();
        };
        let mut outcomes = device.run(spec, vec![task], look)?;
        self.work.add(control.progress().1);
        Ok((outcomes.pop().expect("one task, one outcome"), watch))
    }
}
