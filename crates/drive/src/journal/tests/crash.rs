//! The power fails at every write and sync of the protocol, and again at every one of the restore. What it leaves is
//! thrown for a few times each time, and in every way in the soak.

use super::world::{
    Below, DISK, Dice, Faults, Left, SECTOR, Synced, UNIT, Units, World, recover_all,
};
use crate::journal::JournalError;

/// What a power cut may leave, with several seeds where chance plays a part.
const CUTS: [(Left, u64); 14] = [
    (Left::Nothing, 1),
    (Left::Everything, 1),
    (Left::Prefix, 1),
    (Left::Prefix, 2),
    (Left::Last, 1),
    (Left::Requests, 1),
    (Left::Requests, 2),
    (Left::Requests, 3),
    (Left::Subset, 1),
    (Left::Subset, 2),
    (Left::Subset, 3),
    (Left::Torn, 1),
    (Left::Torn, 2),
    (Left::Torn, 3),
];

/// How many of the outcomes of a power cut are tried.
#[derive(Debug, Clone, Copy)]
pub enum Sweep {
    /// A few, different each time.
    Sample,
    /// All of them, which takes a minute.
    All,
}

impl Sweep {
    /// The tried ones: `count` of them in a sample, which differs with `step`.
    pub fn of<T: Copy>(self, all: &[T], count: usize, step: u64) -> Vec<T> {
        let first = Dice(step).below(all.len() as u64) as usize;
        let chosen = |n| all[(first + n * (all.len() / count)) % all.len()];
        match self {
            Self::Sample => (0..count).map(chosen).collect(),
            Self::All => all.to_vec(),
        }
    }
}

pub const SEED: u64 = 99;

/// No unusual units.
pub const PLAIN: Below =
    Below { drive: Units { bytes: UNIT, shift: 0 }, journal: Units { bytes: UNIT, shift: 0 } };

/// Writes of many kinds through a journal whose window is filled several times.
pub fn run(world: &World, seed: u64) -> Result<(), JournalError> {
    let mut disk = world.disk();
    let mut journal = world.journal("run", 124 * UNIT as u64);
    let mut dice = Dice(seed);
    let sectors = (DISK / SECTOR) as u64;
    for number in 0..14u64 {
        let len = [1, 8, 16, 3, 24][number as usize % 5];
        let at = match number {
            0 => 0,
            1 => sectors - len,
            _ => dice.below(sectors - len),
        };
        let pattern = vec![number as u8 + 1; len as usize * SECTOR];
        let range = at * SECTOR as u64..(at + len) * SECTOR as u64;
        if number % 4 == 2 {
            // As a test does that measures: everything is saved before, then it writes again and again.
            journal.protect(&mut disk, std::slice::from_ref(&range), &mut |_| {})?;
            assert!(journal.is_protected(&range));
        }
        for _ in 0..1 + number % 2 {
            journal.write_at(&mut disk, range.start, &pattern, &mut |_| {})?;
        }
        if number % 3 == 0 {
            // It may sync too, and must learn of a failure.
            world.sync_as_a_test().map_err(|e| JournalError::of_file("sync", "the drive", e))?;
        }
    }
    journal.roll_back(&mut disk, &mut |_| {})
}

/// A world whose power fails at the n-th step of a run, if it has n steps.
pub fn cut_run(below: Below, faults: Faults, seed: u64, n: u64) -> World {
    let world = World::over(below, faults);
    world.cut_at(Some(n));
    let ended = run(&world, seed);
    assert_eq!(ended.is_err(), world.is_off(), "only the cut may end it: {ended:?}");
    world
}

/// Restores what cuts at a run's n-th step leave; returns the first loss. If the run ends before that step, its owner
/// uses the drive, and that data must stay; then no step is left.
pub fn loss_at(
    below: Below,
    faults: Faults,
    run_seed: u64,
    n: u64,
    sweep: Sweep,
) -> (Option<String>, bool) {
    let cut = cut_run(below, faults, run_seed, n);
    let is_over = !cut.is_off();
    let expected = if is_over { cut.use_drive(0xEE) } else { World::over(below, faults).durable() };
    for (left, seed) in sweep.of(&CUTS, 3, n) {
        let world = cut.fork();
        world.power_cycle(left, seed * 1000 + n);
        let restored = recover_all(&world);
        let what = format!("cut at step {n}, {left:?} {seed} left");
        if let Err(error) = restored {
            return (Some(format!("{what}: {error}")), is_over);
        }
        // Nothing that was restored may hang on a later sync.
        world.power_cycle(Left::Nothing, 0);
        if world.durable() != expected {
            return (Some(format!("{what}: the drive differs")), is_over);
        }
    }
    (None, is_over)
}

/// Cuts a run everywhere and restores each time; returns the first loss.
fn first_loss(below: Below, run_seed: u64, sweep: Sweep) -> Option<String> {
    for n in 1.. {
        let (loss, is_over) = loss_at(below, Faults::default(), run_seed, n, sweep);
        if loss.is_some() || is_over {
            return loss;
        }
    }
    None
}

#[track_caller]
fn nothing_is_lost(runs: &[(Below, u64)], sweep: Sweep) {
    for (below, seed) in runs {
        assert_eq!(first_loss(*below, *seed, sweep), None, "run with seed {seed} over {below:?}");
    }
}

const fn over_drive(bytes: usize, shift: usize) -> Below {
    Below { drive: Units { bytes, shift }, journal: PLAIN.journal }
}

const fn over_journal(bytes: usize, shift: usize) -> Below {
    Below { drive: PLAIN.drive, journal: Units { bytes, shift } }
}

const PLAIN_RUNS: [(Below, u64); 3] = [(PLAIN, SEED), (PLAIN, 5), (PLAIN, 1234)];
const PARTITION: Below = over_drive(UNIT, 63 * SECTOR % UNIT);
const PARTITION_RUNS: [(Below, u64); 3] = [(PARTITION, SEED), (PARTITION, 7), (PARTITION, 4321)];
const LARGE_SECTOR_RUNS: [(Below, u64); 2] =
    [(over_drive(16 << 10, 0), 8), (over_drive(64 << 10, 63 * SECTOR), 8)];
const LARGE_UNIT_RUNS: [(Below, u64); 3] =
    [(over_journal(8 << 10, 0), 9), (over_journal(16 << 10, 0), 9), (over_journal(64 << 10, 0), 9)];
const SHIFTED_UNIT_RUNS: [(Below, u64); 3] = [
    (over_journal(UNIT, 63 * SECTOR % UNIT), 10),
    (over_journal(8 << 10, 63 * SECTOR % (8 << 10)), 10),
    (over_journal(64 << 10, 63 * SECTOR), 10),
];

#[test]
fn undisturbed_run_restores_over_several_windows() {
    let world = World::new(Faults::default());
    let original = world.durable();
    run(&world, SEED).unwrap();
    assert!(world.durable() == original);
    assert_eq!(crate::journal::Folder::names(&mut world.folder()).unwrap(), [""; 0]);
    // Header, folder, records, commits, writes, and the end of each window.
    assert!(world.steps() > 100, "{} steps", world.steps());
    let windows = world.syncs().into_iter().filter(|(_, what)| *what == Synced::Done);
    assert!(windows.count() >= 3);
}

#[test]
fn restore_after_any_cut_is_complete() {
    nothing_is_lost(&PLAIN_RUNS, Sweep::Sample);
}

#[test]
fn partition_within_a_physical_sector_is_restored() {
    nothing_is_lost(&PARTITION_RUNS, Sweep::Sample);
}

#[test]
fn drive_with_large_physical_sectors_is_restored() {
    nothing_is_lost(&LARGE_SECTOR_RUNS, Sweep::Sample);
}

#[test]
fn journals_survive_a_torn_large_unit() {
    nothing_is_lost(&LARGE_UNIT_RUNS, Sweep::Sample);
}

#[test]
fn unaligned_journals_survive_a_torn_unit() {
    nothing_is_lost(&SHIFTED_UNIT_RUNS, Sweep::Sample);
}

#[test]
#[ignore = "takes a minute: cargo xtask soak"]
fn every_outcome_of_a_cut_is_survived() {
    nothing_is_lost(&PLAIN_RUNS, Sweep::All);
    nothing_is_lost(&PARTITION_RUNS, Sweep::All);
    nothing_is_lost(&LARGE_SECTOR_RUNS, Sweep::All);
    nothing_is_lost(&LARGE_UNIT_RUNS, Sweep::All);
    nothing_is_lost(&SHIFTED_UNIT_RUNS, Sweep::All);
}

#[test]
fn interrupted_restore_can_be_repeated() {
    restores_are_cut(Sweep::Sample, 1000);
}

#[test]
#[ignore = "takes half a minute: cargo xtask soak"]
fn restore_after_any_cut_can_be_repeated() {
    restores_are_cut(Sweep::All, 3000);
}

/// Cuts a run everywhere, and each restore again at every step, `cuts_min` times at least.
fn restores_are_cut(sweep: Sweep, cuts_min: u64) {
    let bytes = 64 << 10;
    let torn = Units { bytes, shift: 63 * SECTOR % bytes };
    for below in [PLAIN, Below { drive: Units { shift: 512, ..PLAIN.drive }, journal: torn }] {
        let original = World::over(below, Faults::default()).durable();
        let mut cuts = 0;
        for n in 1.. {
            let cut = cut_run(below, Faults::default(), SEED, n);
            if !cut.is_off() {
                break;
            }
            for (left, seed) in sweep.of(&ALL, 2, n) {
                let before = cut.fork();
                before.power_cycle(left, seed * 1000 + n);
                cuts += cut_again(&before, &original, n * 7 + seed);
            }
        }
        assert!(cuts > cuts_min, "only {cuts} cuts");
    }
}

/// Each outcome of a cut once.
const ALL: [(Left, u64); 7] = [
    (Left::Nothing, 1),
    (Left::Everything, 2),
    (Left::Prefix, 3),
    (Left::Last, 4),
    (Left::Requests, 5),
    (Left::Subset, 6),
    (Left::Torn, 7),
];

/// Cuts the restore of what a first cut has left at every step, and repeats it; how many cuts that were.
fn cut_again(before: &World, original: &[u8], seed: u64) -> u64 {
    for second in 1.. {
        let world = before.fork();
        world.cut_at(Some(second));
        let ended = recover_all(&world);
        if !world.is_off() {
            assert!(ended.is_ok(), "{ended:?}");
            return second - 1;
        }
        let (again, _) = ALL[(seed + second) as usize % ALL.len()];
        world.power_cycle(again, seed * 7919 + second);
        recover_all(&world).unwrap();
        recover_all(&world).unwrap();
        world.power_cycle(Left::Nothing, 0);
        assert!(world.durable() == original, "seed {seed}, cut at step {second} of the restore");
    }
    0
}
