//! The pages of the map that are in memory. A page holds 1024 entries; the clock algorithm chooses which
//! one makes way.

use super::geometry::Lpn;

/// Entries of a map page: 4 bytes each, 4 KiB in all.
const ENTRIES: u32 = 1024;
const ABSENT: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub(super) struct MapCache {
    /// Page and whether it was used since the hand last passed.
    slots: Vec<(u32, bool)>,
    capacity: usize,
    hand: usize,
    slot_of: Vec<u32>,
}

impl MapCache {
    /// Memory of `cache_bytes` for the map of `units` units; empty at first.
    pub(super) fn new(cache_bytes: f64, units: u32) -> Self {
        let pages = units.div_ceil(ENTRIES) as usize;
        let capacity = (cache_bytes / f64::from(ENTRIES * 4)) as usize;
        let whole = capacity >= pages;
        Self {
            slots: Vec::new(),
            capacity: if whole { 0 } else { capacity.max(1) },
            hand: 0,
            slot_of: if whole { Vec::new() } else { vec![ABSENT; pages] },
        }
    }

    /// Looks up the page of `lpn`: `Some(page)` if it had to be fetched.
    pub(super) fn touch(&mut self, lpn: Lpn) -> Option<u32> {
        if self.slot_of.is_empty() {
            return None;
        }
        let page = lpn / ENTRIES;
        let slot = self.slot_of[page as usize];
        if slot != ABSENT {
            self.slots[slot as usize].1 = true;
            return None;
        }
        let slot = self.vacate();
        self.slots[slot] = (page, false);
        self.slot_of[page as usize] = slot as u32;
        Some(page)
    }

    fn vacate(&mut self) -> usize {
        if self.slots.len() < self.capacity {
            self.slots.push((ABSENT, false));
            return self.slots.len() - 1;
        }
        loop {
            let slot = self.hand;
            self.hand = (self.hand + 1) % self.capacity;
            let (page, used) = &mut self.slots[slot];
            if !std::mem::take(used) {
                self.slot_of[*page as usize] = ABSENT;
                return slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MapCache;

    #[test]
    fn enough_memory_never_misses() {
        let mut cache = MapCache::new(4096.0 * 4.0, 4096);
        assert!((0..4096).all(|lpn| cache.touch(lpn).is_none()));
    }

    #[test]
    fn random_misses_follow_the_share_not_covered() {
        let mut cache = MapCache::new(4096.0 * 64.0, 256 * 1024);
        let mut state = 1_u64;
        let mut misses = 0;
        for k in 0..60_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let missed = cache.touch((state >> 33) as u32 % (256 * 1024)).is_some();
            misses += u32::from(missed && k >= 10_000);
        }
        let share = f64::from(misses) / 50_000.0;
        assert!((share - 0.75).abs() < 0.01, "{share}");
    }

    #[test]
    fn reused_pages_outlast_pages_used_once() {
        let mut cache = MapCache::new(4096.0 * 4.0, 64 * 1024);
        let mut missed = |page: u32| cache.touch(page * 1024).is_some();
        assert_eq!([0, 1, 2, 3, 0, 2].map(&mut missed), [true, true, true, true, false, false]);
        // two others take the places of those used once
        assert_eq!([4, 5].map(&mut missed), [true, true]);
        assert_eq!([0, 2, 4, 5].map(&mut missed), [false; 4]);
        assert_eq!([1, 3].map(&mut missed), [true, true]);
    }

    #[test]
    fn a_span_that_fits_stays() {
        let mut cache = MapCache::new(4096.0 * 64.0, 256 * 1024);
        for round in 0..3 {
            for page in 0..64 {
                assert_eq!(cache.touch(page * 1024).is_some(), round == 0);
            }
        }
    }
}
