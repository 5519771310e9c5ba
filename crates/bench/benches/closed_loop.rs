//! What the measuring loop itself costs per request, on a target that answers at once.

use divan::Bencher;
use divan::counter::ItemsCount;
use drivescope_bench::closed::{ClosedLoop, send_together};
use drivescope_bench::control::Control;
use drivescope_bench::offsets::Offsets;
use drivescope_bench::payload::Payload;
use drivescope_bench::queue::{IoTask, NullQueue, QueueSpec};
use drivescope_model::cell::{Mix, Order};

const REQUESTS: u64 = 100_000;

fn main() {
    divan::main();
}

#[divan::bench(args = [1, 32])]
fn reads(bencher: Bencher<'_, '_>, depth: u32) {
    let control = Control::default();
    bencher.counter(ItemsCount::new(REQUESTS)).bench_local(|| {
        let mut queue =
            NullQueue::new(QueueSpec { depth, ahead: 1, block_bytes: 4096, dsync: false });
        let load = ClosedLoop {
            depth,
            send_together: send_together(false),
            block_bytes: 4096,
            offsets: Offsets::new(Order::Rnd, 0..1 << 40, 4096, Mix::READ, 0.0, 1),
            payload: Payload::new(1, 1),
            ramp_ns: 0,
            time_ns: 60_000_000_000,
            ops_max: REQUESTS,
            control: &control,
        };
        load.run(&mut queue).expect("the null target does not fail").ops
    });
}
