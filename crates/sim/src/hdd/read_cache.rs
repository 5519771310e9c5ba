//! The segmented read cache: each segment holds one stretch of sectors, the least recently used gives way.
//!
//! An adaptive cache moves the borders of its segments: a stretch that outgrows its room takes over that of the
//! least recently used one, and stretches that meet become one.

/// A stretch of cached sectors, `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    start: u64,
    end: u64,
}

impl Lookup {
    /// The segment, if there is one.
    fn index(self) -> Option<usize> {
        match self {
            Self::Miss => None,
            Self::Held { index, .. } => Some(index),
        }
    }
}

/// The segments. Sectors are physical.
#[derive(Debug, Clone)]
pub struct ReadCache {
    segments: Vec<Segment>,
    /// When each segment was last used, in uses of the cache; beside `segments` to keep the search short.
    used: Vec<u64>,
    /// Host byte at which each segment's last command ended.
    next_bytes: Vec<u64>,
    /// How many times `segment_sectors` each segment has room for; 1 unless the cache is adaptive.
    rooms: Vec<u64>,
    uses: u64,
    segment_sectors: u64,
    adaptive: bool,
}

const EMPTY: Segment = Segment { start: u64::MAX, end: u64::MAX };

/// How much of a request a segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// No segment holds its first sector, nor ends there.
    Miss,
    /// Segment `index` holds the sectors before `end` (which may lie beyond the request).
    Held {
        /// The segment.
        index: usize,
        /// First sector that it does not hold.
        end: u64,
    },
}

impl ReadCache {
    /// `count` empty segments of `segment_sectors`.
    pub fn new(count: u32, segment_sectors: u64, adaptive: bool) -> Self {
        let count = count as usize;
        Self {
            segments: vec![EMPTY; count],
            used: vec![0; count],
            next_bytes: vec![u64::MAX; count],
            rooms: vec![1; count],
            uses: 0,
            segment_sectors,
            adaptive,
        }
    }

    /// Whether there is a cache at all.
    pub fn is_off(&self) -> bool {
        self.segments.is_empty() || self.segment_sectors == 0
    }

    /// The segment that holds `sector`, or that ends there so that reading would continue it.
    #[inline]
    pub fn find(&self, sector: u64) -> Lookup {
        let mut found = Lookup::Miss;
        for (index, segment) in self.segments.iter().enumerate() {
            // one comparison that is almost always false, where two would each be true now and then
            if sector.wrapping_sub(segment.start) <= segment.end - segment.start {
                if sector < segment.end {
                    return Lookup::Held { index, end: segment.end };
                }
                found = Lookup::Held { index, end: segment.end };
            }
        }
        found
    }

    /// Marks a segment as just used by a command for the host's bytes `from..to`; returns whether that
    /// began where the segment's last command ended.
    #[inline]
    pub fn touch(&mut self, index: usize, from: u64, to: u64) -> bool {
        self.uses += 1;
        self.used[index] = self.uses;
        std::mem::replace(&mut self.next_bytes[index], to) == from
    }

    /// Keeps the sectors `start..end` in the segment that they continue, `continued` or, in an adaptive cache,
    /// whichever it now is; otherwise in the least recently used one. Older ones beyond the segment's size are
    /// lost. The caller touches it.
    #[inline]
    pub fn keep(&mut self, start: u64, end: u64, continued: Option<usize>) -> usize {
        let continued = if self.adaptive { self.find(start).index() } else { continued };
        if let Some(index) = continued {
            self.grow(index, end);
            return index;
        }
        let mut oldest = 0;
        for (index, used) in self.used.iter().enumerate() {
            if *used < self.used[oldest] {
                oldest = index;
            }
        }
        if self.rooms[oldest] > 1 {
            oldest = self.split_off(oldest);
        }
        self.segments[oldest] = Segment { start, end: start };
        self.grow(oldest, end);
        oldest
    }

    /// Adds the sectors up to `end`; the oldest are overwritten when the segment is full. A segment that has
    /// been joined to another stays empty.
    #[inline]
    pub fn grow(&mut self, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        if *segment == EMPTY {
            return;
        }
        segment.end = segment.end.max(end);
        if self.adaptive {
            self.expand(index);
        }
        self.trim(index);
    }

    /// Forgets the oldest sectors of a segment that has no room for them.
    #[inline]
    fn trim(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        let room = self.rooms[index] * self.segment_sectors;
        segment.start = segment.start.max(segment.end.saturating_sub(room));
    }

    /// Joins a segment with those that begin inside it or at its end, then gives it the room that it needs.
    fn expand(&mut self, index: usize) {
        let Segment { start, mut end } = self.segments[index];
        for other in 0..self.segments.len() {
            let met = self.segments[other];
            // one comparison that only the segment itself and those it meets pass; an empty one is far away
            if met.start.wrapping_sub(start) <= end - start && other != index {
                end = end.max(met.end);
                self.rooms[index] += std::mem::take(&mut self.rooms[other]);
                self.empty(other);
            }
        }
        self.segments[index].end = end;
        while self.segments[index].end - self.segments[index].start
            > self.rooms[index] * self.segment_sectors
        {
            let others = (0..self.rooms.len()).filter(|&k| k != index && self.rooms[k] > 0);
            let Some(donor) = others.min_by_key(|&k| self.used[k]) else {
                return;
            };
            self.rooms[index] += 1;
            self.give_room(donor);
        }
    }

    /// Takes one room from a segment, and its oldest sectors with it.
    fn give_room(&mut self, donor: usize) {
        self.rooms[donor] -= 1;
        if self.rooms[donor] == 0 {
            self.empty(donor);
        } else if self.segments[donor] != EMPTY {
            self.trim(donor);
        }
    }

    /// A segment with one room, taken from segment `donor`, which has more.
    fn split_off(&mut self, donor: usize) -> usize {
        self.give_room(donor);
        let free = self.rooms.iter().position(|&rooms| rooms == 0).unwrap_or(donor);
        self.rooms[free] += 1;
        free
    }

    /// A segment without room is the last to be asked for it.
    fn empty(&mut self, index: usize) {
        self.segments[index] = EMPTY;
        self.used[index] = u64::MAX;
        self.next_bytes[index] = u64::MAX;
    }

    /// How many commands have used it, so that tests know what was stepped.
    #[cfg(test)]
    pub(super) fn uses(&self) -> u64 {
        self.uses
    }

    /// First sector behind a segment.
    pub fn end(&self, index: usize) -> u64 {
        self.segments[index].end
    }

    /// Moves one segment forward by `sectors` of `sector_bytes`, as a long stream would have done.
    pub fn shift(&mut self, index: usize, sectors: u64, sector_bytes: u64) {
        let segment = &mut self.segments[index];
        if *segment == EMPTY {
            return;
        }
        segment.start += sectors;
        segment.end += sectors;
        self.next_bytes[index] += sectors * sector_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_answers_what_it_holds_and_continues_at_its_end() {
        let mut cache = ReadCache::new(2, 100, false);
        let index = cache.keep(1000, 1050, None);
        assert_eq!(cache.find(999), Lookup::Miss);
        assert_eq!(cache.find(1000), Lookup::Held { index, end: 1050 });
        assert_eq!(cache.find(1050), Lookup::Held { index, end: 1050 });
        assert_eq!(cache.find(1051), Lookup::Miss);
    }

    #[test]
    fn a_full_segment_loses_its_oldest_sectors() {
        let mut cache = ReadCache::new(1, 100, false);
        let index = cache.keep(0, 80, None);
        cache.grow(index, 150);
        assert_eq!(cache.find(49), Lookup::Miss);
        assert_eq!(cache.find(50), Lookup::Held { index, end: 150 });
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
        assert_ne!(cache.find(5), Lookup::Miss);
        assert_eq!(cache.find(1005), Lookup::Miss);
    }

    #[test]
    fn a_command_that_begins_where_the_last_one_ended_is_known() {
        let mut cache = ReadCache::new(2, 100, false);
        let index = cache.keep(0, 80, None);
        assert!(!cache.touch(index, 0, 512));
        assert!(cache.touch(index, 512, 1024));
        assert!(!cache.touch(index, 2048, 2560));
        assert!(cache.touch(index, 2560, 3072));
    }

    #[test]
    fn an_adaptive_stretch_takes_the_room_of_the_least_recently_used() {
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
            assert_eq!(cache.find(5000), Lookup::Held { index: stream, end });
            assert_eq!([1000, 2000].map(|sector| cache.find(sector) != Lookup::Miss), held);
        }
        cache.grow(stream, 5450);
        assert_eq!(cache.find(5049), Lookup::Miss);
        assert_ne!(cache.find(5050), Lookup::Miss);
    }

    #[test]
    fn an_adaptive_stretch_gives_room_back_piece_by_piece() {
        let mut cache = ReadCache::new(3, 100, true);
        let stream = cache.keep(0, 300, None);
        cache.touch(stream, 0, 1);
        let other = cache.keep(9000, 9010, None);
        cache.touch(other, 0, 1);
        assert_eq!(cache.find(99), Lookup::Miss);
        assert_eq!(cache.find(100), Lookup::Held { index: stream, end: 300 });
        // the stream is used again, so that the other gives way
        cache.touch(stream, 0, 1);
        cache.keep(7000, 7010, None);
        assert_eq!(cache.find(9000), Lookup::Miss);
        assert_eq!(cache.find(100), Lookup::Held { index: stream, end: 300 });
    }

    #[test]
    fn adaptive_stretches_that_meet_become_one() {
        let mut cache = ReadCache::new(4, 100, true);
        let low = cache.keep(0, 50, None);
        cache.touch(low, 0, 1);
        let high = cache.keep(80, 150, None);
        cache.touch(high, 0, 1);
        cache.grow(low, 80);
        assert_eq!(cache.find(10), Lookup::Held { index: low, end: 150 });
        // commands of one stream that were queued together continue one another
        assert_eq!(cache.keep(150, 170, Some(high)), low);
        assert_eq!(cache.end(low), 170);
        cache.grow(high, 500);
        assert_eq!(cache.find(480), Lookup::Miss);
    }

    #[test]
    fn without_segments_there_is_no_cache() {
        assert!(ReadCache::new(0, 100, false).is_off());
        assert_eq!(ReadCache::new(0, 100, false).find(0), Lookup::Miss);
    }
}
