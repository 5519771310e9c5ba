//! Passes computed at once against the same passes step by step, over disks and SSDs behind links, all of which
//! chance has put together.

use super::{Bridge, Link, LinkKind, LinkParams, NonData};
use crate::device::{Completion, Device, Nanos, Op, Request, Stream};
use crate::hdd::HardDisk;
use crate::hdd::tests::computed as disks;
use crate::passes::Passes;
use crate::ssd::Ssd;
use crate::ssd::params::PortParams;
use crate::ssd::tests::computed as flash;
use crate::testing::{Chance, LEAST, MOST, Pass};

fn any_link(chance: &mut Chance) -> LinkParams {
    let kinds = [LinkKind::Sata, LinkKind::Nvme, LinkKind::UsbBulkOnly, LinkKind::UsbUas];
    let kind = chance.one_of(&kinds);
    let (queue_depth, queues) = match kind {
        LinkKind::Sata => (chance.scaled(1.0, 32.9) as u32, 1),
        LinkKind::Nvme => (chance.scaled(1.0, 1024.0) as u32, chance.scaled(1.0, 9.0) as u32),
        LinkKind::UsbBulkOnly => (1, 1),
        LinkKind::UsbUas => (chance.scaled(1.0, 64.0) as u32, 1),
    };
    let slow = kind.has_bridge();
    let (rate, us) = if slow { (600.0, 300.0) } else { (4000.0, 10.0) };
    let most = 4096 * chance.scaled(4.0, 1024.0) as u64;
    let bridge = Bridge {
        logical_sector_bytes: (slow && chance.in_a(20)).then_some(4096),
        hidden_tail_bytes: if slow && chance.in_a(20) { 1 << 20 } else { 0 },
        ..Bridge::default()
    };
    LinkParams {
        kind,
        name: String::new(),
        queue_depth,
        queues,
        rate_mb_s: chance.scaled(rate / 20.0, rate),
        frame_payload_bytes: chance.scaled(128.0, 8192.0) as u32,
        frame_overhead_bytes: chance.scaled(1.0, 600.0) as u32,
        command_us: chance.scaled(us / 100.0, us),
        latency_us: if chance.in_a(30) { 0.0 } else { chance.scaled(us / 100.0, us) },
        status_us: if chance.in_a(30) { 0.0 } else { chance.scaled(us / 100.0, us) },
        max_transfer_bytes: chance.in_a(70).then_some(most),
        flush: NonData::Alone,
        trim: NonData::Alone,
        bridge,
    }
}

fn any_disk(chance: &mut Chance, most_mb_s: f64) -> HardDisk {
    loop {
        let mut params = disks::any_params(chance, 3e9, 14e9);
        params.interface_mb_s = params.interface_mb_s.min(most_mb_s);
        if let Ok(mut disk) = HardDisk::new(&params, chance.whole(1, 1 << 40)) {
            disk.begin_anywhere();
            return disk;
        }
    }
}

fn any_ssd(chance: &mut Chance, link: &LinkParams) -> Ssd {
    let most_mb_s = link.payload_mb_s();
    loop {
        let mut params = flash::any_params(chance, 3e9, 14e9);
        let own = params.port.take().unwrap_or(PortParams {
            read_mb_s: most_mb_s,
            write_mb_s: most_mb_s,
            command_us: 0.0,
            full_duplex: link.kind == LinkKind::Nvme,
        });
        params.port = Some(PortParams {
            read_mb_s: own.read_mb_s.min(most_mb_s),
            write_mb_s: own.write_mb_s.min(most_mb_s),
            ..own
        });
        if let Ok(mut ssd) = Ssd::new(params, chance.whole(1, 1 << 40)) {
            if chance.in_a(70) {
                ssd.precondition(if chance.in_a(60) { 1.0 } else { chance.real(0.0, 1.0) });
            }
            return ssd;
        }
    }
}

fn any_pass(chance: &mut Chance, sector: u64, capacity: u64) -> Pass {
    let chunk = match chance.whole(0, 3) {
        0 => (chance.scaled(16_384.0, 8e6) as u64 / sector).max(1) * sector,
        1 => 1 << chance.whole(13, 16),
        _ => 1 << chance.whole(16, 22),
    };
    let from = if chance.in_a(50) { 0 } else { chance.whole(0, capacity / 4) / chunk * chunk };
    let longest = (capacity - from).min(chunk * 400_000);
    let len = chance.scaled(longest as f64 * 0.8, longest as f64) as u64 / sector * sector;
    let depth = if chance.in_a(50) { 1 } else { chance.scaled(2.0, 40.0) as u32 };
    Pass { op: chance.one_of(&[Op::Read, Op::Write]), from, len, chunk, depth }
}

/// Sends requests with `depth` outstanding; returns when all are answered.
fn run<D: Device>(
    drive: &mut D,
    mut now: Nanos,
    depth: usize,
    requests: impl Iterator<Item = (Op, u64, u64)>,
) -> Nanos {
    let mut requests = requests.enumerate();
    let (mut inside, mut more) = (0, true);
    let mut done: Vec<Completion> = Vec::new();
    while more || inside > 0 {
        while more && inside < depth {
            let Some((id, (op, offset, len))) = requests.next() else {
                more = false;
                break;
            };
            drive.submit(now, Request { id: id as u64, op, offset, len, fua: false });
            inside += 1;
        }
        let Some(due) = drive.next_completion() else { continue };
        now = due;
        drive.advance(due, &mut done);
        inside -= done.drain(..).count();
    }
    now
}

/// What came of one case.
struct Outcome {
    off: f64,
    off_behind: f64,
    what: String,
}

fn case<D: Passes + Clone>(
    chance: &mut Chance,
    link: &LinkParams,
    drive: D,
    what: &str,
) -> Option<Outcome> {
    let mut at_once = Link::new(link, drive).ok()?;
    let (sector, capacity) = (u64::from(at_once.sector_bytes()), at_once.capacity_bytes());
    let pass = any_pass(chance, sector, capacity);
    let used: Vec<_> = (0..chance.whole(0, 200))
        .map(|_| {
            let at = chance.whole(0, capacity / sector - 16) * sector;
            (chance.one_of(&[Op::Read, Op::Write]), at, chance.whole(1, 16) * sector)
        })
        .collect();
    let began = run(&mut at_once, 0, 4, used.into_iter());
    let mut stepped = at_once.clone();
    let Pass { op, from, len, chunk, depth } = pass;
    let end = at_once.stream(began, op, from, len, chunk, depth)?;
    let in_steps =
        (0..len.div_ceil(chunk)).map(|i| (op, from + i * chunk, chunk.min(len - i * chunk)));
    let stepped_end = run(&mut stepped, began, depth as usize, in_steps);
    if stepped_end - began < LEAST {
        return None;
    }
    let off = (end - began) as f64 / (stepped_end - began) as f64 - 1.0;
    let seed = chance.whole(0, 1 << 40);
    let behind = |link: &mut Link<D>, now| {
        let mut chance = Chance::of(seed);
        let requests = (0..300).map(|_| {
            let at = chance.whole(0, capacity / 4096 - 1) * 4096;
            (chance.one_of(&[Op::Read, Op::Write]), at, 4096)
        });
        (run(link, now, 1, requests) - now) as f64
    };
    let off_behind = behind(&mut at_once, end) / behind(&mut stepped, stepped_end) - 1.0;
    let seconds = (stepped_end - began) as f64 / 1e9;
    Some(Outcome { off, off_behind, what: format!("{what}: {seconds:.2} s, {pass:?}\n{link:?}") })
}

fn any_case(seed: u64) -> Option<Outcome> {
    let mut chance = Chance::of(seed);
    let link = any_link(&mut chance);
    if chance.in_a(60) {
        let disk = any_disk(&mut chance, link.payload_mb_s());
        return case(&mut chance, &link, disk, &format!("seed {seed}, disk"));
    }
    let ssd = any_ssd(&mut chance, &link);
    case(&mut chance, &link, ssd, &format!("seed {seed}, SSD"))
}

fn cases(seeds: std::ops::Range<u64>) -> (usize, Vec<String>) {
    let (mut computed, mut off) = (0, Vec::new());
    for seed in seeds {
        let Some(outcome) = any_case(seed) else { continue };
        computed += 1;
        if outcome.off.abs() > MOST {
            off.push(format!("{:+.2} %, {}", outcome.off * 100.0, outcome.what));
        }
        // what follows is short, and what a pass has left in caches another moment of their cycles
        if outcome.off_behind.abs() > 0.15 {
            off.push(format!("behind it {:+.1} %, {}", outcome.off_behind * 100.0, outcome.what));
        }
    }
    (computed, off)
}

#[test]
fn computed_passes_through_any_link_agree_with_stepped_ones() {
    let (computed, off) = cases(78..90);
    assert!(off.is_empty(), "{}", off.join("\n"));
    assert!(computed >= 10, "{computed} computed");
}

/// The same through many more links: `cargo test --release -p drivescope-sim -- --ignored many_links`.
#[test]
#[ignore = "takes minutes"]
fn computed_passes_over_many_links_agree_with_stepped_ones() {
    let first = std::env::var("FIRST").map_or(0, |first| first.parse().unwrap());
    let count = std::env::var("COUNT").map_or(100, |count| count.parse().unwrap());
    let (computed, off) = cases(first..first + count);
    println!("{computed} of {count} computed, {} off", off.len());
    assert!(off.is_empty(), "{}", off.join("\n\n"));
}
