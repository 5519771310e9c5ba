//! A set of numbers kept as ranges.

use std::collections::BTreeMap;

/// Ranges that neither touch nor overlap, by their first number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        let (mut low, mut high) = (start, end);
        while let Some((&first, &last)) =
            self.ends.range(..=high).next_back().filter(|&(_, &last)| last >= low)
        {
            (low, high) = (low.min(first), high.max(last));
            self.ends.remove(&first);
        }
        self.ends.insert(low, high);
    }

    /// The parts of `start..end` that are in the set, in order.
    pub(super) fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let around = self.ends.range(..=start).next_back().map(|(&first, _)| first);
        let from = self.ends.range(around.unwrap_or(start)..end);
        from.map(move |(&first, &last)| (first.max(start), last.min(end)))
            .filter(|(first, last)| first < last)
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
            steps in prop::collection::vec((0u64..60, 1u64..20), 1..80),
        ) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (start, len) in steps {
                set.extend(start..start + len);
                ranges.insert(start, start + len);
                let inside: Vec<u64> = ranges.within(10, 35).flat_map(|(a, b)| a..b).collect();
                prop_assert_eq!(inside, set.range(10..35).copied().collect::<Vec<_>>());
                let list: Vec<_> = ranges.ends.iter().collect();
                prop_assert!(list.windows(2).all(|pair| pair[0].1 < pair[1].0), "apart");
            }
        }
    }
}
