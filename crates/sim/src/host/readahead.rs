//! Read-ahead: how much to read, and when, from the pages that readers ask for.
//!
//! The on-demand algorithm of Linux (mm/readahead.c; Wu, Xi, Xu: "On the design of a new Linux readahead
//! framework", 2008). A *window* of pages is read at once. One page in it carries a marker; when that page
//! is read, the next window, up to twice as large, is requested before it is needed. Requests are pages.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadAheadWindow {
    pub start: u64,
    pub size: u64,
    /// The marker is that many pages before the end; 0: none.
    pub async_size: u64,
}

impl ReadAheadWindow {
    /// Pages without a marker: nothing is read ahead after them.
    pub(super) fn alone(start: u64, size: u64) -> Self {
        Self { start, size, async_size: 0 }
    }

    pub fn marker(&self) -> Option<u64> {
        (self.async_size > 0).then(|| self.start + self.size - self.async_size)
    }

    fn end(&self) -> u64 {
        self.start + self.size
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct PageReadAhead {
    window: ReadAheadWindow,
    previous: Option<u64>,
}

impl PageReadAhead {
    /// Notes that reading has gone up to and including `page`.
    pub fn note_read(&mut self, page: u64) {
        self.previous = Some(page);
    }

    /// What to read now that `page` is missing and `wanted` pages from it on are requested. `cached_before` counts the
    /// cached pages just before `page` (called only if needed).
    pub fn on_miss(
        &mut self,
        page: u64,
        wanted: u64,
        max: u64,
        cached_before: impl FnOnce(u64) -> u64,
    ) -> ReadAheadWindow {
        let alone = ReadAheadWindow::alone(page, wanted.max(1));
        if max == 0 {
            return alone;
        }
        let expected = self.window.size > 0
            && (page == self.window.end() || self.window.marker() == Some(page));
        if expected {
            return self.continue_stream(max);
        }
        let sequential = self.previous.is_some_and(|last| page == last || page == last + 1);
        if page == 0 || wanted > max || sequential {
            return self.begin_stream(page, wanted, max);
        }
        let history = cached_before(max);
        if history <= wanted {
            return alone;
        }
        let from_the_start = history >= page;
        let trusted = if from_the_start { history * 2 } else { history };
        self.window = ReadAheadWindow {
            start: page,
            size: (trusted + wanted).min(max.max(wanted)),
            async_size: 1,
        };
        self.window
    }

    /// The marked page is being read: what to read besides. `next_missing` is the first page from there
    /// that is not cached (called only if needed).
    pub fn on_marker(
        &mut self,
        page: u64,
        wanted: u64,
        max: u64,
        next_missing: impl FnOnce(u64) -> Option<u64>,
    ) -> Option<ReadAheadWindow> {
        if max == 0 {
            return None;
        }
        if self.window.size > 0 && self.window.marker() == Some(page) {
            return Some(self.continue_stream(max));
        }
        let start = next_missing(max)?;
        let size = next_size(start - page + wanted, max);
        self.window = ReadAheadWindow { start, size, async_size: size };
        Some(self.window)
    }

    fn begin_stream(&mut self, page: u64, wanted: u64, max: u64) -> ReadAheadWindow {
        let size = initial_size(wanted, max).max(wanted.min(max));
        let async_size = if size > wanted { size - wanted } else { size };
        self.window = ReadAheadWindow { start: page, size, async_size };
        self.window
    }

    fn continue_stream(&mut self, max: u64) -> ReadAheadWindow {
        let size = next_size(self.window.size, max);
        self.window = ReadAheadWindow { start: self.window.end(), size, async_size: size };
        self.window
    }
}

/// The readers: all through one open file, or each id through an open file of its own.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenFiles {
    /// States of ids from 0 on; all files share the first one unless `is_by_id`.
    states: Vec<PageReadAhead>,
    pub is_by_id: bool,
}

impl OpenFiles {
    /// The state of the file that requests of this id go through.
    pub fn of(&mut self, id: u64) -> &mut PageReadAhead {
        let number = if self.is_by_id { id as usize } else { 0 };
        if number >= self.states.len() {
            self.states.resize(number + 1, PageReadAhead::default());
        }
        &mut self.states[number]
    }
}

/// First window for a request: the request rounded up to a power of two, ×4 if small, ×2 if middling.
fn initial_size(wanted: u64, max: u64) -> u64 {
    let rounded = wanted.next_power_of_two();
    if rounded <= max / 32 {
        rounded * 4
    } else if rounded <= max / 4 {
        rounded * 2
    } else {
        max
    }
}

/// The window after this one: ×4 while small, then ×2, up to the maximum.
fn next_size(size: u64, max: u64) -> u64 {
    if size < max / 16 {
        size * 4
    } else if size <= max / 2 {
        size * 2
    } else {
        max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 32;

    fn none(_: u64) -> u64 {
        0
    }

    #[test]
    fn a_file_read_from_its_start_in_single_pages() {
        let mut state = PageReadAhead::default();
        let mut windows = vec![state.on_miss(0, 1, MAX, none)];
        for _ in 0..5 {
            let marker =
                windows.last().and_then(ReadAheadWindow::marker).expect("streams have markers");
            state.note_read(marker - 1);
            windows.push(state.on_marker(marker, 1, MAX, |_| None).expect("the stream continues"));
        }
        let sizes: Vec<u64> = windows.iter().map(|w| w.size).collect();
        assert_eq!(sizes, [4, 8, 16, 32, 32, 32]);
        assert!(windows.windows(2).all(|pair| pair[0].end() == pair[1].start));
        assert_eq!(windows[0].marker(), Some(1));
    }

    #[test]
    fn a_large_request_gets_the_maximum_at_once() {
        let mut state = PageReadAhead::default();
        let window = state.on_miss(0, 256, MAX, none);
        assert_eq!(window, ReadAheadWindow { start: 0, size: 32, async_size: 32 });
        assert_eq!(state.on_miss(32, 224, MAX, none).start, 32);
    }

    #[test]
    fn random_pages_come_alone() {
        let mut state = PageReadAhead::default();
        for page in [500, 20, 777, 3] {
            assert_eq!(state.on_miss(page, 1, MAX, none), ReadAheadWindow::alone(page, 1));
            state.note_read(page);
        }
    }

    #[test]
    fn the_page_after_the_last_begins_a_stream() {
        let mut state = PageReadAhead::default();
        state.on_miss(500, 1, MAX, none);
        state.note_read(500);
        assert_eq!(state.on_miss(501, 1, MAX, none).size, 4);
    }

    #[test]
    fn cached_pages_before_betray_an_interleaved_stream() {
        let mut state = PageReadAhead::default();
        state.note_read(9000);
        let window = state.on_miss(500, 1, MAX, |_| 6);
        assert_eq!(window, ReadAheadWindow { start: 500, size: 7, async_size: 1 });
    }

    #[test]
    fn a_strange_marker_starts_after_the_cached_pages() {
        let mut state = PageReadAhead::default();
        let window = state.on_marker(40, 1, MAX, |_| Some(44)).expect("a window");
        assert_eq!(window, ReadAheadWindow { start: 44, size: 10, async_size: 10 });
        assert_eq!(state.on_marker(400, 1, MAX, |_| None), None);
    }

    #[test]
    fn each_open_file_has_a_stream_of_its_own() {
        let mut files = OpenFiles { is_by_id: true, ..OpenFiles::default() };
        files.of(1).note_read(500);
        assert_eq!(files.of(0).on_miss(501, 1, MAX, none).size, 1, "another file has read it");
        assert_eq!(files.of(1).on_miss(501, 1, MAX, none).size, 4);
        files.is_by_id = false;
        files.of(1).note_read(700);
        assert_eq!(files.of(0).on_miss(701, 1, MAX, none).size, 4, "all ids read one file");
    }

    #[test]
    fn no_read_ahead_at_zero() {
        let mut state = PageReadAhead::default();
        assert_eq!(state.on_miss(0, 3, 0, none), ReadAheadWindow::alone(0, 3));
        assert_eq!(state.on_marker(0, 3, 0, |_| Some(3)), None);
    }
}
