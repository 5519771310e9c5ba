//! Which parts of a drive a trace uses, and where they are put on a smaller target.

use drivescope_model::options::TraceFit;
use drivescope_model::units::Bytes;
use drivescope_trace::built_in::TraceSource;
use drivescope_trace::{TraceError, TraceEvent};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Parts are kept together in the largest of these units that makes a trace fit: near requests stay near.
const GRANULES: [u64; 3] = [1 << 20, 64 << 10, 4 << 10];
/// Separate parts at most: some hundred megabytes of memory.
const PARTS_MAX: usize = 4 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Placement {
    /// Where they went when it was recorded.
    #[default]
    Same,
    Packed(Arc<UsedParts>),
}

/// Used parts of a drive, in order, none touching another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedParts {
    granule: u64,
    /// First granule, the one after the last, and where the first is put.
    parts: Vec<(u64, u64, u64)>,
}

impl UsedParts {
    /// What a trace uses, in whole granules.
    fn of(source: &TraceSource, granule: u64) -> Result<Self, TraceError> {
        let mut used = BTreeMap::new();
        let mut take = |event: &TraceEvent| {
            if event.moves_data() && event.len > 0 {
                add(&mut used, event.offset / granule, event.end().div_ceil(granule));
            }
            if used.len() <= PARTS_MAX {
                return Ok(());
            }
            let why = "is too scattered to be packed; use a target as large as its drive";
            Err(TraceError::Unsuitable(why.to_string()))
        };
        source.read(&mut take)?;
        Ok(Self::placed(used, granule))
    }

    /// Places the parts one after the other.
    fn placed(used: BTreeMap<u64, u64>, granule: u64) -> Self {
        let mut placed = 0;
        let part = |(from, to): (u64, u64)| {
            let at = placed;
            placed += to - from;
            (from, to, at)
        };
        Self { granule, parts: used.into_iter().map(part).collect() }
    }

    pub fn bytes(&self) -> u64 {
        self.parts.last().map_or(0, |(from, to, at)| (at + (to - from)) * self.granule)
    }

    fn place(&self, offset: u64) -> u64 {
        let granule = offset / self.granule;
        let behind = self.parts.partition_point(|(from, ..)| *from <= granule);
        let (from, _, at) = self.parts[behind.saturating_sub(1)];
        (at + (granule - from)) * self.granule + offset % self.granule
    }
}

/// Adds a part, joined with those that it touches.
fn add(used: &mut BTreeMap<u64, u64>, mut from: u64, mut to: u64) {
    while let Some((&other, &end)) = used.range(..=to).next_back().filter(|(_, end)| **end >= from)
    {
        if other <= from && end >= to {
            return;
        }
        used.remove(&other);
        (from, to) = (from.min(other), to.max(end));
    }
    used.insert(from, to);
}

impl Placement {
    /// Where a trace that ends at byte `end` goes on `room` bytes. Errors, after its name: it does not fit.
    pub fn choose(
        source: &TraceSource,
        end: u64,
        room: u64,
        fit: TraceFit,
    ) -> Result<Self, TraceError> {
        if end <= room {
            return Ok(Self::Same);
        }
        let (end, room_bytes) = (Bytes(end), Bytes(room));
        if fit == TraceFit::Exact {
            let why = format!(
                "ends at byte {} ({end}), beyond the target's {room_bytes}; pack it with apps.fit=pack, or use a \
                 larger target",
                end.0
            );
            return Err(TraceError::Unsuitable(why));
        }
        let mut least = u64::MAX;
        for granule in GRANULES {
            let footprint = UsedParts::of(source, granule)?;
            least = least.min(footprint.bytes());
            if footprint.bytes() <= room {
                return Ok(Self::Packed(Arc::new(footprint)));
            }
        }
        let least = Bytes(least).binary();
        let why =
            format!("uses {least}, more than the {room_bytes} here; use a larger --size or target");
        Err(TraceError::Unsuitable(why))
    }

    pub fn place(&self, offset: u64) -> u64 {
        match self {
            Self::Same => offset,
            Self::Packed(footprint) => footprint.place(offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_that_touch_are_one() {
        let mut used = BTreeMap::new();
        for (from, to) in [(10, 12), (20, 22), (12, 14), (5, 6), (13, 21), (30, 31), (11, 12)] {
            add(&mut used, from, to);
        }
        assert_eq!(used.into_iter().collect::<Vec<_>>(), [(5, 6), (10, 22), (30, 31)]);
    }

    fn packed(ranges: &[(u64, u64)]) -> UsedParts {
        let mut used = BTreeMap::new();
        ranges.iter().for_each(|(from, len)| add(&mut used, *from, from + len));
        UsedParts::placed(used, 4096)
    }

    proptest! {
        /// Bytes of different places stay different and in order, and those of one request together.
        #[test]
        fn packing_keeps_order_and_neighbours(
            ranges in proptest::collection::vec((0u64..500, 1u64..20), 1..40)
        ) {
            let footprint = packed(&ranges);
            let mut granules: Vec<u64> =
                ranges.iter().flat_map(|(from, len)| *from..from + len).collect();
            granules.sort_unstable();
            granules.dedup();
            prop_assert_eq!(footprint.bytes(), granules.len() as u64 * 4096);
            for (index, granule) in granules.iter().enumerate() {
                let place = footprint.place(granule * 4096 + 17);
                prop_assert_eq!(place, index as u64 * 4096 + 17);
            }
        }
    }
}
