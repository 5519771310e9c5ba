//! A trial before a cell's first round: which engine serves it faster? At depth mostly io_uring, but some file
//! systems pass its writes to one thread of the kernel (btrfs), and some devices (zram) each request to another
//! one. One at a time, threads cost less; but on ext4 and XFS writes come back sooner through a ring.

use crate::error::BenchError;
use crate::io::device::IoDevice;
use crate::io::engine;
use crate::io::offsets::derive_seed;
use crate::loops::control::Control;
use crate::loops::phase::{self, Load, LoopMode};
use drivescope_model::cell::{Mix, Shape};
use drivescope_model::plan::Engine;
use drivescope_model::units::Secs;

/// Bytes and requests of an attempt, whichever is more.
const BYTES_MAX: u64 = 8 << 20;
const DEPTHS_MAX: u64 = 2;
/// More threads than this only wait for each other.
const THREADS_MAX: u32 = 128;
/// Rates that fall with the position favour neither by much.
const TURNS: [Engine; 6] = {
    use Engine::{Threads, Uring};
    [Uring, Threads, Threads, Uring, Uring, Threads]
};
/// Each attempt has a part of the span's second half: a round that begins at the start shall find nothing in the
/// drive's memory.
const PARTS: u64 = 2 * TURNS.len() as u64;
/// A part of fewer blocks is too short for an attempt.
const BLOCKS_MIN: u64 = 16;

struct Trial {
    /// Used if nothing is tried.
    likely: Engine,
    other: Engine,
    /// Of one attempt.
    time: Secs,
    turns: &'static [Engine],
    /// The other engine must be more than this times as fast as the likely one.
    gain_min: f64,
    /// Below this rate of a thread, engines make no difference.
    iops_min: f64,
}

/// Threads that share a deep queue cost much more processor time than a ring.
const DEEP: Trial = Trial {
    likely: Engine::Uring,
    other: Engine::Threads,
    time: Secs(0.02),
    turns: TURNS.split_at(4).0,
    gain_min: 1.05,
    iops_min: 100.0,
};

/// One write at a time: a few microseconds of some 70, which takes longer to see.
const WRITES: Trial = Trial {
    likely: Engine::Threads,
    other: Engine::Uring,
    time: Secs(0.1),
    turns: &TURNS,
    gain_min: 1.02,
    iops_min: 5_000.0,
};

/// `None` if there is nothing to try.
fn trial(shape: Shape, mix: Mix) -> Option<&'static Trial> {
    if shape.depth * shape.threads > THREADS_MAX {
        return None;
    }
    if shape.depth > 1 {
        return Some(&DEEP);
    }
    let is_small = engine::of_cell(shape, mix) == WRITES.likely;
    (mix.writes() && !mix.is_synced() && is_small).then_some(&WRITES)
}

/// Per thread.
fn requests_max(shape: Shape) -> u64 {
    let all = BYTES_MAX / shape.block.0 / u64::from(shape.threads);
    all.max(DEPTHS_MAX * u64::from(shape.depth))
}

pub fn bytes_max(shape: Shape, mix: Mix) -> u64 {
    let attempt = requests_max(shape) * u64::from(shape.threads) * shape.block.0;
    trial(shape, mix).map_or(0, |trial| trial.turns.len() as u64 * attempt)
}

pub fn seconds_max(shape: Shape, mix: Mix) -> f64 {
    trial(shape, mix).map_or(0.0, |trial| trial.turns.len() as f64 * trial.time.0)
}

/// The faster engine for a load; `None` where there is no choice, it makes no difference, or a request failed,
/// which the load will show. Errors: no engine works.
pub fn faster(device: &IoDevice, load: &Load) -> Result<Option<Engine>, BenchError> {
    let block = load.shape.block.0;
    let blocks = (load.span.end - load.span.start) / block;
    let (middle, part) = (load.span.start + blocks.div_ceil(2) * block, blocks / PARTS * block);
    let is_long = part >= block * BLOCKS_MIN;
    // Through the page cache, it would leave something there.
    let has_choice = device.engine() == Engine::Auto && device.is_direct();
    let Some(trial) = trial(load.shape, load.mix) else { return Ok(None) };
    if !has_choice || !is_long || load.mode != LoopMode::Closed {
        return Ok(None);
    }
    trial.faster(load.shape.threads, |number, engine| {
        let start = middle + u64::from(number) * part;
        let attempt = Load {
            span: start..start + part,
            ramp: Secs(0.0),
            time: trial.time,
            ops_max: requests_max(load.shape),
            seed: derive_seed(load.seed, "engine", number, 0),
            engine: Some(engine),
            ..load.clone()
        };
        match phase::run(device, &attempt, &Control::default(), &mut || ()) {
            Ok(measured) if measured.recorder.errors > 0 => Ok(None),
            Ok(measured) => Ok(Some(measured.iops())),
            // As where more threads are refused, or the kernel's calls for a ring.
            Err(BenchError::Engine { .. }) => Ok(Some(0.0)),
            Err(_) if engine == Engine::Threads => Ok(Some(0.0)),
            Err(error) => Err(error),
        }
    })
}

impl Trial {
    /// The other engine, if it is faster. `attempt` gives the rate of the attempt with a number, 1/s; `None` if a
    /// request failed, which ends the trial, as a rate does at which engines make no difference.
    fn faster(
        &self,
        threads: u32,
        mut attempt: impl FnMut(u32, Engine) -> Result<Option<f64>, BenchError>,
    ) -> Result<Option<Engine>, BenchError> {
        // What disturbs an attempt slows it down: the best one counts.
        let (mut likely, mut other) = (0f64, 0f64);
        for (number, &engine) in (0..).zip(self.turns) {
            let Some(rate) = attempt(number, engine)? else { return Ok(None) };
            if rate < self.iops_min * f64::from(threads) {
                return Ok(None);
            }
            let best = if engine == self.likely { &mut likely } else { &mut other };
            *best = best.max(rate);
        }
        Ok((other > likely * self.gain_min).then_some(self.other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::engine;
    use crate::testing::{self, ScratchFile};
    use drivescope_model::cell::{Mix, Order};
    use drivescope_model::units::Bytes;

    fn load(depth: u32, mix: Mix) -> Load {
        let shape = Shape::new(Order::Rnd, Bytes(4096), depth, 1).unwrap();
        Load { span: 0..64 << 20, ramp: Secs(1.0), time: Secs(5.0), ..testing::load(shape, mix) }
    }

    /// And leaves the first half of the span alone.
    #[test]
    fn trial_keeps_to_its_parts_and_its_bytes() {
        for depth in [1, 8] {
            let (scratch, file) = ScratchFile::new(64 << 20);
            let chosen = engine::choose(None).unwrap().engine;
            let device = IoDevice::new(file, chosen);
            let load = load(depth, Mix::WRITE);
            let found = faster(&device, &load).unwrap();
            assert!(chosen == Engine::Auto || found.is_none());
            let contents = scratch.contents();
            let (untouched, parts) = contents.split_at(32 << 20);
            assert!(untouched.iter().all(|byte| *byte == 0));
            let written = parts.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0));
            let bytes = written.count() as u64 * 4096;
            let is_tried = device.is_direct() && chosen == Engine::Auto;
            assert_eq!(bytes > 0, is_tried);
            assert!(bytes <= bytes_max(load.shape, load.mix), "{bytes}");
        }
    }

    /// Outcome and attempts where one write at a time has these rates.
    fn tried(uring: f64, threads: f64) -> (Option<Engine>, u32) {
        let mut attempts = 0;
        let found = WRITES.faster(1, |number, engine| {
            attempts += 1;
            // Every other pair is disturbed.
            let share = if number % 4 < 2 { 1.0 } else { 0.8 };
            let rate = if engine == Engine::Uring { uring } else { threads };
            Ok(Some(rate * share))
        });
        (found.unwrap(), attempts)
    }

    #[test]
    fn clearly_faster_engine_is_chosen() {
        assert_eq!(tried(12_500.0, 12_000.0), (Some(Engine::Uring), 6));
        assert_eq!(tried(12_200.0, 12_000.0), (None, 6));
        assert_eq!(tried(11_000.0, 12_000.0), (None, 6));
    }

    #[test]
    fn slow_attempt_or_failure_ends_a_trial() {
        assert_eq!(tried(4_900.0, 4_000.0), (None, 1));
        assert_eq!(tried(5_100.0, 4_000.0), (None, 2));
        let mut attempts = 0;
        let fails = DEEP.faster(1, |number, _| {
            attempts += 1;
            Ok((number < 2).then_some(1e5))
        });
        assert_eq!((fails.unwrap(), attempts), (None, 3));
    }

    #[test]
    fn nothing_is_tried_where_there_is_no_choice() {
        let (_scratch, file) = ScratchFile::new(64 << 20);
        let asked = IoDevice::new(file, Engine::Threads);
        assert_eq!(faster(&asked, &load(8, Mix::READ)).unwrap(), None);
        assert_eq!(bytes_max(load(1, Mix::READ).shape, Mix::READ), 0, "one read at a time");
        assert_eq!(bytes_max(load(1, Mix::SYNC).shape, Mix::SYNC), 0, "synced each time");
        assert_eq!(bytes_max(load(256, Mix::WRITE).shape, Mix::WRITE), 0, "too many threads");
    }
}
