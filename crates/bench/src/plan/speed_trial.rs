//! A trial of about a second before the plan: the speed of a drive of which only the kind is known.

use crate::error::BenchError;
use crate::io::clock;
use crate::io::device::IoDevice;
use crate::io::offsets::derive_seed;
use crate::loops::control::Control;
use crate::loops::phase::{self, Load};
use crate::plan::expected_speed::ExpectedSpeed;
use crate::workloads::shared::open_target;
use drivescope_drive::Target;
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::plan::Engine;
use drivescope_model::target::TargetKind;
use drivescope_model::units::{Bytes, Secs};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of the scratch file, and the most that is read of a file or device.
const STREAM: Bytes = Bytes::mib(8);
const STREAM_BLOCK: Bytes = Bytes::mib(1);
const STREAM_TIME: Secs = Secs(0.7);
/// Random reads, and their longest time.
const READS: u64 = 200;
const READS_TIME: Secs = Secs(0.3);

/// The speed of `target`: a file or device is read; in a directory a scratch file is written, if `may_write`.
/// `None` for simulated drives, whose kind is known, and where a trial would not show the drive. A trial that
/// finds the drive slow is repeated, and the faster one counts: other programs may have held up the first. `stop`
/// ends it.
pub fn measure(target: &Target, may_write: bool, stop: &AtomicBool) -> Option<ExpectedSpeed> {
    if target.is_simulated() || target.memory_backed().is_some() {
        return None;
    }
    let trial = match target.info().kind {
        TargetKind::Directory if may_write => of_scratch_file,
        TargetKind::File | TargetKind::Block => of_reads,
        TargetKind::Directory | TargetKind::Simulated => return None,
    };
    // A failure here recurs in the run, which says why.
    let measured = trial(target, stop).ok().flatten()?;
    let is_slow = ExpectedSpeed::of(target).unless_slow(Some(measured)).is_some();
    let again = if is_slow { trial(target, stop).ok().flatten()? } else { measured };
    let is_whole = !stop.load(Ordering::Relaxed);
    is_whole.then(|| of(measured.mb_s.max(again.mb_s), measured.iops.max(again.iops)))
}

fn of_reads(target: &Target, stop: &AtomicBool) -> Result<Option<ExpectedSpeed>, BenchError> {
    let device = IoDevice::new(target.open_read()?, Engine::Threads);
    let size = device.size_bytes();
    let align = STREAM_BLOCK.0;
    let start = size / 2 / align * align;
    let end = start.saturating_add(STREAM.0).min(size / align * align);
    if !device.is_direct() || end <= start {
        return Ok(None);
    }
    let stream = load(Order::Seq, STREAM_BLOCK, Mix::READ, start..end, STREAM_TIME);
    let mb_s = rate_of(&device, &stream, stop)? / 1e6;
    let reads = load(Order::Rnd, Bytes(4096), Mix::READ, 0..size / 4096 * 4096, READS_TIME);
    Ok(Some(of(mb_s, rate_of(&device, &reads, stop)? / 4096.0)))
}

fn of_scratch_file(
    target: &Target,
    stop: &AtomicBool,
) -> Result<Option<ExpectedSpeed>, BenchError> {
    let room = target.room()?.0.min(STREAM.0) / STREAM_BLOCK.0 * STREAM_BLOCK.0;
    if room == 0 {
        return Ok(None);
    }
    let mut folder = open_target::folder_in(target.path())?;
    let device = IoDevice::new(folder.create_file("trial", Bytes(room))?, Engine::Threads);
    let stream = load(Order::Seq, STREAM_BLOCK, Mix::WRITE, 0..room, STREAM_TIME);
    let mb_s = rate_of(&device, &stream, stop)? / 1e6;
    let measured = if device.is_direct() {
        // A file system answers reads of unwritten blocks without the drive.
        let written = ((mb_s * 1e6 * STREAM_TIME.0) as u64).clamp(STREAM_BLOCK.0, room);
        let span = 0..written / STREAM_BLOCK.0 * STREAM_BLOCK.0;
        let reads = load(Order::Rnd, Bytes(4096), Mix::READ, span, READS_TIME);
        of(mb_s, rate_of(&device, &reads, stop)? / 4096.0)
    } else {
        of(mb_s, f64::INFINITY)
    };
    drop(device);
    folder.remove()?;
    Ok(Some(measured))
}

fn of(mb_s: f64, iops: f64) -> ExpectedSpeed {
    ExpectedSpeed { mb_s, iops, queue_gain: f64::INFINITY }
}

/// One request at a time.
fn load(order: Order, block: Bytes, mix: Mix, span: Range<u64>, time: Secs) -> Load {
    let ops_max = match order {
        Order::Seq => (span.end - span.start) / block.0,
        Order::Rnd => READS,
    };
    let seed = derive_seed(clock::now_ns(), "trial", 0, 0);
    let shape = Shape::plain(order, block, 1);
    Load { time, ops_max, ..Load::closed(shape, mix, span, seed) }
}

/// Bytes per second, with the time to flush caches above the drive.
fn rate_of(device: &IoDevice, load: &Load, stop: &AtomicBool) -> Result<f64, BenchError> {
    let control = Control::default();
    let start_ns = clock::now_ns();
    let measured = phase::run(device, load, &control, &mut || {
        if stop.load(Ordering::Relaxed) {
            control.stop();
        }
    })?;
    if load.mix.writes() {
        device.sync()?;
    }
    if let Some(failure) = measured.recorder.first_error {
        return Err(BenchError::Request { failure, count: measured.recorder.errors });
    }
    let bytes = measured.recorder.requests * load.shape.block.0;
    Ok(bytes as f64 * 1e9 / (clock::now_ns() - start_ns).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{run_target, scratch};

    #[test]
    fn trial_writes_only_where_allowed_without_leftovers() {
        let dir = scratch();
        let (target, stop) = (run_target(dir.path()), AtomicBool::new(false));
        assert_eq!(measure(&target, false, &stop), None);
        if target.memory_backed().is_none() {
            let speed = measure(&target, true, &stop).expect("the directory can be written");
            assert!(speed.mb_s > 0.0 && speed.iops > 0.0, "{speed:?}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(measure(&run_target("sim:wd10ears"), true, &stop), None);
    }
}
