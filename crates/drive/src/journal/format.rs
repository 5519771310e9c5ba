//! The bytes of a journal; see the module above for the layout.

use super::DriveIdentity;
use super::byte_range::ByteRange;
use serde::{Deserialize, Serialize};

/// Everything begins at a multiple of this; nothing smaller is ever written.
pub(super) const BLOCK_BYTES: usize = 4096;
pub(super) const HEADER_BYTES: usize = 2 * BLOCK_BYTES;
pub(super) const HEADERS_BYTES: u64 = 2 * HEADER_BYTES as u64;
/// Distance kept from synced bytes: a torn write can destroy the whole physical sector, flash page or stripe, whose
/// size a file cannot find out.
pub(super) const APART_BYTES: u64 = 64 << 10;
/// Where the mark is that is synced with the records; it names them too.
pub(super) const INTENDED_AT: u64 = HEADERS_BYTES + APART_BYTES;
/// Where the mark is that is synced after them.
pub(super) const COMMITTED_AT: u64 = INTENDED_AT + BLOCK_BYTES as u64 + APART_BYTES;
pub(super) const FIRST_RECORD: u64 = COMMITTED_AT + BLOCK_BYTES as u64 + APART_BYTES;
/// Bytes of a record before its data.
pub(super) const HEAD_BYTES: usize = 64;
/// Most data of one record: small enough that damage costs little, large enough for full speed.
pub(super) const DATA_MAX: u64 = 1 << 20;
/// Bytes of a record's data with a checksum of their own: the cost of one flipped bit.
pub(super) const PIECE_BYTES: usize = 4096;
/// Most records that one commit can name.
pub(super) const COMMIT_MAX: usize = (BLOCK_BYTES - 44) / 16;
const VERSION: u32 = 2;

const HEADER_MAGIC: &[u8; 8] = b"DSJRNL01";
const RECORD_MAGIC: &[u8; 8] = b"DSRECORD";
const COMMIT_MAGIC: &[u8; 8] = b"DSCOMMIT";
const DONE_MAGIC: &[u8; 8] = b"DSALLBAK";

/// Tells the blocks of one journal from those of any other.
pub(super) type Id = [u8; 16];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub drive: DriveIdentity,
    pub sector_bytes: u32,
    /// Run that made it.
    pub run_id: String,
    /// Seed of its test data; journals of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_seed: Option<u64>,
    /// Seconds since 1970.
    pub made_at_unix_s: u64,
    /// In every block.
    pub id: Id,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Number of the record, from 0.
    pub number: u64,
    pub lba: u64,
    pub data_bytes: u32,
    /// CRC-32C of the data.
    pub data_crc: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JournalBlock {
    Record(Id, Head),
    /// Names saved ranges: number of the first, then (LBA, bytes) of each.
    Commit(Id, u64, Vec<(u64, u32)>),
    /// Everything is restored.
    Done(Id),
}

impl Header {
    /// Both copies; `None` if the drive's names are too long.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let json = serde_json::to_vec(self).ok()?;
        let mut copy = vec![0; HEADER_BYTES];
        copy[..8].copy_from_slice(HEADER_MAGIC);
        copy[8..12].copy_from_slice(&VERSION.to_le_bytes());
        copy[12..16].copy_from_slice(&u32::try_from(json.len()).ok()?.to_le_bytes());
        copy.get_mut(16..16 + json.len())
            .filter(|_| json.len() <= HEADER_BYTES - 20)?
            .copy_from_slice(&json);
        seal(&mut copy);
        Some(copy.repeat(2))
    }

    /// One copy; `None` if it is not whole.
    pub(super) fn decode(copy: &[u8]) -> Option<Self> {
        if !is_sealed(copy) || &copy[..8] != HEADER_MAGIC || u32_at(copy, 8) != VERSION {
            return None;
        }
        let json = copy.get(16..16 + u32_at(copy, 12) as usize)?;
        let header = serde_json::from_slice(json).ok();
        header.filter(|it: &Self| it.sector_bytes >= 512)
    }

    /// `None` if it lies beyond every drive.
    pub(super) fn extent(&self, lba: u64, data_bytes: u32) -> Option<ByteRange> {
        let offset = lba.checked_mul(u64::from(self.sector_bytes))?;
        let end = offset.checked_add(u64::from(data_bytes))?;
        (end <= self.drive.size_bytes).then(|| ByteRange::new(offset, u64::from(data_bytes)))
    }
}

/// Bytes in the file of a record with `data_bytes` of data.
pub(super) fn record_bytes(data_bytes: u64) -> u64 {
    (HEAD_BYTES as u64 + data_bytes).next_multiple_of(BLOCK_BYTES as u64)
}

/// The place of the tail in a record of `record_bytes`, if its last block has room for one: after data that end in the
/// middle of a block it may not.
fn tail_at(record_bytes: usize, data_bytes: usize) -> Option<usize> {
    let tail = data_bytes.div_ceil(PIECE_BYTES) * 4 + 4 + HEAD_BYTES;
    (HEAD_BYTES + data_bytes + tail <= record_bytes).then(|| record_bytes - tail)
}

/// Puts the head before the data, and the tail behind: `record` has the data from [`HEAD_BYTES`] on, and zeros. The
/// tail is a checksum of each piece of the data, one of all these with the head, and the head again.
pub(super) fn finish_record(record: &mut [u8], id: &Id, head: &Head) {
    record[..8].copy_from_slice(RECORD_MAGIC);
    record[8..24].copy_from_slice(id);
    record[24..32].copy_from_slice(&head.number.to_le_bytes());
    record[32..40].copy_from_slice(&head.lba.to_le_bytes());
    record[40..44].copy_from_slice(&head.data_bytes.to_le_bytes());
    record[44..48].copy_from_slice(&head.data_crc.to_le_bytes());
    record[48..60].fill(0);
    seal(&mut record[..HEAD_BYTES]);
    let data_bytes = head.data_bytes as usize;
    let Some(at) = tail_at(record.len(), data_bytes) else { return };
    let (data, tail) = record.split_at_mut(at);
    let (head, data) = data.split_at(HEAD_BYTES);
    let (sums, rest) = tail.split_at_mut(tail.len() - 4 - HEAD_BYTES);
    for (sum, piece) in sums.chunks_exact_mut(4).zip(data[..data_bytes].chunks(PIECE_BYTES)) {
        sum.copy_from_slice(&crc32c::crc32c(piece).to_le_bytes());
    }
    let (crc, copy) = rest.split_at_mut(4);
    copy.copy_from_slice(head);
    crc.copy_from_slice(&crc_of_tail(sums, head).to_le_bytes());
}

fn crc_of_tail(sums: &[u8], head: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(sums), head)
}

/// The tail at the end of a record's last block: its head, and the checksum of each piece of its data. `None` if there
/// is none, or it is not whole.
pub(super) fn parse_tail(block: &[u8]) -> Option<(Id, Head, Vec<u32>)> {
    let (before, copy) = block.split_at(BLOCK_BYTES - HEAD_BYTES);
    let (id, head) = parse_head(copy)?;
    let (before, crc) = before.split_at(before.len() - 4);
    let sums_bytes = (head.data_bytes as usize).div_ceil(PIECE_BYTES) * 4;
    let sums = &before[before.len().checked_sub(sums_bytes)?..];
    let is_whole = u32_at(crc, 0) == crc_of_tail(sums, copy);
    is_whole.then(|| (id, head, sums.chunks_exact(4).map(|sum| u32_at(sum, 0)).collect()))
}

fn parse_head(bytes: &[u8]) -> Option<(Id, Head)> {
    let head = Head {
        number: u64_at(bytes, 24),
        lba: u64_at(bytes, 32),
        data_bytes: u32_at(bytes, 40),
        data_crc: u32_at(bytes, 44),
    };
    let fits = (1..=DATA_MAX).contains(&u64::from(head.data_bytes));
    let is_whole = &bytes[..8] == RECORD_MAGIC && is_sealed(&bytes[..HEAD_BYTES]) && fits;
    Some((bytes[8..24].try_into().ok()?, head)).filter(|_| is_whole)
}

pub(super) fn commit(id: &Id, first: u64, records: &[(u64, u32)]) -> Vec<u8> {
    assert!(records.len() <= COMMIT_MAX, "the writer splits larger batches");
    let mut block = started(COMMIT_MAGIC, id);
    block[24..32].copy_from_slice(&first.to_le_bytes());
    block[32..36].copy_from_slice(&(records.len() as u32).to_le_bytes());
    for (entry, (lba, bytes)) in block[40..].chunks_exact_mut(16).zip(records) {
        entry[..8].copy_from_slice(&lba.to_le_bytes());
        entry[8..12].copy_from_slice(&bytes.to_le_bytes());
    }
    seal(&mut block);
    block
}

/// The block that says that everything is restored.
pub(super) fn done(id: &Id) -> Vec<u8> {
    let mut block = started(DONE_MAGIC, id);
    seal(&mut block);
    block
}

/// `None` for other or damaged blocks of 4096 bytes.
pub(super) fn parse(block: &[u8]) -> Option<JournalBlock> {
    let id: Id = block[8..24].try_into().ok()?;
    match <&[u8; 8]>::try_from(&block[..8]).ok()? {
        RECORD_MAGIC => parse_head(block).map(|(id, head)| JournalBlock::Record(id, head)),
        COMMIT_MAGIC => {
            let count = u32_at(block, 32) as usize;
            (is_sealed(block) && count <= COMMIT_MAX).then(|| {
                let entries = block[40..].chunks_exact(16).take(count);
                let records = entries.map(|e| (u64_at(e, 0), u32_at(e, 8))).collect();
                JournalBlock::Commit(id, u64_at(block, 24), records)
            })
        }
        DONE_MAGIC => is_sealed(block).then_some(JournalBlock::Done(id)),
        _ => None,
    }
}

/// An empty block with this beginning.
pub(super) fn started(magic: &[u8; 8], id: &Id) -> Vec<u8> {
    let mut block = vec![0; BLOCK_BYTES];
    block[..8].copy_from_slice(magic);
    block[8..24].copy_from_slice(id);
    block
}

/// The last four bytes become the CRC of all others.
pub(super) fn seal(bytes: &mut [u8]) {
    let (body, crc) = bytes.split_at_mut(bytes.len() - 4);
    crc.copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
}

/// Checks that CRC.
pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    let (body, crc) = bytes.split_at(bytes.len() - 4);
    crc == crc32c::crc32c(body).to_le_bytes()
}

/// Little-endian.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Little-endian.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::super::watermark::{MARK_MAGIC, Watermark};
    use super::*;
    use proptest::prelude::*;

    const ID: Id = *b"0123456789abcdef";

    fn header() -> Header {
        let drive = DriveIdentity {
            model: Some("WDC WD20EARS".into()),
            serial: Some("WD-1".into()),
            place: "devices/x".into(),
            disk_bytes: 1 << 30,
            size_bytes: 1 << 30,
            ..DriveIdentity::default()
        };
        let (run_id, data_seed) = ("r1".to_string(), Some(u64::MAX));
        Header { drive, sector_bytes: 512, run_id, data_seed, made_at_unix_s: 7, id: ID }
    }

    #[test]
    fn the_checksum_is_crc_32c() {
        // The check value of the catalogue of parametrised CRC algorithms for CRC-32/ISCSI.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn a_header_is_there_twice_and_reads_back() {
        let both = header().encode().unwrap();
        assert_eq!(both.len() as u64, HEADERS_BYTES);
        let (one, two) = both.split_at(HEADER_BYTES);
        assert_eq!(Header::decode(one), Some(header()));
        assert_eq!(Header::decode(two), Some(header()));
        for version in [VERSION - 1, VERSION + 1] {
            let mut other = one.to_vec();
            other[8..12].copy_from_slice(&version.to_le_bytes());
            seal(&mut other);
            assert_eq!(Header::decode(&other), None);
        }
        let mut long = header();
        long.drive.place = "x".repeat(HEADER_BYTES);
        assert_eq!(long.encode(), None);
    }

    #[test]
    fn ranges_beyond_the_drive_are_no_ranges() {
        assert_eq!(header().extent(2, 1024), Some(ByteRange::new(1024, 1024)));
        assert_eq!(header().extent((1 << 21) - 1, 512), Some(ByteRange::new((1 << 30) - 512, 512)));
        assert_eq!(header().extent(1 << 21, 512), None);
        assert_eq!(header().extent(u64::MAX / 2, 512), None);
    }

    #[test]
    fn blocks_read_back() {
        let head = Head { number: 3, lba: 77, data_bytes: 512, data_crc: 9 };
        let mut record = vec![1; BLOCK_BYTES];
        finish_record(&mut record, &ID, &head);
        assert_eq!(parse(&record), Some(JournalBlock::Record(ID, head)));
        let ranges: Vec<(u64, u32)> = (0..COMMIT_MAX as u64).map(|i| (i, 512)).collect();
        let block = commit(&ID, 5, &ranges);
        assert_eq!(block.len(), BLOCK_BYTES);
        assert_eq!(parse(&block), Some(JournalBlock::Commit(ID, 5, ranges)));
        assert_eq!(parse(&done(&ID)), Some(JournalBlock::Done(ID)));
        assert_eq!(parse(&[0; BLOCK_BYTES]), None);
    }

    proptest! {
        #[test]
        fn one_wrong_bit_is_noticed(kind in 0usize..5, at in 0usize..BLOCK_BYTES, bit in 0u8..8) {
            let mut record = vec![0; BLOCK_BYTES];
            let head = Head { number: 3, lba: 77, data_bytes: 512, data_crc: 9 };
            finish_record(&mut record, &ID, &head);
            let header = header().encode().unwrap()[..HEADER_BYTES].to_vec();
            let mark = Watermark::default().encode(&ID);
            let mut bytes = [record, commit(&ID, 5, &[(1, 2)]), done(&ID), header, mark][kind].clone();
            let at = if kind == 0 { at % HEAD_BYTES } else { at };
            bytes[at] ^= 1 << bit;
            match kind {
                3 => prop_assert_eq!(Header::decode(&bytes), None),
                4 => prop_assert_eq!(Watermark::decode(&bytes), None),
                _ => prop_assert_eq!(parse(&bytes), None),
            }
        }

        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), BLOCK_BYTES), kind in 0usize..5) {
            let mut bytes = bytes;
            if let Some(magic) = [RECORD_MAGIC, COMMIT_MAGIC, DONE_MAGIC, MARK_MAGIC].get(kind) {
                bytes[..8].copy_from_slice(*magic);
            }
            let _ = (parse(&bytes), Watermark::decode(&bytes));
            let _ = Header::decode(&bytes);
        }
    }
}
