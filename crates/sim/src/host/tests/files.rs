//! Files over a drive whose truth is known.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Nanos, RequestKind, SimDevice};
use crate::host::fs_params::{BLOCK_BYTES, GROUP_BLOCKS};
use crate::host::*;
use crate::link::{LinkLayer, LinkParams};
use crate::testing::TestDrive;

const MS: Nanos = 1_000_000;
const S: Nanos = 1000 * MS;
const MIB: u64 = 1 << 20;
const GROUP_BYTES: u64 = GROUP_BLOCKS * BLOCK_BYTES;

fn on(drive: TestDrive, host: &HostParams) -> FileTarget<TestDrive> {
    let fs = FsParams::for_drive(drive.capacity_bytes());
    FileTarget::new(host, &fs, drive).expect("valid parameters")
}

fn disk_of(gib: u64) -> TestDrive {
    let mut drive = TestDrive::disk();
    drive.capacity_bytes = gib << 30;
    drive
}

/// Bytes written to the drive outside the journal.
fn data_written<D: SimDevice>(target: &FileTarget<D>, drive: &TestDrive) -> u64 {
    let journal = target.cache().inner().files().journal();
    let inside =
        |offset: u64| (journal.start..journal.start + journal.len).contains(&(offset / 4096));
    let writes = drive.requests(RequestKind::Write);
    writes.iter().filter(|&&(offset, _)| !inside(offset)).map(|&(_, len)| len).sum()
}

#[test]
fn seed_001_dd_runs_at_the_speed_of_system_calls() {
    // A quarter of the seed's million blocks: time is proportional.
    const BLOCKS: u64 = 250_000;
    let scale = 4.0 / 1e9;
    let mut target = on(TestDrive::disk(), &HostParams::laptop_2015());
    let file = target.create(ROOT).unwrap();
    let began = target.now();
    for i in 0..BLOCKS {
        target.other_call();
        target.write(file, i * 512, 512, Mode::Buffered).unwrap();
    }
    let seconds = (target.now() - began) as f64 * scale;
    assert!((seconds / 4.948_839 - 1.0).abs() < 0.03, "written in {seconds} s");
    assert_eq!(target.device().bytes_read, 0, "new pages have nothing to read");

    let began = target.now();
    for i in 0..BLOCKS {
        target.read(file, i * 512, 512, Mode::Buffered).unwrap();
        target.other_call();
    }
    let seconds = (target.now() - began) as f64 * scale;
    assert!((seconds / 3.273_717 - 1.0).abs() < 0.03, "read in {seconds} s");
}

#[test]
fn seed_001_tiny_writes_through_the_whole_stack() {
    // A portable disk of 9.2 ms behind a bulk-only bridge, its file of 512 MB written, synced and evicted.
    let slow = TestDrive::new(1, 8_600_000, |_| 105.0);
    let link = LinkLayer::new(&LinkParams::usb3_bulk_only(), slow).unwrap();
    let fs = FsParams::default();
    let mut target = FileTarget::new(&HostParams::laptop_2015(), &fs, link).unwrap();
    let file = target.create(ROOT).unwrap();
    (0..489).for_each(|i| {
        target.write(file, i * MIB, MIB, Mode::Buffered).unwrap();
    });
    target.sync(file).unwrap();
    target.evict(file).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let began = target.now();
    let cold_from = target.device().inner().log.len();
    for _ in 0..1000 {
        let at = random.random_range(0..512_000_000 - 18);
        target.write(file, at, 18, Mode::Buffered).unwrap();
    }
    let per_second = 1e12 / (target.now() - began) as f64;
    assert!((98.0..119.0).contains(&per_second), "{per_second} writes/s against 107.8");
    let log = &target.device().inner().log[cold_from..];
    assert!(log.iter().all(|(_, r)| r.op == RequestKind::Read && r.len == 4096));
}

#[test]
fn buffered_files_reach_the_drive_rate_and_lie_in_one_piece() {
    let mut target = on(disk_of(64), &HostParams::default());
    let file = target.create(ROOT).unwrap();
    let began = target.now();
    for i in 0..1000 {
        target.write(file, i * MIB, MIB, Mode::Buffered).unwrap();
    }
    target.sync(file).unwrap();
    target.close(file).unwrap();
    let write_mb_s = (1000 * MIB) as f64 * 1000.0 / (target.now() - began) as f64;
    assert!((96.0..101.0).contains(&write_mb_s), "{write_mb_s}");
    assert_eq!(data_written(&target, target.device()), 1000 * MIB);
    let extents = target.extents(file).unwrap();
    assert_eq!(extents.iter().map(|&(_, len)| len).sum::<u64>(), 1000 * MIB);
    assert!(extents.len() <= 10, "about one for each group: {extents:?}");

    target.evict(file).unwrap();
    let began = target.now();
    for i in 0..1000 {
        target.read(file, i * MIB, MIB, Mode::Buffered).unwrap();
    }
    let cold_ns = target.now() - began;
    assert!((96.0..101.0).contains(&((1000 * MIB) as f64 * 1000.0 / cold_ns as f64)));
    let read = target.device().bytes_read;
    let warm_ns = target.read(file, 0, 1000 * MIB, Mode::Buffered).unwrap();
    assert!(warm_ns < cold_ns / 15 && target.device().bytes_read == read);
}

#[test]
fn direct_reads_go_to_the_extents() {
    let mut target = on(disk_of(64), &HostParams::default());
    let file = target.create(ROOT).unwrap();
    target.write(file, 0, 8 * MIB, Mode::Direct).unwrap();
    let (start, _) = target.extents(file).unwrap()[0];
    let took = target.read(file, 3 * MIB, MIB, Mode::Direct).unwrap();
    assert_eq!(target.device().requests(RequestKind::Read), [(start + 3 * MIB, MIB)]);
    assert!(took > 10 * MS);
    assert_eq!(target.cache().pages_held(), (0, 0));
}

#[test]
fn a_sync_writes_data_then_journal_then_flush_then_commit() {
    let mut target = on(disk_of(64), &HostParams::default());
    let file = target.create(ROOT).unwrap();
    target.write(file, 0, 64 << 10, Mode::Buffered).unwrap();
    target.sync(file).unwrap();
    let log = &target.device().log;
    let ops: Vec<RequestKind> = log.iter().map(|(_, r)| r.op).collect();
    assert_eq!(
        ops,
        [
            RequestKind::Write,
            RequestKind::Write,
            RequestKind::Flush,
            RequestKind::Write,
            RequestKind::Flush
        ]
    );
    let (data, _) = target.extents(file).unwrap()[0];
    let journal = target.cache().inner().files().journal().start * 4096;
    assert_eq!((log[0].1.offset, log[1].1.offset), (data, journal));
    assert_eq!(log[3].1.offset, journal + log[1].1.len, "the commit block follows");
    assert!(log.windows(2).all(|pair| pair[0].0 < pair[1].0), "each waits for the one before");

    let before = target.device().log.len();
    target.write(file, 4096, 4096, Mode::Buffered).unwrap();
    target.sync_data(file).unwrap();
    let ops: Vec<RequestKind> = target.device().log[before..].iter().map(|(_, r)| r.op).collect();
    assert_eq!(ops, [RequestKind::Write, RequestKind::Flush], "an overwrite changes only times");
    target.sync(file).unwrap();
    assert_eq!(target.device().log.len(), before + 2 + 4);
}

#[test]
fn with_fua_a_commit_needs_one_flush() {
    let fs = FsParams { fua: true, ..FsParams::default() };
    let mut target = FileTarget::new(&HostParams::default(), &fs, disk_of(64)).unwrap();
    let file = target.create(ROOT).unwrap();
    target.write(file, 0, 4096, Mode::Sync).unwrap();
    let seen: Vec<(RequestKind, bool)> =
        target.device().log.iter().map(|(_, r)| (r.op, r.fua)).collect();
    let plain = (RequestKind::Write, false);
    assert_eq!(seen, [plain, plain, (RequestKind::Flush, false), (RequestKind::Write, true)]);
}

#[test]
fn deleted_files_are_never_written_and_free_their_space() {
    let mut target = on(disk_of(64), &HostParams::default());
    let before = target.cache().inner().files().available_bytes();
    let file = target.create(ROOT).unwrap();
    target.write(file, 0, 100 * MIB, Mode::Buffered).unwrap();
    assert_eq!(target.cache().inner().files().available_bytes(), before - 100 * MIB);
    target.delete(file).unwrap();
    target.idle(60 * S);
    assert_eq!((target.device().bytes_written, target.cache().pages_held()), (0, (0, 0)));
    assert_eq!(target.cache().inner().files().available_bytes(), before);
    assert_eq!(target.read(file, 0, 1, Mode::Buffered), Err(FileError::Deleted));
}

#[test]
fn a_full_file_system_says_so() {
    let mut target = on(disk_of(1), &HostParams::default());
    let file = target.create(ROOT).unwrap();
    let room = target.cache().inner().files().available_bytes();
    assert_eq!(target.write(file, 0, room + 1, Mode::Buffered), Err(FileError::NoSpace));
    assert_eq!(target.cache().inner().files().available_bytes(), room, "nothing is promised");
    target.write(file, 0, room, Mode::Buffered).unwrap();
    assert_eq!(target.write(file, room, 1, Mode::Buffered), Err(FileError::NoSpace));
    target.sync(file).unwrap();
    let placed: u64 = target.extents(file).unwrap().iter().map(|&(_, len)| len).sum();
    assert_eq!(placed, room);
}

#[test]
fn small_files_of_a_directory_lie_together_and_directories_apart() {
    let mut files = Files::new(1 << 40, &FsParams::default());
    let mut centre = Vec::new();
    for name in ["photos", "music", "mail"] {
        let directory = files.make_directory(ROOT, name).unwrap();
        let starts: Vec<u64> = (0..1000)
            .map(|_| {
                let file = files.create(directory).unwrap();
                files.promise(file, 0, 8192).unwrap();
                files.place(file, 0, 2).unwrap();
                files.extents(file).unwrap()[0].0
            })
            .collect();
        // A stretch begun for the directory before may take its first files.
        let own = &starts[300..];
        assert!(own.iter().max().unwrap() - own.iter().min().unwrap() < 2 * GROUP_BYTES);
        centre.push(own[0]);
    }
    centre.sort_unstable();
    assert!(centre.windows(2).all(|pair| pair[1] - pair[0] > 16 * GROUP_BYTES), "{centre:?}");
}

/// Writes files of 1 GB until nothing is left: where each begins.
fn fill(files: &mut Files, directory: DirId, file_bytes: u64) -> Vec<FileId> {
    let mut made = Vec::new();
    loop {
        let file = files.create(directory).unwrap();
        let size = files.available_bytes().min(file_bytes);
        if size < file_bytes {
            files.delete(file).unwrap();
            return made;
        }
        files.promise(file, 0, size).unwrap();
        files.place(file, 0, size.div_ceil(BLOCK_BYTES)).unwrap();
        files.release_ahead(file).unwrap();
        made.push(file);
    }
}

#[test]
fn seed_002_the_last_files_return_to_the_front_of_the_drive() {
    // The seed's disk: 16 TB, 250 MB/s outside, 135 inside, files of 1 GB in one directory of the root.
    let capacity: u64 = 16_000_900_661_248;
    let rate = |offset: u64| {
        let x = offset as f64 / 16_000_900_661_248.0;
        let inner_ratio: f64 = 135.0 / 265.0;
        (265.0 * (1.0 - x * (1.0 - inner_ratio * inner_ratio)).sqrt()).min(250.0)
    };
    // Where the directory lies follows from its name and the file system; nobody knows the seed's. One per
    // cent into the drive fits what it saw.
    let params = FsParams { reserved_pct: 0.0, ..FsParams::for_drive(capacity) };
    let flexes = capacity.div_ceil(16 * GROUP_BYTES);
    let place = |seed: &u64| (files::name_hash("profile", *seed) % flexes) as f64 / flexes as f64;
    let seed = (0..5000).find(|seed| (0.009..0.011).contains(&place(seed))).expect("one in 500");
    let mut files = Files::new(capacity, &FsParams { seed, ..params });
    let directory = files.make_directory(ROOT, "profile").unwrap();
    let made = fill(&mut files, directory, 1_000_000_000);
    let speed = |file: &FileId| {
        let extents = files.extents(*file).unwrap();
        let ns: f64 = extents.iter().map(|&(at, len)| len as f64 / rate(at)).sum();
        1e9 / ns
    };
    let at = |share: f64| speed(&made[(share * (made.len() - 1) as f64) as usize]);
    assert!(made.len() > 15_500, "{} files", made.len());
    assert!(at(0.0) > 245.0 && at(0.1) > 245.0, "flat at first");
    assert!(at(0.5) < at(0.25) && at(0.75) < at(0.5) && at(0.95) < 150.0, "then falling");
    assert!(at(0.99) > 245.0, "and back at the front: {}", at(0.99));
    let nine_tenths = made.len() * 9 / 10;
    let recovery = (nine_tenths..made.len()).find(|&i| speed(&made[i]) > 245.0).expect("recovers");
    let share = recovery as f64 / made.len() as f64;
    assert!((0.97..0.99).contains(&share), "recovery begins at {share}");
}

#[test]
fn an_aged_file_system_is_as_full_as_asked_and_repeatable() {
    let age = |seed| {
        let mut files = Files::new(1 << 40, &FsParams::default());
        let room = files.available_bytes();
        let aging = Aging { seed, ..Aging::default() };
        let kept = aging.apply(&mut files).unwrap();
        let fill = 1.0 - files.available_bytes() as f64 / room as f64;
        assert!((fill - 0.8).abs() < 0.001, "{fill}");
        let pieces: usize = kept.iter().map(|&file| files.extents(file).unwrap().len()).sum();
        (kept.len(), pieces, files.groups().free_runs().count())
    };
    assert_eq!(age(7), age(7));
    assert_ne!(age(7), age(8));
    let (files, pieces, holes) = age(7);
    assert!(files > 2000 && pieces > files && holes > 100, "{files} files, {pieces}, {holes}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 5))]
    #[test]
    fn every_byte_has_one_place_and_space_is_conserved(
        steps in prop::collection::vec((0u8..5, 0usize..8, 0u64..40, 1u64..30), 1..60),
    ) {
        let mut target = on(disk_of(1), &HostParams::default());
        let total = target.cache().inner().files().available_bytes();
        let mut files: Vec<(FileId, std::collections::BTreeSet<u64>)> = Vec::new();
        for (what, which, place, size) in steps {
            if files.is_empty() || what == 0 {
                files.push((target.create(ROOT).unwrap(), Default::default()));
            }
            let index = which % files.len();
            let (file, blocks) = &mut files[index];
            let (at, len) = (place * 300_000, size * 50_000);
            match what {
                0 | 1 => {
                    target.write(*file, at, len, Mode::Buffered).unwrap();
                    blocks.extend(at / 4096..(at + len).div_ceil(4096));
                }
                2 => { target.read(*file, at, len, Mode::Buffered).unwrap(); }
                3 => { target.sync(*file).unwrap(); }
                _ => {
                    target.delete(*file).unwrap();
                    files.remove(index);
                }
            }
        }
        target.sync_all().unwrap();
        let mut places: Vec<(u64, u64)> = Vec::new();
        let mut used = 0;
        for (file, blocks) in &files {
            let extents = target.extents(*file).unwrap();
            let placed: u64 = extents.iter().map(|&(_, len)| len / 4096).sum();
            prop_assert_eq!(placed, blocks.len() as u64);
            used += placed * 4096;
            places.extend(extents);
        }
        places.sort_unstable();
        prop_assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "overlap");
        prop_assert_eq!(target.cache().inner().files().available_bytes() + used, total);
        let before = target.device().log.len();
        for (file, blocks) in &files {
            target.cache.evict(ExtentFileSystem::<TestDrive>::address(*file), 1 << 40);
            let size = target.cache().inner().files().size_bytes(*file).unwrap();
            target.read(*file, 0, size, Mode::Buffered).unwrap();
            let _ = blocks;
        }
        let mut read: Vec<(u64, u64)> =
            target.device().log[before..].iter().map(|(_, r)| (r.offset, r.len)).collect();
        read.sort_unstable();
        let read_bytes: u64 = read.iter().map(|&(_, len)| len).sum();
        prop_assert_eq!(read_bytes, used, "all that is placed is read, once");
        let inside = |&(at, len): &(u64, u64)| {
            places.iter().any(|&(start, size)| at >= start && at + len <= start + size)
        };
        prop_assert!(read.iter().all(inside), "reads stay inside the extents");
    }
}
