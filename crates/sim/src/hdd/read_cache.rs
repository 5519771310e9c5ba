//! The segmented read cache: each segment holds one stretch of sectors, the least recently used gives way.
//!
//! An adaptive cache moves the borders of its segments: a stretch that outgrows its room takes over that of the
//! least recently used one, and stretches that meet become one.

use crate::device::Nanos;
use crate::hdd::lru_order::LruOrder;

/// Reading that continues by itself after a command.
#[derive(Debug, Clone, Copy)]
pub struct DiskReadAhead {
    pub segment: usize,
    pub from: u64,
    /// Time at which the sector before `from` ended under the head.
    pub since: Nanos,
    pub limit: u64,
    /// It must continue until then, because a command was promised its data.
    pub promised: Nanos,
}

/// A stretch of cached sectors, `start..end`, and the segment that holds it.
#[derive(Debug, Clone, Copy)]
struct CachedRange {
    start: u64,
    end: u64,
    segment: usize,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Start of the stretch that it holds, by which that is found.
    start: Option<u64>,
    /// How many times `segment_sectors` it has room for; 1 unless the cache is adaptive.
    rooms: u64,
    /// Host byte at which its last command ended.
    next_byte: u64,
}

/// The segments. Sectors are physical.
#[derive(Debug, Clone)]
pub struct ReadCache {
    segments: Vec<Segment>,
    /// Their stretches, in ascending order of start. In an adaptive cache the stretches do not touch, in
    /// another they may overlap.
    stretches: Vec<CachedRange>,
    /// Where the latest stretch was put: the search begins there.
    last_held: usize,
    /// The segments that have room, in order of use.
    order: LruOrder,
    segment_sectors: u64,
    adaptive: bool,
}

/// The sectors before `end` (which may lie beyond a request) that segment `index` holds, or reading would continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldSectors {
    pub index: usize,
    pub end: u64,
}

impl ReadCache {
    pub fn new(count: u32, segment_sectors: u64, adaptive: bool) -> Self {
        let count = count as usize;
        Self {
            segments: vec![Segment { start: None, rooms: 1, next_byte: u64::MAX }; count],
            stretches: Vec::with_capacity(count),
            last_held: 0,
            order: LruOrder::new(count),
            segment_sectors,
            adaptive,
        }
    }

    pub fn is_off(&self) -> bool {
        self.segments.is_empty() || self.segment_sectors == 0
    }

    /// The segment that holds `sector`, or that ends there so that reading would continue it.
    #[inline]
    pub fn find(&self, sector: u64) -> Option<HeldSectors> {
        let behind = self.stretches.partition_point(|stretch| stretch.start <= sector);
        let mut found: Option<&CachedRange> = None;
        for stretch in self.stretches[..behind].iter().rev() {
            if stretch.end >= sector && found.is_none_or(|other| stretch.goes_before(other, sector))
            {
                found = Some(stretch);
            }
            // those that begin earlier end before the sector
            if self.adaptive || sector - stretch.start > self.segment_sectors {
                break;
            }
        }
        found.map(|stretch| HeldSectors { index: stretch.segment, end: stretch.end })
    }

    /// Marks a segment as just used by a command for the host's bytes `from..to`; returns whether that
    /// began where the segment's last command ended.
    #[inline]
    pub fn touch(&mut self, index: usize, from: u64, to: u64) -> bool {
        if self.segments[index].rooms > 0 {
            self.order.touch(index);
        }
        std::mem::replace(&mut self.segments[index].next_byte, to) == from
    }

    /// Keeps the sectors `start..end` in the segment that they continue, `continued` or, in an adaptive cache,
    /// whichever it now is; otherwise in the least recently used one. Older ones beyond the segment's size are
    /// lost. The caller touches it.
    #[inline]
    pub fn keep(&mut self, start: u64, end: u64, continued: Option<usize>) -> usize {
        // the stretch that a command should continue may be gone by the time the head has read it
        let still =
            |index: &usize| self.place(*index).is_some_and(|at| self.stretches[at].reaches(start));
        let continued = if self.adaptive {
            self.find(start).map(|held| held.index)
        } else {
            continued.filter(still)
        };
        if let Some(index) = continued {
            self.grow(index, end);
            return index;
        }
        let mut oldest = self.order.oldest().expect("a cache that is on has segments with room");
        if self.segments[oldest].rooms > 1 {
            oldest = self.split_off(oldest);
        }
        let at = self.hold(CachedRange { start, end, segment: oldest });
        self.settle(at);
        oldest
    }

    /// Adds the sectors up to `end`; the oldest are overwritten when the segment is full. A segment that has
    /// been joined to another stays empty.
    #[inline]
    pub fn grow(&mut self, index: usize, end: u64) {
        if let Some(at) = self.place(index) {
            let stretch = &mut self.stretches[at];
            stretch.end = stretch.end.max(end);
            self.settle(at);
        }
    }

    #[inline]
    pub fn drop_overlapping(&mut self, start: u64, end: u64) {
        let mut at = self.stretches.partition_point(|stretch| stretch.start < end);
        while at > 0 {
            at -= 1;
            let stretch = self.stretches[at];
            if stretch.end > start {
                self.forget(stretch.segment);
                self.segments[stretch.segment].next_byte = u64::MAX;
            } else if self.adaptive || start - stretch.start > self.segment_sectors {
                return;
            }
        }
    }

    /// Gives up the sectors of a segment before `sector`; it can still be continued at its end.
    pub fn give_up_before(&mut self, index: usize, sector: u64) {
        if let Some(at) = self.place(index) {
            let CachedRange { start, end, segment } = self.stretches[at];
            self.hold(CachedRange { start: start.max(sector.min(end)), end, segment });
        }
    }

    /// Sectors for which a segment has room, at least.
    pub fn segment_sectors(&self) -> u64 {
        self.segment_sectors
    }

    #[inline]
    fn place(&self, index: usize) -> Option<usize> {
        if self.stretches.get(self.last_held).is_some_and(|stretch| stretch.segment == index) {
            return Some(self.last_held);
        }
        let start = self.segments[index].start?;
        let from = self.stretches.partition_point(|stretch| stretch.start < start);
        let further = self.stretches[from..].iter().position(|s| s.segment == index)?;
        Some(from + further)
    }

    /// Puts a stretch into its segment in place of the old one; returns its place.
    #[inline]
    fn hold(&mut self, stretch: CachedRange) -> usize {
        let behind = self.stretches.partition_point(|other| other.start < stretch.start);
        let at = match self.place(stretch.segment) {
            None => {
                self.stretches.insert(behind, stretch);
                behind
            }
            Some(old) if old < behind => {
                self.stretches.copy_within(old + 1..behind, old);
                behind - 1
            }
            Some(old) => {
                self.stretches.copy_within(behind..old, behind + 1);
                behind
            }
        };
        self.stretches[at] = stretch;
        self.segments[stretch.segment].start = Some(stretch.start);
        self.last_held = at;
        at
    }

    #[inline]
    fn forget(&mut self, index: usize) -> Option<CachedRange> {
        let at = self.place(index)?;
        self.segments[index].start = None;
        Some(self.stretches.remove(at))
    }

    /// Joins a stretch that has grown with those it met, and fits it and its segment to each other.
    #[inline]
    fn settle(&mut self, at: usize) {
        if self.adaptive {
            self.join_those_met(at);
        }
        let CachedRange { start, end, segment } = self.stretches[at];
        if end - start > self.room(segment) {
            if self.adaptive {
                self.make_room(segment, end - start);
            }
            self.trim(segment);
        }
    }

    /// Joins a stretch with those that begin inside it or at its end, and takes over their room.
    #[inline]
    fn join_those_met(&mut self, at: usize) {
        let CachedRange { end, segment, .. } = self.stretches[at];
        while let Some(&met) = self.stretches.get(at + 1).filter(|next| next.start <= end) {
            let stretch = &mut self.stretches[at];
            stretch.end = stretch.end.max(met.end);
            self.segments[segment].rooms += self.segments[met.segment].rooms;
            self.segments[met.segment].rooms = 0;
            self.empty(met.segment);
        }
    }

    #[inline]
    fn room(&self, index: usize) -> u64 {
        self.segments[index].rooms * self.segment_sectors
    }

    /// Gives a segment room for `sectors`, piece by piece from the least recently used.
    fn make_room(&mut self, index: usize, sectors: u64) {
        while sectors > self.room(index) {
            let Some(donor) = self.order.oldest_but(index) else { return };
            self.segments[index].rooms += 1;
            self.give_room(donor);
        }
    }

    fn trim(&mut self, index: usize) {
        let Some(at) = self.place(index) else { return };
        let CachedRange { start, end, .. } = self.stretches[at];
        let start = start.max(end.saturating_sub(self.room(index)));
        self.hold(CachedRange { start, end, segment: index });
    }

    /// Takes one room from a segment, and its oldest sectors with it.
    fn give_room(&mut self, donor: usize) {
        self.segments[donor].rooms -= 1;
        if self.segments[donor].rooms == 0 {
            self.empty(donor);
        } else {
            self.trim(donor);
        }
    }

    /// A segment with one room, taken from segment `donor`, which has more.
    fn split_off(&mut self, donor: usize) -> usize {
        self.give_room(donor);
        let free = self.segments.iter().position(|segment| segment.rooms == 0).unwrap_or(donor);
        self.segments[free].rooms += 1;
        self.order.touch(free);
        free
    }

    /// A segment without room is not asked for it.
    fn empty(&mut self, index: usize) {
        self.forget(index);
        self.order.leave(index);
        self.segments[index].next_byte = u64::MAX;
    }

    #[inline]
    pub fn start(&self, index: usize) -> Option<u64> {
        self.segments[index].start
    }

    pub fn end(&self, index: usize) -> Option<u64> {
        Some(self.stretches[self.place(index)?].end)
    }
}

impl CachedRange {
    /// Whether it holds a sector or ends there.
    fn reaches(&self, sector: u64) -> bool {
        (self.start..=self.end).contains(&sector)
    }

    /// Of two stretches that hold a sector or end there: one that holds it, then the lower segment, goes before.
    fn goes_before(&self, other: &Self, sector: u64) -> bool {
        match (self.end > sector, other.end > sector) {
            (true, true) => self.segment < other.segment,
            (false, false) => self.segment > other.segment,
            (holds, _) => holds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn segment_answers_its_data_and_continues_at_end() {
        let mut cache = ReadCache::new(2, 100, false);
        let index = cache.keep(1000, 1050, None);
        assert_eq!(cache.find(999), None);
        assert_eq!(cache.find(1000), Some(HeldSectors { index, end: 1050 }));
        assert_eq!(cache.find(1050), Some(HeldSectors { index, end: 1050 }));
        assert_eq!(cache.find(1051), None);
    }

    #[test]
    fn a_full_segment_loses_its_oldest_sectors() {
        let mut cache = ReadCache::new(1, 100, false);
        let index = cache.keep(0, 80, None);
        cache.grow(index, 150);
        assert_eq!(cache.find(49), None);
        assert_eq!(cache.find(50), Some(HeldSectors { index, end: 150 }));
    }

    #[test]
    fn the_least_recently_used_segment_gives_way() {
        let mut cache = ReadCache::new(2, 100, false);
        let first = cache.keep(0, 10, None);
        cache.touch(first, 0, 40);
        let second = cache.keep(1000, 1010, None);
        cache.touch(second, 4000, 4040);
        assert!(!cache.touch(first, 0, 20));
        assert_eq!(cache.keep(5000, 5010, None), second);
        assert_ne!(cache.find(5), None);
        assert_eq!(cache.find(1005), None);
    }

    #[test]
    fn continuing_command_is_recognized() {
        let mut cache = ReadCache::new(2, 100, false);
        let index = cache.keep(0, 80, None);
        assert!(!cache.touch(index, 0, 512));
        assert!(cache.touch(index, 512, 1024));
        assert!(!cache.touch(index, 2048, 2560));
        assert!(cache.touch(index, 2560, 3072));
    }

    #[test]
    fn adaptive_stretch_takes_least_recently_used_room() {
        let mut cache = ReadCache::new(4, 100, true);
        for (start, uses) in [(1000, 1), (2000, 2)] {
            let index = cache.keep(start, start + 50, None);
            (0..uses).for_each(|_| assert!(!cache.touch(index, 0, 1)));
        }
        let stream = cache.keep(5000, 5080, None);
        cache.touch(stream, 0, 1);
        // the free segment, then the two others
        for (end, held) in [(5200, [true, true]), (5300, [false, true]), (5400, [false, false])] {
            cache.grow(stream, end);
            assert_eq!(cache.find(5000), Some(HeldSectors { index: stream, end }));
            assert_eq!([1000, 2000].map(|sector| cache.find(sector).is_some()), held);
        }
        cache.grow(stream, 5450);
        assert_eq!(cache.find(5049), None);
        assert_ne!(cache.find(5050), None);
    }

    #[test]
    fn an_adaptive_stretch_gives_room_back_piece_by_piece() {
        let mut cache = ReadCache::new(3, 100, true);
        let stream = cache.keep(0, 300, None);
        cache.touch(stream, 0, 1);
        let other = cache.keep(9000, 9010, None);
        cache.touch(other, 0, 1);
        assert_eq!(cache.find(99), None);
        assert_eq!(cache.find(100), Some(HeldSectors { index: stream, end: 300 }));
        // the stream is used again, so that the other gives way
        cache.touch(stream, 0, 1);
        cache.keep(7000, 7010, None);
        assert_eq!(cache.find(9000), None);
        assert_eq!(cache.find(100), Some(HeldSectors { index: stream, end: 300 }));
    }

    #[test]
    fn adaptive_stretches_that_meet_become_one() {
        let mut cache = ReadCache::new(4, 100, true);
        let low = cache.keep(0, 50, None);
        cache.touch(low, 0, 1);
        let high = cache.keep(80, 150, None);
        cache.touch(high, 0, 1);
        cache.grow(low, 80);
        assert_eq!(cache.find(10), Some(HeldSectors { index: low, end: 150 }));
        // commands of one stream that were queued together continue one another
        assert_eq!(cache.keep(150, 170, Some(high)), low);
        assert_eq!(cache.end(low), Some(170));
        cache.grow(high, 500);
        assert_eq!(cache.find(480), None);
    }

    proptest! {
        #[test]
        fn segments_keep_their_bounds_and_are_found(
            adaptive in any::<bool>(),
            steps in proptest::collection::vec((0u64..600, 1u64..90, any::<bool>()), 1..80),
        ) {
            let mut cache = ReadCache::new(5, 40, adaptive);
            for (start, len, again) in steps {
                let index = cache.keep(start, start + len, cache.find(start).map(|held| held.index));
                if again {
                    cache.touch(index, 0, 1);
                }
                let held = cache.stretches.clone();
                prop_assert!(cache.end(index) >= Some(start + len));
                prop_assert!(held.iter().all(|s| s.end - s.start <= cache.room(s.segment)));
                prop_assert_eq!(cache.segments.iter().map(|segment| segment.rooms).sum::<u64>(), 5);
                let apart = |w: &[CachedRange]| w[0].start <= w[1].start && (!adaptive || w[0].end < w[1].start);
                prop_assert!(held.windows(2).all(apart));
                for sector in 0..700 {
                    let by_segment = (0..5).filter_map(|k| held.iter().find(|s| s.segment == k));
                    let mut near = by_segment.filter(|s| s.start <= sector && sector <= s.end);
                    let holder = near.clone().find(|s| sector < s.end).or(near.next_back());
                    prop_assert_eq!(cache.find(sector).map(|held| held.index), holder.map(|s| s.segment));
                }
            }
        }
    }

    #[test]
    fn without_segments_there_is_no_cache() {
        assert!(ReadCache::new(0, 100, false).is_off());
        assert_eq!(ReadCache::new(0, 100, false).find(0), None);
    }
}
