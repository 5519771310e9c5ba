//! Drives against computations from their published parameters alone: the fields of the model's file and the
//! formulas of docs/models.md. Nothing here uses the drive's own parts; radii are shares of the full stroke.

use super::host::{Host, mean_ms};
use super::models::{file_of, model, names};
use super::phybs::{WRITE, pass};
use crate::device::{RequestKind, SimDevice};
use crate::hdd::HddParams;
use drivescope_model::patterns::phybs::PASS_BYTES;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;

/// A drive as its file describes it. Times are ms, rates MB/s.
struct OnPaper {
    turn: f64,
    overhead: f64,
    starvation: f64,
    /// Mean share of a turn that is lost from one track to the next.
    skew: f64,
    seek: Seek,
    /// Media rate of each zone; all are equally wide.
    zones: Vec<f64>,
}

/// Seek time over the share `f` of the full stroke: base + root·√f + slope·f, from `from` on.
struct Seek(Vec<SeekPiece>);

struct SeekPiece {
    from: f64,
    base: f64,
    root: f64,
    slope: f64,
}

impl Seek {
    fn of(table: &toml::Table) -> Self {
        fn piece(from: f64, base: f64, root: f64, slope: f64) -> SeekPiece {
            SeekPiece { from, base, root, slope }
        }
        let ms = |field: &str| number(&table[field]);
        Self(match table["curve"].as_str().unwrap() {
            "two-piece" => vec![
                piece(0.0, ms("near_base_ms"), ms("near_root_ms"), 0.0),
                piece(ms("knee_fraction"), ms("far_base_ms"), 0.0, ms("far_slope_ms")),
            ],
            "square-root" => {
                vec![piece(0.0, ms("min_ms"), ms("full_ms") - ms("min_ms"), 0.0)]
            }
            "three-point" => {
                let (min, average, full) = (ms("min_ms"), ms("average_ms"), ms("full_ms"));
                let root = (15.0 * average - 10.0 * min - 5.0 * full) / 3.0;
                let slope = (7.0 * min - 15.0 * average + 8.0 * full) / 3.0;
                vec![piece(0.0, min, root, slope)]
            }
            other => panic!("no formula for {other}"),
        })
    }

    fn time(&self, f: f64) -> f64 {
        let piece = self.0.iter().rev().find(|piece| piece.from <= f).unwrap();
        piece.base + piece.root * f.sqrt() + piece.slope * f
    }
}

fn number(value: &toml::Value) -> f64 {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64)).unwrap()
}

impl OnPaper {
    fn of(name: &str) -> Self {
        let file = file_of(name);
        let hdd = file["hdd"].as_table().unwrap();
        let field = |table: &str, name: &str| hdd[table].get(name).map(number);
        let (outer, inner) =
            (field("zones", "outer_media_mb_s"), field("zones", "inner_media_mb_s"));
        let (outer, inner) = (outer.unwrap(), inner.unwrap());
        let count = field("zones", "count").unwrap() as u32;
        let rate = |i: u32| outer - (outer - inner) * f64::from(i) / f64::from(count - 1);
        let clamp = field("zones", "clamp_media_mb_s").unwrap_or(f64::INFINITY);
        // in these models head switches and cylinder steps are skewed alike
        let skew = field("skew", "head_rev").unwrap();
        assert_eq!(Some(skew), field("skew", "cylinder_rev"));
        Self {
            turn: 60_000.0 / number(&hdd["rpm"]),
            overhead: number(&hdd["read_miss_overhead_ms"]),
            starvation: field("queue", "starvation_ms").unwrap(),
            skew,
            seek: Seek::of(hdd["seek"].as_table().unwrap()),
            zones: (0..count).map(|i| rate(i).min(clamp)).collect(),
        }
    }

    fn mean_rate(&self) -> f64 {
        self.zones.iter().sum::<f64>() / self.zones.len() as f64
    }

    /// Time to pass all `bytes`, s: zones are equally wide, so the mean rate is that over the radius.
    fn pass_s(&self, bytes: u64) -> f64 {
        bytes as f64 / 1e6 / self.mean_rate() * (1.0 + self.skew)
    }

    /// Mean time for a block to pass under the head: random addresses are as dense as the rate is high.
    fn transfer(&self) -> f64 {
        BLOCK as f64 / self.mean_rate() / 1e3
    }

    /// Mean seek time between random addresses: the double integral of the seek curve over both radii. With
    /// zones of equal rates the distances would have the density 2·(1 − f).
    fn mean_seek(&self) -> f64 {
        const POINTS: usize = 2000;
        let radius = |i: usize| (i as f64 + 0.5) / POINTS as f64;
        let density = |i: usize| {
            let zone = (radius(i) * self.zones.len() as f64) as usize;
            self.zones[zone] / self.mean_rate()
        };
        let densities: Vec<f64> = (0..POINTS).map(density).collect();
        let at_distance = |d: usize| -> f64 {
            let pairs = densities.iter().zip(&densities[d..]);
            pairs.map(|(a, b)| a * b).sum::<f64>() * if d == 0 { 1.0 } else { 2.0 }
        };
        let step = |d: usize| self.seek.time(d as f64 / POINTS as f64) * at_distance(d);
        (0..POINTS).map(step).sum::<f64>() / (POINTS * POINTS) as f64
    }

    fn access(&self) -> f64 {
        self.overhead + self.mean_seek() + self.turn / 2.0 + self.transfer()
    }

    /// A random address: its radius and angle (share of a turn).
    fn place(&self, random: &mut Xoshiro256PlusPlus) -> (f64, f64) {
        loop {
            let radius: f64 = random.random();
            let rate = self.zones[(radius * self.zones.len() as f64) as usize];
            // addresses are as dense as the rate is high
            if random.random::<f64>() * self.zones[0] < rate {
                return (radius, random.random());
            }
        }
    }

    /// Mean time per read with `depth` of them outstanding, by Monte Carlo: of those whose overhead is over, the
    /// one whose positioning time, seek and wait for the angle, is the least comes next (Seltzer, Chen and
    /// Ousterhout 1990), unless the oldest has waited too long.
    fn queued(&self, depth: usize, count: u32) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let (mut now, mut head) = (0.0_f64, 0.0_f64);
        // when it was sent, and where it goes; the oldest first
        let mut waiting: Vec<(f64, (f64, f64))> =
            (0..depth).map(|_| (0.0, self.place(&mut random))).collect();
        for _ in 0..count {
            now = now.max(waiting[0].0 + self.overhead);
            let positioning = |(radius, angle): (f64, f64)| {
                let seek = self.seek.time((radius - head).abs());
                let there = (now + seek) / self.turn;
                seek + (angle - there).rem_euclid(1.0) * self.turn
            };
            let ready = waiting.iter().take_while(|(sent, _)| sent + self.overhead <= now);
            let times: Vec<f64> = ready.map(|&(_, place)| positioning(place)).collect();
            let is_starved = now - waiting[0].0 > self.starvation;
            let soonest = (0..times.len()).min_by(|&a, &b| times[a].total_cmp(&times[b]));
            let next = if is_starved { 0 } else { soonest.unwrap() };
            let (_, (radius, _)) = waiting.remove(next);
            now += times[next] + self.transfer();
            head = radius;
            waiting.push((now, self.place(&mut random)));
        }
        now / f64::from(count)
    }
}

fn measured(params: &HddParams, depth: usize, count: usize) -> f64 {
    let mut host = Host::new(params);
    let times = host.run(depth, host.anywhere(RequestKind::Read, BLOCK, count));
    if depth == 1 { mean_ms(&times) } else { host.now as f64 / 1e6 / count as f64 }
}

#[track_caller]
fn near(what: &str, seen: f64, expected: f64, tolerance: f64) {
    let off = seen / expected - 1.0;
    println!("{what}: {seen:.4} for {expected:.4}: {:+.2} %", off * 100.0);
    assert!(off.abs() <= tolerance, "{what}: {seen} for {expected}");
}

/// All models whose writes go where they belong at once.
fn conventional() -> impl Iterator<Item = &'static str> {
    names().filter(|name| model(name).smr.is_none())
}

#[test]
fn random_access_takes_seek_and_half_a_turn() {
    for name in conventional() {
        // the mean of 20,000 times that vary by 4 ms is off by 0.03 ms of 12 to 16
        near(name, measured(&model(name), 1, 20_000), OnPaper::of(name).access(), 0.01);
    }
}

fn check_gains_of_the_queue(names: impl Iterator<Item = &'static str>) {
    const COUNT: usize = 100_000;
    for name in names {
        fn gains(params: &HddParams, paper: &OnPaper) -> (f64, f64) {
            let seen = measured(params, 1, 20_000) / measured(params, 32, COUNT);
            (seen, paper.access() / paper.queued(32, COUNT as u32))
        }
        let (mut params, mut paper) = (model(name), OnPaper::of(name));
        // a command that has starved keeps others waiting until they starve, too: such times are long, and few
        let (seen, expected) = gains(&params, &paper);
        near(name, seen, expected, 0.03);
        (params.queue.starvation_ms, paper.starvation) = (1e6, 1e6);
        let (seen, expected) = gains(&params, &paper);
        near(&format!("{name}, never starved"), seen, expected, 0.01);
    }
}

#[test]
fn queue_gains_least_positioning_time() {
    check_gains_of_the_queue(["wd40efrx", "hds722020ala330"].into_iter());
}

#[test]
#[ignore = "takes a minute; cargo xtask soak runs it"]
fn queue_of_each_model_gains_least_positioning_time() {
    check_gains_of_the_queue(conventional());
}

#[test]
fn a_full_pass_takes_capacity_by_mean_rate() {
    for name in conventional() {
        let paper = OnPaper::of(name);
        let mut params = model(name);
        let disk = Host::new(&params).disk;
        near(name, disk.full_pass_s(), paper.pass_s(disk.capacity_bytes()), 0.003);
        // a drive with fewer of the same tracks, request by request
        params.capacity_bytes = 40_000 * MIB;
        let mut small = Host::new(&params);
        small.run(1, (0..40_000).map(|i| (RequestKind::Read, i * MIB, MIB)));
        let expected = paper.pass_s(params.capacity_bytes);
        near(&format!("{name} in steps"), small.now as f64 / 1e9, expected, 0.003);
    }
}

fn in_file(name: &str, table: &str, field: &str) -> f64 {
    number(&file_of(name)["hdd"][table][field])
}

/// From a transfer of `bytes` to the next place of phybs that has not passed by when a pause of `gap` ms is over,
/// ms. Places are four blocks apart, and tracks are left by their skew.
fn to_the_next_place(paper: &OnPaper, gap: f64, bytes: u64) -> f64 {
    let ms = |bytes: u64| bytes as f64 / 1e3 / paper.zones[0];
    let stride = ms(4 * BLOCK);
    ((gap + ms(bytes)) / stride).ceil() * stride * (1.0 + paper.skew)
}

#[test]
fn strided_writes_take_places_after_the_pause() {
    for name in ["wd20ears", "wd10ears", "wd15earx", "wd20eads", "wd4000aaks", "hds722020ala330"] {
        let paper = OnPaper::of(name);
        let least = to_the_next_place(&paper, in_file(name, "write_cache", "gap_ms"), BLOCK);
        let mut host = Host::new(&model(name));
        let (all, rate) = (PASS_BYTES / BLOCK, pass(&mut host, WRITE, BLOCK, 0));
        // the last of them are still in the cache
        let written = (all - host.disk.dirty_bytes() / BLOCK) as f64 / all as f64;
        let seen = 1e3 / rate / written;
        println!("{name}: {seen:.4} ms, at least {least:.4}");
        // what a cache that holds few leaves over has to be come back to
        assert!((0.99..1.33).contains(&(seen / least)), "{name}: {seen} ms, at least {least}");
    }
}

#[test]
fn misaligned_strided_writes_add_turn_per_batch() {
    for name in ["wd10ears", "wd15earx"] {
        let paper = OnPaper::of(name);
        let field = |field| in_file(name, "read_modify_write", field);
        // two sectors of each write are partial, and touch
        let turns = paper.turn / (field("batch_sectors") / 2.0);
        let expected = turns + to_the_next_place(&paper, field("gap_ms"), 2 * BLOCK);
        let seen = 1e3 / pass(&mut Host::new(&model(name)), WRITE, BLOCK, 512);
        near(name, seen, expected, 0.04);
    }
}
