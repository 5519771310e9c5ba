//! The power fails at every write and sync of the protocol, and again at every one of the restore.

use super::world::{
    Below, DISK, Dice, Faults, Left, SECTOR, Synced, UNIT, Units, World, recover_all,
};
use crate::journal::{Journal, JournalError, JournalSettings};

/// What a cut may leave, with several throws of the dice where there is something to throw for.
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

/// Of the choices of a run.
pub const SEED: u64 = 99;

/// Nothing special below.
pub const PLAIN: Below =
    Below { drive: Units { bytes: UNIT, shift: 0 }, journal: Units { bytes: UNIT, shift: 0 } };

/// Writes of many kinds through a journal whose window is filled several times.
pub fn run(world: &World, seed: u64) -> Result<(), JournalError> {
    let mut disk = world.disk();
    let settings = JournalSettings { run_id: "run".into(), window_bytes: 124 * UNIT as u64 };
    let mut journal = Journal::new(world.folder(), &disk, settings);
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
    journal.finish(&mut disk, &mut |_| {})
}

/// A world whose power fails at the n-th step of a run, if the run has so many.
pub fn cut_run(below: Below, faults: Faults, seed: u64, n: u64) -> World {
    let world = World::over(below, faults);
    world.cut_at(Some(n));
    let ended = run(&world, seed);
    assert_eq!(ended.is_err(), world.is_off(), "only the cut may end it: {ended:?}");
    world
}

/// Restores what cuts at a run's n-th step leave; the first time that something is not as it was. When
/// the run is over before, its owner uses the drive, and that must stay; then no step is left.
pub fn loss_at(below: Below, faults: Faults, run_seed: u64, n: u64) -> (Option<String>, bool) {
    let cut = cut_run(below, faults, run_seed, n);
    let is_over = !cut.is_off();
    let expected = match is_over {
        true => cut.use_drive(0xEE),
        false => World::over(below, faults).durable(),
    };
    for (left, seed) in CUTS {
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

/// Cuts a run everywhere and restores each time; the first time that something is not as it was.
fn first_loss(below: Below, run_seed: u64) -> Option<String> {
    for n in 1.. {
        let (loss, is_over) = loss_at(below, Faults::default(), run_seed, n);
        if loss.is_some() || is_over {
            return loss;
        }
    }
    None
}

#[track_caller]
fn nothing_is_lost(below: Below, seeds: &[u64]) {
    for seed in seeds {
        assert_eq!(first_loss(below, *seed), None, "run with seed {seed} over {below:?}");
    }
}

#[test]
fn an_undisturbed_run_leaves_the_drive_as_it_was_and_fills_several_windows() {
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
fn whatever_a_cut_leaves_the_restore_brings_everything_back() {
    nothing_is_lost(PLAIN, &[SEED, 5, 1234]);
}

#[test]
fn a_partition_that_begins_in_the_middle_of_a_physical_sector_comes_back_too() {
    let drive = Units { bytes: UNIT, shift: 63 * SECTOR % UNIT };
    nothing_is_lost(Below { drive, ..PLAIN }, &[SEED, 7, 4321]);
}

#[test]
fn a_drive_with_large_physical_sectors_comes_back_too() {
    for (bytes, shift) in [(16 << 10, 0), (64 << 10, 63 * SECTOR)] {
        nothing_is_lost(Below { drive: Units { bytes, shift }, ..PLAIN }, &[8]);
    }
}

#[test]
fn journals_over_large_units_survive_when_one_is_torn() {
    for bytes in [8 << 10, 16 << 10, 64 << 10] {
        nothing_is_lost(Below { journal: Units { bytes, shift: 0 }, ..PLAIN }, &[9]);
    }
}

#[test]
fn journals_that_begin_in_the_middle_of_a_unit_survive_when_one_is_torn() {
    for bytes in [UNIT, 8 << 10, 64 << 10] {
        let journal = Units { bytes, shift: 63 * SECTOR % bytes };
        nothing_is_lost(Below { journal, ..PLAIN }, &[10]);
    }
}

#[test]
fn a_restore_that_is_cut_anywhere_can_be_repeated() {
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
            for (index, left) in ALL.into_iter().enumerate() {
                let before = cut.fork();
                before.power_cycle(left, (index as u64 + 1) * 1000 + n);
                cuts += cut_again(&before, &original, n * 7 + index as u64);
            }
        }
        assert!(cuts > 3000, "only {cuts} cuts");
    }
}

/// What a cut may leave, each once.
const ALL: [Left; 7] = [
    Left::Nothing,
    Left::Everything,
    Left::Prefix,
    Left::Last,
    Left::Requests,
    Left::Subset,
    Left::Torn,
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
        let again = ALL[(seed + second) as usize % ALL.len()];
        world.power_cycle(again, seed * 7919 + second);
        recover_all(&world).unwrap();
        recover_all(&world).unwrap();
        world.power_cycle(Left::Nothing, 0);
        assert!(world.durable() == original, "seed {seed}, cut at step {second} of the restore");
    }
    0
}
