//! Read-ahead's finer rules, with Linux's own figures (mm/readahead.c): windows of 32 pages at most.

use crate::host::readahead::{PageReadAhead, ReadAheadWindow};

/// A miss of `page` by a request for one page, with `history` pages before it cached.
fn miss(page: u64, history: u64) -> ReadAheadWindow {
    PageReadAhead::default().on_miss(page, 1, 32, |_| history)
}

#[test]
fn history_from_file_start_counts_twice() {
    // try_context_readahead: as long as the run of cached pages before, twice that from the file's start on
    fn window(page: u64, size: u64) -> ReadAheadWindow {
        ReadAheadWindow { start: page, size, async_size: 1 }
    }
    assert_eq!(miss(1000, 8), window(1000, 9));
    assert_eq!(miss(12, 12), window(12, 25));
    assert_eq!(miss(1000, 32), window(1000, 32), "never beyond the largest");
    // no longer than the request itself: not a history
    assert_eq!(miss(1000, 1), ReadAheadWindow::alone(1000, 1));
}

#[test]
fn next_page_and_same_page_are_sequential() {
    for (page, sequential) in [(500, true), (501, true), (502, false), (499, false)] {
        let mut readers = PageReadAhead::default();
        readers.note_read(500);
        let window = readers.on_miss(page, 1, 32, |_| 0);
        let expected = if sequential { (4, 3) } else { (1, 0) };
        assert_eq!((window.size, window.async_size), expected, "{page}");
    }
}
