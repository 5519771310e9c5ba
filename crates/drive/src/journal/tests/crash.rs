//! The power fails at every write and sync of the protocol, and again at every one of the restore.

use super::world::{DISK, Dice, Faults, Left, SECTOR, UNIT, World, recover_all};
use crate::journal::{Disk, Journal, JournalError, Settings};

/// What a cut may leave, with several throws of the dice where there is something to throw for.
const CUTS: [(Left, u64); 10] = [
    (Left::Nothing, 1),
    (Left::Everything, 1),
    (Left::Prefix, 1),
    (Left::Prefix, 2),
    (Left::Subset, 1),
    (Left::Subset, 2),
    (Left::Subset, 3),
    (Left::Torn, 1),
    (Left::Torn, 2),
    (Left::Torn, 3),
];

/// Of the choices of a run.
const SEED: u64 = 99;

/// Writes of many kinds through a journal whose window is filled several times.
fn run(world: &World, seed: u64) -> Result<(), JournalError> {
    let mut disk = world.disk();
    let settings = Settings { run_id: "run".into(), window_bytes: 20 * UNIT as u64 };
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
            // A test may sync too, and must learn of a failure.
            disk.sync().map_err(|e| JournalError::of_file("sync", "the drive", e))?;
        }
    }
    journal.finish(&mut disk, &mut |_| {})
}

/// A world whose power fails at the n-th step of a run; `None` if the run has fewer.
fn cut_run(shift: usize, faults: Faults, seed: u64, n: u64) -> Option<World> {
    let world = World::new(shift, faults);
    world.cut_at(Some(n));
    let ended = run(&world, seed);
    assert_eq!(ended.is_err(), world.is_off(), "only the cut may end it: {ended:?}");
    world.is_off().then_some(world)
}

/// Cuts a run everywhere and restores each time; the first time that something is not as it was.
fn first_loss(shift: usize, faults: Faults, run_seed: u64) -> Option<String> {
    let original = World::new(shift, faults).durable();
    for n in 1.. {
        // The run was over before the n-th step: all of them are done, and nothing was lost.
        let cut = cut_run(shift, faults, run_seed, n)?;
        for (left, seed) in CUTS {
            let world = cut.fork();
            world.power_cycle(left, seed * 1000 + n);
            let restored = recover_all(&world);
            let what = format!("cut at step {n}, {left:?} {seed} left");
            if let Err(error) = restored {
                return Some(format!("{what}: {error}"));
            }
            // Nothing that was restored may hang on a later sync.
            world.power_cycle(Left::Nothing, 0);
            if world.durable() != original {
                return Some(format!("{what}: the drive differs"));
            }
        }
    }
    None
}

#[test]
fn an_undisturbed_run_leaves_the_drive_as_it_was_and_fills_several_windows() {
    let world = World::new(0, Faults::default());
    let original = world.durable();
    run(&world, SEED).unwrap();
    assert!(world.durable() == original);
    assert_eq!(crate::journal::Folder::names(&mut world.folder()).unwrap(), [""; 0]);
    // Header, folder, records, commits, writes, and the end of each window.
    assert!(world.steps() > 100, "{} steps", world.steps());
}

#[test]
fn whatever_a_cut_leaves_the_restore_brings_everything_back() {
    for seed in [SEED, 5, 1234] {
        assert_eq!(first_loss(0, Faults::default(), seed), None, "run with seed {seed}");
    }
}

#[test]
fn a_partition_that_begins_in_the_middle_of_a_physical_sector_comes_back_too() {
    assert_eq!(first_loss(63 * SECTOR % UNIT, Faults::default(), SEED), None);
}

#[test]
fn the_model_of_power_cuts_notices_every_sync_that_is_missing() {
    let lies = [
        Faults { journal_sync_lies: true, ..Faults::default() },
        Faults { folder_sync_lies: true, ..Faults::default() },
        Faults { disk_sync_lies: true, ..Faults::default() },
    ];
    for faults in lies {
        let loss = first_loss(0, faults, SEED);
        assert!(loss.is_some(), "nothing is lost although {faults:?}");
    }
}

#[test]
fn a_restore_that_is_cut_anywhere_can_be_repeated() {
    let original = World::new(0, Faults::default()).durable();
    let mut cuts = 0;
    for n in 1.. {
        let Some(cut) = cut_run(0, Faults::default(), SEED, n) else { break };
        for (left, seed) in [(Left::Everything, 1), (Left::Torn, 4)] {
            let before = cut.fork();
            before.power_cycle(left, seed * 1000 + n);
            for second in 1.. {
                let world = before.fork();
                world.cut_at(Some(second));
                let ended = recover_all(&world);
                if !world.is_off() {
                    assert!(ended.is_ok(), "{ended:?}");
                    break;
                }
                cuts += 1;
                let again =
                    [Left::Nothing, Left::Everything, Left::Prefix, Left::Subset, Left::Torn];
                world.power_cycle(again[(n + second) as usize % 5], n * 7919 + second);
                recover_all(&world).unwrap();
                recover_all(&world).unwrap();
                world.power_cycle(Left::Nothing, 0);
                assert!(
                    world.durable() == original,
                    "cut at step {n}, {left:?} left, then at step {second} of the restore"
                );
            }
        }
    }
    assert!(cuts > 1000, "only {cuts} cuts");
}
