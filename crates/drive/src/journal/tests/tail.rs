//! Journals that lose their end: cut off or zeroed, after a power cut at any moment. The drive is never
//! called restored then while it is not.

use super::crash::{PLAIN, SEED, Sweep, cut_run};
use super::damage::{dead_run, differing, lost_ranges};
use super::world::{Below, Faults, Left, SECTOR, UNIT, World, recover_all};
use crate::journal::format::{
    APART_BYTES, COMMITTED_AT, FIRST_RECORD, HEADER_BYTES, HEADERS_BYTES, INTENDED_AT,
};
use crate::journal::{ByteRange, Disk, Folder, JournalError};

#[derive(Debug, Clone, Copy)]
enum Lost {
    /// The file is shorter.
    Off,
    /// It has its length, and zeros.
    Zeros,
}

const BOTH: [Lost; 2] = [Lost::Off, Lost::Zeros];

fn lose(world: &World, name: &str, from: usize, how: Lost) {
    match how {
        Lost::Off => world.cut_off(name, from),
        Lost::Zeros => world.damage(name, |bytes| bytes[from..].fill(0)),
    }
}

fn journal_of(world: &World) -> Option<String> {
    let mut names = world.folder().names().unwrap();
    assert!(names.len() <= 1, "{names:?}");
    names.pop()
}

/// Every block of a file, and the middle of each.
fn places(len: usize) -> impl Iterator<Item = usize> {
    (0..len).step_by(UNIT).flat_map(|at| [at, at + UNIT / 2]).filter(move |at| *at < len)
}

/// Restores from a journal without its end; whether that was reported. If so, the journal stays.
fn is_loss_reported(world: &World, name: &str, original: &[u8], what: &str) -> bool {
    match recover_all(world) {
        Ok(()) => {
            world.power_cycle(Left::Nothing, 0);
            assert!(world.durable() == original, "{what}: called restored, and the drive differs");
            false
        }
        Err(JournalError::Damaged { .. }) => {
            assert_eq!(journal_of(world).as_deref(), Some(name), "{what}");
            assert!(matches!(recover_all(world), Err(JournalError::Damaged { .. })), "{what}");
            true
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn truncated_journal_is_not_taken_as_whole() {
    ends_are_lost(Sweep::Sample, 1000, 100);
}

#[test]
#[ignore = "takes half a minute: cargo xtask soak"]
fn journal_truncated_anywhere_is_not_taken_as_whole() {
    ends_are_lost(Sweep::All, 10_000, 1000);
}

/// Cuts a run everywhere, and then its journal. Loss must be reported over `reported_min` times, and nothing be lost
/// `settled_min` times.
fn ends_are_lost(sweep: Sweep, reported_min: u32, settled_min: u32) {
    let original = World::over(PLAIN, Faults::default()).durable();
    let (mut reported, mut settled) = (0, 0);
    for n in 1.. {
        let cut = cut_run(PLAIN, Faults::default(), SEED, n);
        if !cut.is_off() {
            break;
        }
        for (seed, left) in [(1, Left::Nothing), (2, Left::Everything), (3, Left::Torn)] {
            let cut = cut.fork();
            cut.power_cycle(left, seed * 1000 + n);
            let Some(name) = journal_of(&cut) else { continue };
            let all: Vec<_> = places(cut.journal_len(&name)).enumerate().collect();
            for (index, from) in sweep.of(&all, all.len().div_ceil(6), n + seed) {
                let how = BOTH[(index / 2 + n as usize) % 2];
                let world = cut.fork();
                lose(&world, &name, from, how);
                let what = format!("cut at step {n}, {left:?} left, then from {from} {how:?}");
                if is_loss_reported(&world, &name, &original, &what) {
                    reported += 1
                } else {
                    settled += 1
                }
            }
        }
    }
    assert!(
        reported > reported_min && settled > settled_min,
        "{reported} reported, {settled} settled"
    );
}

#[test]
fn ranges_lost_with_the_end_are_named() {
    let (dead, name, original) = dead_run();
    let len = dead.journal_len(&name);
    for (from, how) in places(len).flat_map(|from| BOTH.map(|how| (from, how))) {
        let world = dead.fork();
        lose(&world, &name, from, how);
        let what = format!("from {from} {how:?}");
        if from < HEADER_BYTES {
            assert!(is_loss_reported(&world, &name, &original, &what), "{what}");
            let error = recover_all(&world).unwrap_err().to_string();
            assert!(error.contains("header is gone"), "{what}: {error}");
            continue;
        }
        let lost = lost_ranges(&world, &name);
        let is_lost = is_loss_reported(&world, &name, &original, &what);
        let differs = differing(&world, &original);
        assert_eq!(is_lost, !differs.is_empty(), "{what}");
        if from < INTENDED_AT as usize + UNIT {
            let error = recover_all(&world).unwrap_err().to_string();
            assert!(error.contains("how much it held is unknown"), "{what}: {error}");
        } else {
            let named = lost.iter().flat_map(|range| (range.offset..range.end()).step_by(UNIT));
            assert!(named.eq(differs), "{what}: {lost:?}");
        }
    }
}

/// One failure more: the end is gone, and one of the two marks.
#[test]
fn either_mark_alone_shows_a_lost_end() {
    let (dead, name, original) = dead_run();
    // Behind the first of four saves, each of three blocks and a commit.
    let second = FIRST_RECORD as usize + 4 * UNIT + APART_BYTES as usize;
    for mark in [INTENDED_AT, COMMITTED_AT] {
        let world = dead.fork();
        world.damage(&name, |bytes| bytes[mark as usize + 30] ^= 1);
        lose(&world, &name, second, Lost::Off);
        let expected = [(9, 2), (20, 2), (41, 2)]
            .map(|(at, count): (u64, u64)| ByteRange::new(at * UNIT as u64, count * UNIT as u64));
        assert_eq!(lost_ranges(&world, &name), expected, "without the mark at {mark}");
        assert!(is_loss_reported(&world, &name, &original, "with one mark"));
    }
    let world = dead.fork();
    for mark in [INTENDED_AT, COMMITTED_AT] {
        world.damage(&name, |bytes| bytes[mark as usize..][..SECTOR].fill(0));
    }
    // Everything is there, but that cannot be known.
    assert!(is_loss_reported(&world, &name, &original, "without marks"));
    assert!(world.contents() == original);
}

/// More ranges than a mark names: the others are counted.
#[test]
fn ranges_without_room_in_a_mark_are_counted() {
    let world = World::of_size(800 * UNIT, Below::default(), Faults::default());
    let mut disk = world.disk();
    let mut journal = world.journal("many", 64 << 20);
    let unit = |number: u64| number * UNIT as u64..(number + 1) * UNIT as u64;
    let ranges: Vec<_> = (0..800).step_by(2).map(unit).collect();
    journal.protect(&mut disk, &ranges, &mut |_| {}).unwrap();
    for range in &ranges {
        disk.write_at(range.start, &[7; UNIT]).unwrap();
    }
    drop(journal);
    world.power_cycle(Left::Everything, 0);
    world.cut_off("many-0.journal", FIRST_RECORD as usize + 2 * UNIT);
    let error = recover_all(&world).unwrap_err().to_string();
    assert!(error.contains("bytes 8192 to 12287"), "{error}");
    assert!(error.contains("399 records are lost, some of them with unknown ranges"), "{error}");
}

#[test]
fn remains_of_making_a_journal_are_removed() {
    let (dead, name, _) = dead_run();
    let len = dead.journal_len(&name);
    let before = dead.contents();
    for from in [0, 1, HEADERS_BYTES as usize, INTENDED_AT as usize, FIRST_RECORD as usize] {
        assert!(from < len);
        let world = dead.fork();
        lose(&world, &name, from, Lost::Off);
        world.folder().rename(&name, "run-0.journal.new").unwrap();
        recover_all(&world).unwrap();
        assert!(world.contents() == before);
        assert_eq!(journal_of(&world), None);
    }
}
