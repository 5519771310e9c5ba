//! One round of one phase: the load, and what came of it.

use crate::closed::{self, ClosedLoop};
use crate::control::Control;
use crate::cpu_usage::CpuCost;
use crate::error::BenchError;
use crate::io_device::{IoDevice, WorkerOutcome};
use crate::offsets::{Offsets, derive_seed};
use crate::open::{IN_FLIGHT_MAX, OpenLoop, Schedule};
use crate::payload::Payload;
use crate::queue::QueueSpec;
use crate::recorder::Recorder;
use drivescope_model::cell::{Mix, Shape};
use drivescope_model::options::Arrivals;
use drivescope_model::units::Secs;
use std::ops::Range;

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoopMode {
    /// Refilled per completion.
    Closed,
    /// At their own times.
    Open {
        /// How they arrive.
        arrivals: Arrivals,
        /// Requests per second.
        rate: f64,
    },
}

/// What a phase does.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Order, block, depth, threads.
    pub shape: Shape,
    /// Share of reads.
    pub mix: Mix,
    /// Closed or open.
    pub mode: LoopMode,
    /// Bytes of the target it may touch.
    pub span: Range<u64>,
    /// Load before the measured time.
    pub ramp: Secs,
    /// Measured time.
    pub time: Secs,
    /// Requests per thread at most.
    pub ops_max: u64,
    /// Seed of offsets and arrivals; see [`derive_seed`].
    pub seed: u64,
    /// Seed of written data, the same for the whole run so that it can be verified.
    pub data_seed: u64,
    /// Pass number stamped into written data.
    pub pass: u64,
    /// A span smaller than the target is what the round is about, so that it needs no caution.
    pub studies_span: bool,
}

impl Load {
    pub(crate) fn offsets(&self, thread: u32, seed: u64) -> Offsets {
        let share = f64::from(thread) / f64::from(self.shape.threads);
        let block = self.shape.block.0;
        Offsets::new(self.shape.order, self.span.clone(), block, self.mix, share, seed)
    }
}

/// What one round measured, all workers together.
#[derive(Debug, Clone)]
pub struct PhaseResult {
    /// The merged record.
    pub recorder: Recorder,
    /// What the workers took from the processors, ramp included.
    pub cpu_cost: CpuCost,
}

impl From<WorkerOutcome<Recorder>> for PhaseResult {
    fn from(WorkerOutcome { output: recorder, cpu_cost }: WorkerOutcome<Recorder>) -> Self {
        Self { recorder, cpu_cost }
    }
}

impl PhaseResult {
    /// Measured seconds; never 0.
    pub fn elapsed_s(&self) -> f64 {
        (self.recorder.elapsed_ns() as f64 / 1e9).max(1e-9)
    }
    /// Requests per second.
    pub fn iops(&self) -> f64 {
        self.recorder.ops as f64 / self.elapsed_s()
    }
    /// Bytes per second, in 10^6.
    pub fn mb_s(&self) -> f64 {
        self.recorder.bytes as f64 / self.elapsed_s() / 1e6
    }
    /// Mean number of requests in flight, by Little's law.
    pub fn depth_mean(&self) -> f64 {
        self.recorder.latencies.mean() * self.iops() / 1e9
    }
    /// Processor time of both modes per request, in ns.
    pub fn cpu_ns_per_io(&self) -> f64 {
        self.cpu_cost.usage.cpu_ns as f64 / self.requests()
    }
    /// Requests of the whole round, ramp included: what the processor time was spent on.
    pub fn requests(&self) -> f64 {
        (self.recorder.requests as f64).max(1.0)
    }
}

/// Runs `load` on `device` until its time is over, `control` says stop, or it fails.
pub fn run(
    device: &IoDevice,
    load: &Load,
    control: &Control,
    watch: impl FnMut(),
) -> Result<PhaseResult, BenchError> {
    let block_bytes = load.shape.block.0 as u32;
    // Through the page cache, a write is done when it has reached the drive, not when it is copied.
    let dsync = !device.is_direct();
    let seeds = (0..load.shape.threads).map(|t| (t, derive_seed(load.seed, "offsets", 0, t)));
    let outcomes = match load.mode {
        LoopMode::Closed => {
            let depth = load.shape.depth;
            let ahead = closed::ahead(depth, block_bytes, load.mix);
            let spec = QueueSpec { depth, ahead, block_bytes, dsync };
            let send_together = closed::send_together(device.may_block());
            let tasks = seeds.map(|(thread, seed)| ClosedLoop {
                depth,
                send_together,
                block_bytes,
                offsets: load.offsets(thread, seed),
                payload: Payload::new(load.data_seed, load.pass),
                ramp_ns: load.ramp.nanos(),
                time_ns: load.time.nanos(),
                ops_max: load.ops_max,
                control,
            });
            device.run_loops(spec, tasks.collect(), watch)?
        }
        LoopMode::Open { arrivals, rate } => {
            let spec = QueueSpec { depth: IN_FLIGHT_MAX, ahead: 1, block_bytes, dsync };
            let tasks = seeds.map(|(thread, seed)| OpenLoop {
                schedule: Schedule::new(
                    arrivals,
                    rate,
                    derive_seed(load.seed, "arrivals", 0, thread),
                ),
                block_bytes,
                offsets: load.offsets(thread, seed),
                ramp_ns: load.ramp.nanos(),
                time_ns: load.time.nanos(),
                control,
            });
            device.run_loops(spec, tasks.collect(), watch)?
        }
    };
    let all = outcomes.into_iter().map(PhaseResult::from).reduce(|mut all, other| {
        all.recorder.merge(&other.recorder);
        all.cpu_cost = all.cpu_cost.beside(other.cpu_cost);
        all
    });
    Ok(all.expect("a shape has at least one thread"))
}
