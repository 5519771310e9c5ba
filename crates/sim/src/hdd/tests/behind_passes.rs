//! What comes behind a computed pass against what comes behind the same pass step by step.

use super::computed::{Desk, any_disk, any_pass};
use super::host::Host;
use super::small_drive;
use crate::device::{Device, Nanos, Op, Stream};
use crate::hdd::params::ZoneParams;
use crate::testing::{Chance, LEAST, Pass};

/// What is asked of a disk behind a pass.
#[derive(Debug, Clone, Copy)]
enum Behind {
    RandomReads,
    RandomWrites,
    Mixed,
    GoesOn(Op),
    Again(Op),
    LookBack,
    Repeat,
}

const ALL: [Behind; 9] = [
    Behind::RandomReads,
    Behind::RandomWrites,
    Behind::Mixed,
    Behind::GoesOn(Op::Read),
    Behind::GoesOn(Op::Write),
    Behind::Again(Op::Read),
    Behind::Again(Op::Write),
    Behind::LookBack,
    Behind::Repeat,
];

fn requests(behind: Behind, pass: &Pass, desk: &Desk, chance: &mut Chance) -> Vec<(Op, u64, u64)> {
    let capacity = desk.disk.capacity_bytes();
    let blocks = capacity / 4096;
    let end = pass.from + pass.len;
    let in_order = |op, from: u64, count: u64| -> Vec<(Op, u64, u64)> {
        let len = 65_536;
        (0..count)
            .map(|i| (op, from + i * len, len))
            .filter(|request| request.1 + request.2 <= capacity)
            .collect()
    };
    let count = 300;
    let blocks_read = || -> Vec<(Op, u64, u64)> {
        let mut chance = Chance::of(pass.len);
        let place = |_| (pass.from + chance.whole(0, pass.len - 4096)) / 4096 * 4096;
        (0..40).map(place).map(|at| (Op::Read, at, 4096)).collect()
    };
    let mut random = |op: Option<Op>| {
        (0..count)
            .map(|_| {
                let op = op.unwrap_or_else(|| chance.one_of(&[Op::Read, Op::Write]));
                (op, chance.whole(0, blocks - 1) * 4096, 4096)
            })
            .collect()
    };
    match behind {
        Behind::RandomReads => random(Some(Op::Read)),
        Behind::RandomWrites => random(Some(Op::Write)),
        Behind::Mixed => random(None),
        Behind::GoesOn(op) => in_order(op, end / 4096 * 4096, 1500),
        Behind::Again(op) => in_order(op, pass.from / 4096 * 4096, 1500),
        Behind::Repeat => blocks_read(),
        Behind::LookBack => (0..count)
            .map(|_| {
                let back = chance.scaled(4096.0, (pass.len - 4096) as f64) as u64;
                (Op::Read, (end - back) / 4096 * 4096, 4096)
            })
            .collect(),
    }
}

/// The disk of `seed` behind a pass, computed and stepped; `None` if it must be stepped or is short.
fn both_ways(seed: u64) -> Option<(Pass, Nanos, [Desk; 2])> {
    let mut chance = Chance::of(seed);
    let (params, disk) = any_disk(&mut chance);
    let pass = any_pass(&mut chance, &disk, 60_000);
    let mut at_once = Desk { disk, now: 0 };
    at_once.use_it(&mut chance, &pass);
    let read_before = requests(Behind::Repeat, &pass, &at_once, &mut chance);
    at_once.run(1, read_before.into_iter());
    let began = at_once.now;
    let mut stepped = at_once.clone();
    let Pass { op, from, len, chunk, depth } = pass;
    at_once.now = at_once.disk.stream(began, op, from, len, chunk, depth)?;
    stepped.step(&pass);
    let turn = (60e9 / params.rpm) as Nanos;
    (stepped.now - began >= LEAST).then_some((pass, turn, [at_once, stepped]))
}

/// What follows and takes another time on the disk of `seed`; `None` if it has no computed pass.
fn differing(seed: u64) -> Option<Vec<String>> {
    let (pass, turn, desks) = both_ways(seed)?;
    // elsewhere the cycle in which the pass goes may stand at another moment
    let same_end = desks[0].now == desks[1].now;
    let rests: &[Nanos] = if same_end { &[0, 30_000_000, 2_000_000_000] } else { &[2_000_000_000] };
    let mut off = Vec::new();
    for &rest in rests {
        for (behind, depth) in ALL.iter().flat_map(|&behind| [(behind, 1), (behind, 8)]) {
            let [computed, stepped] = [0, 1].map(|which: usize| {
                let mut desk = desks[which].clone();
                desk.now += rest;
                desk.disk.advance(desk.now, &mut Vec::new());
                let began = desk.now;
                let list = requests(behind, &pass, &desk, &mut Chance::of(seed + 7));
                desk.run(depth, list.into_iter());
                desk.now - began
            });
            let share = if same_end { 0.02 } else { 0.05 };
            let most = ((stepped as f64 * share) as Nanos).max(4 * turn);
            if computed.abs_diff(stepped) > most {
                off.push(format!(
                    "seed {seed}, {rest} ns behind {pass:?}: {behind:?} at {depth}: {computed} for {stepped} ns"
                ));
            }
        }
    }
    Some(off)
}

/// Blocks read here and there before a long read stay in their segments, however that is carried out.
#[test]
fn what_was_read_before_a_computed_pass_is_still_in_the_buffer() {
    let mut params = small_drive();
    let (outer_media_mb_s, inner_media_mb_s) = (100.0, 50.0);
    params.zones = ZoneParams::SquareRoot {
        outer_media_mb_s,
        inner_media_mb_s,
        clamp_media_mb_s: None,
        count: 3,
    };
    let mut host = Host::new(&params);
    let places = [3, 77, 500, 1111, 2048, 3333].map(|mib| mib << 20);
    let read = |host: &mut Host| host.run(1, places.map(|at| (Op::Read, at, 4096)));
    assert!(read(&mut host).iter().all(|&time| time > 1_000_000));
    let uses = host.disk.read_cache.uses();
    host.now = host.disk.stream(host.now, Op::Read, 0, 3700 << 20, 1 << 20, 1).unwrap();
    assert!(host.disk.read_cache.uses() - uses < 2000, "most of it is computed");
    let again = read(&mut host);
    assert!(again.iter().all(|&time| time < 500_000), "{again:?}");
}

/// `cargo test --release -p drivescope-sim -- --ignored behind_a_computed_pass`.
#[test]
#[ignore = "takes minutes"]
fn what_comes_behind_a_computed_pass_over_many_disks_is_the_same() {
    let first = std::env::var("FIRST").map_or(0, |first| first.parse().unwrap());
    let count = std::env::var("COUNT").map_or(300, |count| count.parse().unwrap());
    let all: Vec<Vec<String>> = (first..first + count).filter_map(differing).collect();
    let off = all.concat();
    println!("{} of {count} computed, {} off", all.len(), off.len());
    assert!(off.is_empty(), "{}", off.join("\n"));
}
