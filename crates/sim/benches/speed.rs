//! How many requests of 4 KiB, one at a time, a simulated drive answers per second of one core, its link
//! included; and how long a pass over a whole drive takes.

use divan::Bencher;
use divan::counter::ItemsCount;
use drivescope_sim::device::{Nanos, RequestKind, SimCompletion, SimDevice, SimRequest};
use drivescope_sim::library::{BUILT_IN, Medium, MediumKind, Model, Start};
use drivescope_sim::link::LinkLayer;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const REQUESTS: u64 = 100_000;
const BLOCK: u64 = 4096;
const MIB: u64 = 1 << 20;
/// Share of an SSD that holds data, so that reads find something.
const FILL: f64 = 0.8;

fn main() {
    divan::main();
}

fn hard_disks() -> impl Iterator<Item = &'static str> {
    let names = BUILT_IN.iter().map(|(name, _)| *name);
    names.filter(|name| parsed(name).kind == MediumKind::Hdd)
}

fn parsed(model: &str) -> Model {
    let (file, text) = BUILT_IN.iter().find(|(name, _)| *name == model).expect("a built-in model");
    Model::parse(file, text).expect("built-in models are valid")
}

fn built(model: &str, fill: f64) -> LinkLayer<Medium> {
    let model = parsed(model);
    model.build(&Start { seed: 1, fill, ..Start::default() }).expect("built-in models are valid")
}

/// A host that has one request under way at any time.
struct Host {
    drive: LinkLayer<Medium>,
    now: Nanos,
    done: Vec<SimCompletion>,
}

impl Host {
    fn new(drive: LinkLayer<Medium>) -> Self {
        Self { drive, now: 0, done: Vec::new() }
    }

    fn ask(&mut self, op: RequestKind, offset: u64, len: u64) {
        let request = SimRequest { id: offset, op, offset, len, fua: false };
        self.drive.submit(self.now, request);
        while self.done.is_empty() {
            self.now = self.drive.next_completion().expect("a request is under way");
            self.drive.advance(self.now, &mut self.done);
        }
        self.done.clear();
    }
}

fn random(bencher: Bencher<'_, '_>, op: RequestKind, model: &str, fill: f64) {
    let mut host = Host::new(built(model, fill));
    let share = if fill > 0.0 { fill } else { 1.0 };
    let blocks = (host.drive.capacity_bytes() as f64 * share) as u64 / BLOCK;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    bencher.counter(ItemsCount::new(REQUESTS)).bench_local(|| {
        for _ in 0..REQUESTS {
            host.ask(op, random.random_range(0..blocks) * BLOCK, BLOCK);
        }
    });
}

fn sequential(bencher: Bencher<'_, '_>, op: RequestKind, model: &str, fill: f64) {
    let mut host = Host::new(built(model, fill));
    let blocks = host.drive.capacity_bytes() / BLOCK;
    let mut block = 0;
    bencher.counter(ItemsCount::new(REQUESTS)).bench_local(|| {
        for _ in 0..REQUESTS {
            host.ask(op, block * BLOCK, BLOCK);
            block = (block + 1) % blocks;
        }
    });
}

#[divan::bench(args = hard_disks())]
fn hard_disk_random_reads(bencher: Bencher<'_, '_>, model: &str) {
    random(bencher, RequestKind::Read, model, 0.0);
}

#[divan::bench(args = hard_disks())]
fn hard_disk_sequential_reads(bencher: Bencher<'_, '_>, model: &str) {
    sequential(bencher, RequestKind::Read, model, 0.0);
}

#[divan::bench(args = ["samsung-860evo-1tb", "toshiba-xg6-1tb"])]
fn flash_random_reads(bencher: Bencher<'_, '_>, model: &str) {
    random(bencher, RequestKind::Read, model, FILL);
}

#[divan::bench(args = ["samsung-860evo-1tb", "toshiba-xg6-1tb"])]
fn flash_random_writes(bencher: Bencher<'_, '_>, model: &str) {
    random(bencher, RequestKind::Write, model, FILL);
}

/// Whole drives in requests of 1 MiB.
#[divan::bench(args = [
    ("wd40efrx", RequestKind::Read), ("wd40efrx", RequestKind::Write), ("usb-16tb", RequestKind::Read), ("usb-16tb", RequestKind::Write),
    ("samsung-860evo-1tb", RequestKind::Read), ("samsung-860evo-1tb", RequestKind::Write),
], sample_count = 3)]
fn whole_pass(bencher: Bencher<'_, '_>, (model, op): (&str, RequestKind)) {
    let fill = if op == RequestKind::Read { 1.0 } else { 0.0 };
    bencher.with_inputs(|| Host::new(built(model, fill))).bench_local_values(|mut host| {
        for number in 0..host.drive.capacity_bytes() / MIB {
            host.ask(op, number * MIB, MIB);
        }
    });
}
