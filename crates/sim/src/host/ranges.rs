//! A set of numbers kept as ranges.

use std::collections::BTreeMap;

/// Ranges that neither touch nor overlap, by their first number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds `start..end`.
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let (mut low, mut high) = (start, end);
        while let Some((first, last)) = self.touching(low, high) {
            low = low.min(first);
            high = high.max(last);
            self.ends.remove(&first);
        }
        self.ends.insert(low, high);
    }

    /// How many numbers of `start..end` are in the set.
    pub(super) fn count_in(&self, start: u64, end: u64) -> u64 {
        let before = self.ends.range(..end).rev();
        let inside = before.take_while(|&(_, &last)| last > start);
        inside.map(|(&first, &last)| last.min(end) - first.max(start)).sum()
    }

    /// Removes `start..end`; how many numbers were in the set before.
    pub(super) fn remove(&mut self, start: u64, end: u64) -> u64 {
        let mut removed = 0;
        while let Some((first, last)) = self.overlapping(start, end) {
            self.ends.remove(&first);
            if first < start {
                self.ends.insert(first, start);
            }
            if last > end {
                self.ends.insert(end, last);
            }
            removed += last.min(end) - first.max(start);
        }
        removed
    }

    /// How many numbers are in the set.
    pub(super) fn count(&self) -> u64 {
        self.ends.iter().map(|(first, last)| last - first).sum()
    }

    fn touching(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let before = self.ends.range(..=end).next_back();
        before.map(|(&first, &last)| (first, last)).filter(|&(_, last)| last >= start)
    }

    fn overlapping(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let before = self.ends.range(..end).next_back();
        before.map(|(&first, &last)| (first, last)).filter(|&(_, last)| last > start && start < end)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_set_of_numbers(
            steps in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..20), 1..80),
        ) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (add, start, len) in steps {
                let before = set.len() as u64;
                if add {
                    set.extend(start..start + len);
                    ranges.insert(start, start + len);
                } else {
                    set.retain(|number| !(start..start + len).contains(number));
                    prop_assert_eq!(ranges.remove(start, start + len), before - set.len() as u64);
                }
                prop_assert_eq!(ranges.count(), set.len() as u64);
                let inside = set.range(10..35).count() as u64;
                prop_assert_eq!(ranges.count_in(10, 35), inside);
                let list: Vec<_> = ranges.ends.iter().collect();
                prop_assert!(list.windows(2).all(|pair| pair[0].1 < pair[1].0), "apart");
            }
        }
    }
}
