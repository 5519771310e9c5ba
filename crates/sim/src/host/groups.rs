//! Free space in block groups, and the search for some of it.
//!
//! After the multi-block allocator of ext4 (Documentation/filesystems/ext4/allocators.rst, blockgroup.rst):
//! first exactly at the goal, then the first group from the goal on, round the end of the drive, that has a
//! run as long as wanted, and only then whatever is left. Groups too broken up for the first look are thus
//! passed over and filled last, whatever their place on the drive.

use super::fs_params::{BLOCK_BYTES, FsParams, GROUP_BLOCKS};

/// Consecutive blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRun {
    /// First block, counted from the start of the drive.
    pub start: u64,
    /// Number of blocks.
    pub len: u64,
}

/// One group: 128 MiB of blocks.
#[derive(Debug, Clone)]
struct BlockGroup {
    /// Free runs inside the group, in order, not touching.
    free: Vec<(u32, u32)>,
    free_blocks: u32,
    longest: u32,
    free_inodes: u64,
}

/// The free space of a drive.
#[derive(Debug, Clone)]
pub struct BlockGroups {
    groups: Vec<BlockGroup>,
    flex: usize,
    /// The longest free run in each flexible group, so that full ones are passed over at once.
    longest_in_flex: Vec<u32>,
    directories_in_flex: Vec<u64>,
    free_blocks: u64,
}

impl BlockGroups {
    /// An empty file system: all is free but the metadata.
    #[must_use]
    pub fn new(capacity_bytes: u64, params: &FsParams) -> Self {
        let blocks = capacity_bytes / BLOCK_BYTES;
        let count = blocks / GROUP_BLOCKS + u64::from(blocks % GROUP_BLOCKS >= GROUP_BLOCKS / 8);
        let flex = params.flex_groups as usize;
        let size = |group: u64| (blocks - group * GROUP_BLOCKS).min(GROUP_BLOCKS) as u32;
        let groups: Vec<BlockGroup> = (0..count)
            .map(|group| BlockGroup {
                free: vec![(0, size(group))],
                free_blocks: size(group),
                longest: size(group),
                free_inodes: params.inodes_per_group(),
            })
            .collect();
        let flex_count = groups.len().div_ceil(flex);
        let mut this = Self {
            free_blocks: groups.iter().map(|group| u64::from(group.free_blocks)).sum(),
            groups,
            flex,
            longest_in_flex: vec![0; flex_count],
            directories_in_flex: vec![0; flex_count],
        };
        (0..flex_count).for_each(|flex| this.refresh_flex(flex));
        this.reserve_metadata(params);
        this
    }

    fn reserve_metadata(&mut self, params: &FsParams) {
        let descriptors = (self.groups.len() as u64 * 64).div_ceil(BLOCK_BYTES) + 1;
        for group in 0..self.groups.len() {
            let mut at_front = if has_backup(group as u64) { descriptors } else { 0 };
            if group.is_multiple_of(self.flex) {
                let members = self.flex.min(self.groups.len() - group) as u64;
                at_front += members * params.metadata_blocks();
            }
            let len = at_front.min(u64::from(self.groups[group].free_blocks));
            self.take(BlockRun { start: group as u64 * GROUP_BLOCKS, len });
        }
    }

    /// Number of groups.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.groups.len() as u64
    }

    /// Groups in a flexible group.
    #[must_use]
    pub fn flex(&self) -> u64 {
        self.flex as u64
    }

    /// Blocks free in all groups.
    #[must_use]
    pub fn free_blocks(&self) -> u64 {
        self.free_blocks
    }

    /// All free runs, in order.
    pub fn free_runs(&self) -> impl Iterator<Item = BlockRun> + '_ {
        (0u64..).zip(&self.groups).flat_map(|(number, group)| {
            let first = number * GROUP_BLOCKS;
            group.free.iter().map(move |&(start, len)| BlockRun {
                start: first + u64::from(start),
                len: u64::from(len),
            })
        })
    }

    /// Takes up to `want` blocks exactly at `goal`, if at least `least` are free there.
    pub fn take_at(&mut self, goal: u64, want: u64, least: u64) -> Option<BlockRun> {
        let group = self.groups.get((goal / GROUP_BLOCKS) as usize)?;
        let inside = (goal % GROUP_BLOCKS) as u32;
        let index = group.free.partition_point(|&(start, _)| start <= inside).checked_sub(1)?;
        let (start, len) = group.free[index];
        let here = u64::from((start + len).saturating_sub(inside)).min(want);
        if here < least.max(1) {
            return None;
        }
        let run = BlockRun { start: goal, len: here };
        self.take(run);
        Some(run)
    }

    /// Takes `want` blocks, near and after `goal` if possible; fewer when no run is that long. `None` when
    /// nothing is free.
    pub fn take_near(&mut self, goal: u64, want: u64) -> Option<BlockRun> {
        let want = want.clamp(1, GROUP_BLOCKS) as u32;
        let from = (goal / GROUP_BLOCKS).min(self.count() - 1) as usize;
        let group = self.next_group(from, want).or_else(|| self.next_group(from, 1))?;
        let BlockGroup { free, longest, .. } = &self.groups[group];
        let len = want.min(*longest);
        let inside = if group == from { (goal % GROUP_BLOCKS) as u32 } else { 0 };
        let fits = |&&(_, free_len): &&(u32, u32)| free_len >= len;
        let after = free.iter().filter(|&&(start, _)| start >= inside).find(fits);
        let &(start, _) = after.or_else(|| free.iter().find(fits))?;
        let run =
            BlockRun { start: group as u64 * GROUP_BLOCKS + u64::from(start), len: u64::from(len) };
        self.take(run);
        Some(run)
    }

    /// The first group from `from` on, round the end, with a free run of `len`.
    fn next_group(&self, from: usize, len: u32) -> Option<usize> {
        let count = self.groups.len();
        let mut passed = 0;
        let mut group = from;
        while passed < count {
            let flex = group / self.flex;
            if self.longest_in_flex[flex] < len {
                let next = ((flex + 1) * self.flex).min(count);
                passed += next - group;
                group = next % count;
                continue;
            }
            if self.groups[group].longest >= len {
                return Some(group);
            }
            passed += 1;
            group = (group + 1) % count;
        }
        None
    }

    /// Takes blocks that are known to be free.
    fn take(&mut self, run: BlockRun) {
        if run.len == 0 {
            return;
        }
        let number = (run.start / GROUP_BLOCKS) as usize;
        let (first, len) = ((run.start % GROUP_BLOCKS) as u32, run.len as u32);
        let group = &mut self.groups[number];
        let index = group.free.partition_point(|&(start, _)| start <= first) - 1;
        let (start, free_len) = group.free[index];
        let before = (first > start).then_some((start, first - start));
        let after = (start + free_len > first + len)
            .then_some((first + len, start + free_len - first - len));
        group.free.splice(index..=index, before.into_iter().chain(after));
        group.free_blocks -= len;
        self.free_blocks -= run.len;
        self.refresh(number);
    }

    /// Gives blocks back; a run may span groups.
    pub fn give_back(&mut self, run: BlockRun) {
        let mut run = run;
        while run.len > 0 {
            let number = (run.start / GROUP_BLOCKS) as usize;
            let first = run.start % GROUP_BLOCKS;
            let len = run.len.min(GROUP_BLOCKS - first);
            self.give_back_inside(number, first as u32, len as u32);
            run = BlockRun { start: run.start + len, len: run.len - len };
        }
    }

    fn give_back_inside(&mut self, number: usize, first: u32, len: u32) {
        let group = &mut self.groups[number];
        let mut index = group.free.partition_point(|&(start, _)| start < first);
        let (mut start, mut end) = (first, first + len);
        let mut replaced = 0;
        if let Some(&(next, next_len)) = group.free.get(index)
            && next == end
        {
            end = next + next_len;
            replaced += 1;
        }
        if index > 0 {
            let (before, before_len) = group.free[index - 1];
            if before + before_len == start {
                start = before;
                index -= 1;
                replaced += 1;
            }
        }
        group.free.splice(index..index + replaced, [(start, end - start)]);
        group.free_blocks += len;
        self.free_blocks += u64::from(len);
        self.refresh(number);
    }

    fn refresh(&mut self, number: usize) {
        let group = &mut self.groups[number];
        group.longest = group.free.iter().map(|&(_, len)| len).max().unwrap_or(0);
        self.refresh_flex(number / self.flex);
    }

    fn refresh_flex(&mut self, flex: usize) {
        let end = ((flex + 1) * self.flex).min(self.groups.len());
        let members = &self.groups[flex * self.flex..end];
        self.longest_in_flex[flex] = members.iter().map(|group| group.longest).max().unwrap_or(0);
    }

    /// A group for a new file's inode: from the directory's flexible group on, the first with a free one.
    pub fn take_file_inode(&mut self, directory_group: u64) -> Option<u64> {
        let first = directory_group as usize / self.flex * self.flex;
        let count = self.groups.len();
        let round = (0..count).map(|step| (first + step) % count);
        let mut with_inodes = round.filter(|&group| self.groups[group].free_inodes > 0);
        let group = with_inodes.next()?;
        self.groups[group].free_inodes -= 1;
        Some(group as u64)
    }

    /// Frees a file's inode.
    pub fn give_back_inode(&mut self, group: u64) {
        self.groups[group as usize].free_inodes += 1;
    }

    /// A group for a directory. In the root (`parent` absent) directories spread: from the place that the
    /// name's hash gives, the flexible group with the fewest directories among those with at least the
    /// average of free blocks and inodes. Below, they stay near their parent while that has room (Orlov).
    pub fn take_directory_inode(&mut self, parent: Option<u64>, hash: u64) -> Option<u64> {
        let flexes = self.longest_in_flex.len();
        let (blocks, inodes): (Vec<u64>, Vec<u64>) =
            (0..flexes).map(|flex| self.free_in(flex)).unzip();
        let average_blocks = blocks.iter().sum::<u64>() / flexes as u64;
        let average_inodes = inodes.iter().sum::<u64>() / flexes as u64;
        let from = match parent {
            Some(group) => group as usize / self.flex,
            None => (hash % flexes as u64) as usize,
        };
        let round = || (0..flexes).map(|step| (from + step) % flexes);
        let chosen = if parent.is_none() {
            round()
                .filter(|&flex| blocks[flex] >= average_blocks && inodes[flex] >= average_inodes)
                .min_by_key(|&flex| self.directories_in_flex[flex])
        } else {
            let enough = |flex: &usize| {
                blocks[*flex] >= average_blocks / 4 && inodes[*flex] >= average_inodes / 4
            };
            round().find(enough)
        };
        let flex = chosen.or_else(|| round().max_by_key(|&flex| inodes[flex]))?;
        self.directories_in_flex[flex] += 1;
        self.take_file_inode((flex * self.flex) as u64)
    }

    fn free_in(&self, flex: usize) -> (u64, u64) {
        let end = ((flex + 1) * self.flex).min(self.groups.len());
        let members = &self.groups[flex * self.flex..end];
        members.iter().fold((0, 0), |(blocks, inodes), group| {
            (blocks + u64::from(group.free_blocks), inodes + group.free_inodes)
        })
    }
}

/// Groups 0, 1 and the powers of 3, 5 and 7 hold copies of the superblock and the group descriptors
/// (`sparse_super`).
fn has_backup(group: u64) -> bool {
    let power_of = |base: u64| {
        let mut power = base;
        while power < group {
            power *= base;
        }
        power == group
    };
    group <= 1 || power_of(3) || power_of(5) || power_of(7)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn empty(gib: u64) -> BlockGroups {
        BlockGroups::new(gib << 30, &FsParams::default())
    }

    #[test]
    fn metadata_stand_at_the_front_of_each_flexible_group() {
        let groups = empty(4);
        let first: Vec<BlockRun> = groups.free_runs().take(3).collect();
        assert_eq!(first[0].start, 2 + 16 * 514);
        assert_eq!(first[1].start, GROUP_BLOCKS + 2, "a copy of the superblock");
        assert_eq!(first[2].start, 2 * GROUP_BLOCKS);
        assert_eq!(groups.count(), 32);
    }

    #[test]
    fn backups_are_where_sparse_super_puts_them() {
        let with: Vec<u64> = (0..130).filter(|&group| has_backup(group)).collect();
        assert_eq!(with, [0, 1, 3, 5, 7, 9, 25, 27, 49, 81, 125]);
    }

    #[test]
    fn exact_goals_and_near_ones() {
        let mut groups = empty(4);
        let goal = 10 * GROUP_BLOCKS + 100;
        assert_eq!(groups.take_at(goal, 50, 50), Some(BlockRun { start: goal, len: 50 }));
        assert_eq!(groups.take_at(goal, 50, 1), None);
        assert_eq!(groups.take_at(goal - 10, 50, 1), Some(BlockRun { start: goal - 10, len: 10 }));
        let near = groups.take_near(goal, 2048).expect("space");
        assert_eq!(near, BlockRun { start: goal + 50, len: 2048 });
        assert_eq!(groups.take_at(12 * GROUP_BLOCKS + 5000, 50, 50).map(|run| run.len), Some(50));
        let behind = groups.take_near(12 * GROUP_BLOCKS + 5000, 2048).expect("space");
        assert_eq!(behind.start, 12 * GROUP_BLOCKS + 5050, "not in front of the goal");
        let at_group_end = groups.take_near(11 * GROUP_BLOCKS - 10, 2048).expect("space");
        assert_eq!(at_group_end.start, goal + 50 + 2048, "in the same group first");
    }

    #[test]
    fn broken_groups_are_filled_last() {
        let mut groups = empty(4);
        let hole = BlockRun { start: 4 * GROUP_BLOCKS, len: 1000 };
        assert!(groups.take_at(hole.start, GROUP_BLOCKS, GROUP_BLOCKS).is_some());
        groups.give_back(hole);
        let mut last = None;
        let mut order = Vec::new();
        while let Some(run) =
            groups.take_near(last.map_or(0, |run: BlockRun| run.start + run.len), 2048)
        {
            order.push(run);
            last = Some(run);
        }
        let whole = order.iter().take_while(|run| run.len == 2048).count();
        assert!(order[..whole].iter().all(|run| run.start / GROUP_BLOCKS != 4));
        assert!(order[whole..].contains(&hole));
        assert_eq!(groups.free_blocks(), 0);
    }

    #[test]
    fn directories_in_the_root_spread_and_others_stay_near() {
        let mut groups = empty(256);
        let flex_of = |group: u64| group / 16;
        let mut top: Vec<u64> = (0..16u64)
            .map(|name| groups.take_directory_inode(None, name * 7919).map(flex_of).expect("room"))
            .collect();
        let below = groups.take_directory_inode(Some(top[3] * 16 + 2), 5).map(flex_of);
        assert_eq!(below, Some(top[3]));
        top.sort_unstable();
        top.dedup();
        assert_eq!(top.len(), 16, "each in a flexible group of its own");
    }

    proptest! {
        #[test]
        fn space_is_conserved_and_never_given_twice(
            steps in prop::collection::vec((0u8..3, 0u64..40_000, 1u64..5000), 1..120),
        ) {
            let mut groups = BlockGroups::new(600 << 20, &FsParams::default());
            let total = groups.free_blocks();
            let mut held: Vec<BlockRun> = Vec::new();
            for (step, place, len) in steps {
                let taken = match step {
                    0 => groups.take_near(place * 4, len),
                    1 => groups.take_at(place * 4, len, 1),
                    _ if held.is_empty() => None,
                    _ => {
                        let run = held.swap_remove(place as usize % held.len());
                        groups.give_back(run);
                        None
                    }
                };
                if let Some(run) = taken {
                    prop_assert!(run.len > 0 && run.len <= len);
                    let apart = |other: &BlockRun| {
                        run.start + run.len <= other.start || other.start + other.len <= run.start
                    };
                    prop_assert!(held.iter().all(apart));
                    held.push(run);
                }
                let taken: u64 = held.iter().map(|run| run.len).sum();
                prop_assert_eq!(groups.free_blocks() + taken, total);
                prop_assert_eq!(groups.free_runs().map(|run| run.len).sum::<u64>(), groups.free_blocks());
            }
            held.drain(..).for_each(|run| groups.give_back(run));
            let fresh = BlockGroups::new(600 << 20, &FsParams::default());
            prop_assert!(groups.free_runs().eq(fresh.free_runs()), "all merged again");
        }
    }
}
