//! Ranges of bytes on a drive.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    pub offset: u64,
    pub len: u64,
}

impl ByteRange {
    pub fn new(offset: u64, len: u64) -> Self {
        Self { offset, len }
    }

    /// Exclusive.
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes {} to {}", self.offset, self.end().saturating_sub(1))
    }
}

/// The first few ranges and the number of the others.
pub(super) fn listed(extents: &[ByteRange]) -> String {
    const SHOWN: usize = 8;
    let mut parts: Vec<String> = extents.iter().take(SHOWN).map(ByteRange::to_string).collect();
    if extents.len() > SHOWN {
        parts.push(format!("and {} more ranges", extents.len() - SHOWN));
    }
    parts.join(", ")
}

/// A set of bytes, kept as ranges that neither overlap nor touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ByteRangeSet(BTreeMap<u64, u64>);

impl ByteRangeSet {
    pub(super) fn insert(&mut self, extent: ByteRange) {
        let (mut start, mut end) = (extent.offset, extent.end());
        let touching: Vec<u64> = self
            .0
            .range(..=end)
            .rev()
            .take_while(|(_, known_end)| **known_end >= start)
            .map(|(known, _)| *known)
            .collect();
        for known in touching {
            if let Some(known_end) = self.0.remove(&known) {
                start = start.min(known);
                end = end.max(known_end);
            }
        }
        if start < end {
            self.0.insert(start, end);
        }
    }

    pub(super) fn ranges(&self) -> Vec<ByteRange> {
        self.0.iter().map(|(start, end)| ByteRange::new(*start, end - start)).collect()
    }

    pub(super) fn contains(&self, extent: ByteRange) -> bool {
        let before = self.0.range(..=extent.offset).next_back();
        extent.len == 0 || before.is_some_and(|(_, end)| *end >= extent.end())
    }

    pub(super) fn gaps(&self, extent: ByteRange) -> Vec<ByteRange> {
        let mut gaps = Vec::new();
        let mut at = extent.offset;
        let first = self.0.range(..=at).next_back().map_or(at, |(start, _)| *start);
        for (&start, &end) in self.0.range(first..extent.end()) {
            if start > at {
                gaps.push(ByteRange::new(at, start - at));
            }
            at = at.max(end);
        }
        if at < extent.end() {
            gaps.push(ByteRange::new(at, extent.end() - at));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_behave_as_a_set_of_bytes(
            parts in prop::collection::vec((0u64..60, 0u64..12), 0..12),
            asked in (0u64..60, 0u64..20),
        ) {
            let mut set = ByteRangeSet::default();
            let mut bytes = [false; 100];
            for (offset, len) in parts {
                set.insert(ByteRange::new(offset, len));
                bytes[offset as usize..(offset + len) as usize].fill(true);
            }
            let asked = ByteRange::new(asked.0, asked.1);
            let inside = |e: ByteRange| e.offset as usize..e.end() as usize;
            prop_assert_eq!(set.contains(asked), bytes[inside(asked)].iter().all(|b| *b));
            let mut filled = bytes;
            for gap in set.gaps(asked) {
                prop_assert!(gap.len > 0 && bytes[inside(gap)].iter().all(|b| !*b));
                filled[inside(gap)].fill(true);
            }
            prop_assert!(filled[inside(asked)].iter().all(|b| *b));
        }
    }

    #[test]
    fn range_shows_its_first_and_last_byte() {
        assert_eq!(ByteRange::new(4096, 512).to_string(), "bytes 4096 to 4607");
        let many: Vec<ByteRange> = (0..10).map(|i| ByteRange::new(i * 10, 5)).collect();
        assert!(listed(&many).ends_with("and 2 more ranges"));
    }
}
