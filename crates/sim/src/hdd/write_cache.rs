//! Data the drive has reported as written and still has to write: which bytes, and whether more fit.

use crate::device::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;

/// A stretch of unwritten bytes: where it ends, and since when its oldest byte waits.
#[derive(Debug, Clone, Copy)]
struct DirtyRange {
    end: u64,
    since: Nanos,
}

/// Unwritten bytes, kept as disjoint stretches that do not touch.
#[derive(Debug, Clone)]
pub struct WriteCache {
    dirty: BTreeMap<u64, DirtyRange>,
    /// The stretches in order of waiting: since when, and their start.
    ages: BTreeSet<(Nanos, u64)>,
    dirty_bytes: u64,
    /// Stretches that are being written to the medium now; they keep their room until that is done.
    in_flight: Vec<(u64, u64)>,
    in_flight_bytes: u64,
    limit_bytes: u64,
    limit_extents: usize,
    high_water: f64,
    low_water: f64,
    /// The high-water mark was reached, and the low one not since.
    pressed: bool,
}

impl WriteCache {
    /// An empty cache for `limit_bytes` in at most `limit_extents` stretches; `high_water` is a share.
    pub fn new(limit_bytes: u64, limit_extents: u32, high_water: f64) -> Self {
        Self {
            dirty: BTreeMap::new(),
            ages: BTreeSet::new(),
            dirty_bytes: 0,
            in_flight: Vec::new(),
            in_flight_bytes: 0,
            limit_bytes,
            limit_extents: limit_extents as usize,
            high_water,
            low_water: high_water,
            pressed: false,
        }
    }

    /// Makes the pressure last until less than the share `low_water` is held.
    pub fn pressed_down_to(self, low_water: f64) -> Self {
        Self { low_water, ..self }
    }

    /// Whether nothing waits to be written (what is being written now does not count).
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.dirty.is_empty()
    }

    /// Whether the cached data, stretches under way included, are within both limits.
    pub fn fits(&self) -> bool {
        self.total_bytes() <= self.limit_bytes && self.total_extents() <= self.limit_extents
    }

    /// Whether either limit's high-water mark was reached, and since then not both low-water marks.
    pub fn is_pressed(&self) -> bool {
        self.pressed
    }

    /// Whether it is emptied in bursts, from one mark to the other.
    pub fn has_bursts(&self) -> bool {
        self.low_water < self.high_water
    }

    fn weigh(&mut self) {
        let mark = if self.pressed { self.low_water } else { self.high_water };
        self.pressed = self.total_bytes() as f64 >= mark * self.limit_bytes as f64
            || self.total_extents() as f64 >= mark * self.limit_extents as f64;
    }

    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    pub fn bytes_under_way(&self) -> u64 {
        self.in_flight_bytes
    }

    /// Bytes held, stretches under way included.
    pub fn total_bytes(&self) -> u64 {
        self.dirty_bytes + self.in_flight_bytes
    }

    fn total_extents(&self) -> usize {
        self.dirty.len() + self.in_flight.len()
    }

    /// Adds the bytes `from..to` at `now`, coalescing with neighbours and overwriting what overlaps. What
    /// comes of it is as old as the oldest of its parts.
    pub fn insert(&mut self, from: u64, to: u64, now: Nanos) {
        self.put(from, to, now);
        self.weigh();
    }

    fn put(&mut self, from: u64, to: u64, now: Nanos) {
        if let Some((&s, stretch)) = self.dirty.range_mut(..=to).next_back()
            && s <= from
            && from <= stretch.end
        {
            // a stretch that grows at its end keeps its place in both orders
            self.dirty_bytes += to.saturating_sub(stretch.end);
            stretch.end = stretch.end.max(to);
            return;
        }
        let (mut start, mut end, mut since) = (from, to, now);
        while let Some((&s, &stretch)) = self.dirty.range(..=end).next_back() {
            if stretch.end < start {
                break;
            }
            self.take(s, stretch);
            start = start.min(s);
            end = end.max(stretch.end);
            since = since.min(stretch.since);
        }
        self.add(start, DirtyRange { end, since });
    }

    fn add(&mut self, start: u64, stretch: DirtyRange) {
        self.dirty.insert(start, stretch);
        self.ages.insert((stretch.since, start));
        self.dirty_bytes += stretch.end - start;
    }

    fn take(&mut self, start: u64, stretch: DirtyRange) {
        self.dirty.remove(&start);
        self.ages.remove(&(stretch.since, start));
        self.dirty_bytes -= stretch.end - start;
    }

    /// Forgets the bytes `from..to`, wherever they are waiting. The rest of a stretch keeps its age.
    pub fn remove(&mut self, from: u64, to: u64) {
        while let Some((&s, &stretch)) = self.dirty.range(..to).next_back() {
            if stretch.end <= from {
                break;
            }
            self.take(s, stretch);
            if s < from {
                self.add(s, DirtyRange { end: from, ..stretch });
            }
            if to < stretch.end {
                self.add(to, stretch);
            }
        }
        self.weigh();
    }

    /// The stretch that has waited longest, if since before `moment`.
    pub fn waiting_since_before(&self, moment: Nanos) -> Option<(u64, u64)> {
        let &(since, start) = self.ages.first()?;
        (since < moment).then(|| (start, self.dirty[&start].end))
    }

    pub fn waiting_since(&self, start: u64) -> Option<Nanos> {
        self.dirty.get(&start).map(|stretch| stretch.since)
    }

    /// Starts writing `from..to`, which must be dirty: it keeps its room until [`WriteCache::finish`].
    pub fn start(&mut self, from: u64, to: u64) {
        self.remove(from, to);
        self.in_flight.push((from, to));
        self.in_flight_bytes += to - from;
        self.weigh();
    }

    #[inline]
    pub fn is_writing(&self) -> bool {
        !self.in_flight.is_empty()
    }

    #[cfg(test)]
    pub fn under_way(&self) -> &[(u64, u64)] {
        &self.in_flight
    }

    pub fn finish(&mut self) {
        self.in_flight.clear();
        self.in_flight_bytes = 0;
        self.weigh();
    }

    /// Whether all of `from..to` is held, waiting or under way.
    #[inline]
    pub fn holds(&self, from: u64, to: u64) -> bool {
        if self.dirty.is_empty() && self.in_flight.is_empty() {
            return false;
        }
        let waiting = self.dirty.range(..=from).next_back().is_some_and(|(_, s)| s.end >= to);
        waiting || self.in_flight.iter().any(|&(start, end)| start <= from && to <= end)
    }

    /// The stretches in ascending order from `position` on, then those before it.
    pub fn ascending_from(&self, position: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ascending(position..).chain(self.ascending(..position))
    }

    pub fn ascending(&self, range: impl RangeBounds<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.dirty.range(range).map(|(&start, stretch)| (start, stretch.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stretches(cache: &WriteCache) -> Vec<(u64, u64)> {
        cache.ascending_from(0).collect()
    }

    #[test]
    fn neighbours_coalesce() {
        let mut cache = WriteCache::new(1000, 3, 0.5);
        for (from, to) in [(0, 10), (20, 30), (10, 20), (50, 60)] {
            cache.insert(from, to, 0);
        }
        assert_eq!(stretches(&cache), [(0, 30), (50, 60)]);
        assert_eq!(cache.total_bytes(), 40);
    }

    #[test]
    fn what_is_under_way_keeps_its_room() {
        let mut cache = WriteCache::new(30, 3, 0.5);
        cache.insert(0, 30, 0);
        cache.start(0, 20);
        assert!(cache.fits() && cache.is_pressed() && cache.holds(5, 15) && cache.holds(20, 30));
        cache.insert(100, 110, 0);
        assert!(!cache.fits());
        cache.finish();
        assert!(cache.fits() && !cache.holds(5, 15));
        assert_eq!(cache.total_bytes(), 20);
    }

    #[test]
    fn either_limit_binds() {
        let mut cache = WriteCache::new(1000, 2, 0.75);
        cache.insert(0, 1, 0);
        assert!(cache.fits() && !cache.is_pressed());
        cache.insert(10, 11, 0);
        assert!(cache.fits() && cache.is_pressed());
        cache.insert(20, 21, 0);
        assert!(!cache.fits());
    }

    #[test]
    fn the_longest_waiting_is_known() {
        let mut cache = WriteCache::new(1000, 9, 0.75);
        cache.insert(50, 60, 1);
        cache.insert(10, 20, 2);
        assert_eq!(cache.waiting_since_before(1), None);
        assert_eq!(cache.waiting_since_before(5), Some((50, 60)));
        // growth at the end does not make it younger, and what remains of it is as old
        cache.insert(60, 70, 3);
        cache.start(50, 55);
        assert_eq!(cache.waiting_since_before(2), Some((55, 70)));
        cache.remove(55, 70);
        assert_eq!(cache.waiting_since_before(2), None);
        assert_eq!(cache.waiting_since_before(3), Some((10, 20)));
    }

    #[test]
    fn data_before_old_stretch_keep_its_age() {
        let mut cache = WriteCache::new(1000, 9, 0.75);
        cache.insert(50, 60, 1);
        cache.insert(10, 20, 2);
        cache.insert(40, 50, 3);
        assert_eq!(cache.waiting_since_before(2), Some((40, 60)));
        cache.start(40, 55);
        assert_eq!(cache.waiting_since_before(2), Some((55, 60)));
        // nor does it hold up the next one when it is gone
        cache.remove(0, 100);
        cache.insert(70, 80, 4);
        assert_eq!(cache.waiting_since_before(5), Some((70, 80)));
    }

    #[test]
    fn the_order_of_visits_wraps_round() {
        let mut cache = WriteCache::new(1000, 9, 0.75);
        for from in [10, 20, 30] {
            cache.insert(from, from + 5, 0);
        }
        assert_eq!(cache.ascending_from(20).collect::<Vec<_>>(), [(20, 25), (30, 35), (10, 15)]);
    }

    proptest! {
        #[test]
        fn the_longest_waiting_is_that_of_a_search(steps in proptest::collection::vec((any::<bool>(), 0usize..60, 1usize..20), 1..60)) {
            let mut cache = WriteCache::new(1000, 100, 0.75);
            let mut since = [None; 82];
            for (now, (add, from, len)) in (1u64..).zip(steps) {
                let (mut start, mut end) = (from + 1, from + len + 1);
                if add {
                    cache.insert(start as u64, end as u64, now);
                    since[start..end].iter_mut().for_each(|s| *s = s.or(Some(now)));
                    while since[start - 1].is_some() { start -= 1 }
                    while since[end].is_some() { end += 1 }
                    let oldest = since[start..end].iter().copied().min().unwrap();
                    since[start..end].fill(oldest);
                } else {
                    cache.remove(start as u64, end as u64);
                    since[start..end].fill(None);
                }
                let oldest = since.iter().flatten().min();
                let start = oldest.and_then(|_| (0..82u64).find(|&b| since[b as usize].as_ref() == oldest));
                prop_assert_eq!(cache.waiting_since_before(u64::MAX).map(|s| s.0), start);
                prop_assert_eq!(cache.waiting_since_before(oldest.map_or(u64::MAX, |&s| s)), None);
                prop_assert_eq!(cache.ages.len(), cache.dirty.len());
            }
        }

        #[test]
        fn it_holds_exactly_the_bytes_of_a_bitmap(steps in proptest::collection::vec((any::<bool>(), 0u64..60, 1u64..20), 1..40)) {
            let mut cache = WriteCache::new(1000, 100, 0.75);
            let mut bitmap = [false; 80];
            for (add, from, len) in steps {
                if add { cache.insert(from, from + len, 0) } else { cache.remove(from, from + len) }
                bitmap[from as usize..(from + len) as usize].fill(add);
                let held = bitmap.iter().filter(|&&b| b).count() as u64;
                prop_assert_eq!(cache.total_bytes(), held);
                for byte in 0..80u64 {
                    prop_assert_eq!(cache.holds(byte, byte + 1), bitmap[byte as usize]);
                }
                let all = stretches(&cache);
                prop_assert!(all.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }
}
