//! What one core makes of fresh test data by its processor time, which other work on the machine changes
//! little: a line per size of the buffers, `BYTES MB_S`. For `cargo xtask compare budgets`.
#![expect(clippy::print_stdout, reason = "a program of its own, whose results go there")]

use drivescope_bench::io::payload::Payload;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

const REPEATS: usize = 21;
/// Long against the resolution of the clock.
const BYTES: usize = 256 << 20;

fn main() {
    // A request of the smallest and of the largest usual size.
    for bytes in [4 << 10, 1 << 20] {
        let mut rates: Vec<f64> = (0..REPEATS).map(|pass| mb_s(bytes, pass as u64)).collect();
        rates.sort_unstable_by(f64::total_cmp);
        println!("{bytes} {:.0}", rates[REPEATS / 2]);
    }
}

/// Per second of processor time, in buffers of `bytes`.
fn mb_s(bytes: usize, pass: u64) -> f64 {
    let mut buffer = vec![0u8; bytes];
    let start = cpu_s();
    for _ in 0..BYTES / bytes {
        Payload::new(1, pass).fill(black_box(&mut buffer), 0);
    }
    BYTES as f64 / 1e6 / (cpu_s() - start)
}

fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
