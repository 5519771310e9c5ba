//! The table of cached pages: lookup, order of use, and which are dirty.
//!
//! One list in order of use holds the pages that may be dropped (clean, not under I/O). Linux keeps two
//! lists (active and inactive) and refault distances; a page that is read once and never again therefore
//! lives somewhat longer here.

use std::collections::{BTreeMap, VecDeque};

use super::page_places::PagePlaces;
use crate::device::Nanos;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub number: u64,
    /// The contents are there; else the page is being read by `io`.
    pub loaded: bool,
    pub dirty: bool,
    pub writeback: bool,
    /// Reading this page starts the next read-ahead.
    pub marker: bool,
    /// The read that will load it.
    pub io: u32,
    before: u32,
    after: u32,
    listed: bool,
}

#[derive(Debug, Clone)]
pub(super) struct PageTable {
    places: PagePlaces,
    pages: Vec<Page>,
    unused: Vec<u32>,
    capacity_pages: u64,
    newest: u32,
    oldest: u32,
    /// Dirty pages that are not being written, with the time each became dirty.
    dirty: BTreeMap<u64, Nanos>,
    /// These pages in order of time; outdated entries are skipped.
    by_age: VecDeque<(Nanos, u64)>,
    writeback_pages: u64,
}

impl PageTable {
    pub(super) fn new(capacity_pages: u64) -> Self {
        Self {
            places: PagePlaces::default(),
            pages: Vec::new(),
            unused: Vec::new(),
            capacity_pages,
            newest: NONE,
            oldest: NONE,
            dirty: BTreeMap::new(),
            by_age: VecDeque::new(),
            writeback_pages: 0,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.places.len()
    }

    pub(super) fn dirty_pages(&self) -> u64 {
        self.dirty.len() as u64
    }

    pub(super) fn writeback_pages(&self) -> u64 {
        self.writeback_pages
    }

    pub(super) fn find(&self, number: u64) -> Option<Page> {
        self.places.get(number).map(|place| self.pages[place as usize])
    }

    pub(super) fn holds(&self, number: u64) -> bool {
        self.places.contains(number)
    }

    pub(super) fn touch(&mut self, number: u64) {
        if let Some(place) = self.places.get(number)
            && place != self.newest
            && self.pages[place as usize].listed
        {
            self.unlist(place);
            self.list(place);
        }
    }

    pub(super) fn set_marker(&mut self, number: u64, marker: bool) {
        if let Some(place) = self.places.get(number) {
            self.pages[place as usize].marker = marker;
        }
    }

    pub(super) fn add_reading(&mut self, number: u64, io: u32) {
        self.add(Page { io, ..blank(number) });
    }

    /// Adds a page whose contents are known without reading.
    pub(super) fn add_loaded(&mut self, number: u64) {
        let place = self.add(Page { loaded: true, ..blank(number) });
        self.list(place);
    }

    /// A read has brought the contents.
    pub(super) fn loaded(&mut self, number: u64) {
        if let Some(place) = self.places.get(number)
            && !self.pages[place as usize].loaded
        {
            self.pages[place as usize].loaded = true;
            self.relist(place);
        }
    }

    /// A write has changed a loaded page. Whether it was clean before.
    pub(super) fn mark_dirty(&mut self, number: u64, now: Nanos) -> bool {
        let place = self.places.of(number);
        let page = &mut self.pages[place as usize];
        if page.dirty {
            return false;
        }
        page.dirty = true;
        self.relist(place);
        self.dirty.insert(number, now);
        self.by_age.push_back((now, number));
        true
    }

    /// Turns the run of dirty pages that begins at `first`, `pages_max` long at most, into pages being
    /// written. Its length.
    pub(super) fn begin_writeback(&mut self, first: u64, pages_max: u64) -> u64 {
        let mut number = first;
        while number < first + pages_max
            && let Some(place) = self.places.get(number)
        {
            let page = &mut self.pages[place as usize];
            if !page.dirty || page.writeback {
                break;
            }
            page.dirty = false;
            page.writeback = true;
            self.dirty.remove(&number);
            number += 1;
        }
        self.writeback_pages += number - first;
        number - first
    }

    pub(super) fn end_writeback(&mut self, first: u64, pages: u64) {
        self.writeback_pages -= pages;
        for number in first..first + pages {
            if let Some(place) = self.places.get(number) {
                self.pages[place as usize].writeback = false;
                self.relist(place);
            }
        }
    }

    /// The first page at or after `from`, and before `end`, that is dirty and not being written.
    pub(super) fn next_dirty(&self, from: u64, end: u64) -> Option<u64> {
        let mut dirty = self.dirty.range(from..end);
        dirty.find(|&(number, _)| !self.is_in_writeback(*number)).map(|(&number, _)| number)
    }

    /// Whether a page of a range was changed again while it is being written.
    pub(super) fn is_rewritten(&self, first: u64, end: u64) -> bool {
        self.dirty.range(first..end).any(|(&number, _)| self.is_in_writeback(number))
    }

    fn is_in_writeback(&self, number: u64) -> bool {
        self.pages[self.places.of(number) as usize].writeback
    }

    pub(super) fn is_dirty(&self, number: u64) -> bool {
        self.dirty.contains_key(&number)
    }

    /// Takes the pages that have been dirty since `cutoff` or longer, oldest first.
    pub(super) fn take_expired(&mut self, cutoff: Nanos) -> Vec<u64> {
        let mut expired = Vec::new();
        while let Some(&(since, number)) = self.by_age.front() {
            let holds = self.dirty.get(&number) == Some(&since);
            if holds && since > cutoff {
                break;
            }
            self.by_age.pop_front();
            if holds {
                expired.push(number);
            }
        }
        expired
    }

    /// Drops the clean pages of a range that are not under I/O.
    pub(super) fn evict(&mut self, first: u64, end: u64) {
        self.drop_where(first, end, |page| page.listed);
    }

    /// Drops pages, dirty or not, except those under I/O: their contents no longer matter.
    pub(super) fn discard(&mut self, first: u64, end: u64) {
        self.drop_where(first, end, |page| page.loaded && !page.writeback);
    }

    pub(super) fn drop_failed(&mut self, number: u64) {
        self.drop_where(number, number + 1, |page| !page.loaded);
    }

    fn drop_where(&mut self, first: u64, end: u64, which: impl Fn(&Page) -> bool) {
        let few = end.saturating_sub(first) < self.places.len();
        let numbers: Vec<u64> = if few {
            (first..end).filter(|number| self.places.contains(*number)).collect()
        } else {
            self.pages_held().filter(|number| (first..end).contains(number)).collect()
        };
        for number in numbers {
            let place = self.places.of(number);
            if which(&self.pages[place as usize]) {
                self.remove(place);
            }
        }
    }

    /// Numbers of all pages, in no order that depends on anything but the history.
    fn pages_held(&self) -> impl Iterator<Item = u64> + '_ {
        let pages = self.pages.iter().enumerate();
        pages
            .filter(|(place, page)| self.places.get(page.number) == Some(*place as u32))
            .map(|(_, page)| page.number)
    }

    fn add(&mut self, page: Page) -> u32 {
        while self.places.len() >= self.capacity_pages && self.oldest != NONE {
            self.remove(self.oldest);
        }
        let place = match self.unused.pop() {
            Some(place) => {
                self.pages[place as usize] = page;
                place
            }
            None => {
                self.pages.push(page);
                u32::try_from(self.pages.len() - 1).expect("fewer than 2^32 pages")
            }
        };
        self.places.insert(page.number, place);
        place
    }

    fn remove(&mut self, place: u32) {
        let Page { number, listed, dirty, .. } = self.pages[place as usize];
        if listed {
            self.unlist(place);
        }
        if dirty {
            self.dirty.remove(&number);
        }
        self.places.remove(number);
        self.unused.push(place);
    }

    /// Puts a page on the list or takes it off, as its state demands.
    fn relist(&mut self, place: u32) {
        let page = self.pages[place as usize];
        let droppable = page.loaded && !page.dirty && !page.writeback;
        match (page.listed, droppable) {
            (false, true) => self.list(place),
            (true, false) => self.unlist(place),
            _ => {}
        }
    }

    fn list(&mut self, place: u32) {
        let after = self.newest;
        let page = &mut self.pages[place as usize];
        (page.before, page.after, page.listed) = (NONE, after, true);
        match after {
            NONE => self.oldest = place,
            after => self.pages[after as usize].before = place,
        }
        self.newest = place;
        while self.len() > self.capacity_pages && self.oldest != place {
            self.remove(self.oldest);
        }
    }

    fn unlist(&mut self, place: u32) {
        let Page { before, after, .. } = self.pages[place as usize];
        match before {
            NONE => self.newest = after,
            before => self.pages[before as usize].after = after,
        }
        match after {
            NONE => self.oldest = before,
            after => self.pages[after as usize].before = before,
        }
        self.pages[place as usize].listed = false;
    }
}

fn blank(number: u64) -> Page {
    Page {
        number,
        loaded: false,
        dirty: false,
        writeback: false,
        marker: false,
        io: 0,
        before: NONE,
        after: NONE,
        listed: false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn held(table: &PageTable, numbers: std::ops::Range<u64>) -> Vec<u64> {
        numbers.filter(|&number| table.holds(number)).collect()
    }

    #[test]
    fn the_page_not_used_longest_goes() {
        let mut table = PageTable::new(3);
        (0..3).for_each(|number| table.add_loaded(number));
        table.touch(0);
        table.add_loaded(3);
        assert_eq!(held(&table, 0..4), [0, 2, 3]);
    }

    #[test]
    fn dirty_pages_stay_until_written() {
        let mut table = PageTable::new(2);
        table.add_loaded(0);
        table.mark_dirty(0, 5);
        (1..5).for_each(|number| table.add_loaded(number));
        assert_eq!(held(&table, 0..5), [0, 4]);
        assert_eq!(table.begin_writeback(0, 8), 1);
        table.add_loaded(5);
        assert!(table.holds(0));
        table.end_writeback(0, 1);
        table.add_loaded(6);
        table.add_loaded(7);
        assert_eq!(held(&table, 0..8), [6, 7]);
    }

    #[test]
    fn runs_end_at_gaps_and_at_pages_being_written() {
        let mut table = PageTable::new(100);
        for number in [3, 4, 5, 7] {
            table.add_loaded(number);
            table.mark_dirty(number, 0);
        }
        assert_eq!(table.next_dirty(0, 100), Some(3));
        assert_eq!(table.begin_writeback(3, 100), 3);
        table.mark_dirty(4, 1);
        assert_eq!(
            table.next_dirty(0, 100),
            Some(7),
            "page 4 is dirty again but still being written"
        );
        table.end_writeback(3, 3);
        assert_eq!((table.next_dirty(0, 100), table.begin_writeback(4, 2)), (Some(4), 1));
    }

    #[test]
    fn expired_pages_come_once_and_only_if_still_dirty() {
        let mut table = PageTable::new(100);
        for (number, at) in [(9, 1), (2, 2), (5, 30)] {
            table.add_loaded(number);
            table.mark_dirty(number, at);
        }
        table.begin_writeback(2, 1);
        assert_eq!(table.take_expired(10), [9]);
        assert!(table.take_expired(10).is_empty());
        assert_eq!(table.take_expired(30), [5]);
    }

    proptest! {
        #[test]
        fn counts_hold_under_any_use(steps in prop::collection::vec((0u8..6, 0u64..40), 1..300)) {
            let mut table = PageTable::new(16);
            let mut writing: Vec<(u64, u64)> = Vec::new();
            for (time, &(step, number)) in steps.iter().enumerate() {
                let loaded = table.find(number).is_some_and(|page| page.loaded);
                match step {
                    0 if !table.holds(number) => table.add_loaded(number),
                    1 if !table.holds(number) => table.add_reading(number, 0),
                    2 => table.loaded(number),
                    3 if loaded => { table.mark_dirty(number, time as u64); }
                    4 => {
                        if let Some(first) = table.next_dirty(number, 40) {
                            let pages = table.begin_writeback(first, 4);
                            prop_assert!(pages > 0);
                            writing.push((first, pages));
                        }
                    }
                    5 => if let Some((first, pages)) = writing.pop() { table.end_writeback(first, pages) },
                    _ => table.evict(number, number + 3),
                }
                let pages: Vec<Page> = (0..40).filter_map(|number| table.find(number)).collect();
                prop_assert_eq!(pages.len() as u64, table.len());
                let dirty = pages.iter().filter(|page| page.dirty).count() as u64;
                prop_assert_eq!(dirty, table.dirty_pages());
                let under_write = pages.iter().filter(|page| page.writeback).count() as u64;
                prop_assert_eq!(under_write, table.writeback_pages());
                let mut listed = 0;
                let mut place = table.newest;
                while place != NONE { listed += 1; place = table.pages[place as usize].after; }
                let droppable = |page: &&Page| page.loaded && !page.dirty && !page.writeback;
                prop_assert_eq!(listed, pages.iter().filter(droppable).count());
                prop_assert!(table.len() <= 16 || listed <= 1);
            }
        }
    }
}
