//! A trial of milliseconds: which engine serves the deep queue of a cell faster?
//!
//! Mostly io_uring, which costs less processor time. But some file systems hand its writes to one thread of the
//! kernel (btrfs), and some devices (zram) each request to another one, and then threads that wait are faster.

use crate::control::Control;
use crate::error::BenchError;
use crate::io_device::IoDevice;
use crate::offsets::derive_seed;
use crate::phase::{self, Load, LoopMode};
use drivescope_model::cell::Shape;
use drivescope_model::plan::Engine;
use drivescope_model::units::Secs;

/// Length of one attempt, of which each engine has two.
const TIME: Secs = Secs(0.02);
/// Bytes and requests of an attempt, whichever is more.
const BYTES_MAX: u64 = 8 << 20;
const DEPTHS_MAX: u64 = 2;
/// Threads must be faster by so much: they cost more processor time.
const GAIN_MIN: f64 = 1.05;
/// More threads than this only wait for each other.
const THREADS_MAX: u32 = 128;
/// Each attempt has a part of the span to itself, in its second half: a round that begins at its start shall find
/// nothing in the drive's memory. Rates that fall with the position favour neither engine.
const PARTS: u64 = 8;
const ATTEMPTS: [(Engine, u64); 4] =
    [(Engine::Uring, 4), (Engine::Threads, 5), (Engine::Threads, 6), (Engine::Uring, 7)];
/// Fewer blocks are no part.
const BLOCKS_MIN: u64 = 16;

/// Whether there is anything to try.
fn is_tried(shape: Shape) -> bool {
    shape.depth > 1 && shape.depth * shape.threads <= THREADS_MAX
}

/// Requests of an attempt at most, of each thread.
fn requests_max(shape: Shape) -> u64 {
    let all = BYTES_MAX / shape.block.0 / u64::from(shape.threads);
    all.max(DEPTHS_MAX * u64::from(shape.depth))
}

/// Bytes that a trial moves at most.
pub fn bytes_max(shape: Shape) -> u64 {
    let attempt = requests_max(shape) * u64::from(shape.threads) * shape.block.0;
    if is_tried(shape) { ATTEMPTS.len() as u64 * attempt } else { 0 }
}

/// The faster engine for a load; `None` where there is no choice, it makes no difference, or a request failed,
/// which the load will show.
///
/// Errors: no engine works.
pub fn faster(device: &IoDevice, load: &Load) -> Result<Option<Engine>, BenchError> {
    let part = (load.span.end - load.span.start) / PARTS / load.shape.block.0 * load.shape.block.0;
    let is_long = part >= load.shape.block.0 * BLOCKS_MIN;
    // Through the page cache, it would leave something there.
    let has_choice = device.engine() == Engine::Auto && device.is_direct();
    if !has_choice || !is_long || !is_tried(load.shape) || load.mode != LoopMode::Closed {
        return Ok(None);
    }
    let (mut uring, mut threads) = (0f64, 0f64);
    for (engine, number) in ATTEMPTS {
        let start = load.span.start + number * part;
        let attempt = Load {
            span: start..start + part,
            ramp: Secs(0.0),
            time: TIME,
            ops_max: requests_max(load.shape),
            seed: derive_seed(load.seed, "engine", number as u32, 0),
            engine: Some(engine),
            ..load.clone()
        };
        let control = Control::default();
        let rate = match phase::run(device, &attempt, &control, || ()) {
            Ok(measured) if measured.recorder.errors > 0 => return Ok(None),
            Ok(measured) => measured.iops(),
            // As where more threads are refused.
            Err(_) if engine == Engine::Threads => 0.0,
            Err(error) => return Err(error),
        };
        let best = if engine == Engine::Threads { &mut threads } else { &mut uring };
        *best = best.max(rate);
    }
    Ok((threads > uring * GAIN_MIN).then_some(Engine::Threads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine, testing};
    use drivescope_drive::OwnFolder;
    use drivescope_model::cell::{Mix, Order};
    use drivescope_model::units::Bytes;

    fn load(depth: u32, mix: Mix) -> Load {
        let shape = Shape::new(Order::Rnd, Bytes(4096), depth, 1).unwrap();
        Load { span: 0..64 << 20, ramp: Secs(1.0), time: Secs(5.0), ..testing::load(shape, mix) }
    }

    /// A trial leaves the first half of a span alone, and writes no more than the plan says.
    #[test]
    fn a_trial_keeps_to_its_parts_and_its_bytes() {
        let dir = testing::scratch();
        let mut folder = OwnFolder::create(dir.path(), "trial").unwrap();
        let file = folder.create_file("data", Bytes::mib(64)).unwrap();
        let chosen = engine::choose(None).unwrap().engine;
        let device = IoDevice::new(file, chosen);
        let load = load(8, Mix::WRITE);
        let found = faster(&device, &load).unwrap();
        assert!(chosen == Engine::Auto || found.is_none());
        let path = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let contents = std::fs::read(path.join("data")).unwrap();
        let (untouched, parts) = contents.split_at(32 << 20);
        assert!(untouched.iter().all(|byte| *byte == 0));
        let written = parts.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0));
        let bytes = written.count() as u64 * 4096;
        let is_tried = device.is_direct() && chosen == Engine::Auto;
        assert_eq!(bytes > 0, is_tried);
        assert!(bytes <= bytes_max(load.shape), "{bytes}");
        drop(device);
        folder.remove().unwrap();
    }

    #[test]
    fn nothing_is_tried_where_there_is_no_choice() {
        let dir = testing::scratch();
        let mut folder = OwnFolder::create(dir.path(), "trial").unwrap();
        let file = folder.create_file("data", Bytes::mib(64)).unwrap();
        let asked = IoDevice::new(file, Engine::Threads);
        assert_eq!(faster(&asked, &load(8, Mix::READ)).unwrap(), None);
        assert_eq!(bytes_max(load(1, Mix::WRITE).shape), 0, "one at a time");
        assert_eq!(bytes_max(load(256, Mix::WRITE).shape), 0, "too many threads");
        drop(asked);
        folder.remove().unwrap();
    }
}
