//! Places of reads and writes. Rounds of reads follow rounds of writes, and random writes scatter data on a shingled
//! disk or a file system that copies on write, so reads keep away from written data.

use drivescope_model::cell::{Cell, Order, Shape};
use drivescope_model::options::TransferOptions;
use std::ops::Range;

/// A span of up to twice this has a half for reads and a half for writes. In a larger one, reads in order have this
/// much from its start, writes the rest; random reads go everywhere, as they seldom meet written data.
const READ_PART_MAX: u64 = 8 << 30;
const UNIT: u64 = 1 << 20;
/// Fewest blocks of a part: in a smaller one, requests meet the same blocks over and over.
pub(super) const BLOCKS_MIN: u64 = 16;

/// Bytes that the requests of `shape` need. A stream that ends with `transfer.io_size` meets each block once: it needs
/// only that much, and a place for each request in flight.
pub(super) fn bytes_min(shape: &Shape, options: &TransferOptions) -> u64 {
    let Shape { order, block, depth, threads, .. } = *shape;
    let usual = block.0 * BLOCKS_MIN;
    if order == Order::Rnd || options.io_size.0 == 0 {
        return usual;
    }
    usual.min(options.io_size.0.max(block.0 * u64::from(depth * threads)))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CellPlaces {
    in_order: Range<u64>,
    at_random: Range<u64>,
    pub(super) written: Range<u64>,
}

impl CellPlaces {
    /// The parts of `span` for these cells. `restored`: the area of writes, if their bytes are put back. A span is not
    /// divided where no reads in order follow writes that scatter, or where a half is too small for a cell.
    pub(super) fn of(
        span: &Range<u64>,
        restored: Option<&Range<u64>>,
        cells: &[Cell],
        repeats: bool,
    ) -> Self {
        let len = span.end - span.start;
        let half = (len / 2).min(READ_PART_MAX) / UNIT * UNIT;
        let largest = cells.iter().map(|cell| cell.shape.block.0).max().unwrap_or(0);
        let is_divided = half >= largest * BLOCKS_MIN && meets_writes(cells, repeats);
        let read_end = match restored {
            _ if !is_divided => span.end,
            // The part before the area is for reads.
            Some(area) if area.start > span.start => area.start.min(span.start + half),
            Some(_) => span.end,
            None => span.start + half,
        };
        let in_order = span.start..read_end;
        let rest = if is_divided && restored.is_none() { read_end..span.end } else { span.clone() };
        Self {
            at_random: if len > 2 * READ_PART_MAX { span.clone() } else { in_order.clone() },
            in_order,
            written: restored.cloned().unwrap_or(rest),
        }
    }

    pub(super) fn of_cell(&self, cell: &Cell) -> Range<u64> {
        match (cell.mix.writes(), cell.shape.order) {
            (true, _) => self.written.clone(),
            (false, Order::Seq) => self.in_order.clone(),
            (false, Order::Rnd) => self.at_random.clone(),
        }
    }
}

/// Whether some cell reads data that the run has written, and may have scattered.
fn meets_writes(cells: &[Cell], repeats: bool) -> bool {
    if repeats {
        return cells.iter().any(|cell| cell.mix.writes());
    }
    let scatters = |cell: &Cell| cell.mix.writes() && cell.shape.order == Order::Rnd;
    let mut later = cells.iter().skip_while(|cell| !scatters(cell));
    later.any(|cell| !cell.mix.writes() && cell.shape.order == Order::Seq)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::units::Bytes;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    fn cells(names: &[&str]) -> Vec<Cell> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn reads_never_meet_writes_in_a_small_span() {
        let all = cells(&["seq1m_q8t1.read", "rnd4k_q1t1.read", "rnd4k_q1t1.write"]);
        for len in [32 * MIB, 512 * MIB, 4 * GIB, 16 * GIB, 512 * MIB + 512] {
            let places = CellPlaces::of(&(MIB..MIB + len), None, &all, true);
            assert!(places.in_order.end <= places.written.start, "{places:?}");
            assert!(places.at_random.end <= places.written.start, "{places:?}");
            assert_eq!((places.in_order.start, places.written.end), (MIB, MIB + len));
        }
    }

    #[test]
    fn random_spans_whole_drive_streams_stay_near_start() {
        let all = cells(&["seq1m_q8t1.read", "rnd4k_q1t1.read", "seq1m_q8t1.write"]);
        let places = CellPlaces::of(&(0..2_000 * GIB), None, &all, true);
        assert_eq!(places.of_cell(&all[0]), 0..8 * GIB);
        assert_eq!(places.of_cell(&all[1]), 0..2_000 * GIB);
        assert_eq!(places.of_cell(&all[2]), 8 * GIB..2_000 * GIB);
    }

    #[test]
    fn nothing_is_divided_without_need_or_without_room() {
        let reads = cells(&["seq1m_q8t1.read", "rnd4k_q1t1.read"]);
        let places = CellPlaces::of(&(0..GIB), None, &reads, true);
        assert_eq!((places.of_cell(&reads[0]), places.of_cell(&reads[1])), (0..GIB, 0..GIB));
        let both = cells(&["seq1m_q8t1.read", "seq1m_q8t1.write"]);
        let places = CellPlaces::of(&(0..31 * MIB), None, &both, true);
        assert_eq!(
            (places.of_cell(&both[0]), places.of_cell(&both[1])),
            (0..31 * MIB, 0..31 * MIB)
        );
    }

    #[test]
    fn bounded_streams_need_room_for_one_pass() {
        let bounded = TransferOptions { io_size: Bytes::mib(256), ..TransferOptions::default() };
        for (shape, unbounded_mib, bounded_mib) in [
            ("seq64m_q4t1", 1024, 256),
            ("seq48m_q8t1", 768, 384),
            ("seq1m_q4t1", 16, 16),
            ("rnd64m_q4t1", 1024, 1024),
        ] {
            let shape = shape.parse().unwrap();
            assert_eq!(bytes_min(&shape, &TransferOptions::default()), unbounded_mib * MIB);
            assert_eq!(bytes_min(&shape, &bounded), bounded_mib * MIB);
        }
    }

    /// The cells of AS SSD and CrystalDiskMark read the same places as those programs.
    #[test]
    fn no_ratio_without_a_stream_after_random_writes() {
        fn places(cells: &[Cell], repeats: bool) -> CellPlaces {
            CellPlaces::of(&(0..GIB), None, cells, repeats)
        }
        let streams_first = cells(&[
            "seq16m_q1t1.write",
            "seq16m_q1t1.read",
            "rnd4k_q1t1.read",
            "rnd4k_q1t1.write",
        ]);
        assert_eq!(places(&streams_first, false).written, 0..GIB);
        assert_eq!(places(&streams_first, true).written, GIB / 2..GIB);
        let streams_last = cells(&["rnd4k_q1t1.write", "seq1m_q1t1.read"]);
        assert_eq!(places(&streams_last, false).written, GIB / 2..GIB);
    }

    #[test]
    fn restored_writes_and_reads_stay_in_separate_areas() {
        let both = cells(&["seq1m_q8t1.read", "rnd4k_q1t1.read", "seq1m_q8t1.write"]);
        let area = 384 * MIB..640 * MIB;
        let places = CellPlaces::of(&(0..GIB), Some(&area), &both, true);
        assert_eq!(places.of_cell(&both[0]), 0..384 * MIB);
        assert_eq!(places.of_cell(&both[1]), 0..384 * MIB);
        assert_eq!(places.of_cell(&both[2]), area);
        let area = 1_000 * GIB..1_001 * GIB;
        let places = CellPlaces::of(&(0..2_000 * GIB), Some(&area), &both, true);
        assert_eq!(places.of_cell(&both[0]), 0..8 * GIB);
        assert_eq!(places.of_cell(&both[1]), 0..2_000 * GIB);
    }
}
