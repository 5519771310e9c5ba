//! The pages of the kernel's trace ring, as `trace_pipe_raw` hands them out.
//!
//! A page is a time (8 bytes), the length of its data with flags (8 bytes), and events. An event begins with a word:
//! five bits of kind, 27 bits of time since the one before (`events/header_page` and `events/header_event` of tracefs).

use crate::error::TraceError;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Bytes before the events of a page.
const HEAD_BYTES: usize = 16;
/// Flags in the length: events were lost before this page, and their number follows its data.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const LEN_MASK: u64 = (1 << 30) - 1;

/// Kinds of entries other than an event of up to 28 words.
const KIND_LONG: u32 = 0;
const KIND_PADDING: u32 = 29;
const KIND_TIME_EXTEND: u32 = 30;
const KIND_TIME_STAMP: u32 = 31;
/// Bits of time in an entry.
const DELTA_BITS: u32 = 27;
/// Bits of an absolute time; those above are as before.
const STAMP_BITS: u32 = 59;

/// The ring of one processor.
#[derive(Debug)]
pub struct RingPipe {
    fd: OwnedFd,
    page: Vec<u8>,
}

impl RingPipe {
    /// Pages of `page_bytes` from an open `trace_pipe_raw`, which must not wait.
    pub fn new(fd: OwnedFd, page_bytes: usize) -> Self {
        Self { fd, page: vec![0; page_bytes] }
    }

    /// Hands over every event that is there, with its time. Returns how many were lost before.
    pub fn drain(&mut self, mut take: impl FnMut(u64, &[u8])) -> Result<u64, TraceError> {
        let mut missed = 0;
        loop {
            match rustix::io::read(&self.fd, &mut self.page[..]) {
                // Nothing for now: never the end of the file.
                Ok(0) | Err(Errno::AGAIN) => return Ok(missed),
                Ok(len) => missed += page_events(&self.page[..len], &mut take),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(TraceError::Read(errno.into())),
            }
        }
    }
}

/// Hands over the events of a page; returns how many were lost before it, 1 if the kernel does not say how many.
fn page_events(page: &[u8], mut take: impl FnMut(u64, &[u8])) -> u64 {
    fn long(bytes: &[u8]) -> u64 {
        bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }
    let Some((head, rest)) = page.split_at_checked(HEAD_BYTES) else { return 0 };
    let (mut at_ns, commit) = (long(head), long(&head[8..]));
    let len = ((commit & LEN_MASK) as usize).min(rest.len());
    let (mut entries, behind) = rest.split_at(len);
    let missed = match (commit & MISSED > 0, commit & MISSED_STORED > 0) {
        (true, true) => long(behind).max(1),
        (true, false) => 1,
        _ => 0,
    };
    while let Some((head, rest)) = word(entries) {
        let (kind, delta) = (head & 0x1f, u64::from(head >> 5));
        let next = word(rest);
        let size = match (kind, next) {
            // The rest of the page is empty.
            (KIND_PADDING, _) if delta == 0 => break,
            (KIND_TIME_EXTEND, Some((more, _))) => {
                at_ns = at_ns.saturating_add((u64::from(more) << DELTA_BITS) + delta);
                4
            }
            (KIND_TIME_STAMP, Some((more, _))) => {
                let stamp = (u64::from(more) << DELTA_BITS) + delta;
                at_ns = at_ns >> STAMP_BITS << STAMP_BITS | stamp;
                4
            }
            // Discarded: its length stands where a long one's does.
            (KIND_PADDING, Some((size, _))) => {
                at_ns = at_ns.saturating_add(delta);
                size as usize
            }
            (KIND_LONG, Some((size, data))) => {
                at_ns = at_ns.saturating_add(delta);
                // The length counts itself.
                let end = (size as usize).saturating_sub(4).min(data.len());
                take(at_ns, &data[..end]);
                size as usize
            }
            (words @ 1..KIND_PADDING, _) => {
                at_ns = at_ns.saturating_add(delta);
                let size = words as usize * 4;
                take(at_ns, &rest[..size.min(rest.len())]);
                size
            }
            _ => break,
        };
        if size == 0 || size > rest.len() {
            break;
        }
        // Entries begin at whole words.
        entries = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
    }
    missed
}

/// The first word, and the words after it.
fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_ne_bytes(*word), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(time: u64, commit: u64, entries: &[u32]) -> Vec<u8> {
        let mut page: Vec<u8> =
            time.to_ne_bytes().into_iter().chain(commit.to_ne_bytes()).collect();
        page.extend(entries.iter().flat_map(|word| word.to_ne_bytes()));
        page
    }

    fn entry(kind: u32, delta: u32) -> u32 {
        delta << 5 | kind
    }

    #[test]
    fn times_add_up_over_every_kind_of_entry() {
        let entries = [
            entry(2, 10),
            0xaaaa_aaaa,
            0xbbbb_bbbb,
            entry(KIND_TIME_EXTEND, 5),
            1,
            entry(KIND_PADDING, 7),
            8,
            0xdead_dead,
            entry(KIND_LONG, 3),
            8,
            0xcccc_cccc,
            entry(KIND_TIME_STAMP, 1),
            2,
            entry(1, 1),
            0xdddd_dddd,
            entry(KIND_PADDING, 0),
            entry(1, 1),
            0xeeee_eeee,
        ];
        let len = entries.len() as u64 * 4;
        let mut seen = Vec::new();
        let bytes = page(1_000, len, &entries);
        let missed = page_events(&bytes, |at, data| seen.push((at, data.to_vec())));
        let data = |word: u32| word.to_ne_bytes().to_vec();
        let first = [data(0xaaaa_aaaa), data(0xbbbb_bbbb)].concat();
        let extended = 1_000 + 10 + (1 << 27) + 5 + 7 + 3;
        let stamped = (2 << 27) + 1 + 1;
        let expected =
            [(1_010, first), (extended, data(0xcccc_cccc)), (stamped, data(0xdddd_dddd))];
        assert_eq!((seen, missed), (expected.to_vec(), 0));
    }

    #[test]
    fn a_time_beyond_all_times_stays_the_last() {
        let mut seen = Vec::new();
        page_events(&page(u64::MAX, 12, &[entry(1, 9), 7, entry(1, 9)]), |at, _| seen.push(at));
        assert_eq!(seen[..1], [u64::MAX]);
    }

    #[test]
    fn lost_events_are_reported() {
        let count =
            |commit: u64, entries: &[u32]| page_events(&page(0, commit, entries), |_, _| ());
        assert_eq!(count(8, &[entry(1, 0), 7]), 0);
        assert_eq!(count(8 | MISSED, &[entry(1, 0), 7]), 1, "the number is unknown");
        assert_eq!(count(8 | MISSED | MISSED_STORED, &[entry(1, 0), 7, 41, 0]), 41);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            page_events(&bytes, |_, data| assert!(data.len() <= 200));
        }
    }
}
