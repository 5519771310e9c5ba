//! Where files come to lie, what is held for them, and what a commit writes.

use crate::device::{Nanos, RequestKind, SimDevice, SimOutcome, SimRequest};
use crate::host::fs_params::{BLOCK_BYTES, GROUP_BLOCKS};
use crate::host::*;
use crate::testing::{TestDrive, request, run_all};

const MIB: u64 = 1 << 20;
const GROUP_BYTES: u64 = GROUP_BLOCKS * BLOCK_BYTES;
/// Blocks of 8 MiB, the most that is given at once.
const CHUNK_BLOCKS: u64 = 2048;

fn tera() -> Files {
    Files::new(1 << 40, &FsParams::default())
}

/// Appends `blocks` to a file and gives them their place.
fn append(files: &mut Files, file: FileId, blocks: u64) {
    let size = files.size_bytes(file).unwrap();
    files.promise(file, size, blocks * BLOCK_BYTES).unwrap();
    files.place(file, size / BLOCK_BYTES, size / BLOCK_BYTES + blocks).unwrap();
}

/// A new file of so many blocks, closed: where it begins and ends.
fn add(files: &mut Files, directory: DirId, blocks: u64) -> (u64, u64) {
    let file = files.create(directory).unwrap();
    append(files, file, blocks);
    files.release_ahead(file).unwrap();
    let extents = files.extents(file).unwrap();
    let &(last, len) = extents.last().unwrap();
    (extents[0].0, last + len)
}

/// A directory of the root whose second group is empty, and where that begins.
fn roomy_directory(files: &mut Files, name: &str) -> (DirId, u64) {
    for n in 0.. {
        let directory = files.make_directory(ROOT, &format!("{name}{n}")).unwrap();
        let flex = files.groups().flex();
        let at = (files.directory_group(directory) / flex * flex + 1) * GROUP_BLOCKS;
        if files.groups().free_runs().any(|run| run.start <= at && at < run.start + run.len) {
            return (directory, at * BLOCK_BYTES);
        }
    }
    unreachable!("there are many names")
}

#[test]
fn a_large_file_begins_in_the_second_group_of_its_directory() {
    let mut files = tera();
    let (directory, second) = roomy_directory(&mut files, "films");
    assert_eq!(add(&mut files, directory, CHUNK_BLOCKS), (second, second + 8 * MIB));
}

#[test]
fn large_files_without_room_there_follow_the_last_large_one_of_all() {
    let mut files = tera();
    let (films, first) = roomy_directory(&mut files, "films");
    let (music, second) = roomy_directory(&mut files, "music");
    add(&mut files, films, CHUNK_BLOCKS);
    assert_eq!(add(&mut files, films, CHUNK_BLOCKS).0, first + 8 * MIB);
    let (begin, end) = add(&mut files, music, CHUNK_BLOCKS);
    assert_eq!(begin, second);
    assert_eq!(add(&mut files, films, CHUNK_BLOCKS).0, end);
}

#[test]
fn a_file_grows_behind_its_own_end_while_there_is_room() {
    let mut files = tera();
    let (films, first) = roomy_directory(&mut files, "films");
    let (music, _) = roomy_directory(&mut files, "music");
    let file = files.create(films).unwrap();
    append(&mut files, file, CHUNK_BLOCKS);
    add(&mut files, music, CHUNK_BLOCKS);
    append(&mut files, file, CHUNK_BLOCKS);
    assert_eq!(files.extents(file).unwrap(), [(first, 16 * MIB)]);
}

#[test]
fn what_is_held_ahead_is_there_for_others_when_space_runs_out() {
    let params = FsParams { reserved_pct: 0.0, ..FsParams::default() };
    let mut files = Files::new(1 << 30, &params);
    let growing: Vec<FileId> = (0..4).map(|_| files.create(ROOT).unwrap()).collect();
    growing.iter().for_each(|&file| append(&mut files, file, 1025));
    let left = files.available_bytes() / BLOCK_BYTES;
    assert!(left > files.groups().free_blocks(), "some is held");
    let last = files.create(ROOT).unwrap();
    files.promise(last, 0, left * BLOCK_BYTES).unwrap();
    files.place(last, 0, left).unwrap();
    assert_eq!((files.available_bytes(), files.groups().free_blocks()), (0, 0));
}

#[test]
fn files_of_up_to_sixteen_blocks_are_small() {
    for (blocks, large) in [(16, false), (17, true)] {
        let mut files = tera();
        let (directory, second) = roomy_directory(&mut files, "mail");
        let small = add(&mut files, directory, 1).0;
        assert_eq!(small, second, "the stretch for small files begins there");
        let next = add(&mut files, directory, blocks).0;
        // the second group is taken by the stretch, and no large file was there to follow
        assert_eq!(next == small + BLOCK_BYTES, !large, "{blocks} blocks at {next}");
        assert!(!large || next < GROUP_BYTES, "{next}");
    }
}

#[test]
fn files_that_grow_side_by_side_are_in_few_pieces() {
    let mut files = tera();
    let both = [files.create(ROOT).unwrap(), files.create(ROOT).unwrap()];
    for _ in 0..128 {
        both.iter().for_each(|&file| append(&mut files, file, 32));
    }
    for file in both {
        let pieces = files.extents(file).unwrap().len();
        assert!(pieces <= 12, "{pieces} pieces of 16 MiB");
    }
}

#[test]
fn a_growing_file_has_at_most_a_chunk_ahead_and_gives_it_back_when_closed() {
    let mut files = tera();
    let before = files.groups().free_blocks();
    let file = files.create(ROOT).unwrap();
    let mut most = 0;
    for round in 1..1000 {
        append(&mut files, file, 32);
        let held = before - files.groups().free_blocks() - round * 32;
        most = most.max(held);
    }
    assert!((CHUNK_BLOCKS / 2..CHUNK_BLOCKS).contains(&most), "{most}");
    files.release_ahead(file).unwrap();
    assert_eq!(before - files.groups().free_blocks(), 999 * 32);
}

#[test]
fn a_twentieth_is_kept_from_users() {
    let files = tera();
    let kept = files.groups().free_blocks() * BLOCK_BYTES - files.available_bytes();
    assert!(kept.abs_diff((1 << 40) / 20) < BLOCK_BYTES, "{kept}");
}

#[test]
fn directories_keep_away_from_places_with_less_room_than_the_mean() {
    let params = FsParams::default();
    let mut groups = groups::BlockGroups::new(256 << 30, &params);
    // of 128 flexible groups, the fifth is full
    let taken = 5 * 16..6 * 16;
    for group in taken {
        let start = group * GROUP_BLOCKS;
        while groups
            .take_near(start, CHUNK_BLOCKS)
            .is_some_and(|run| run.start < start + GROUP_BLOCKS)
        {}
    }
    let flex = |group: Option<u64>| group.unwrap() / 16;
    assert_eq!(flex(groups.take_directory_inode(None, 7)), 7, "where the name says");
    assert_ne!(flex(groups.take_directory_inode(None, 5)), 5, "in the root");
    assert_eq!(flex(groups.take_directory_inode(Some(4 * 16), 9)), 4, "beside its parent");
    assert_eq!(flex(groups.take_directory_inode(Some(5 * 16), 9)), 6, "the next with room");
}

#[test]
fn a_deleted_file_gives_back_its_inode() {
    let params = FsParams { bytes_per_inode: 8 << 20, ..FsParams::default() };
    let mut files = Files::new(1 << 30, &params);
    let made: Vec<FileId> = std::iter::from_fn(|| files.create(ROOT).ok()).collect();
    // 8 groups of 16, of which the root has one
    assert_eq!(made.len(), 8 * 16 - 1);
    files.delete(made[50]).unwrap();
    assert!(files.create(ROOT).is_ok());
    assert_eq!(files.create(ROOT), Err(FileError::NoInode));
}

type System = ExtentFileSystem<TestDrive>;

fn system(journal_bytes: u64) -> System {
    let params = FsParams { journal_bytes, ..FsParams::default() };
    ExtentFileSystem::new(&params, TestDrive::disk()).unwrap()
}

fn ask(system: &mut System, now: Nanos, request: SimRequest) -> (Nanos, SimOutcome) {
    system.submit(now, request);
    let answer = *run_all(system).last().expect("an answer");
    (answer.at, answer.outcome)
}

/// Writes to the journal, in blocks from its start, and their number.
fn journal_writes(system: &System) -> Vec<(u64, u64)> {
    let journal = system.files().journal();
    let writes = system.inner().requests(RequestKind::Write).into_iter();
    let blocks = writes.map(|(offset, len)| (offset / BLOCK_BYTES, len / BLOCK_BYTES));
    let inside =
        blocks.filter(|&(at, _)| (journal.start..journal.start + journal.len).contains(&at));
    inside.map(|(at, len)| (at - journal.start, len)).collect()
}

#[test]
fn the_journal_is_a_ring() {
    let mut system = system(MIB);
    let file = system.create(ROOT).unwrap();
    let address = System::address(file);
    let mut now = 0;
    for id in 0..400 {
        system.will_write(file, 0, BLOCK_BYTES).unwrap();
        now = ask(&mut system, now, request(id, RequestKind::Write, address, BLOCK_BYTES)).0;
        now = ask(&mut system, now, request(id, RequestKind::Flush, 0, 0)).0;
    }
    let len = system.files().journal().len;
    assert_eq!(len, 256);
    let writes = journal_writes(&system);
    let mut next = 0;
    for (at, blocks) in writes {
        assert_eq!(at, next, "each behind the one before");
        assert!(at + blocks <= len, "{at} + {blocks}");
        next = (at + blocks) % len;
    }
    let data = system.inner().requests(RequestKind::Write).len();
    assert!(data >= 400 * 3 && system.inner().bytes_written > 400 * 4 * BLOCK_BYTES);
}

#[test]
fn a_commit_writes_the_blocks_that_have_changed() {
    let mut system = system(MIB);
    let directory = system.make_directory(ROOT, "films").unwrap();
    let (mut now, _) = ask(&mut system, 0, request(1, RequestKind::Flush, 0, 0));
    let file = system.create(directory).unwrap();
    let (address, len) = (System::address(file), 4 * MIB);
    system.will_write(file, 0, len).unwrap();
    now = ask(&mut system, now, request(2, RequestKind::Write, address, len)).0;
    now = ask(&mut system, now, request(3, RequestKind::Flush, 0, 0)).0;
    let data_group = system.files().extents(file).unwrap()[0].0 / GROUP_BYTES;
    assert_ne!(data_group, system.files().directory_group(directory));
    system.will_write(file, 0, len).unwrap();
    now = ask(&mut system, now, request(4, RequestKind::Flush, 0, 0)).0;
    system.delete(file).unwrap();
    ask(&mut system, now, request(5, RequestKind::Flush, 0, 0));
    // each commit: its blocks with the journal's own, then the commit block
    let blocks: Vec<u64> = journal_writes(&system).iter().map(|&(_, blocks)| blocks).collect();
    let made_directory = 2 + 2; // both directories, bitmap and descriptor of its inode
    let made_file = 1 + 1 + 2 + 1; // directory, inode, its bitmap and descriptor, bitmap of the data
    let (times, deleted) = (1, 1 + 1); // inode; inode and bitmap of the data
    let commits = [made_directory, made_file, times, deleted];
    assert_eq!(blocks, commits.map(|changed| [changed + 1, 1]).concat());
}

#[test]
fn flushes_that_wait_for_a_commit_share_the_next_one() {
    let mut system = system(MIB);
    system.create(ROOT).unwrap();
    for id in 1..=4 {
        system.submit(0, request(id, RequestKind::Flush, 0, 0));
    }
    assert_eq!(run_all(&mut system).len(), 4);
    // two for the commit of the first, one for all others, which found nothing changed
    let flushes = system.inner().log.iter().filter(|(_, r)| r.op == RequestKind::Flush).count();
    assert_eq!(flushes, 3);
}

#[test]
fn a_journal_that_cannot_be_written_fails_the_flush() {
    let mut system = system(MIB);
    system.create(ROOT).unwrap();
    let journal = system.files().journal().start * BLOCK_BYTES;
    let (now, outcome) = ask(&mut system, 0, request(1, RequestKind::Flush, 0, 0));
    assert_eq!(outcome, SimOutcome::Done);
    let mut drive = TestDrive::disk();
    drive.fails = Some((journal, SimOutcome::MediaError));
    let mut failing =
        ExtentFileSystem::new(&FsParams { journal_bytes: MIB, ..FsParams::default() }, drive)
            .unwrap();
    failing.create(ROOT).unwrap();
    assert_eq!(
        ask(&mut failing, now, request(1, RequestKind::Flush, 0, 0)).1,
        SimOutcome::MediaError
    );
}
