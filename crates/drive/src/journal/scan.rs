//! Reading a journal, also one that is torn or damaged.

use super::extent::Extent;
use super::format::{
    self, APART_BYTES, BLOCK_BYTES, Block, HEAD_BYTES, HEADER_BYTES, HEADERS_BYTES, Header, Id,
};
use super::storage::JournalFile;
use std::collections::BTreeMap;
use std::io;

/// A record that is whole, or was when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Saved {
    /// The bytes of the drive.
    pub extent: Extent,
    /// Where their originals are in the journal.
    pub data_at: u64,
    /// Their CRC-32C.
    pub crc: u32,
}

/// What a journal holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Nothing was ever committed: the drive was not written.
    NeverUsed,
    /// Everything was given back, and verified.
    Done,
    /// The drive may have been written.
    Open(Box<Originals>),
    /// It was used, but neither copy of the header tells for which drive.
    Nameless {
        /// Records that are whole.
        records: usize,
    },
}

/// What an open journal holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Originals {
    /// Whose.
    pub header: Header,
    /// Records that are whole, in the order in which they were saved.
    pub saved: Vec<Saved>,
    /// Ranges that were saved and whose record is damaged.
    pub lost: Vec<Extent>,
    /// Records of which not even the range is known any more.
    pub unknown: u64,
    /// Where the next block may be written.
    pub end: u64,
}

impl Originals {
    /// Bytes that can be restored.
    pub(super) fn bytes(&self) -> u64 {
        self.saved.iter().map(|saved| saved.extent.len).sum()
    }

    /// Whether something that was saved cannot be restored.
    pub(super) fn is_damaged(&self) -> bool {
        !self.lost.is_empty() || self.unknown > 0
    }
}

/// Everything found by walking through the blocks.
#[derive(Default)]
struct Found {
    whole: BTreeMap<u64, (u64, u32, u64, u32)>,
    broken: BTreeMap<u64, (u64, u32)>,
    committed: BTreeMap<u64, (u64, u32)>,
    done: bool,
}

/// Reads a journal. A block that cannot be read counts as damaged. Errors: its length is unknown.
pub(super) fn scan(file: &mut impl JournalFile) -> io::Result<Contents> {
    let size = file.size_bytes()?;
    let header = (0..2).find_map(|copy| read_header(file, copy * HEADER_BYTES as u64));
    let found = walk(file, size, header.as_ref().map(|header| header.id));
    if found.done {
        return Ok(Contents::Done);
    }
    let Some(header) = header else {
        return Ok(match found.whole.len() {
            0 if found.committed.is_empty() => Contents::NeverUsed,
            records => Contents::Nameless { records },
        });
    };
    if found.whole.is_empty() && found.committed.is_empty() {
        return Ok(Contents::NeverUsed);
    }
    Ok(Contents::Open(Box::new(weigh(header, found, size))))
}

/// Tells apart what can be restored, what is lost, and what was never needed.
fn weigh(header: Header, found: Found, size: u64) -> Originals {
    let mut originals =
        Originals { header, saved: Vec::new(), lost: Vec::new(), unknown: 0, end: 0 };
    originals.end = size.next_multiple_of(BLOCK_BYTES as u64) + APART_BYTES;
    for (lba, data_bytes, data_at, crc) in found.whole.values().copied() {
        match originals.header.extent(lba, data_bytes) {
            Some(extent) => originals.saved.push(Saved { extent, data_at, crc }),
            None => originals.unknown += 1,
        }
    }
    // Numbers up to the last commit were synced; what is missing among them is damaged.
    let end = found.committed.last_key_value().map_or(0, |(number, _)| number + 1);
    for number in (0..end).filter(|number| !found.whole.contains_key(number)) {
        let range = found.committed.get(&number).or_else(|| found.broken.get(&number));
        match range.and_then(|(lba, bytes)| originals.header.extent(*lba, *bytes)) {
            Some(extent) => originals.lost.push(extent),
            None => originals.unknown += 1,
        }
    }
    originals
}

/// Whether a file begins as a journal does.
pub(super) fn has_header(file: &mut impl JournalFile) -> bool {
    (0..2).any(|copy| read_header(file, copy * HEADER_BYTES as u64).is_some())
}

fn read_header(file: &mut impl JournalFile, at: u64) -> Option<Header> {
    let mut copy = vec![0; HEADER_BYTES];
    file.read_at(at, &mut copy).ok().and_then(|()| Header::decode(&copy))
}

fn walk(file: &mut impl JournalFile, size: u64, id: Option<Id>) -> Found {
    let mut found = Found::default();
    let mut at = HEADERS_BYTES;
    let mut block = vec![0; BLOCK_BYTES];
    while at + BLOCK_BYTES as u64 <= size {
        at += step(file, at, &mut block, id, &mut found);
    }
    found
}

/// Looks at what begins at `at`; returns how far the next thing may be.
fn step(
    file: &mut impl JournalFile,
    at: u64,
    block: &mut [u8],
    id: Option<Id>,
    found: &mut Found,
) -> u64 {
    const NEXT: u64 = BLOCK_BYTES as u64;
    let is_read = file.read_at(at, block).is_ok();
    let Some(parsed) = Some(block).filter(|_| is_read).and_then(|block| format::parse(block))
    else {
        return NEXT;
    };
    let (Block::Record(its, _) | Block::Commit(its, ..) | Block::Done(its)) = &parsed;
    if id.is_some_and(|id| id != *its) {
        return NEXT; // what the disk held before, or a copy of another journal
    }
    match parsed {
        Block::Record(_, head) => {
            let data_at = at + HEAD_BYTES as u64;
            let range = (head.lba, head.data_bytes);
            let mut data = vec![0; head.data_bytes as usize];
            let is_whole =
                file.read_at(data_at, &mut data).is_ok() && crc32c::crc32c(&data) == head.data_crc;
            if !is_whole {
                // Its head may be all that arrived: what follows is looked at block by block.
                found.broken.insert(head.number, range);
                return NEXT;
            }
            found.whole.insert(head.number, (range.0, range.1, data_at, head.data_crc));
            format::record_bytes(u64::from(head.data_bytes))
        }
        // Every record takes a block at least: a number beyond the file is none that was written.
        Block::Commit(_, first, ranges) => {
            let numbers = (first..).take_while(|number| *number < at / NEXT);
            found.committed.extend(numbers.zip(ranges));
            NEXT
        }
        Block::Done(_) => {
            found.done = true;
            NEXT
        }
    }
}
