//! What the measuring loop itself costs per request, on a target that answers at once.

use divan::Bencher;
use divan::counter::ItemsCount;
use drivescope_bench::loops::calibrate::null_loop;

const REQUESTS: u64 = 100_000;

fn main() {
    divan::main();
}

#[divan::bench(args = [1, 32])]
fn reads(bencher: Bencher<'_, '_>, depth: u32) {
    bencher.counter(ItemsCount::new(REQUESTS)).bench_local(|| null_loop(depth, REQUESTS));
}
