use super::*;
use crate::device::RequestKind::{Flush, Read, Write};
use crate::device::{Nanos, RequestKind};
use crate::host::{HostParams, PageCache};
use crate::testing::{TestDrive, request, run_all};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn cache() -> PageCache<ManyFileSystem<TestDrive>> {
    let mut drive = TestDrive::disk();
    drive.capacity_bytes = 64 * GIB;
    PageCache::new(&HostParams::default(), ManyFileSystem::empty(drive, 0)).unwrap()
}

fn ask(
    cache: &mut PageCache<ManyFileSystem<TestDrive>>,
    now: Nanos,
    op: RequestKind,
    at: u64,
    len: u64,
) -> Nanos {
    cache.submit(now, request(1, op, at, len));
    run_all(cache).last().expect("an answer").at
}

#[test]
fn files_are_read_at_their_places_only() {
    let mut cache = cache();
    let sizes = [10_000, 3 * MIB, 1, 200 * MIB];
    let table = cache.inner_mut().map_mut();
    let folder = table.create_folder(0).unwrap();
    let files = sizes.map(|size| (table.create_file(folder, size).unwrap(), size));
    let mut now = files.iter().fold(0, |now, &(at, size)| ask(&mut cache, now, Write, at, size));
    now = ask(&mut cache, now, Flush, 0, 0);
    cache.evict(0, ADDRESSES);
    let before = cache.inner().inner().log.len();
    for (at, size) in files {
        now = ask(&mut cache, now, Read, at, size);
    }
    let log = &cache.inner().inner().log[before..];
    let read: u64 = log.iter().map(|(_, request)| request.len).sum();
    let blocks: u64 = sizes.iter().map(|size| size.next_multiple_of(BLOCK_BYTES)).sum();
    assert_eq!(read, blocks, "each block once, and nothing of a neighbour");
    let table = cache.inner().map();
    let within = |at: u64| {
        files.iter().any(|&(file, _)| {
            table.extents(file).iter().any(|&(from, len)| (from..from + len).contains(&at))
        })
    };
    assert!(log.iter().all(|(_, request)| within(request.offset)));
}

#[test]
fn small_files_write_metadata_to_journal_and_home() {
    let mut cache = cache();
    let table = cache.inner_mut().map_mut();
    let folder = table.create_folder(0).unwrap();
    let files: Vec<u64> = (0..320).map(|_| table.create_file(folder, 4096).unwrap()).collect();
    let now = files.iter().fold(0, |now, &at| ask(&mut cache, now, Write, at, 4096));
    ask(&mut cache, now, Flush, 0, 0);
    let (journal, blocks) = cache.inner().map().journal();
    let writes = cache.inner().inner().requests(Write);
    let bytes = |which: &dyn Fn(u64) -> bool| -> u64 {
        writes
            .iter()
            .filter(|(at, _)| which(at / BLOCK_BYTES))
            .map(|(_, len)| len / BLOCK_BYTES)
            .sum()
    };
    let in_journal = bytes(&|at| (journal..journal + blocks).contains(&at));
    // 321 inodes in 21 blocks, their bitmap, 2 blocks of the directory, a bitmap of blocks, a descriptor; the
    // journal's own block and the commit block
    assert!((25..=30).contains(&in_journal), "{in_journal}");
    assert_eq!(bytes(&|_| true), 320 + in_journal + in_journal - 2, "data, journal, home");
}

#[test]
fn removed_files_free_space_and_full_is_reported() {
    let mut drive = TestDrive::disk();
    drive.capacity_bytes = 4 * GIB;
    let mut system = ManyFileSystem::empty(drive, 0);
    let table = system.map_mut();
    let free = table.free_bytes();
    let room = free / BLOCK_BYTES * BLOCK_BYTES;
    let file = table.create_file(0, room).unwrap();
    assert_eq!(table.create_file(0, 1), Err(NoRoom));
    let places = table.extents(file).to_vec();
    table.remove_file(file);
    assert_eq!(table.free_bytes(), free);
    assert!(table.extents(file).is_empty() && !places.is_empty());
    assert!(table.pieces(file, file + MIB).is_empty(), "nothing is there any more");
}
