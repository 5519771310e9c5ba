//! The place of each cached page in the table of pages.
//!
//! Programs use neighbouring pages one after the other. Places are therefore kept in groups of neighbours: one lookup
//! brings those of the next pages into the processor's cache too.

use rustc_hash::FxHashMap;

/// Pages of a group: their places fill four cache lines.
const GROUP: u64 = 64;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct PageGroup {
    places: [u32; GROUP as usize],
    held: u32,
}

#[derive(Debug, Clone, Default)]
pub(super) struct PagePlaces {
    groups: FxHashMap<u64, Box<PageGroup>>,
    len: u64,
}

impl PagePlaces {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn get(&self, number: u64) -> Option<u32> {
        let place = self.groups.get(&(number / GROUP))?.places[(number % GROUP) as usize];
        (place != NONE).then_some(place)
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.get(number).is_some()
    }

    /// The place of a page that is in the table.
    pub(super) fn of(&self, number: u64) -> u32 {
        self.get(number).expect("the page is in the table")
    }

    pub(super) fn insert(&mut self, number: u64, place: u32) {
        let group = self
            .groups
            .entry(number / GROUP)
            .or_insert_with(|| Box::new(PageGroup { places: [NONE; GROUP as usize], held: 0 }));
        let slot = &mut group.places[(number % GROUP) as usize];
        if *slot == NONE {
            group.held += 1;
            self.len += 1;
        }
        *slot = place;
    }

    pub(super) fn remove(&mut self, number: u64) {
        let Some(group) = self.groups.get_mut(&(number / GROUP)) else { return };
        let slot = &mut group.places[(number % GROUP) as usize];
        if *slot == NONE {
            return;
        }
        *slot = NONE;
        group.held -= 1;
        self.len -= 1;
        if group.held == 0 {
            self.groups.remove(&(number / GROUP));
        }
    }
}
