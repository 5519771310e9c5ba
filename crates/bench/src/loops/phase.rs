//! One round of one phase: the load, and what came of it.

use crate::error::BenchError;
use crate::io::cpu_usage::CpuCost;
use crate::io::device::{IoDevice, WorkerOutcome};
use crate::io::engine;
use crate::io::offsets::{Offsets, derive_seed};
use crate::io::payload::Payload;
use crate::io::queue::QueueSpec;
use crate::io::recorder::Recorder;
use crate::io::request_sizes::RequestSizes;
use crate::loops::closed::{self, ClosedLoop};
use crate::loops::control::Control;
use crate::loops::open::{IN_FLIGHT_MAX, OpenLoop, Schedule};
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::options::Arrivals;
use drivescope_model::plan::Engine;
use drivescope_model::units::Secs;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoopMode {
    Closed,
    Open {
        arrivals: Arrivals,
        /// Requests per second.
        rate: f64,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    pub shape: Shape,
    pub mix: Mix,
    pub mode: LoopMode,
    /// Bytes of the target it may touch.
    pub span: Range<u64>,
    /// Before the measured time.
    pub ramp: Secs,
    /// Measured time.
    pub time: Secs,
    /// Per thread.
    pub ops_max: u64,
    /// Of offsets and arrivals; see [`derive_seed`].
    pub seed: u64,
    /// The same for the whole run, so that written data can be verified.
    pub data_seed: u64,
    /// Stamped into written data.
    pub pass: u64,
    /// For devices that leave the engine open; `None`: by depth.
    pub engine: Option<Engine>,
    /// A span smaller than the target is what the round is about, so that it needs no caution.
    pub studies_span: bool,
}

impl Load {
    /// Without a ramp; time and bounds are the caller's.
    pub(crate) fn closed(shape: Shape, mix: Mix, span: Range<u64>, seed: u64) -> Self {
        Self {
            shape,
            mix,
            mode: LoopMode::Closed,
            span,
            ramp: Secs(0.0),
            time: Secs(0.0),
            ops_max: u64::MAX,
            seed,
            data_seed: seed,
            pass: 0,
            engine: None,
            studies_span: false,
        }
    }

    /// A closed loop of random requests, one at a time.
    pub(crate) fn is_random_depth_one(&self) -> bool {
        let Shape { order, depth, threads, .. } = self.shape;
        depth * threads == 1 && order == Order::Rnd && self.mode == LoopMode::Closed
    }

    /// The part of its time after which an open loop of `rate` requests per second has sent all that it may.
    fn open_share(&self, rate: f64) -> f64 {
        let all = rate * (self.ramp.0 + self.time.0);
        if self.ops_max as f64 >= all { 1.0 } else { self.ops_max as f64 / all }
    }

    pub(crate) fn offsets(&self, thread: u32) -> Offsets {
        let seed = derive_seed(self.seed, "offsets", 0, thread);
        let share = f64::from(thread) / f64::from(self.shape.threads);
        // Each place has room for the largest request.
        let block = self.shape.smallest_block().0;
        let span = self.span.start..self.span.end - (self.shape.block.0 - block);
        Offsets::new(self.shape.order, span, block, self.mix, share, seed)
    }
}

#[derive(Debug, Clone)]
pub struct PhaseResult {
    pub recorder: Recorder,
    /// Ramp included.
    pub cpu_cost: CpuCost,
    /// `None` on simulated drives.
    pub engine: Option<Engine>,
}

impl From<WorkerOutcome<Recorder>> for PhaseResult {
    fn from(outcome: WorkerOutcome<Recorder>) -> Self {
        let WorkerOutcome { output: recorder, cpu_cost, engine } = outcome;
        Self { recorder, cpu_cost, engine }
    }
}

impl PhaseResult {
    /// Never 0.
    pub fn elapsed_s(&self) -> f64 {
        (self.recorder.elapsed_ns() as f64 / 1e9).max(1e-9)
    }
    pub fn iops(&self) -> f64 {
        self.recorder.ops as f64 / self.elapsed_s()
    }
    pub fn mb_s(&self) -> f64 {
        self.recorder.bytes as f64 / self.elapsed_s() / 1e6
    }
    /// Mean number of requests in flight, by Little's law.
    pub fn depth_mean(&self) -> f64 {
        self.recorder.latencies.mean() * self.iops() / 1e9
    }
    pub fn cpu_ns_per_io(&self) -> f64 {
        self.cpu_cost.usage.cpu_ns as f64 / self.requests()
    }
    /// Of the whole round, ramp included: what the processor time was spent on.
    pub fn requests(&self) -> f64 {
        (self.recorder.requests as f64).max(1.0)
    }
}

/// Runs `load` until its time is over, `control` says stop, or it fails. Where io_uring was chosen and its calls
/// fail, threads send the requests, now and from then on.
pub fn run(
    device: &IoDevice,
    load: &Load,
    control: &Control,
    watch: &mut dyn FnMut(),
) -> Result<PhaseResult, BenchError> {
    let engine = device.engine();
    match run_once(device, load, control, watch) {
        Err(BenchError::Engine { .. }) if device.engine() != engine => {
            run_once(device, load, control, watch)
        }
        other => other,
    }
}

fn run_once(
    device: &IoDevice,
    load: &Load,
    control: &Control,
    watch: &mut dyn FnMut(),
) -> Result<PhaseResult, BenchError> {
    let block_bytes = load.shape.block.0 as u32;
    // Through the page cache, a write is done when it has reached the drive, not when it is copied.
    let dsync = !device.is_direct();
    let outcomes = match load.mode {
        LoopMode::Closed => run_closed(device, load, dsync, control, watch)?,
        LoopMode::Open { arrivals, rate } => {
            let spec = QueueSpec { depth: IN_FLIGHT_MAX, ahead: 1, block_bytes, dsync };
            let share = load.open_share(rate);
            let tasks = (0..load.shape.threads).map(|thread| OpenLoop {
                schedule: Schedule::new(
                    arrivals,
                    rate,
                    derive_seed(load.seed, "arrivals", 0, thread),
                ),
                block_bytes,
                offsets: load.offsets(thread),
                ramp_ns: (load.ramp.nanos() as f64 * share) as u64,
                time_ns: (load.time.nanos() as f64 * share) as u64,
                control,
            });
            device.run_loops(None, spec, tasks.collect(), watch)?
        }
    };
    let all = outcomes.into_iter().map(PhaseResult::from).reduce(|mut all, other| {
        all.recorder.merge(&other.recorder);
        all.cpu_cost = all.cpu_cost.beside(other.cpu_cost);
        all
    });
    Ok(all.expect("a shape has at least one thread"))
}

/// The engine `threads` has a thread for each place of the queue, which sends its own requests: none waits for
/// another one to send them.
fn run_closed(
    device: &IoDevice,
    load: &Load,
    dsync: bool,
    control: &Control,
    watch: &mut dyn FnMut(),
) -> Result<Vec<WorkerOutcome<Recorder>>, BenchError> {
    let Shape { block, depth, threads, .. } = load.shape;
    let block_bytes = block.0 as u32;
    let likely = || engine::of_cell(load.shape, load.mix);
    let engine = match device.engine() {
        Engine::Auto => load.engine.unwrap_or_else(likely),
        asked => asked,
    };
    let (lanes, depth, ahead) = match engine {
        // A thread that waits for its request cannot make the data of the next one in that time.
        Engine::Threads => (depth, 1, u32::from(!load.mix.writes())),
        // In virtual time, making data takes none.
        Engine::Sim => (1, depth, 0),
        _ => (1, depth, closed::ahead(depth, block_bytes, load.mix)),
    };
    let mut tasks = Vec::with_capacity((threads * lanes) as usize);
    for thread in 0..threads {
        let stream = load.offsets(thread);
        for lane in 0..lanes {
            let offsets = stream.beside(derive_seed(load.seed, "offsets", lane, thread));
            let is_of_rest = u64::from(lane) < load.ops_max % u64::from(lanes);
            tasks.push(ClosedLoop {
                depth,
                send_together: closed::send_together(depth, device.may_block()),
                sizes: RequestSizes::new(
                    &load.shape,
                    derive_seed(load.seed, "sizes", lane, thread),
                ),
                offsets,
                payload: Payload::new(load.data_seed, load.pass),
                think_ns: u64::from(load.shape.think_us) * 1_000,
                ramp_ns: load.ramp.nanos(),
                time_ns: load.time.nanos(),
                ops_max: load.ops_max / u64::from(lanes) + u64::from(is_of_rest),
                control,
            });
        }
    }
    let spec = QueueSpec { depth, ahead, block_bytes, dsync };
    device.run_loops(Some(engine), spec, tasks, watch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::engine;
    use crate::skip::note_skipped;
    use crate::testing::{ScratchFile, load};
    use drivescope_model::units::Bytes;

    const BLOCK: u64 = 4096;
    const BLOCKS: u64 = 250;

    /// Every block once, in order, at this depth.
    fn written(engine: Engine, depth: u32) -> (PhaseResult, Vec<u8>) {
        let (scratch, file) = ScratchFile::new(BLOCKS * BLOCK);
        let device = IoDevice::new(file, engine);
        let load = Load {
            span: 0..BLOCKS * BLOCK,
            time: Secs(60.0),
            ops_max: BLOCKS,
            data_seed: 7,
            ..load(Shape::new(Order::Seq, Bytes(BLOCK), depth, 1).unwrap(), Mix::WRITE)
        };
        let measured = run(&device, &load, &Control::default(), &mut || ()).unwrap();
        (measured, scratch.contents())
    }

    #[test]
    fn every_engine_and_depth_writes_the_whole_file() {
        for engine in [Engine::Uring, Engine::Threads, Engine::Auto] {
            if let Err(reason) = engine::choose(Some(engine)) {
                note_skipped(&format!("{}: {reason}", engine.name()));
                continue;
            }
            for depth in [1, 4, 7, 32] {
                let (measured, contents) = written(engine, depth);
                let case = format!("{engine:?} at depth {depth}");
                assert_eq!(Payload::first_mismatch(7, &contents, 0), None, "{case}");
                let recorder = &measured.recorder;
                assert_eq!((recorder.requests, recorder.ops), (BLOCKS, BLOCKS), "{case}");
                let expected =
                    if engine == Engine::Auto { engine::of_depth(depth) } else { engine };
                assert_eq!(measured.engine, Some(expected), "{case}");
            }
        }
    }
}
