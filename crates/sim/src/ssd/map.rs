//! The logical-to-physical map, in pieces of 1024 units that take only the memory they need.
//!
//! A piece begins as a list of extents (a sequentially filled drive needs one or two for 4 MiB) and
//! becomes a plain table when it is fragmented, so that memory follows what has been written at random.

use super::geometry::{Lpn, Ppn};

const PIECE: u32 = 1024;
/// Extents beyond which the plain table is smaller or faster.
const EXTENTS_MAX: usize = 128;
const UNMAPPED: Ppn = Ppn::MAX;

/// Neighbouring logical units that are neighbours in the flash too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MapExtent {
    start: u16,
    len: u16,
    ppn: Ppn,
}

impl MapExtent {
    fn new(start: u32, end: u32, ppn: Ppn) -> Self {
        Self { start: start as u16, len: (end - start) as u16, ppn }
    }

    fn start(self) -> u32 {
        u32::from(self.start)
    }

    fn end(self) -> u32 {
        u32::from(self.start) + u32::from(self.len)
    }
}

const NOTHING: MapExtent = MapExtent { start: 0, len: 0, ppn: 0 };

#[derive(Debug, Clone)]
enum MapSegment {
    /// One extent or, if that is empty, none; it lies in the piece itself, which saves a memory access.
    One(MapExtent),
    Extents(Vec<MapExtent>),
    Table(Box<[Ppn]>),
}

#[derive(Debug, Clone)]
pub(super) struct Map {
    pieces: Vec<MapSegment>,
}

impl Map {
    pub(super) fn new(units: u32) -> Self {
        Self { pieces: vec![MapSegment::One(NOTHING); units.div_ceil(PIECE) as usize] }
    }

    /// Where `lpn` is, and for how many units (at most `max`) the same holds: mapped to consecutive
    /// physical units, or not mapped. The run ends at the end of a piece at the latest.
    pub(super) fn run(&self, lpn: Lpn, max: u32) -> (Option<Ppn>, u32) {
        let (index, within) = ((lpn / PIECE) as usize, lpn % PIECE);
        let max = max.min(PIECE - within);
        let run_at = |next: Option<&MapExtent>| match next {
            Some(extent) if extent.start() <= within => {
                let ppn = extent.ppn + (within - extent.start());
                (Some(ppn), max.min(extent.end() - within))
            }
            Some(extent) => (None, max.min(extent.start() - within)),
            None => (None, max),
        };
        match &self.pieces[index] {
            MapSegment::One(extent) => run_at(Some(extent).filter(|extent| extent.end() > within)),
            MapSegment::Extents(list) => run_at(list.get(first_behind(list, within))),
            MapSegment::Table(table) => {
                let slice = &table[within as usize..(within + max) as usize];
                let first = slice[0];
                let step = u32::from(first != UNMAPPED);
                let len = slice
                    .iter()
                    .zip(0_u32..)
                    .take_while(|&(&ppn, k)| ppn == first.wrapping_add(k * step))
                    .count();
                ((first != UNMAPPED).then_some(first), len as u32)
            }
        }
    }

    /// Maps `len` units from `lpn` to `ppn` and on, and calls `replaced` with the runs they were at.
    pub(super) fn set(&mut self, lpn: Lpn, len: u32, ppn: Ppn, mut replaced: impl FnMut(Ppn, u32)) {
        self.for_pieces(lpn, len, |piece, start, end, done| {
            piece.set(start, end, Some(ppn + done), &mut replaced);
        });
    }

    /// Unmaps `len` units from `lpn`, and calls `replaced` with the runs they were at.
    pub(super) fn clear(&mut self, lpn: Lpn, len: u32, mut replaced: impl FnMut(Ppn, u32)) {
        self.for_pieces(lpn, len, |piece, start, end, _| {
            piece.set(start, end, None, &mut replaced);
        });
    }

    fn for_pieces(
        &mut self,
        lpn: Lpn,
        len: u32,
        mut each: impl FnMut(&mut MapSegment, u32, u32, u32),
    ) {
        let mut done = 0;
        while done < len {
            let at = lpn + done;
            let start = at % PIECE;
            let end = (start + (len - done)).min(PIECE);
            each(&mut self.pieces[(at / PIECE) as usize], start, end, done);
            done += end - start;
        }
    }
}

impl MapSegment {
    fn set(&mut self, start: u32, end: u32, ppn: Option<Ppn>, replaced: &mut impl FnMut(Ppn, u32)) {
        if let Self::One(only) = self {
            if let Some(ppn) = ppn
                && only.len > 0
                && follows(*only, MapExtent::new(start, end, ppn))
            {
                only.len += (end - start) as u16;
                return;
            }
            *self = Self::Extents(Some(*only).filter(|only| only.len > 0).into_iter().collect());
        }
        match self {
            Self::One(_) => unreachable!("it was made a list"),
            Self::Extents(list) => {
                let index = carve(list, start, end, replaced);
                if let Some(ppn) = ppn {
                    insert(list, index, MapExtent::new(start, end, ppn));
                }
                if list.len() > EXTENTS_MAX {
                    *self = Self::Table(table_of(list));
                } else if list.len() <= 1 {
                    *self = Self::One(list.first().copied().unwrap_or(NOTHING));
                }
            }
            Self::Table(table) => {
                for (entry, k) in table[start as usize..end as usize].iter_mut().zip(0_u32..) {
                    let new = ppn.map_or(UNMAPPED, |first| first + k);
                    let old = std::mem::replace(entry, new);
                    if old != UNMAPPED {
                        replaced(old, 1);
                    }
                }
                if end - start == PIECE {
                    *self = Self::One(ppn.map_or(NOTHING, |ppn| MapExtent::new(0, PIECE, ppn)));
                }
            }
        }
    }
}

/// Index of the first extent that ends after unit `at`.
///
/// Random writes leave extents evenly spread, so the search begins at the expected place: mostly in the same line of
/// the processor's cache, where halving the list would wait for memory at each step.
fn first_behind(list: &[MapExtent], at: u32) -> usize {
    let mut index = list.len() * at as usize / PIECE as usize;
    while list.get(index).is_some_and(|extent| extent.end() <= at) {
        index += 1;
    }
    while index > 0 && list[index - 1].end() > at {
        index -= 1;
    }
    index
}

/// Removes `start..end` from the list; returns the index at which an extent for it belongs.
fn carve(
    list: &mut Vec<MapExtent>,
    start: u32,
    end: u32,
    replaced: &mut impl FnMut(Ppn, u32),
) -> usize {
    let mut index = first_behind(list, start);
    while let Some(&old) = list.get(index) {
        if old.start() >= end {
            break;
        }
        let (from, to) = (old.start().max(start), old.end().min(end));
        replaced(old.ppn + (from - old.start()), to - from);
        let left = MapExtent::new(old.start(), from, old.ppn);
        let right = MapExtent::new(to, old.end(), old.ppn + (to - old.start()));
        match (left.len > 0, right.len > 0) {
            (true, true) => {
                list[index] = left;
                list.insert(index + 1, right);
                return index + 1;
            }
            (true, false) => {
                list[index] = left;
                index += 1;
            }
            (false, true) => {
                list[index] = right;
                return index;
            }
            (false, false) => {
                list.remove(index);
            }
        }
    }
    index
}

/// Whether `b` continues `a`, both for the host and in the flash.
fn follows(a: MapExtent, b: MapExtent) -> bool {
    a.end() == b.start() && a.ppn + u32::from(a.len) == b.ppn
}

/// Inserts at `index`, joined with the neighbours it continues.
fn insert(list: &mut Vec<MapExtent>, index: usize, new: MapExtent) {
    let mut merged = new;
    if list.get(index).is_some_and(|&next| follows(merged, next)) {
        merged.len += list.remove(index).len;
    }
    if index > 0 && follows(list[index - 1], merged) {
        list[index - 1].len += merged.len;
    } else {
        list.insert(index, merged);
    }
}

fn table_of(list: &[MapExtent]) -> Box<[Ppn]> {
    let mut table = vec![UNMAPPED; PIECE as usize].into_boxed_slice();
    for extent in list {
        for k in 0..u32::from(extent.len) {
            table[(extent.start() + k) as usize] = extent.ppn + k;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::{Map, MapExtent, MapSegment, PIECE, first_behind};

    #[test]
    fn a_sequential_fill_stays_compact() {
        let mut map = Map::new(4096);
        for k in 0..128 {
            map.set(k * 32, 32, k * 32, |_, _| panic!("nothing was there"));
        }
        assert!(
            map.pieces.iter().all(|piece| matches!(piece, MapSegment::One(e) if e.len == 1024))
        );
        assert_eq!(map.run(1000, 100), (Some(1000), 24), "runs end with their piece");
    }

    proptest! {
        #[test]
        fn search_agrees_with_halving_on_uneven_extents(
            ends in prop::collection::btree_set(1_u32..PIECE, 0..129),
            narrow in prop::sample::select(vec![1, 16, 1024]),
            at in 0..PIECE,
        ) {
            let mut ends: Vec<u32> = ends.into_iter().map(|end| 1 + end % narrow).collect();
            ends.sort_unstable();
            ends.dedup();
            let list: Vec<MapExtent> = ends.iter().map(|&end| MapExtent::new(end - 1, end, end)).collect();
            let halved = list.partition_point(|extent| extent.end() <= at);
            prop_assert_eq!(first_behind(&list, at), halved);
        }

        #[test]
        fn it_agrees_with_a_plain_hash_map(
            writes in prop::collection::vec((0_u32..2000, 1_u32..1200, 0_u32..50_000, any::<bool>()), 1..400)
        ) {
            let mut map = Map::new(3300);
            let mut plain: HashMap<u32, u32> = HashMap::new();
            for (lpn, len, ppn, clear) in writes {
                let len = if len > 100 { 1 + len % 4 } else { len * 10 };
                let mut old = Vec::new();
                let note = |first: u32, n: u32| old.extend(first..first + n);
                let mut expected = Vec::new();
                if clear {
                    map.clear(lpn, len, note);
                } else {
                    map.set(lpn, len, ppn, note);
                }
                for k in 0..len {
                    let at = lpn + k;
                    let old = if clear { plain.remove(&at) } else { plain.insert(at, ppn + k) };
                    expected.extend(old);
                }
                prop_assert_eq!(old, expected);
            }
            let mut lpn = 0;
            while lpn < 3300 {
                let (ppn, len) = map.run(lpn, 3300 - lpn);
                prop_assert!(len > 0);
                for k in 0..len {
                    prop_assert_eq!(plain.get(&(lpn + k)).copied(), ppn.map(|first| first + k));
                }
                lpn += len;
            }
        }
    }
}
