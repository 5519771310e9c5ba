//! Each sync of the protocol is left out alone. What must then go wrong shows that it is needed, and that
//! these tests would notice.

use super::crash::{SEED, Sweep, loss_at, run};
use super::world::{Below, Faults, Left, SECTOR, SimFolder, Synced, UNIT, World, recover_all};
use crate::journal::{Folder, Journal, JournalError};

/// Steps after a lying sync in which the power is cut: past the next sync of the same file, and the next writes to
/// the drive.
const STEPS_AFTER: u64 = 12;

fn lying(step: u64) -> Faults {
    Faults { lying_step: Some(step), ..Faults::default() }
}

/// Every sync of a run lies once.
#[test]
fn every_missing_sync_is_noticed_or_redundant() {
    let world = World::new(Faults::default());
    run(&world, SEED).unwrap();
    let syncs = world.syncs();
    assert!(syncs.len() > 40, "{} syncs", syncs.len());
    let mut commits = 0;
    for (step, what) in syncs {
        let mut noticed = None;
        for n in step + 1..=step + STEPS_AFTER {
            let (loss, is_over) = loss_at(Below::default(), lying(step), SEED, n, Sweep::All);
            noticed = noticed.or(loss);
            if noticed.is_some() || is_over {
                break;
            }
        }
        // A mark that is pending still when the next save begins can be torn together with the other.
        if what == Synced::Commit {
            commits += u64::from(noticed.is_some());
            continue;
        }
        // What the others are for has tests of its own below.
        let is_needed =
            matches!(what, Synced::Header | Synced::Made | Synced::Records | Synced::Drive);
        assert_eq!(noticed.is_some(), is_needed, "{what:?} at step {step}: {noticed:?}");
    }
    assert!(commits > 5, "only {commits} commits were missed");
}

/// A journal that may be written to one range, with a sync that lies.
fn protected(lies: Option<Synced>) -> (World, Journal<SimFolder>) {
    fn begin(faults: Faults) -> (World, Journal<SimFolder>) {
        let world = World::new(faults);
        let mut journal = world.journal("run", 1 << 20);
        journal.write_at(&mut world.disk(), 0, &[1; UNIT], &mut |_| {}).unwrap();
        (world, journal)
    }
    let (honest, _journal) = begin(Faults::default());
    match lies {
        None => begin(Faults::default()),
        Some(what) => begin(lying(step_of(&honest, what))),
    }
}

fn step_of(world: &World, what: Synced) -> u64 {
    world.syncs().iter().find(|(_, known)| *known == what).expect("it was synced").0
}

/// Durable originals survive a cut without their commit; later damage would not be reported.
#[test]
fn commit_is_synced_before_later_damage() {
    for lies in [false, true] {
        let (world, journal) = protected(lies.then_some(Synced::Commit));
        world.sync_as_a_test().unwrap();
        drop(journal);
        world.power_cycle(Left::Nothing, 0);
        world.damage("run-0.journal", |bytes| {
            bytes[crate::journal::format::FIRST_RECORD as usize..][..SECTOR].fill(0);
        });
        let is_reported = matches!(recover_all(&world), Err(JournalError::Damaged { .. }));
        assert_eq!(is_reported, !lies, "the sync of the commit lies: {lies}");
    }
}

/// Whether new data of the drive's owner after a run survives a power cut.
fn is_kept(world: &World, mut journal: Journal<SimFolder>, ends: bool) -> bool {
    let ended = journal.roll_back(&mut world.disk(), &mut |_| {});
    drop(journal);
    assert_eq!(ended.is_ok(), ends, "{ended:?}");
    let expected = world.use_drive(0xEE);
    world.power_cycle(Left::Nothing, 0);
    world.set_faults(Faults::default());
    recover_all(world).unwrap();
    assert_eq!(world.folder().names().unwrap(), [""; 0]);
    world.contents() == expected
}

/// Steps of a run of one write: the sync of this kind lies from now on.
fn step_to_come(what: Synced) -> u64 {
    let (world, mut journal) = protected(None);
    journal.roll_back(&mut world.disk(), &mut |_| {}).unwrap();
    step_of(&world, what)
}

/// *Done* says what the missing name does; it counts where the removal fails.
#[test]
fn done_is_synced_before_new_data() {
    for lies in [false, true] {
        let (world, journal) = protected(None);
        let lying_step = lies.then(|| step_to_come(Synced::Done));
        world.set_faults(Faults { removal_fails: true, lying_step, ..Faults::default() });
        assert_eq!(is_kept(&world, journal, false), !lies, "the sync of done lies: {lies}");
    }
}

/// The removal says what *done* does; it counts where there is no room for *done*.
#[test]
fn removal_is_synced_without_room_for_done() {
    for lies in [false, true] {
        let (world, journal) = protected(None);
        // Without room there is nothing to sync either.
        let lying_step = lies.then(|| step_to_come(Synced::Removed) - 1);
        let journal_room = Some(world.journal_len("run-0.journal") as u64);
        world.set_faults(Faults { journal_room, lying_step, ..Faults::default() });
        assert_eq!(is_kept(&world, journal, true), !lies, "the sync of the removal lies: {lies}");
    }
}
