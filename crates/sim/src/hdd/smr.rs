//! Drive-managed shingled recording: the contents of the persistent cache, and the bands to clean.
//!
//! The drive's first sectors hold the persistent cache, a circular log; the bands follow. A write goes to
//! the log unless it fills bands from their start on. The map of the log is in memory and limited; when it
//! or the log is full, and when the drive is idle, bands are cleaned in order of their first cached write:
//! read, merged with what the log has of them, and written back whole.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Sectors in the log, by the home sector of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Logged {
    /// First home sector after it.
    end: u64,
    /// Sector in the log of the first.
    at: u64,
}

/// The real place of a stretch of home sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediumRange {
    pub sector: u64,
    pub count: u64,
}

/// The state of the shingled recording. All sectors are physical; *home* sectors count from the start of
/// the medium, so the first band begins at `log_sectors`.
#[derive(Debug, Clone)]
pub struct Shingles {
    log_sectors: u64,
    band_sectors: u64,
    map_limit: usize,
    map: BTreeMap<u64, Logged>,
    logged_sectors: u64,
    log_head: u64,
    /// Bands to clean by their turn, and the turn of each.
    to_clean: BTreeMap<u64, u64>,
    turns: BTreeMap<u64, u64>,
    next_turn: u64,
    /// Bands in which a stream broke off.
    broken: BTreeSet<u64>,
    /// Home sector at which a stream that fills bands would continue.
    stream_next: Option<u64>,
}

impl Shingles {
    /// Nothing cached. `log_sectors` come before the first band.
    pub fn new(log_sectors: u64, band_sectors: u64, map_limit: u32) -> Self {
        Self {
            log_sectors,
            band_sectors,
            map_limit: map_limit as usize,
            map: BTreeMap::new(),
            logged_sectors: 0,
            log_head: 0,
            to_clean: BTreeMap::new(),
            turns: BTreeMap::new(),
            next_turn: 0,
            broken: BTreeSet::new(),
            stream_next: None,
        }
    }

    fn band_of(&self, home: u64) -> u64 {
        (home - self.log_sectors) / self.band_sectors
    }

    fn band_start(&self, band: u64) -> u64 {
        self.log_sectors + band * self.band_sectors
    }

    pub fn is_clean(&self) -> bool {
        self.to_clean.is_empty()
    }

    /// Sectors in the log that still count.
    pub fn logged_sectors(&self) -> u64 {
        self.logged_sectors
    }

    /// Whether a write of `from..to` may go straight to its band: it continues a stream, or starts a band
    /// with at least `stream_min` sectors.
    pub fn takes_direct(&self, from: u64, to: u64, stream_min: u64) -> bool {
        let starts_band = (from - self.log_sectors).is_multiple_of(self.band_sectors);
        self.stream_next == Some(from) || (starts_band && to - from >= stream_min)
    }

    /// Notes a write of `from..to` straight to its bands. A stream that broke off inside a band has
    /// overwritten the tracks after it: that band must be cleaned, unless a stream goes through all of it.
    pub fn write_direct(&mut self, from: u64, to: u64) {
        if self.stream_next != Some(from) {
            self.break_stream();
        }
        self.forget(from, to);
        // streams begin where a band does, so that a band whose end they reach is whole
        for band in self.band_of(from)..self.band_of(to) {
            self.broken.remove(&band);
        }
        self.spare(from, to);
        self.stream_next = Some(to);
    }

    fn break_stream(&mut self) {
        let Some(next) = self.stream_next.take() else { return };
        if !(next - self.log_sectors).is_multiple_of(self.band_sectors) {
            let band = self.band_of(next);
            self.broken.insert(band);
            self.must_clean(band);
        }
    }

    fn must_clean(&mut self, band: u64) {
        if let Entry::Vacant(turn) = self.turns.entry(band) {
            turn.insert(self.next_turn);
            self.to_clean.insert(self.next_turn, band);
            self.next_turn += 1;
        }
    }

    /// Takes those bands of `from..to` off the list that are whole and have nothing left in the log.
    fn spare(&mut self, from: u64, to: u64) {
        let touched = self.band_of(from)..self.band_of(to - 1) + 1;
        let spared: Vec<u64> = self
            .turns
            .range(touched)
            .map(|(&band, _)| band)
            .filter(|&band| !self.broken.contains(&band))
            .filter(|&band| self.at_home(self.band_start(band), self.band_start(band + 1)))
            .collect();
        for band in spared {
            if let Some(turn) = self.turns.remove(&band) {
                self.to_clean.remove(&turn);
            }
        }
    }

    pub fn has_room(&self, sectors: u64, extents: usize) -> bool {
        self.logged_sectors + sectors <= self.log_sectors
            && self.map.len() + extents <= self.map_limit
    }

    /// Where an append of `sectors` goes, with the log's end turning back to its start.
    pub fn log_place(&self, sectors: u64) -> u64 {
        if self.log_head + sectors > self.log_sectors { 0 } else { self.log_head }
    }

    pub fn append(&mut self, from: u64, to: u64, at: u64) {
        self.forget(from, to);
        let mut start = from;
        while start < to {
            let band = self.band_of(start);
            let end = to.min(self.band_start(band + 1));
            self.map.insert(start, Logged { end, at: at + (start - from) });
            self.must_clean(band);
            start = end;
        }
        self.logged_sectors += to - from;
        self.log_head = at + (to - from);
    }

    pub fn forget(&mut self, from: u64, to: u64) {
        while let Some((&start, &logged)) = self.map.range(..to).next_back() {
            if logged.end <= from {
                break;
            }
            self.map.remove(&start);
            self.logged_sectors -= logged.end - start;
            if start < from {
                self.map.insert(start, Logged { end: from, at: logged.at });
                self.logged_sectors += from - start;
            }
            if logged.end > to {
                self.map.insert(to, Logged { end: logged.end, at: logged.at + (to - start) });
                self.logged_sectors += logged.end - to;
            }
        }
    }

    /// The host declared `from..to` (which is not empty) unused: the log's part goes, and bands that are wholly
    /// unused or have nothing left in the log need no cleaning.
    pub fn trim(&mut self, from: u64, to: u64) {
        self.forget(from, to);
        let first = (from - self.log_sectors).div_ceil(self.band_sectors);
        let behind = self.band_of(to);
        self.broken.retain(|band| !(first..behind).contains(band));
        self.spare(from, to);
    }

    /// Takes the band to clean next: where its first logged sectors are, if any, and the band itself,
    /// cut off at `medium_end`.
    pub fn clean_next(&mut self, medium_end: u64) -> Option<(Option<MediumRange>, MediumRange)> {
        let (_, band) = self.to_clean.pop_first()?;
        self.turns.remove(&band);
        self.broken.remove(&band);
        let (start, end) = (self.band_start(band), self.band_start(band + 1).min(medium_end));
        let logged = self
            .map
            .range(start..end)
            .next()
            .map(|(home, l)| MediumRange { sector: l.at, count: l.end - home });
        self.forget(start, end);
        if self.stream_next.is_some_and(|next| start < next && next < end) {
            self.stream_next = None;
        }
        Some((logged, MediumRange { sector: start, count: end - start }))
    }

    /// The places to read the home sectors `from..to` from, in order.
    pub fn resolve(&self, from: u64, to: u64) -> Vec<MediumRange> {
        let mut pieces = Vec::new();
        let mut at = from;
        let earlier = self.map.range(..from).next_back();
        for (&start, logged) in earlier.into_iter().chain(self.map.range(from..to)) {
            if logged.end <= at {
                continue;
            }
            if at < start {
                pieces.push(MediumRange { sector: at, count: start - at });
                at = start;
            }
            let end = logged.end.min(to);
            pieces.push(MediumRange { sector: logged.at + (at - start), count: end - at });
            at = end;
        }
        if at < to {
            pieces.push(MediumRange { sector: at, count: to - at });
        }
        pieces
    }

    /// Where on the medium a transfer of the home sectors `from..to` begins.
    #[inline]
    pub fn first_of(&self, from: u64, to: u64) -> u64 {
        if self.at_home(from, to) {
            return from;
        }
        self.resolve(from, to).first().map_or(from, |piece| piece.sector)
    }

    /// Whether the log holds no part of `from..to`, so that all of it is at home.
    #[inline]
    pub fn at_home(&self, from: u64, to: u64) -> bool {
        self.map.range(..to).next_back().is_none_or(|(_, logged)| logged.end <= from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(sector: u64, count: u64) -> MediumRange {
        MediumRange { sector, count }
    }

    #[test]
    fn a_cached_write_is_read_from_the_log() {
        let mut shingles = Shingles::new(100, 50, 10);
        shingles.append(210, 220, 0);
        assert_eq!(shingles.resolve(200, 230), [piece(200, 10), piece(0, 10), piece(220, 10)]);
        assert_eq!(shingles.resolve(212, 215), [piece(2, 3)]);
        assert!(shingles.at_home(100, 210) && !shingles.at_home(100, 211));
        assert!(shingles.at_home(220, 300));
    }

    #[test]
    fn cleaning_takes_the_oldest_band_and_frees_its_share() {
        let mut shingles = Shingles::new(100, 50, 10);
        shingles.append(340, 360, 0);
        shingles.append(110, 115, 20);
        assert_eq!(shingles.logged_sectors(), 25);
        assert_eq!(shingles.clean_next(400), Some((Some(piece(0, 10)), piece(300, 50))));
        assert_eq!(shingles.clean_next(400), Some((Some(piece(10, 10)), piece(350, 50))));
        assert_eq!(shingles.logged_sectors(), 5);
        assert_eq!(shingles.clean_next(400), Some((Some(piece(20, 5)), piece(100, 50))));
        assert_eq!(shingles.clean_next(400), None);
    }

    #[test]
    fn log_and_map_are_limited() {
        let mut shingles = Shingles::new(100, 50, 2);
        shingles.append(150, 155, 0);
        shingles.append(250, 255, 5);
        assert!(!shingles.has_room(1, 1));
        let mut small = Shingles::new(10, 50, 9);
        small.append(20, 29, 0);
        assert!(small.has_room(1, 1) && !small.has_room(2, 1));
        assert_eq!((small.log_place(1), small.log_place(2)), (9, 0));
    }

    #[test]
    fn whole_bands_bypass_log_and_broken_are_cleaned() {
        let mut shingles = Shingles::new(100, 50, 10);
        assert!(shingles.takes_direct(150, 170, 20) && !shingles.takes_direct(151, 190, 20));
        assert!(!shingles.takes_direct(150, 169, 20));
        shingles.write_direct(150, 170);
        assert!(shingles.takes_direct(170, 171, 20));
        shingles.write_direct(170, 200);
        assert!(shingles.is_clean());
        shingles.write_direct(200, 220);
        shingles.write_direct(300, 350);
        assert_eq!(shingles.clean_next(400), Some((None, piece(200, 50))));
    }

    #[test]
    fn trim_spares_the_cleaning_of_unused_bands() {
        let mut shingles = Shingles::new(100, 50, 10);
        shingles.append(110, 115, 0);
        shingles.append(160, 165, 5);
        shingles.trim(100, 150);
        assert_eq!(shingles.logged_sectors(), 5);
        assert_eq!(shingles.clean_next(400), Some((Some(piece(5, 5)), piece(150, 50))));
        assert!(shingles.is_clean());
    }

    #[test]
    fn band_without_logged_data_is_not_cleaned() {
        let mut shingles = Shingles::new(100, 50, 10);
        // a stream over a whole band, and one that ends after the logged part of the next
        shingles.append(160, 165, 0);
        shingles.append(201, 205, 5);
        shingles.write_direct(150, 210);
        assert!(shingles.is_clean());
        // TRIM of all that was logged of a band, but not of the band
        shingles.append(310, 320, 9);
        shingles.trim(305, 320);
        assert!(shingles.is_clean());
        shingles.append(310, 320, 19);
        shingles.trim(310, 319);
        assert_eq!(shingles.clean_next(400), Some((Some(piece(28, 1)), piece(300, 50))));
    }

    #[test]
    fn broken_band_is_cleaned_until_rewritten_or_unused() {
        fn broken() -> Shingles {
            let mut shingles = Shingles::new(100, 50, 10);
            shingles.write_direct(150, 170);
            shingles.write_direct(300, 350);
            assert!(!shingles.is_clean());
            shingles
        }
        let mut again = broken();
        again.append(160, 165, 0);
        again.trim(150, 199);
        assert!(!again.is_clean());
        again.trim(150, 200);
        assert!(again.is_clean());
        let mut whole = broken();
        whole.write_direct(150, 180);
        assert!(!whole.is_clean());
        whole.write_direct(180, 200);
        assert!(whole.is_clean());
    }

    #[test]
    fn partly_trimmed_broken_band_is_still_cleaned() {
        for (trimmed, clean) in [(1075..1100, false), (1050..1100, false), (1000..1100, true)] {
            let mut shingles = Shingles::new(1000, 100, 50);
            shingles.write_direct(1000, 1050);
            shingles.write_direct(1300, 1400);
            assert!(!shingles.is_clean(), "the stream broke off in the first band");
            shingles.trim(trimmed.start, trimmed.end);
            assert_eq!(shingles.is_clean(), clean, "{trimmed:?}");
        }
    }

    proptest! {
        #[test]
        fn only_bands_with_logged_data_need_cleaning(
            steps in proptest::collection::vec((0u8..3, 100u64..290, 1u64..60), 1..30),
        ) {
            let mut shingles = Shingles::new(100, 50, 1000);
            let mut logged = [false; 350];
            for (kind, from, len) in steps {
                let to = (from + len).min(300);
                if kind == 0 {
                    shingles.trim(from, to);
                } else {
                    shingles.append(from, to, 0);
                }
                logged[from as usize..to as usize].fill(kind > 0);
            }
            let mut cleaned = std::collections::BTreeSet::new();
            while let Some((_, band)) = shingles.clean_next(300) {
                prop_assert!(cleaned.insert(band.sector));
            }
            let expected = (100..300).step_by(50).filter(|&band| logged[band..band + 50].contains(&true));
            let expected: Vec<u64> = expected.map(|band| band as u64).collect();
            prop_assert_eq!(cleaned.into_iter().collect::<Vec<_>>(), expected);
            prop_assert_eq!(shingles.logged_sectors(), 0);
        }

        #[test]
        fn reading_finds_the_newest_copy_of_every_sector(writes in proptest::collection::vec((100u64..290, 1u64..10), 1..8)) {
            let mut shingles = Shingles::new(100, 50, 100);
            let mut newest: Vec<u64> = (0..300).collect();
            for (from, len) in writes {
                let at = shingles.log_place(len);
                shingles.append(from, from + len, at);
                for i in 0..len {
                    newest[(from + i) as usize] = at + i;
                }
            }
            let pieces = shingles.resolve(100, 300);
            let found: Vec<u64> = pieces.iter().flat_map(|p| p.sector..p.sector + p.count).collect();
            prop_assert_eq!(&found[..], &newest[100..]);
        }
    }
}
