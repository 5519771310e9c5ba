//! Where the rest of a file goes: as far behind its last extent as it is in the file, and ahead only where it
//! grows; and where directories below others go.

use crate::host::fs_params::BLOCK_BYTES;
use crate::host::*;

const MIB_BLOCKS: u64 = 256;

fn tera() -> Files {
    Files::new(1 << 40, &FsParams::default())
}

/// Gives `blocks` blocks of a file from `first` on their place.
fn place(files: &mut Files, file: FileId, first: u64, blocks: u64) {
    files.promise(file, first * BLOCK_BYTES, blocks * BLOCK_BYTES).unwrap();
    files.place(file, first, first + blocks).unwrap();
}

#[test]
fn what_fills_a_hole_goes_as_far_behind_the_extent_before_it_as_it_is_in_the_file() {
    let mut files = tera();
    let file = files.create(ROOT).unwrap();
    place(&mut files, file, 0, 20);
    files.release_ahead(file).unwrap();
    place(&mut files, file, 100, 20);
    files.release_ahead(file).unwrap();
    place(&mut files, file, 60, 20);
    let start = files.extents(file).unwrap()[0].0;
    let at = |block: u64| (start + block * BLOCK_BYTES, 20 * BLOCK_BYTES);
    assert_eq!(files.extents(file).unwrap(), [at(0), at(60), at(100)]);
}

#[test]
fn a_file_that_does_not_grow_holds_nothing_ahead() {
    for (grows, first) in [(false, 100), (true, 2 * MIB_BLOCKS)] {
        let mut files = tera();
        let file = files.create(ROOT).unwrap();
        place(&mut files, file, 0, 20);
        place(&mut files, file, MIB_BLOCKS, 20);
        files.release_ahead(file).unwrap();
        let free = files.groups().free_blocks();
        place(&mut files, file, first, 20);
        let taken = free - files.groups().free_blocks();
        assert_eq!(taken > 20, grows, "{taken} blocks for 20 at {first}");
    }
}

#[test]
fn a_directory_stays_beside_its_parent_while_a_quarter_of_the_average_is_free_there() {
    // a flexible group has 2 GiB
    for (taken_mib, stays) in [(0, true), (1000, true), (1400, true), (1700, false)] {
        let mut files = tera();
        let parent = files.make_directory(ROOT, "films").unwrap();
        let flex_of = |files: &Files, id: DirId| files.directory_group(id) / files.groups().flex();
        let flex = flex_of(&files, parent);
        let file = files.create(parent).unwrap();
        for n in 0..taken_mib {
            place(&mut files, file, n * MIB_BLOCKS, MIB_BLOCKS);
        }
        files.release_ahead(file).unwrap();
        let group_bytes = files.groups().flex() * (128 << 20);
        let inside = |&(at, _): &(u64, u64)| at / group_bytes == flex;
        assert!(files.extents(file).unwrap().iter().all(inside), "the file is beside its parent");
        let child = files.make_directory(parent, "old").unwrap();
        assert_eq!(flex_of(&files, child) == flex, stays, "{taken_mib} MiB taken");
    }
}
