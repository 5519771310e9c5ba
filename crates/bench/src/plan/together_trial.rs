//! What drives reach together before a run with `--together`: sequential reads of each alone, then of all at once.

use crate::error::BenchError;
use crate::io::clock;
use crate::io::device::IoDevice;
use crate::io::offsets::derive_seed;
use crate::loops::control::Control;
use crate::loops::phase::{self, Load};
use drivescope_drive::Target;
use drivescope_machine::Roots;
use drivescope_machine::processors::CoreTimes;
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::plan::Engine;
use drivescope_model::target::TargetKind;
use drivescope_model::together::{SharedPath, TogetherTrial};
use drivescope_model::units::{Bytes, Secs};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

const BLOCK: Bytes = Bytes::mib(1);
const DEPTH: u32 = 8;
/// Of one drive alone, unless there are so many that all of them would take longer than `ALONE_ALL`.
const ALONE: Secs = Secs(0.7);
const ALONE_ALL: Secs = Secs(15.0);
const TOGETHER: Secs = Secs(2.0);
/// Two reads of one drive differ by some percent at other places; what is shared costs more.
const SHARE_MIN: f64 = 0.9;
const BUSY: f64 = 0.9;

/// Reads of whole devices and files; `None` where one of the targets cannot be read like that (a directory, a
/// simulated drive), where a read fails, which the run itself explains, or after `stop`.
pub fn measure(
    targets: &[&Target],
    shared: &[SharedPath],
    stop: &AtomicBool,
) -> Option<TogetherTrial> {
    let devices: Vec<IoDevice> =
        targets.iter().map(|target| device(target)).collect::<Option<_>>()?;
    let alone_s = Secs(ALONE.0.min(ALONE_ALL.0 / devices.len() as f64));
    // No byte is read twice: a drive may keep what it has read.
    let (alone, was_busy) = while_busy(|| {
        devices.iter().map(|device| rate_of(device, part(device, 0), alone_s, stop)).collect()
    })?;
    let (together, is_busy) = while_busy(|| {
        std::thread::scope(|scope| {
            let readers: Vec<_> = devices
                .iter()
                .map(|device| scope.spawn(move || rate_of(device, part(device, 1), TOGETHER, stop)))
                .collect();
            readers.into_iter().map(|it| it.join().expect("a reader does not panic")).collect()
        })
    })?;
    if stop.load(Ordering::Relaxed) || alone.iter().any(|rate| *rate <= 0.0) {
        return None;
    }
    // Processors that others keep busy anyway hold back one drive too.
    let is_busy = is_busy && !was_busy;
    let mut trial = TogetherTrial { alone_mb_s: alone, together_mb_s: together, limit: None };
    trial.limit = (trial.share() < SHARE_MIN).then(|| limit(shared, targets.len(), is_busy));
    Some(trial)
}

/// The rates, and whether the processors had no time left.
fn while_busy(rates: impl FnOnce() -> Result<Vec<f64>, BenchError>) -> Option<(Vec<f64>, bool)> {
    let roots = Roots::host();
    let before = CoreTimes::read(&roots);
    let rates = rates().ok()?;
    let times = before.zip(CoreTimes::read(&roots)).map(|(before, now)| now.since(before));
    let is_busy = times.is_some_and(|it| it.busy_ns as f64 >= BUSY * it.total_ns as f64);
    Some((rates, is_busy))
}

fn device(target: &Target) -> Option<IoDevice> {
    let is_read = matches!(target.info().kind, TargetKind::Block | TargetKind::File);
    let opened = if is_read { target.open_read().ok() } else { None };
    opened.map(|it| IoDevice::new(it, Engine::Threads)).filter(IoDevice::is_direct)
}

/// One half of a device, in whole blocks.
fn part(device: &IoDevice, number: u64) -> Range<u64> {
    let half = device.size_bytes() / 2 / BLOCK.0 * BLOCK.0;
    number * half..(number + 1) * half
}

/// MB/s of sequential reads.
fn rate_of(
    device: &IoDevice,
    span: Range<u64>,
    time: Secs,
    stop: &AtomicBool,
) -> Result<f64, BenchError> {
    let shape = Shape::plain(Order::Seq, BLOCK, DEPTH);
    let blocks = (span.end - span.start) / BLOCK.0;
    let seed = derive_seed(clock::now_ns(), "together", 0, 0);
    let load = Load { time, ops_max: blocks, ..Load::closed(shape, Mix::READ, span, seed) };
    let control = Control::default();
    let measured = phase::run(device, &load, &control, &mut || {
        if stop.load(Ordering::Relaxed) {
            control.stop();
        }
    })?;
    match measured.recorder.first_error {
        Some(failure) => Err(BenchError::Request { failure, count: measured.recorder.errors }),
        None => Ok(measured.mb_s()),
    }
}

fn limit(shared: &[SharedPath], targets: usize, is_busy: bool) -> String {
    let of_all = shared.iter().find(|path| path.targets.len() == targets);
    match of_all.or(shared.first()) {
        _ if is_busy => "the processors are the limit".to_string(),
        Some(path) => format!("{} is the limit", path.name),
        None => "what they share is not known".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_the_narrowest_path_of_all() {
        fn path(name: &str, targets: &[usize]) -> SharedPath {
            SharedPath { name: name.to_string(), targets: targets.to_vec(), payload_mb_s: None }
        }
        let shared = [path("the USB hub 2-1", &[0, 1]), path("the controller", &[0, 1, 2])];
        assert_eq!(limit(&shared, 3, false), "the controller is the limit");
        assert_eq!(limit(&shared[..1], 3, false), "the USB hub 2-1 is the limit");
        assert_eq!(limit(&shared, 3, true), "the processors are the limit");
        assert_eq!(limit(&[], 2, false), "what they share is not known");
    }
}
