//! Passes computed at once against the same passes step by step, on drives that chance has put together and used.

use crate::device::{Device, Nanos, Op, Stream};
use crate::ssd::Ssd;
use crate::ssd::params::{
    BufferParams, ControllerParams, FlashParams, MapParams, PortParams, SlcParams, SsdParams,
    ThermalParams,
};
use crate::ssd::testing::closed_loop;
use crate::testing::{Chance, LEAST, MOST, Pass};

fn any_flash(chance: &mut Chance) -> FlashParams {
    let bits = chance.whole(1, 4) as u32;
    let first_us = chance.scaled(8.0, 150.0);
    let program_us = chance.scaled(150.0, 6000.0);
    FlashParams {
        channels: chance.scaled(1.0, 8.9) as u32,
        dies_per_channel: chance.scaled(1.0, 8.9) as u32,
        planes_per_die: chance.one_of(&[1, 2, 4]),
        page_kib: chance.one_of(&[4, 8, 16, 16]),
        pages_per_block: bits * chance.scaled(4.0, 200.0) as u32,
        bits_per_cell: bits,
        channel_mb_s: chance.scaled(50.0, 1600.0),
        read_us: (0..bits).map(|level| first_us * (1.0 + 0.3 * f64::from(level))).collect(),
        program_us,
        erase_us: chance.scaled(500.0, 15_000.0),
        slc_read_us: chance.scaled(5.0, 60.0),
        slc_program_us: program_us.min(chance.scaled(60.0, 600.0)),
        suspend_us: chance.in_a(70).then(|| chance.real(1.0, 100.0)),
        retry_share: if chance.in_a(10) { chance.real(0.0, 0.1) } else { 0.0 },
        retry_us: 200.0,
    }
}

fn any_thermal(chance: &mut Chance) -> ThermalParams {
    let throttle_start_c = chance.real(55.0, 80.0);
    ThermalParams {
        ambient_c: 25.0,
        idle_w: chance.real(0.1, 1.0),
        read_j_per_gb: chance.scaled(0.5, 50.0),
        write_j_per_gb: chance.scaled(1.0, 100.0),
        resistance_c_per_w: chance.scaled(2.0, 20.0),
        time_constant_s: chance.scaled(0.2, 60.0),
        throttle_start_c,
        throttle_stop_c: throttle_start_c - chance.scaled(0.5, 9.0),
        throttle_factor: chance.real(0.1, 0.8),
    }
}

pub(crate) fn any_params(chance: &mut Chance, least_bytes: f64, most_bytes: f64) -> SsdParams {
    let flash = any_flash(chance);
    let stripe = u64::from(flash.planes_per_die * flash.page_kib) * 1024;
    let row = stripe * u64::from(flash.channels * flash.dies_per_channel * flash.bits_per_cell);
    let unit = chance.one_of(&[4096, 4096, 4096, 16_384]).min(stripe);
    let capacity_bytes = chance.scaled(least_bytes, most_bytes) as u64 / unit * unit;
    let gb = capacity_bytes as f64 / 1e9;
    let slc = SlcParams {
        static_gb: if chance.in_a(60) { gb * chance.real(0.0, 0.3) } else { 0.0 },
        dynamic_max_gb: if chance.in_a(60) { gb * chance.real(0.0, 0.6) } else { 0.0 },
        dynamic_free_share: chance.real(0.1, 1.0),
        idle_before_fold_ms: chance.scaled(0.1, 1000.0),
    };
    let rate = chance.scaled(60.0, 4000.0);
    SsdParams {
        capacity_bytes,
        sector_bytes: 512,
        mapping_unit_bytes: unit as u32,
        spare_share: chance.scaled(0.03, 1.0),
        controller: ControllerParams {
            queue_depth: chance.scaled(1.0, 65.0) as u32,
            read_command_us: chance.scaled(1.0, 100.0),
            write_command_us: chance.scaled(1.0, 100.0),
            command_interval_us: chance.scaled(0.3, 20.0),
            trim_command_us: 50.0,
            trim_us_per_gib: 100.0,
            read_ahead_kib: if chance.in_a(50) { 0 } else { chance.scaled(32.0, 4096.0) as u32 },
        },
        port: chance.in_a(90).then(|| PortParams {
            read_mb_s: rate,
            write_mb_s: rate * chance.real(0.5, 1.0),
            command_us: chance.scaled(0.1, 10.0),
            full_duplex: chance.in_a(50),
        }),
        map: MapParams { cache_mib: chance.scaled(0.005, 10.0) },
        buffer: BufferParams {
            size_kib: (row as f64 / 1024.0 * chance.scaled(2.0, 40.0)).ceil() as u32,
            power_loss_protection: chance.in_a(20),
            flush_commit_us: 1000.0,
            merge_before_ack: chance.in_a(50),
        },
        slc: (flash.bits_per_cell > 1 && chance.in_a(60)).then_some(slc),
        flash,
        thermal: chance.in_a(40).then(|| any_thermal(chance)),
    }
}

pub(super) fn any_drive(chance: &mut Chance) -> Ssd {
    loop {
        let params = any_params(chance, 4e8, 5e9);
        if let Ok(ssd) = Ssd::new(params, chance.whole(1, 1 << 40)) {
            return ssd;
        }
    }
}

pub(crate) fn any_pass(chance: &mut Chance, ssd: &Ssd) -> Pass {
    let (unit, capacity) = (ssd.geometry.unit_bytes, ssd.params.capacity_bytes);
    let chunk = match chance.whole(0, 3) {
        0 => chance.scaled(unit as f64, 4e6) as u64 / unit * unit,
        1 => unit.max(1 << chance.whole(12, 16)),
        _ => 1 << chance.whole(16, 21),
    };
    let from = if chance.in_a(50) { 0 } else { chance.whole(0, capacity / 2) / unit * unit };
    let longest = (capacity - from).min(chunk * 150_000);
    let len = chance.scaled(longest as f64 / 2.0, longest as f64) as u64 / unit * unit;
    let depth = if chance.in_a(40) { 1 } else { chance.scaled(2.0, 33.0) as u32 };
    Pass { op: chance.one_of(&[Op::Read, Op::Write]), from, len, chunk, depth }
}

/// A drive and its clock.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) ssd: Ssd,
    pub(super) now: Nanos,
}

impl Desk {
    pub(super) fn step(&mut self, pass: &Pass) {
        let Pass { op, from, len, chunk, depth } = *pass;
        self.now =
            closed_loop(&mut self.ssd, self.now, op, len.div_ceil(chunk), depth.into(), |k| {
                (from + k * chunk, chunk.min(len - k * chunk))
            });
    }

    /// Requests that the drive has seen before the pass.
    pub(super) fn use_it(&mut self, chance: &mut Chance) {
        if chance.in_a(70) {
            self.ssd.precondition(if chance.in_a(40) { 1.0 } else { chance.real(0.0, 1.0) });
        }
        let capacity = self.ssd.params.capacity_bytes;
        for _ in 0..chance.whole(0, 3) {
            let from = chance.whole(0, capacity / 2) / 4096;
            let blocks = chance.scaled(100.0, (capacity / 4096 - from) as f64) as u64;
            let units = chance.one_of(&[1, 1, 4, 16, 64]);
            let op = chance.one_of(&[Op::Write, Op::Write, Op::Read, Op::Trim]);
            let count = chance.scaled(10.0, 30_000.0) as u64;
            let depth = chance.whole(1, 16);
            self.now = closed_loop(&mut self.ssd, self.now, op, count, depth, |_| {
                let block = from + chance.whole(0, blocks - 1);
                (block * 4096, (units * 4096).min(capacity - block * 4096))
            });
            if chance.in_a(40) {
                self.now += chance.scaled(1e5, 1e10) as Nanos;
                self.ssd.advance(self.now, &mut Vec::new());
            }
        }
    }

    /// How long a hundred random requests take, alone.
    fn follow(&mut self, mut chance: Chance) -> Nanos {
        let began = self.now;
        let blocks = self.ssd.params.capacity_bytes / 4096;
        self.now = closed_loop(&mut self.ssd, began, Op::Read, 100, 1, |_| {
            (chance.whole(0, blocks - 1) * 4096, 4096)
        });
        self.now - began
    }
}

/// What came of one case.
struct Outcome {
    off: f64,
    off_behind: f64,
    computed: bool,
    what: String,
}

fn case(seed: u64) -> Outcome {
    let mut chance = Chance::of(seed);
    let ssd = any_drive(&mut chance);
    let pass = any_pass(&mut chance, &ssd);
    let mut at_once = Desk { ssd, now: 0 };
    at_once.use_it(&mut chance);
    let began = at_once.now;
    let mut stepped = at_once.clone();
    let Pass { op, from, len, chunk, depth } = pass;
    let end = at_once.ssd.stream(began, op, from, len, chunk, depth);
    let mut outcome = Outcome { off: 0.0, off_behind: 0.0, computed: false, what: String::new() };
    let Some(end) = end else { return outcome };
    at_once.now = end;
    stepped.step(&pass);
    if stepped.now - began < LEAST {
        return outcome;
    }
    outcome.computed = true;
    outcome.off = (end - began) as f64 / (stepped.now - began) as f64 - 1.0;
    let seconds = (stepped.now - began) as f64 / 1e9;
    outcome.what = format!("seed {seed}: {seconds:.2} s, {pass:?}\n{:?}", at_once.ssd.params);
    let again = || Chance::of(seed);
    let behind = (at_once.follow(again()), stepped.follow(again()));
    outcome.off_behind = behind.0 as f64 / behind.1 as f64 - 1.0;
    outcome
}

/// Looks at the cases of `seeds`; says which were off.
fn cases(seeds: std::ops::Range<u64>) -> (usize, Vec<String>) {
    let (mut computed, mut off) = (0, Vec::new());
    for seed in seeds {
        let outcome = case(seed);
        computed += usize::from(outcome.computed);
        if outcome.off.abs() > MOST {
            off.push(format!("{:+.2} %, {}", outcome.off * 100.0, outcome.what));
        }
        // what follows is short
        if outcome.off_behind.abs() > 0.3 {
            off.push(format!("behind it {:+.1} %, {}", outcome.off_behind * 100.0, outcome.what));
        }
    }
    (computed, off)
}

#[test]
fn computed_passes_over_any_drive_agree_with_stepped_ones() {
    let (computed, off) = cases(0..12);
    assert!(off.is_empty(), "{}", off.join("\n"));
    assert!(computed >= 4, "{computed} computed");
}

/// The same over many more drives: `cargo test --release -p drivescope-sim -- --ignored many_drives`.
#[test]
#[ignore = "takes a minute"]
fn computed_passes_over_many_drives_agree_with_stepped_ones() {
    let first = std::env::var("FIRST").map_or(0, |first| first.parse().unwrap());
    let count = std::env::var("COUNT").map_or(300, |count| count.parse().unwrap());
    let (computed, off) = cases(first..first + count);
    println!("{computed} of {count} computed, {} off", off.len());
    assert!(off.is_empty(), "{}", off.join("\n\n"));
}
