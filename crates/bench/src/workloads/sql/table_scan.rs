//! The requests of a scan over a whole table.

use super::request_pattern::{RequestPattern, ScanPattern};
use super::simulated_clients::{ClientRequest, Requests};
use crate::io::queue::IoOp;
use drivescope_sql::PAGE_BYTES;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

/// PostgreSQL 14 and later share a table out in about this many chunks, of a power of two of pages up to a maximum;
/// over the last ones each process takes half as much each time (`table_block_parallelscan_nextpage`).
const CHUNKS: u64 = 2_048;
const CHUNK_PAGES_MAX: u64 = 8_192;
const LAST_CHUNKS: u64 = 64;

/// All that scan a table: processes that share it out, or one stream with several requests under way.
pub(super) fn scanners(range: &Range<u64>, pattern: &RequestPattern) -> Vec<Requests<'static>> {
    if pattern.scan.processes > 1 {
        let next = Rc::new(Cell::new(range.start));
        let one = |_| process(range.clone(), Rc::clone(&next), pattern);
        return (0..pattern.scan.processes).map(one).collect();
    }
    let stream = Rc::new(RefCell::new(reader(range.clone(), pattern)));
    let one = |_| -> Requests<'static> {
        let stream = Rc::clone(&stream);
        Box::new(move || (stream.borrow_mut())())
    };
    (0..pattern.scan.depth).map(one).collect()
}

/// A process that takes a chunk from `next` on, reads it in order, and takes another one.
fn process(range: Range<u64>, next: Rc<Cell<u64>>, pattern: &RequestPattern) -> Requests<'static> {
    let pattern = *pattern;
    let pages = (range.end - range.start).div_ceil(PAGE_BYTES);
    let chunk_pages = (pages / CHUNKS).max(1).next_power_of_two().min(CHUNK_PAGES_MAX);
    let mut chunk = chunk_pages * PAGE_BYTES;
    let (mut at, mut end) = (range.start, range.start);
    Box::new(move || {
        if at == end {
            let is_near_end = end.saturating_add(chunk * LAST_CHUNKS) > range.end;
            if is_near_end && chunk > PAGE_BYTES {
                chunk /= 2;
            }
            at = next.get();
            end = (at + chunk).min(range.end);
            next.set(end);
        }
        let request = read_at(&pattern, at, end)?;
        at += u64::from(request.len);
        Some(request)
    })
}

fn read_at(pattern: &RequestPattern, at: u64, end: u64) -> Option<ClientRequest> {
    let ScanPattern { bytes, page_ns, .. } = pattern.scan;
    let think_ns = page_ns * u64::from(bytes) / PAGE_BYTES;
    let len = u64::from(bytes).min(end - at) as u32;
    let request = ClientRequest { think_ns, op: IoOp::Read, offset: at, len, ends: None };
    (len > 0).then_some(request)
}

/// The table in the order of its rows, as the pattern reads it.
pub(super) fn reader(range: Range<u64>, pattern: &RequestPattern) -> Requests<'static> {
    let pattern = *pattern;
    let (mut at, mut inner_pages) = (range.start, 0);
    Box::new(move || {
        let request = read_at(&pattern, at, range.end)?;
        if let Some(leaves) = pattern.scan.leaves
            && at - range.start >= inner_pages * leaves * PAGE_BYTES
        {
            inner_pages += 1;
            let behind = (at + leaves * PAGE_BYTES).min(range.end - PAGE_BYTES);
            let len = PAGE_BYTES as u32;
            return Some(ClientRequest { think_ns: 0, offset: behind, len, ..request });
        }
        at += u64::from(request.len);
        Some(request)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::options::DatabaseKind;

    fn pages(mut next: Requests<'_>) -> Vec<u64> {
        std::iter::from_fn(&mut next).map(|request| request.offset / PAGE_BYTES).collect()
    }

    #[test]
    fn tree_scan_reads_inner_pages_before_leaves() {
        let sqlite = RequestPattern::of(DatabaseKind::Sqlite);
        let of = |leaves| {
            let pattern = RequestPattern { scan: ScanPattern { leaves, ..sqlite.scan }, ..sqlite };
            pages(reader(0..8 * PAGE_BYTES, &pattern))
        };
        assert_eq!(of(None), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(of(Some(3)), [3, 0, 1, 2, 6, 3, 4, 5, 7, 6, 7]);
    }

    #[test]
    fn parallel_scan_chunks_shrink_at_the_end() {
        let postgres = RequestPattern::of(DatabaseKind::Postgres);
        let count = 2_048 * 32;
        let mut both = scanners(&(0..count * PAGE_BYTES), &postgres);
        assert_eq!(both.len(), 2);
        let mut read: Vec<Vec<u64>> = vec![Vec::new(); 2];
        for turn in 0..count as usize * 2 {
            read[turn % 2].extend((both[turn % 2])().map(|request| request.offset / PAGE_BYTES));
        }
        assert_eq!(read[0][..33], [(0..32).collect::<Vec<u64>>(), vec![64]].concat());
        assert_eq!(read[1][..33], [(32..64).collect::<Vec<u64>>(), vec![96]].concat());
        let last = &read[0][read[0].len() - 8..];
        assert!(last.windows(2).all(|pair| pair[1] == pair[0] + 2), "page by page: {last:?}");
        let mut all = read.concat();
        all.sort_unstable();
        assert_eq!(all, (0..count).collect::<Vec<u64>>(), "each page once");
    }
}
