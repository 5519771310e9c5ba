//! Reading a journal, also one that is torn or damaged.

use super::byte_range::{ByteRange, ByteRangeSet};
use super::format::{
    self, APART_BYTES, BLOCK_BYTES, HEAD_BYTES, HEADER_BYTES, HEADERS_BYTES, Head, Header, Id,
    JournalBlock, PIECE_BYTES,
};
use super::storage::JournalFile;
use super::watermark::{Watermark, Watermarks};
use std::collections::BTreeMap;
use std::io;

/// A record, or a piece of one, that is whole, or was when the journal was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Saved {
    /// On the drive.
    pub extent: ByteRange,
    /// Offset of their originals in the journal.
    pub data_at: u64,
    pub crc: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum JournalContents {
    /// Contains no commit: the drive was not written.
    NeverUsed,
    /// Everything was given back, and verified.
    Done,
    /// The drive may have been written.
    Open(Box<SavedOriginals>),
    /// Neither copy of the header identifies the drive.
    Nameless {
        records: usize,
        /// What it must have held, if known.
        required: Option<Watermark>,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SavedOriginals {
    pub header: Header,
    /// Records that are whole, in the order in which they were saved.
    pub saved: Vec<Saved>,
    /// Saved ranges whose record is damaged.
    pub lost: Vec<ByteRange>,
    /// Lost records whose ranges are not all known any more.
    pub unknown: u64,
    /// The expected number of records is unknown.
    pub is_uncounted: bool,
    pub end: u64,
}

impl SavedOriginals {
    pub(super) fn bytes(&self) -> u64 {
        self.saved.iter().map(|saved| saved.extent.len).sum()
    }

    /// Whether a saved range cannot be restored.
    pub(super) fn is_damaged(&self) -> bool {
        !self.lost.is_empty() || self.unknown > 0 || self.is_uncounted
    }
}

#[derive(Default)]
struct ScannedRecords {
    whole: BTreeMap<u64, (u64, u32, u64, u32)>,
    broken: BTreeMap<u64, (u64, u32)>,
    /// Intact pieces of broken records.
    pieces: BTreeMap<u64, Vec<Piece>>,
    committed: BTreeMap<u64, (u64, u32)>,
    done: bool,
}

/// A piece of a broken record that has its checksum.
struct Piece {
    /// First byte of it in the record's data.
    at: u64,
    bytes: u64,
    data_at: u64,
    crc: u32,
}

impl ScannedRecords {
    /// What the commits say that it must hold.
    fn committed(&self) -> Watermark {
        let last = self.committed.last_key_value();
        Watermark::of_unknown_ranges(last.map_or(0, |(number, _)| number + 1))
    }

    /// Ranges of the damaged ones of the first `records`, by number.
    fn damaged(&self, records: u64) -> BTreeMap<u64, (u64, u32)> {
        let mut damaged = self.broken.clone();
        damaged.extend(&self.committed);
        damaged.retain(|number, _| *number < records && !self.whole.contains_key(number));
        damaged
    }
}

/// Reads a journal. `is_made`: it has its final name, and so whole headers and marks. A block that cannot be read
/// counts as damaged. Errors: its length is unknown.
pub(super) fn scan(file: &mut impl JournalFile, is_made: bool) -> io::Result<JournalContents> {
    let size = file.size_bytes()?;
    let header = (0..2).find_map(|copy| read_header(file, copy * HEADER_BYTES as u64));
    let marks = Watermarks::read(file, header.as_ref().map(|header| header.id));
    let id = header.as_ref().map(|header| header.id).or(marks.as_ref().map(|marks| marks.id));
    let found = walk(file, size, id);
    // Whose block it is must be known: what it saved may have blocks of other journals in it.
    if found.done && id.is_some() {
        return Ok(JournalContents::Done);
    }
    if !is_made && found.whole.is_empty() {
        return Ok(JournalContents::NeverUsed);
    }
    let required = marks.map(|marks| marks.required);
    let Some(header) = header else {
        return Ok(JournalContents::Nameless { records: found.whole.len(), required });
    };
    if found.whole.is_empty() && required.as_ref().is_some_and(|mark| mark.records == 0) {
        return Ok(JournalContents::NeverUsed);
    }
    Ok(JournalContents::Open(Box::new(weigh(header, found, required, size))))
}

/// Separates what can be restored, what is lost, and what was never needed.
fn weigh(
    header: Header,
    found: ScannedRecords,
    required: Option<Watermark>,
    size: u64,
) -> SavedOriginals {
    let (mut saved, mut unknown) = (Vec::new(), 0);
    let (mut known, mut lost) = (ByteRangeSet::default(), ByteRangeSet::default());
    for (lba, data_bytes, data_at, crc) in found.whole.values().copied() {
        match header.extent(lba, data_bytes) {
            Some(extent) => {
                known.insert(extent);
                saved.push(Saved { extent, data_at, crc });
            }
            None => unknown += 1,
        }
    }
    // The mark counts the synced records; a missing one is damaged. Without a mark, commits count some of them.
    let is_uncounted = required.is_none();
    let required = required.unwrap_or_else(|| found.committed());
    let damaged = found.damaged(required.records);
    for (number, (lba, bytes)) in &damaged {
        let Some(extent) = header.extent(*lba, *bytes) else {
            unknown += 1;
            continue;
        };
        for piece in found.pieces.get(number).into_iter().flatten() {
            let extent = ByteRange::new(extent.offset + piece.at, piece.bytes);
            known.insert(extent);
            saved.push(Saved { extent, data_at: piece.data_at, crc: piece.crc });
        }
        for gap in known.gaps(extent) {
            lost.insert(gap);
        }
    }
    for gap in required.ranges.iter().flat_map(|range| known.gaps(*range)) {
        lost.insert(gap);
    }
    if !required.is_complete() {
        let whole = found.whole.range(..required.records).count();
        unknown += required.records - (whole + damaged.len()) as u64;
    }
    let end = size.next_multiple_of(BLOCK_BYTES as u64) + APART_BYTES;
    SavedOriginals { header, saved, lost: lost.ranges(), unknown, is_uncounted, end }
}

pub(super) fn has_header(file: &mut impl JournalFile) -> bool {
    (0..2).any(|copy| read_header(file, copy * HEADER_BYTES as u64).is_some())
}

fn read_header(file: &mut impl JournalFile, at: u64) -> Option<Header> {
    let mut copy = vec![0; HEADER_BYTES];
    file.read_at(at, &mut copy).ok().and_then(|()| Header::decode(&copy))
}

fn walk(file: &mut impl JournalFile, size: u64, id: Option<Id>) -> ScannedRecords {
    let mut found = ScannedRecords::default();
    let mut at = HEADERS_BYTES;
    let mut block = vec![0; BLOCK_BYTES];
    while at + BLOCK_BYTES as u64 <= size {
        at += step(file, at, &mut block, id, &mut found);
    }
    found
}

/// Reads what begins at `at`; returns the largest distance to the next block.
fn step(
    file: &mut impl JournalFile,
    at: u64,
    block: &mut [u8],
    id: Option<Id>,
    found: &mut ScannedRecords,
) -> u64 {
    const NEXT: u64 = BLOCK_BYTES as u64;
    if file.read_at(at, block).is_err() {
        return NEXT;
    }
    if let Some((its, head, sums)) = format::parse_tail(block)
        && id.is_none_or(|id| id == its)
    {
        add_broken(file, at + NEXT, head, &sums, found);
    }
    let Some(parsed) = format::parse(block) else { return NEXT };
    let (JournalBlock::Record(its, _) | JournalBlock::Commit(its, ..) | JournalBlock::Done(its)) =
        &parsed;
    if id.is_some_and(|id| id != *its) {
        return NEXT; // what the disk held before, or a copy of another journal
    }
    match parsed {
        JournalBlock::Record(_, head) => {
            let data_at = at + HEAD_BYTES as u64;
            let range = (head.lba, head.data_bytes);
            let mut data = vec![0; head.data_bytes as usize];
            let is_whole =
                file.read_at(data_at, &mut data).is_ok() && crc32c::crc32c(&data) == head.data_crc;
            if !is_whole {
                // Its head may be all that arrived: what follows is looked at block by block, up to its tail.
                found.broken.insert(head.number, range);
                return NEXT;
            }
            found.whole.insert(head.number, (range.0, range.1, data_at, head.data_crc));
            format::record_bytes(u64::from(head.data_bytes))
        }
        // Every record takes a block at least: a number beyond the file was never written.
        JournalBlock::Commit(_, first, ranges) => {
            let numbers = (first..).take_while(|number| *number < at / NEXT);
            found.committed.extend(numbers.zip(ranges));
            NEXT
        }
        JournalBlock::Done(_) => {
            found.done = true;
            NEXT
        }
    }
}

/// A record whose tail ends at `end`, and whose head or data are damaged: only then the tail matters.
fn add_broken(
    file: &mut impl JournalFile,
    end: u64,
    head: Head,
    sums: &[u32],
    found: &mut ScannedRecords,
) {
    let Some(start) = end.checked_sub(format::record_bytes(u64::from(head.data_bytes))) else {
        return;
    };
    let data_at = start + HEAD_BYTES as u64;
    let mut piece = vec![0; PIECE_BYTES];
    let mut whole = Vec::new();
    for (at, crc) in (0..u64::from(head.data_bytes)).step_by(PIECE_BYTES).zip(sums) {
        let bytes = (PIECE_BYTES as u64).min(u64::from(head.data_bytes) - at);
        let data = &mut piece[..bytes as usize];
        if file.read_at(data_at + at, data).is_ok() && crc32c::crc32c(data) == *crc {
            whole.push(Piece { at, bytes, data_at: data_at + at, crc: *crc });
        }
    }
    found.broken.insert(head.number, (head.lba, head.data_bytes));
    found.pieces.insert(head.number, whole);
}
