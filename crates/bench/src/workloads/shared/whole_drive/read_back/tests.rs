//! Reading back from a drive in memory whose bad sectors are known.

use super::*;
use crate::io::payload::Payload;

const MIB: u64 = 1 << 20;

/// Holds what was written; reads that touch a bad stretch fail.
struct Memory {
    contents: Vec<u8>,
    bad: Vec<Range<u64>>,
    errno: i32,
    buffers: Vec<Vec<u8>>,
    flying: Vec<IoCompletion>,
    now_ns: u64,
    reads: usize,
    failed_reads: usize,
}

impl Memory {
    /// Bad stretches as start and end.
    fn new(size: u64, bad: &[(u64, u64)]) -> Self {
        let mut contents = vec![0; size as usize];
        Payload::new(1, 1).fill(&mut contents, 0);
        Self {
            contents,
            bad: bad.iter().map(|&(from, to)| from..to).collect(),
            errno: libc::EIO,
            buffers: vec![vec![0; MIB as usize]; 5],
            flying: Vec::new(),
            now_ns: 0,
            reads: 0,
            failed_reads: 0,
        }
    }

    fn read_back(&mut self) -> ReadBackOutcome {
        let control = Control::default();
        let span = 0..self.contents.len() as u64;
        let data = Payload::new(1, 1);
        let (chunk, unit, any_pass) = (1 << 20, 512, false);
        ReadBack { span, chunk, unit, depth: 4, data, any_pass, refused: &[], control: &control }
            .run(self)
            .unwrap()
    }
}

impl IoQueue for Memory {
    fn slots(&self) -> u32 {
        5
    }
    fn buffer(&mut self, slot: u16) -> &mut [u8] {
        &mut self.buffers[slot as usize]
    }
    fn submit(&mut self, IoRequest { offset, len, slot, .. }: IoRequest) {
        let (from, to) = (offset, offset + u64::from(len));
        let is_bad = self.bad.iter().any(|bad| bad.start < to && from < bad.end);
        self.reads += 1;
        self.failed_reads += usize::from(is_bad);
        if !is_bad {
            let bytes = &self.contents[from as usize..to as usize];
            self.buffers[slot as usize][..len as usize].copy_from_slice(bytes);
        }
        let result = if is_bad { -self.errno } else { len as i32 };
        self.flying.push(IoCompletion { slot, result });
    }
    fn kick(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn wait_until(&mut self, _: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        self.now_ns += 1000;
        // The youngest first: a queue promises no order.
        done.extend(self.flying.pop());
        Ok(())
    }
    fn now(&self) -> u64 {
        self.now_ns
    }
}

#[test]
fn bad_sectors_are_separated_from_good_neighbours() {
    let size = 16 * MIB;
    for bad in [
        vec![],
        vec![(5 * MIB + 512, 5 * MIB + 1024)],
        vec![(0, 512)],
        vec![(size - 512, size)],
        vec![(3 * MIB - 1024, 3 * MIB + 1536)],
        vec![(2_000_384, 6_194_688)],
        vec![(4 * MIB + 512, 4 * MIB + 1024), (5 * MIB - 1024, 5 * MIB - 512)],
        vec![(7 * MIB, 9 * MIB)],
    ] {
        let mut drive = Memory::new(size, &bad);
        let outcome = drive.read_back();
        let tally = outcome.tally;
        let bytes: u64 = bad.iter().map(|(from, to)| to - from).sum();
        assert_eq!((tally.unreadable, tally.intact), (bytes, size - bytes), "{bad:?}");
        assert_eq!(tally.first_unreadable, bad.first().map(|bad| bad.0));
        assert_eq!(tally.unreadable_end, bad.last().map(|bad| bad.1));
        assert_eq!((tally.wrong(), tally.first_wrong), (0, None), "an error is no wrong data");
        assert_eq!(outcome.failed.0 > 0, bytes > 0);
        assert!(outcome.unsettled.is_empty());
        assert_eq!(outcome.reached, size);
    }
}

#[test]
fn wrong_data_in_a_failed_request_are_found() {
    let mut drive = Memory::new(4 * MIB, &[(MIB + 4096, MIB + 4608)]);
    drive.contents[MIB as usize + 512] ^= 1;
    drive.contents[2 * MIB as usize - 100..][..100].fill(0);
    let tally = drive.read_back().tally;
    assert_eq!((tally.changed, tally.lost, tally.unreadable), (512, 512, 512));
    assert_eq!(tally.first_wrong, Some(MIB + 512));
    assert_eq!(tally.last_wrong, Some(2 * MIB - 512));
}

/// A drive that drops a write still has what was there, which the same seed may have written.
#[test]
fn data_of_an_earlier_pass_count_as_lost() {
    let mut drive = Memory::new(4 * MIB, &[]);
    let dropped = MIB..MIB + 4096;
    Payload::new(1, 0).fill(&mut drive.contents[MIB as usize..][..4096], MIB);
    let tally = drive.read_back().tally;
    assert_eq!((tally.intact, tally.lost), (4 * MIB - 4096, 4096));
    assert_eq!(
        (tally.first_wrong, tally.last_wrong),
        (Some(dropped.start), Some(dropped.end - 512))
    );
    assert_eq!(tally.newest_pass, Some(1));
}

#[test]
fn a_dying_drive_is_not_read_for_days() {
    let size = 256 * MIB;
    let mut drive = Memory::new(size, &[(MIB, size)]);
    let outcome = drive.read_back();
    assert!(drive.failed_reads <= 255 + 2048, "{} reads failed", drive.failed_reads);
    assert!(outcome.is_coarse);
    assert_eq!((outcome.tally.intact, outcome.tally.unreadable), (MIB, size - MIB));
    // A drive that is gone is not asked again.
    let mut gone = Memory::new(size, &[(MIB, size)]);
    gone.errno = libc::ENODEV;
    let outcome = gone.read_back();
    assert!(gone.reads <= 6, "{} reads", gone.reads);
    assert_eq!(outcome.tally.first_unreadable, Some(MIB));
}

#[test]
fn later_read_begins_where_this_one_stopped() {
    let control = Control::default();
    let (data, span) = (Payload::new(1, 1), 0..1 << 20);
    let (chunk, unit, any_pass) = (4096, 512, false);
    let read =
        ReadBack { span, chunk, unit, depth: 2, data, any_pass, refused: &[], control: &control };
    let sent = |slot, offset, len| (0, IoRequest { op: IoOp::Read, offset, len, slot });
    let sent = [sent(0, 8192, 4096), sent(1, 4096, 4096), sent(2, 0, 0)];
    let mut outcome = ReadBackOutcome::at(0);
    assert_eq!(read.unsettled(&sent, &[2], 12288, &outcome), 4096, "the earlier one is slow");
    assert_eq!(read.unsettled(&sent, &[2, 1], 12288, &outcome), 8192);
    assert_eq!(read.unsettled(&sent, &[0, 2, 1], 12288, &outcome), 12288, "all is done");
    outcome.tally.first_wrong = Some(2048);
    assert_eq!(read.unsettled(&sent, &[2], 12288, &outcome), 2048, "it must be found again");
    outcome.unsettled.push(512..1024);
    assert_eq!(read.unsettled(&sent, &[2], 12288, &outcome), 512, "it was not looked at again yet");
}

/// A write that went astray is missing where it belongs; where addresses repeat, both read what was written last.
#[test]
fn stray_write_is_not_a_repeated_address() {
    let size = 8 * MIB as usize;
    for len in [512, MIB as usize] {
        let (at, origin) = (2 * MIB as usize, 5 * MIB as usize);
        let mut drive = Memory::new(size as u64, &[]);
        drive.contents.copy_within(origin..origin + len, at);
        drive.contents[origin..origin + len].fill(0);
        let tally = drive.read_back().tally;
        assert_eq!((tally.overwritten, tally.lost), (len as u64, len as u64));
        assert!(!tally.repeats);
        // The last sector of the drive has no place of its own.
        drive.contents.copy_within(size - 512..size, 4096);
        let tally = drive.read_back().tally;
        assert!(tally.repeats, "behind the stray write");
        assert_eq!(tally.overwritten, len as u64 + 512);
    }
}

/// A bridge that sends an old buffer once more leaves the same data in two places, and all capacity is there.
#[test]
fn data_written_twice_are_not_repeated_addresses() {
    let size = 8 * MIB as usize;
    for (origin, at, len) in
        [(2 * MIB, 5 * MIB, 512), (5 * MIB, 2 * MIB, 32 << 10), (0, 3 * MIB, 4096)]
    {
        let mut drive = Memory::new(size as u64, &[]);
        drive.contents.copy_within(origin as usize..(origin + len) as usize, at as usize);
        let tally = drive.read_back().tally;
        assert_eq!((tally.overwritten, tally.lost), (len, 0));
        assert!(!tally.repeats, "{origin} at {at}");
    }
}

/// Addresses that repeat after any distance, written in order: the end is one of two that share a place.
#[test]
fn every_repeated_address_is_seen() {
    let size = 8 * MIB;
    for real in [512, 4096, MIB + 512, 5 * MIB, size - 4096, size - 512] {
        for pushed in [0, MIB] {
            let mut drive = Memory::new(size, &[]);
            let mut place = vec![0; real as usize];
            for at in (0..size).chain(0..pushed).step_by(512) {
                let from = (at % real) as usize;
                place[from..from + 512].copy_from_slice(&drive.contents[at as usize..][..512]);
            }
            for at in (0..size).step_by(512) {
                let from = (at % real) as usize;
                drive.contents[at as usize..][..512].copy_from_slice(&place[from..from + 512]);
            }
            let tally = drive.read_back().tally;
            assert!(tally.repeats, "{real} {pushed}: {tally:?}");
            assert_eq!(tally.intact, real, "{pushed}");
        }
    }
}
