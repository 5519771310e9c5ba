//! The places of new files in a file system: groups of 128 MiB, filled from the start of the drive to its end.
//!
//! The order follows ext4's allocator for large files (mm: `mballoc`), tried on an empty file system of 256 GiB
//! with files of 1 GiB: a stream goal moves forward over the groups and wraps around; a group whose free run is too
//! short for the requested piece (a whole group, 128 MiB, of a large file) is left for later. Such are the
//! first groups of the flexible groups, which hold the metadata of sixteen, and the groups around the journal. So
//! positions rise until about 95 % are full; then files are laid into the gaps from the start of the drive on, in
//! many pieces. A twentieth of the drive is kept for the superuser.
//!
//! Left out: small files have no region of their own beside the stream (locality groups), and directories are not
//! spread over the drive (Orlov's allocator does so for those at the top of the tree only).

use super::file_system::{FLEX_BYTES, FileLayout, GROUP_BYTES};

#[derive(Debug, Clone)]
pub(super) struct BlockAllocator {
    /// Free runs of each group: first byte and length, ascending.
    groups: Vec<Vec<(u64, u64)>>,
    /// The group in which the last piece was laid.
    goal: usize,
    free_bytes: u64,
    /// Space for the superuser only.
    reserved_bytes: u64,
}

impl BlockAllocator {
    pub(super) fn new(layout: &FileLayout, capacity: u64) -> Self {
        let (journal, blocks) = layout.journal_blocks();
        let journal = journal * super::journaled::BLOCK_BYTES;
        let journal = journal..journal + blocks * super::journaled::BLOCK_BYTES;
        let (taken_to, _) = layout.data_at(layout.taken);
        let taken_to = if layout.taken == 0 { 0 } else { taken_to };
        let mut groups = Vec::new();
        for at in (0..capacity / GROUP_BYTES).map(|group| group * GROUP_BYTES) {
            let metadata = if at % FLEX_BYTES == 0 { layout.metadata } else { 0 };
            let from = (at + metadata).max(taken_to.min(at + GROUP_BYTES));
            let runs = [
                (from, journal.start.min(at + GROUP_BYTES)),
                (from.max(journal.end), at + GROUP_BYTES),
            ];
            let free = runs.into_iter().filter(|(from, to)| from < to);
            groups.push(free.map(|(from, to)| (from, to - from)).collect::<Vec<_>>());
        }
        let free_bytes: u64 = groups.iter().flatten().map(|(_, len)| len).sum();
        let room = layout.room(capacity).saturating_sub(layout.taken);
        Self { groups, goal: 0, free_bytes, reserved_bytes: free_bytes.saturating_sub(room) }
    }

    pub(super) fn free_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.reserved_bytes)
    }

    /// Gives `bytes` a place, in whole blocks; `None` where there is no room. 0 bytes take no place.
    pub(super) fn allocate(&mut self, bytes: u64) -> Option<Vec<(u64, u64)>> {
        if bytes > self.free_bytes() {
            return None;
        }
        let (mut left, mut extents) = (bytes, Vec::<(u64, u64)>::new());
        while left > 0 {
            let (at, len) = self.take(left.min(GROUP_BYTES))?;
            left -= len;
            match extents.last_mut() {
                Some((first, so_far)) if *first + *so_far == at => *so_far += len,
                _ => extents.push((at, len)),
            }
        }
        Some(extents)
    }

    /// A run of this length, from the goal on, around the drive; else the next run of any length.
    fn take(&mut self, wanted: u64) -> Option<(u64, u64)> {
        let count = self.groups.len();
        let ahead = |from: usize| (0..count).map(move |step| (from + step) % count);
        let fits = ahead(self.goal).find(|&group| longest_run(&self.groups[group]) >= wanted);
        let group = match fits {
            Some(group) => group,
            // No group has room for the whole piece: the gaps are filled in order.
            None => ahead(self.goal).find(|&group| longest_run(&self.groups[group]) > 0)?,
        };
        self.goal = group;
        let runs = &mut self.groups[group];
        let best = longest_run(runs).min(wanted);
        let place = runs.iter().position(|&(_, len)| len >= best)?;
        let (at, len) = runs[place];
        if len == best {
            runs.remove(place);
        } else {
            runs[place] = (at + best, len - best);
        }
        self.free_bytes -= best;
        Some((at, best))
    }

    pub(super) fn release(&mut self, extents: &[(u64, u64)]) {
        for &(at, len) in extents {
            let (mut from, end) = (at, at + len);
            while from < end {
                let group = (from / GROUP_BYTES) as usize;
                let until = end.min((group as u64 + 1) * GROUP_BYTES);
                self.release_in(group, from, until - from);
                from = until;
            }
        }
    }

    fn release_in(&mut self, group: usize, at: u64, len: u64) {
        self.free_bytes += len;
        let runs = &mut self.groups[group];
        let place = runs.partition_point(|&(first, _)| first < at);
        runs.insert(place, (at, len));
        if runs.get(place + 1).is_some_and(|&(next, _)| at + len == next) {
            let (_, behind) = runs.remove(place + 1);
            runs[place].1 += behind;
        }
        if place > 0 && runs[place - 1].0 + runs[place - 1].1 == at {
            let (_, own) = runs.remove(place);
            runs[place - 1].1 += own;
        }
    }
}

fn longest_run(runs: &[(u64, u64)]) -> u64 {
    runs.iter().map(|&(_, len)| len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const GIB: u64 = 1 << 30;

    fn allocator(capacity: u64, taken: u64) -> BlockAllocator {
        BlockAllocator::new(&FileLayout::new(capacity, taken), capacity)
    }

    /// The order of 250 files of 1 GiB on an empty file system of 256 GiB, by FIEMAP: it rises
    /// until about 95 %, then come passes over the gaps.
    #[test]
    fn positions_rise_until_95_percent_then_gaps_fill() {
        let mut all = allocator(256 * GIB, 0);
        all.reserved_bytes = 0; // as the superuser
        let mut files = Vec::new();
        while let Some(extents) = all.allocate(GIB) {
            files.push(extents);
        }
        let rising = files.windows(2).take_while(|pair| pair[0][0].0 < pair[1][0].0).count() + 1;
        let share = rising as f64 / files.len() as f64;
        assert!((0.94..0.97).contains(&share), "{rising} of {}", files.len());
        let last = &files[files.len() - 2];
        assert!((9..16).contains(&last.len()), "{last:?}");
        let of_gaps = &files[rising + 1];
        let span = of_gaps.last().unwrap().0 - of_gaps[0].0;
        assert!((15 * GIB..30 * GIB).contains(&span), "{span}");
        let first = &files[rising];
        assert!(first[0].0 < 16 * GIB, "at the start of the drive again: {first:?}");
    }

    #[test]
    fn taken_space_lies_first_and_twentieth_stays_free() {
        let mut all = allocator(64 * GIB, 32 * GIB);
        let extents = all.allocate(GIB).unwrap();
        assert!(extents[0].0 > 32 * GIB, "{extents:?}");
        let room = all.free_bytes();
        assert!(room < 64 * GIB * 95 / 100 - 33 * GIB);
        assert!(all.allocate(room + 4096).is_none() && all.allocate(room).is_some());
        assert_eq!(all.free_bytes(), 0);
    }

    proptest! {
        #[test]
        fn no_block_has_two_owners_and_none_is_lost(
            steps in prop::collection::vec((0u8..3, 1u64..200), 1..60),
        ) {
            const MIB: u64 = 1 << 20;
            let mut all = allocator(4 * GIB, 0);
            let before = all.free_bytes();
            let mut owned: Vec<Vec<(u64, u64)>> = Vec::new();
            for (what, size) in steps {
                match what {
                    0 if !owned.is_empty() => {
                        let gone = owned.swap_remove(size as usize % owned.len());
                        all.release(&gone);
                    }
                    _ => owned.extend(all.allocate(size * MIB)),
                }
                let taken: Vec<u64> = owned
                    .iter()
                    .flatten()
                    .flat_map(|&(at, len)| at / MIB..(at + len).div_ceil(MIB))
                    .collect();
                let bytes: u64 = owned.iter().flatten().map(|(_, len)| len).sum();
                prop_assert_eq!(all.free_bytes(), before - bytes);
                // runs begin where metadata end, not at whole MiB: neighbours may share one
                let distinct: BTreeSet<u64> = taken.iter().copied().collect();
                let pieces = owned.iter().flatten().count();
                prop_assert!(distinct.len() + 2 * pieces >= taken.len());
            }
            owned.iter().for_each(|gone| all.release(gone));
            prop_assert_eq!(all.free_bytes(), before);
        }
    }
}
