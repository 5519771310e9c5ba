//! What the tool itself costs on this machine, measured before every run in about a tenth of a second, by the
//! processor time of one thread: by the wall clock, other programs would make tool and memory look slow.

use crate::io::clock;
use crate::io::offsets::Offsets;
use crate::io::payload::Payload;
use crate::io::queue::{NullQueue, QueueSpec};
use crate::io::request_sizes::RequestSizes;
use crate::loops::closed::{self, ClosedLoop};
use crate::loops::control::Control;
use crate::loops::one_thread::SteppedLoop;
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::host::Calibration;
use drivescope_model::units::Bytes;
use std::hint::black_box;

const REQUESTS: u64 = 400_000;
/// Deep enough that a batch serves several requests, as on a fast drive.
const DEPTH: u32 = 32;
const READINGS: u64 = 20_000;
/// Far beyond any processor cache that one core can claim.
const MEMORY_BYTES: usize = 64 << 20;
/// The best counts: disturbances only ever slow things down.
const REPEATS: usize = 5;

pub fn calibrate() -> Calibration {
    let loop_ns_per_io = null_loop_ns();
    Calibration {
        loop_ns_per_io,
        loop_iops_max: 1e9 / loop_ns_per_io,
        clock_ns: clock_ns(),
        generator_mb_s: generator_mb_s(),
        memory_copy_mb_s: memory_copy_mb_s(),
    }
}

fn generator_mb_s() -> f64 {
    let mut made = vec![0u8; MEMORY_BYTES / 2];
    best_mb_s(made.len(), || Payload::new(1, 1).fill(black_box(&mut made), 0))
}

/// What one core copies from memory to memory, in 10^6 bytes per second.
pub fn memory_copy_mb_s() -> f64 {
    // Pages that were never written would all be the same one.
    let source = vec![1u8; MEMORY_BYTES / 2];
    let mut copy = vec![0u8; MEMORY_BYTES / 2];
    let best = best_mb_s(copy.len(), || copy.copy_from_slice(black_box(&source)));
    black_box(&copy);
    best
}

/// Runs the whole measuring loop on a target that answers at once; returns the number of requests.
pub fn null_loop(depth: u32, requests: u64) -> u64 {
    let spec = QueueSpec { depth, ahead: 1, block_bytes: 4096, dsync: false };
    let load = ClosedLoop {
        depth,
        send_together: closed::send_together(depth, false),
        sizes: RequestSizes::new(&Shape::plain(Order::Rnd, Bytes(4096), depth), 1),
        offsets: Offsets::new(Order::Rnd, 0..1 << 40, 4096, Mix::READ, 0.0, 1),
        payload: Payload::new(1, 1),
        think_ns: 0,
        ramp_ns: 0,
        time_ns: 60_000_000_000,
        ops_max: requests,
        control: &Control::default(),
    };
    load.run(&mut NullQueue::new(spec)).expect("the null target does not fail").ops
}

fn null_loop_ns() -> f64 {
    let measure = || {
        let start = clock::cpu_ns();
        black_box(null_loop(DEPTH, REQUESTS));
        (clock::cpu_ns() - start) as f64 / REQUESTS as f64
    };
    (0..REPEATS).map(|_| measure()).fold(f64::INFINITY, f64::min)
}

fn clock_ns() -> f64 {
    let start = clock::cpu_ns();
    for _ in 0..READINGS {
        black_box(clock::now_ns());
    }
    (clock::cpu_ns() - start) as f64 / READINGS as f64
}

fn best_mb_s(bytes: usize, mut work: impl FnMut()) -> f64 {
    let mut best_ns = u64::MAX;
    for _ in 0..REPEATS {
        let start = clock::cpu_ns();
        work();
        best_ns = best_ns.min(clock::cpu_ns() - start);
    }
    bytes as f64 * 1e3 / best_ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sleeping stands for waiting behind others: neither is the thread's own time.
    #[test]
    fn rate_counts_work_not_waiting() {
        fn work() -> u64 {
            (0..1_000_000u64).fold(0, |sum, i| black_box(sum ^ i))
        }
        let alone = best_mb_s(1 << 20, || {
            black_box(work());
        });
        let waiting = best_mb_s(1 << 20, || {
            black_box(work());
            std::thread::sleep(std::time::Duration::from_millis(100));
        });
        assert!(waiting > alone / 3.0, "{waiting} MB/s with waits, {alone} MB/s without");
    }
}
