//! The segmented read cache: each segment holds one stretch of sectors, the least recently used gives way.

/// A stretch of cached sectors, `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    start: u64,
    end: u64,
}

/// The segments. Sectors are physical.
#[derive(Debug, Clone)]
pub struct ReadCache {
    segments: Vec<Segment>,
    /// When each segment was last used, in uses of the cache; beside `segments` to keep the search short.
    used: Vec<u64>,
    /// Host byte at which each segment's last command ended.
    next_bytes: Vec<u64>,
    uses: u64,
    segment_sectors: u64,
}

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
    pub fn new(count: u32, segment_sectors: u64) -> Self {
        let count = count as usize;
        Self {
            segments: vec![Segment { start: u64::MAX, end: u64::MAX }; count],
            used: vec![0; count],
            next_bytes: vec![u64::MAX; count],
            uses: 0,
            segment_sectors,
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

    /// Gives the least recently used segment to the sectors `start..end`; older ones beyond the segment's
    /// size are not kept. The caller touches it.
    #[inline]
    pub fn replace_oldest(&mut self, start: u64, end: u64) -> usize {
        let mut oldest = 0;
        for (index, used) in self.used.iter().enumerate() {
            if *used < self.used[oldest] {
                oldest = index;
            }
        }
        self.segments[oldest] = Segment { start, end: start };
        self.grow(oldest, end);
        oldest
    }

    /// Adds the sectors up to `end`; the oldest are overwritten when the segment is full.
    #[inline]
    pub fn grow(&mut self, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(self.segment_sectors));
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
        let mut cache = ReadCache::new(2, 100);
        let index = cache.replace_oldest(1000, 1050);
        assert_eq!(cache.find(999), Lookup::Miss);
        assert_eq!(cache.find(1000), Lookup::Held { index, end: 1050 });
        assert_eq!(cache.find(1050), Lookup::Held { index, end: 1050 });
        assert_eq!(cache.find(1051), Lookup::Miss);
    }

    #[test]
    fn a_full_segment_loses_its_oldest_sectors() {
        let mut cache = ReadCache::new(1, 100);
        let index = cache.replace_oldest(0, 80);
        cache.grow(index, 150);
        assert_eq!(cache.find(49), Lookup::Miss);
        assert_eq!(cache.find(50), Lookup::Held { index, end: 150 });
    }

    #[test]
    fn the_least_recently_used_segment_gives_way() {
        let mut cache = ReadCache::new(2, 100);
        let first = cache.replace_oldest(0, 10);
        cache.touch(first, 0, 40);
        let second = cache.replace_oldest(1000, 1010);
        cache.touch(second, 4000, 4040);
        assert!(!cache.touch(first, 0, 20));
        assert_eq!(cache.replace_oldest(5000, 5010), second);
        assert_ne!(cache.find(5), Lookup::Miss);
        assert_eq!(cache.find(1005), Lookup::Miss);
    }

    #[test]
    fn a_command_that_begins_where_the_last_one_ended_is_known() {
        let mut cache = ReadCache::new(2, 100);
        let index = cache.replace_oldest(0, 80);
        assert!(!cache.touch(index, 0, 512));
        assert!(cache.touch(index, 512, 1024));
        assert!(!cache.touch(index, 2048, 2560));
        assert!(cache.touch(index, 2560, 3072));
    }

    #[test]
    fn without_segments_there_is_no_cache() {
        assert!(ReadCache::new(0, 100).is_off());
        assert_eq!(ReadCache::new(0, 100).find(0), Lookup::Miss);
    }
}
