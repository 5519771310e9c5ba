//! Passes computed at once against the same passes step by step, on disks that chance has put together and used.

use crate::device::{Completion, Device, Nanos, Op, Request, Stream};
use crate::hdd::params::{
    AfterWriteParams, HddParams, LayoutParams, QueueParams, ReadCacheParams, RmwParams, SeekParams,
    SkewParams, WriteCacheParams, ZoneEntry, ZoneParams,
};
use crate::hdd::{HardDisk, ZoneRate};
use crate::testing::{Chance, LEAST, MOST, Pass};

fn zones(chance: &mut Chance, sectors: u64, physical: u32, rpm: f64, heads: u32) -> ZoneParams {
    let outer_media_mb_s = chance.scaled(30.0, 350.0);
    let inner_media_mb_s = outer_media_mb_s * chance.real(0.35, 1.0);
    if chance.in_a(60) {
        let clamp = chance.real(inner_media_mb_s, outer_media_mb_s);
        return ZoneParams::SquareRoot {
            outer_media_mb_s,
            inner_media_mb_s,
            clamp_media_mb_s: chance.in_a(30).then_some(clamp),
            count: chance.scaled(1.0, 40.0) as u32,
        };
    }
    let count = chance.whole(1, 6);
    let per_track = |rate: f64| (rate * 60e6 / rpm / f64::from(physical)).max(1.0);
    let mut rate = outer_media_mb_s;
    let list = (0..count).map(|_| {
        let sectors_per_track = per_track(rate) as u32;
        rate *= chance.real(0.6, 1.0);
        let share = sectors as f64 / count as f64;
        let cylinders = (share / f64::from(sectors_per_track) / f64::from(heads)).ceil() as u32 + 1;
        ZoneEntry {
            cylinders,
            sectors_per_track,
            head_skew_rev: chance.in_a(50).then(|| chance.real(0.0, 0.9)),
            cylinder_skew_rev: chance.in_a(50).then(|| chance.real(0.0, 0.5)),
        }
    });
    ZoneParams::Table { list: list.collect() }
}

fn caches(chance: &mut Chance) -> (ReadCacheParams, WriteCacheParams) {
    let segment_kib = chance.scaled(16.0, 32_768.0) as u32;
    let share = chance.real(0.05, 1.0);
    let ahead = chance.one_of(&[1.0, 0.5, share]);
    let read = ReadCacheParams {
        segments: if chance.in_a(5) { 0 } else { chance.scaled(1.0, 80.0) as u32 },
        segment_kib,
        adaptive: chance.in_a(30),
        read_ahead_kib: if chance.in_a(5) { 0 } else { (f64::from(segment_kib) * ahead) as u32 },
    };
    let write = WriteCacheParams {
        enabled: chance.in_a(93),
        dirty_limit_kib: chance.scaled(8.0, 65_536.0) as u32,
        dirty_extents: chance.scaled(1.0, 600.0) as u32,
        high_water_pct: chance.real(1.0, 100.0),
        idle_ms: chance.real(0.0, 100.0),
        age_limit_ms: chance.scaled(10.0, 30_000.0),
        window: chance.scaled(1.0, 128.0) as u32,
        gap_ms: chance.real(0.0, 2.0),
        gap_jitter_ms: if chance.in_a(15) { chance.real(0.0, 1.0) } else { 0.0 },
    };
    (read, write)
}

/// Parameters that may not fit one another.
pub(crate) fn any_params(chance: &mut Chance, least_bytes: f64, most_bytes: f64) -> HddParams {
    let (logical, physical) = chance.one_of(&[(512, 512), (512, 4096), (4096, 4096)]);
    let rpm = chance.one_of(&[4200.0, 5400.0, 5900.0, 7200.0, 10_000.0, 15_000.0]);
    let heads = chance.whole(1, 12) as u32;
    let capacity_bytes = chance.scaled(least_bytes, most_bytes) as u64 / 4096 * 4096;
    let sectors = capacity_bytes / u64::from(physical) + 8;
    let min_ms = chance.real(0.4, 3.0);
    let after_write = chance.in_a(25).then(|| AfterWriteParams {
        read_hit_overhead_ms: Some(chance.scaled(0.01, 0.5)),
        read_miss_overhead_ms: None,
        write_overhead_ms: Some(chance.scaled(0.01, 0.5)),
        write_miss_overhead_ms: None,
    });
    let (read_cache, write_cache) = caches(chance);
    HddParams {
        capacity_bytes,
        rpm,
        heads,
        logical_sector_bytes: logical,
        physical_sector_bytes: physical,
        alignment_shift_sectors: if physical > logical && chance.in_a(20) {
            chance.whole(1, 7) as u32
        } else {
            0
        },
        zones: zones(chance, sectors, physical, rpm, heads),
        layout: if chance.in_a(30) {
            LayoutParams::Cylinder
        } else {
            LayoutParams::Serpentine { band_cylinders: chance.scaled(1.0, 300.0) as u32 }
        },
        skew: SkewParams { head_rev: chance.real(0.0, 0.9), cylinder_rev: chance.real(0.0, 0.5) },
        seek: SeekParams::SquareRoot { min_ms, full_ms: min_ms + chance.real(3.0, 20.0) },
        write_seek: None,
        head_switch_ms: chance.real(0.0, 3.0),
        write_settle_ms: chance.real(0.0, 1.0),
        read_hit_overhead_ms: chance.scaled(0.005, 1.0),
        read_miss_overhead_ms: chance.scaled(0.01, 1.0),
        write_overhead_ms: chance.scaled(0.005, 1.0),
        write_miss_overhead_ms: chance.in_a(20).then(|| chance.scaled(0.01, 1.0)),
        after_write,
        interface_mb_s: chance.scaled(20.0, 1200.0),
        read_cache,
        write_cache,
        read_modify_write: Some(RmwParams {
            batch_sectors: chance.scaled(1.0, 30.0) as u32,
            gap_ms: chance.real(0.0, 1.0),
        }),
        queue: QueueParams {
            depth: chance.scaled(1.0, 64.0) as u32,
            window: chance.scaled(1.0, 64.0) as u32,
            starvation_ms: chance.scaled(1.0, 1000.0),
        },
        smr: None,
    }
}

pub(super) fn any_disk(chance: &mut Chance) -> (HddParams, HardDisk) {
    loop {
        let params = any_params(chance, 1e9, 6e9);
        if let Ok(mut disk) = HardDisk::new(&params, chance.whole(1, 1 << 40)) {
            disk.begin_anywhere();
            return (params, disk);
        }
    }
}

/// Where passes begin: anywhere, near an edge between zones, at the beginning.
fn any_start(chance: &mut Chance, zones: &[ZoneRate], capacity: u64) -> u64 {
    match chance.whole(0, 3) {
        0 => 0,
        1 => chance.one_of(zones).offset_bytes.saturating_sub(chance.scaled(1e6, 1e9) as u64),
        _ => chance.whole(0, capacity * 4 / 5),
    }
}

pub(crate) fn any_pass(chance: &mut Chance, disk: &HardDisk, most_requests: u64) -> Pass {
    let sector = u64::from(disk.sector_bytes());
    let capacity = disk.capacity_bytes();
    let chunk = match chance.whole(0, 5) {
        0 => chance.scaled(4096.0, 8e6) as u64 / sector * sector,
        1 => 1 << chance.whole(12, 16),
        _ => 1 << chance.whole(16, 22),
    };
    let from = any_start(chance, &disk.zones(), capacity) / sector * sector;
    let from = if chance.in_a(50) { from / chunk * chunk } else { from };
    let longest = (capacity - from).min(most_requests * chunk);
    let len = chance.scaled(longest as f64 / 3.0, longest as f64) as u64 / sector * sector;
    Pass {
        op: chance.one_of(&[Op::Read, Op::Write]),
        from,
        len,
        chunk,
        depth: if chance.in_a(50) { 1 } else { chance.scaled(2.0, 40.0) as u32 },
    }
}

/// A drive and its clock.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) disk: HardDisk,
    pub(super) now: Nanos,
}

impl Desk {
    pub(super) fn run(&mut self, depth: usize, requests: impl Iterator<Item = (Op, u64, u64)>) {
        let mut requests = requests.enumerate();
        let (mut inside, mut more) = (0, true);
        let mut done: Vec<Completion> = Vec::new();
        while more || inside > 0 {
            while more && inside < depth {
                let Some((id, (op, offset, len))) = requests.next() else {
                    more = false;
                    break;
                };
                self.disk.submit(self.now, Request { id: id as u64, op, offset, len, fua: false });
                inside += 1;
            }
            let Some(due) = self.disk.next_completion() else { continue };
            self.now = due;
            self.disk.advance(due, &mut done);
            inside -= done.drain(..).count();
        }
    }

    pub(super) fn step(&mut self, pass: &Pass) {
        let requests = (0..pass.len.div_ceil(pass.chunk)).map(|i| {
            (pass.op, pass.from + i * pass.chunk, pass.chunk.min(pass.len - i * pass.chunk))
        });
        self.run(pass.depth as usize, requests);
    }

    /// Requests that the drive has seen before the pass: some of them in what is to come, some left in the cache.
    pub(super) fn use_it(&mut self, chance: &mut Chance, pass: &Pass) {
        let (sector, capacity) = (u64::from(self.disk.sector_bytes()), self.disk.capacity_bytes());
        for _ in 0..chance.whole(0, 3) {
            let (from, to) =
                if chance.in_a(50) { (pass.from, pass.from + pass.len) } else { (0, capacity) };
            let writes = chance.whole(0, 100);
            let largest = chance.scaled(sector as f64, 1e6) as u64 / sector * sector;
            let requests: Vec<(Op, u64, u64)> = (0..chance.whole(1, 150))
                .map(|_| {
                    let op = if chance.in_a(writes) { Op::Write } else { Op::Read };
                    let len = chance.whole(1, largest / sector) * sector;
                    let at = chance.whole(from, to - len.min(to - from)) / sector * sector;
                    (op, at, len.min(capacity - at))
                })
                .filter(|request| request.2 > 0)
                .collect();
            self.run(chance.whole(1, 8) as usize, requests.into_iter());
            if chance.in_a(30) {
                self.now += chance.scaled(1e5, 1e9) as Nanos;
                self.disk.advance(self.now, &mut Vec::new());
            }
        }
    }

    /// How long a hundred random requests take, alone.
    fn follow(&mut self, mut chance: Chance) -> Nanos {
        let began = self.now;
        let blocks = self.disk.capacity_bytes() / 4096;
        let requests: Vec<_> = (0..100)
            .map(|_| {
                (chance.one_of(&[Op::Read, Op::Write]), chance.whole(0, blocks - 1) * 4096, 4096)
            })
            .collect();
        self.run(1, requests.into_iter());
        self.now - began
    }
}

/// What came of one case.
struct Outcome {
    /// Relative difference of the computed pass; 0 for one that must be stepped.
    off: f64,
    /// The same of what follows.
    off_behind: f64,
    computed: bool,
    what: String,
}

fn case(seed: u64, most_requests: u64) -> Outcome {
    let mut chance = Chance::of(seed);
    let (params, disk) = any_disk(&mut chance);
    let pass = any_pass(&mut chance, &disk, most_requests);
    let mut at_once = Desk { disk, now: 0 };
    at_once.use_it(&mut chance, &pass);
    let began = at_once.now;
    let mut stepped = at_once.clone();
    let Pass { op, from, len, chunk, depth } = pass;
    let end = at_once.disk.stream(began, op, from, len, chunk, depth);
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
    outcome.what = format!("seed {seed}: {seconds:.2} s, {pass:?}\n{params:?}");
    let again = || Chance::of(seed);
    let behind = (at_once.follow(again()), stepped.follow(again()));
    outcome.off_behind = behind.0 as f64 / behind.1 as f64 - 1.0;
    outcome
}

/// Looks at the cases of `seeds`; says which were off.
fn cases(seeds: std::ops::Range<u64>, most_requests: u64) -> (usize, Vec<String>) {
    let (mut computed, mut off) = (0, Vec::new());
    for seed in seeds {
        let outcome = case(seed, most_requests);
        computed += usize::from(outcome.computed);
        if outcome.off.abs() > MOST {
            off.push(format!("{:+.2} %, {}", outcome.off * 100.0, outcome.what));
        }
        // what follows is short and goes its own way after a turn more or less
        if outcome.off_behind.abs() > 0.25 {
            off.push(format!("behind it {:+.1} %, {}", outcome.off_behind * 100.0, outcome.what));
        }
    }
    (computed, off)
}

#[test]
fn computed_passes_over_any_disk_agree_with_stepped_ones() {
    let (computed, off) = cases(0..24, 20_000);
    assert!(off.is_empty(), "{}", off.join("\n"));
    assert!(computed >= 10, "{computed} computed");
}

/// The same over many more disks: `cargo test --release -p drivescope-sim -- --ignored many_disks`.
#[test]
#[ignore = "takes a minute"]
fn computed_passes_over_many_disks_agree_with_stepped_ones() {
    let first = std::env::var("FIRST").map_or(0, |first| first.parse().unwrap());
    let count = std::env::var("COUNT").map_or(300, |count| count.parse().unwrap());
    let (computed, off) = cases(first..first + count, 200_000);
    println!("{computed} of {count} computed, {} off", off.len());
    assert!(off.is_empty(), "{}", off.join("\n\n"));
}
