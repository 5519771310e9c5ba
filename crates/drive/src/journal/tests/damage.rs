//! Damaged journals: intact records are restored, damaged ones are reported.

use super::world::{DISK, Faults, Left, UNIT, World, recover_all};
use crate::journal::format::{self, FIRST_RECORD};
use crate::journal::scan::{JournalContents, scan};
use crate::journal::{ByteRange, Folder, JournalError};

/// A drive with patterns on it, and the open journal of a run that died.
pub fn dead_run() -> (World, String, Vec<u8>) {
    let world = World::new(Faults::default());
    let original = world.durable();
    let mut disk = world.disk();
    let mut journal = world.journal("run", 1 << 20);
    for at in [3u64, 9, 20, 41] {
        let pattern = vec![at as u8; 2 * UNIT];
        journal.write_at(&mut disk, at * UNIT as u64, &pattern, &mut |_| {}).unwrap();
    }
    drop(journal);
    world.power_cycle(Left::Everything, 1);
    let names = world.folder().names().unwrap();
    let [name] = names.as_slice() else { panic!("one journal was expected: {names:?}") };
    (world, name.clone(), original)
}

/// The bytes that differ from the original, as physical sectors.
pub fn differing(world: &World, original: &[u8]) -> Vec<u64> {
    let now = world.contents();
    let units = (0..DISK).step_by(UNIT);
    units
        .filter(|at| now[*at..(*at + UNIT).min(DISK)] != original[*at..(*at + UNIT).min(DISK)])
        .map(|at| at as u64)
        .collect()
}

#[test]
fn damaged_block_loses_its_range_and_is_reported() {
    let (world, name, original) = dead_run();
    let blocks = world.journal_len(&name) / UNIT;
    let mut reported = 0;
    for block in 0..blocks {
        for zeros in [true, false] {
            let world = world.fork();
            world.damage(&name, |bytes| {
                let block = &mut bytes[block * UNIT..][..UNIT];
                if zeros { block.fill(0) } else { block[100] ^= 1 }
            });
            let lost = lost_ranges(&world, &name);
            let ended = recover_all(&world);
            let differing = differing(&world, &original);
            let expected: Vec<u64> = lost
                .iter()
                .flat_map(|extent| (extent.offset..extent.end()).step_by(UNIT))
                .collect();
            assert_eq!(differing, expected, "block {block}");
            match (&ended, lost.is_empty()) {
                (Ok(()), true) => assert_eq!(world.folder().names().unwrap(), [""; 0]),
                (Err(JournalError::Damaged { what, .. }), false) => {
                    reported += 1;
                    assert!(what.contains(&lost[0].to_string()), "{what}");
                    let left = 4 * 2 * UNIT as u64 - lost.iter().map(|it| it.len).sum::<u64>();
                    assert!(what.contains(&format!("the other {left} bytes")), "{what}");
                    assert_eq!(world.folder().names().unwrap(), [name.as_str()], "it stays");
                }
                other => panic!("block {block}: {other:?}"),
            }
        }
    }
    // Four records of three blocks each, in two ways. One flipped bit in a record's padding is harmless.
    assert_eq!(reported, 4 * (3 + 2));
}

pub fn lost_ranges(world: &World, name: &str) -> Vec<ByteRange> {
    let mut file = world.folder().open(name).unwrap();
    match scan(&mut file, true).unwrap() {
        JournalContents::Open(originals) => originals.lost,
        other => panic!("{other:?}"),
    }
}

/// One long record, and the lost ranges after damage to its bytes, which begin at its head.
fn lost_of_long_record(damage: impl FnOnce(&mut [u8])) -> Vec<ByteRange> {
    const UNITS: usize = 40;
    let world = World::new(Faults::default());
    let original = world.durable();
    let mut disk = world.disk();
    let mut journal = world.journal("run", 1 << 20);
    journal.write_at(&mut disk, 0, &[7; UNITS * UNIT], &mut |_| {}).unwrap();
    drop(journal);
    world.power_cycle(Left::Everything, 1);
    let name = "run-0.journal";
    world.damage(name, |bytes| damage(&mut bytes[FIRST_RECORD as usize..][..(UNITS + 1) * UNIT]));
    let lost = lost_ranges(&world, name);
    assert_eq!(recover_all(&world).is_ok(), lost.is_empty());
    let units = lost.iter().flat_map(|it| (it.offset..it.end()).step_by(UNIT));
    assert_eq!(differing(&world, &original), units.collect::<Vec<_>>());
    lost
}

#[test]
fn flipped_bit_in_long_record_costs_one_piece() {
    let unit = UNIT as u64;
    let head = format::HEAD_BYTES;
    for (at, lost) in [
        (head, Some(0)),
        (head + 7 * UNIT, Some(7)),
        (head + 7 * UNIT + 4095, Some(7)),
        (head + 40 * UNIT - 1, Some(39)),
        // The head, which stands behind the data again; that copy, a checksum, and the zeros before.
        (20, None),
        (41 * UNIT - 1, None),
        (41 * UNIT - 100, None),
        (head + 40 * UNIT, None),
    ] {
        let expected: Vec<ByteRange> =
            lost.map(|piece| ByteRange::new(piece * unit, unit)).into_iter().collect();
        assert_eq!(lost_of_long_record(|record| record[at] ^= 4), expected, "{at}");
    }
    // Both copies of the head, and the records of earlier versions, which had one checksum.
    let both = lost_of_long_record(|record| {
        record[20] ^= 4;
        record[41 * UNIT - 44] ^= 4;
    });
    let earlier = lost_of_long_record(|record| {
        record[40 * UNIT + head..].fill(0);
        record[head + 9 * UNIT] ^= 4;
    });
    for lost in [both, earlier] {
        assert_eq!(lost, [ByteRange::new(0, 40 * unit)]);
    }
    assert_eq!(lost_of_long_record(|record| record[40 * UNIT + head..].fill(0)), []);
}

#[test]
fn one_header_is_enough_none_is_not() {
    let (world, name, original) = dead_run();
    for copy in [0, 1] {
        let world = world.fork();
        world.damage(&name, |bytes| bytes[copy * format::HEADER_BYTES + 40] ^= 4);
        recover_all(&world).unwrap();
        assert!(world.contents() == original);
    }
    let before = world.contents();
    world.damage(&name, |bytes| bytes[..FIRST_RECORD as usize].fill(0));
    let error = recover_all(&world).unwrap_err().to_string();
    assert!(error.contains("header is gone") && error.contains("4 intact records"), "{error}");
    assert!(world.contents() == before, "the journal does not identify this drive");
    assert_eq!(world.folder().names().unwrap(), [name]);
}

#[test]
fn lost_record_and_commit_are_noticed_later() {
    let (world, name, original) = dead_run();
    // Record 1 and its commit: behind the three blocks and the commit of record 0.
    let start = FIRST_RECORD as usize + (3 + 1) * UNIT + format::APART_BYTES as usize;
    world.damage(&name, |bytes| bytes[start..start + 4 * UNIT].fill(0));
    let error = recover_all(&world).unwrap_err().to_string();
    assert!(error.contains("bytes 36864 to 45055 are lost"), "{error}");
    assert_eq!(differing(&world, &original), [9 * UNIT as u64, 10 * UNIT as u64]);
}

#[test]
fn committed_ranges_make_later_damage_visible() {
    let world = World::new(Faults::default());
    let mut disk = world.disk();
    let mut journal = world.journal("run", 1 << 20);
    let range = 0..UNIT as u64;
    journal.protect(&mut disk, std::slice::from_ref(&range), &mut |_| {}).unwrap();
    world.power_cycle(Left::Nothing, 0);
    let name = "run-0.journal";
    world.damage(name, |bytes| bytes[FIRST_RECORD as usize..][..2 * UNIT].fill(0));
    assert_eq!(lost_ranges(&world, name), [ByteRange::new(0, UNIT as u64)]);
    assert!(recover_all(&world).is_err());
}

/// Saves that a power cut ended, and a range that was therefore never written.
#[test]
fn unsynced_tail_is_ignored() {
    let range = 100 * 512..101 * 512;
    let mut cuts = 0;
    for n in 1.. {
        let (world, _, original) = dead_run();
        let mut disk = world.disk();
        let mut journal = world.journal("other", 1 << 20);
        world.cut_at(Some(n));
        let _ = journal.protect(&mut disk, std::slice::from_ref(&range), &mut |_| {});
        if !world.is_off() {
            break;
        }
        cuts += 1;
        for left in [Left::Nothing, Left::Prefix, Left::Requests, Left::Subset, Left::Torn] {
            for seed in 0..8 {
                let world = world.fork();
                world.power_cycle(left, seed);
                recover_all(&world).unwrap();
                assert!(world.contents() == original, "step {n}, {left:?} {seed}");
                assert_eq!(world.folder().names().unwrap(), [""; 0]);
            }
        }
    }
    // The header and both marks, name and folder, then mark, record and commit with their syncs.
    assert!(cuts >= 11, "{cuts}");
}

#[test]
fn arbitrary_bytes_as_a_journal_do_no_harm() {
    let (world, name, _) = dead_run();
    let mut dice = super::world::Dice(5);
    for _ in 0..300 {
        let world = world.fork();
        world.damage(&name, |bytes| {
            for _ in 0..dice.below(40) {
                let at = dice.below(bytes.len() as u64) as usize;
                bytes[at] = dice.below(256) as u8;
            }
        });
        let mut file = world.folder().open(&name).unwrap();
        scan(&mut file, true).unwrap();
    }
}
