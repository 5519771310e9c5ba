//! Options of the `transfer` test.

use crate::cell::{Cell, Mix, Order, Shape};
use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Named lists of shapes, as CrystalDiskMark 9 runs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1, RND4K Q1T1.
    Default,
    /// SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16, RND4K Q1T1.
    Nvme,
    /// SEQ1M Q8T1, RND4K Q32T1.
    Peak,
    /// SEQ1M Q8T1, RND4K Q32T16.
    PeakNvme,
    /// SEQ1M Q1T1, RND4K Q1T1.
    RealWorld,
}

impl Preset {
    /// In CrystalDiskMark's order.
    pub fn shapes(self) -> Vec<Shape> {
        let seq1m_q8 = Shape::plain(Order::Seq, Bytes::mib(1), 8);
        let seq1m_q1 = Shape { depth: 1, ..seq1m_q8 };
        let seq128k_q32 = Shape { block: Bytes::kib(128), depth: 32, ..seq1m_q8 };
        let rnd4k_q1 = Shape::plain(Order::Rnd, Bytes::kib(4), 1);
        let rnd4k_q32 = Shape { depth: 32, ..rnd4k_q1 };
        let rnd4k_q32t16 = Shape { threads: 16, ..rnd4k_q32 };
        match self {
            Self::Default => vec![seq1m_q8, seq1m_q1, rnd4k_q32, rnd4k_q1],
            Self::Nvme => vec![seq1m_q8, seq128k_q32, rnd4k_q32t16, rnd4k_q1],
            Self::Peak => vec![seq1m_q8, rnd4k_q32],
            Self::PeakNvme => vec![seq1m_q8, rnd4k_q32t16],
            Self::RealWorld => vec![seq1m_q1, rnd4k_q1],
        }
    }
}

/// How long a round of one cell is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellBounds {
    /// Which cell.
    pub cell: Cell,
    /// Measured time of its rounds.
    pub time: Secs,
    /// Load before the measured time, not counted.
    #[serde(default)]
    pub ramp: Secs,
    /// Most bytes that a round moves; 0 means that only the time ends it.
    #[serde(default)]
    pub io_size: Bytes,
}

/// Options of the `transfer` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransferOptions {
    /// A named list of shapes, to which `shapes` adds.
    pub preset: Option<Preset>,
    /// Shapes such as `rnd4k_q32t1`.
    pub shapes: Vec<Shape>,
    /// Directions of each shape: `read`, `write`, `mix70` (70 % reads), `sync` (writes, each flushed before the next;
    /// at depth 1 only).
    pub mixes: Vec<Mix>,
    /// Exactly these cells, such as `rnd4k_q1t1.read`, instead of every shape in every direction.
    pub cells: Vec<Cell>,
    /// Measured time of one round of one cell.
    pub time: Secs,
    /// Load before the measured time, not counted.
    pub ramp: Secs,
    /// Most bytes that a round of a cell moves; 0 means that only the time ends it.
    pub io_size: Bytes,
    /// Cells with a `time`, `ramp` and `io_size` of their own.
    pub bounds: Vec<CellBounds>,
    /// Whether a round of a writing cell also ends when it has written as many bytes as its part of the test file or
    /// span, or the area, has. More would only overwrite what it has just written.
    pub write_once: bool,
    /// All rounds of a cell before the next cell, reads before writes and writes before mixes, as CrystalDiskMark has
    /// them. Otherwise each round has all cells, so that drift shows as spread.
    pub cell_by_cell: bool,
    /// Percentage of each block that compresses away, 0 to 100, as fio's `buffer_compress_percentage`. Above 0, each
    /// cell that only writes, unflushed, is measured twice in each round: with data that do not compress, as all other
    /// cells have them, and as `CELL_compressNN` with data that do.
    pub compress: u8,
    /// How much of a block device, in its middle, the writing cells use at the level `restore`.
    pub area: Bytes,
}

impl Default for TransferOptions {
    fn default() -> Self {
        Self {
            preset: None,
            shapes: Vec::new(),
            mixes: vec![Mix::READ, Mix::WRITE],
            cells: Vec::new(),
            time: Secs(5.0),
            ramp: Secs(0.25),
            io_size: Bytes(0),
            bounds: Vec::new(),
            write_once: false,
            cell_by_cell: false,
            compress: 0,
            area: Bytes::mib(256),
        }
    }
}

impl TransferOptions {
    /// The preset's first, none twice.
    fn all_shapes(&self) -> Vec<Shape> {
        let mut shapes = self.preset.map(Preset::shapes).unwrap_or_default();
        for shape in &self.shapes {
            if !shapes.contains(shape) {
                shapes.push(*shape);
            }
        }
        shapes
    }

    /// Its own bounds, or those of all cells.
    pub fn bounds_of(&self, cell: &Cell) -> CellBounds {
        let own = self.bounds.iter().find(|bounds| bounds.cell == *cell).copied();
        let Self { time, ramp, io_size, .. } = *self;
        own.unwrap_or(CellBounds { cell: *cell, time, ramp, io_size })
    }

    /// In the order they run: reads, writes, mixes, as CrystalDiskMark does; or those that are named.
    pub fn all_cells(&self) -> Vec<Cell> {
        if !self.cells.is_empty() {
            return self.cells.clone();
        }
        let mut mixes = self.mixes.clone();
        mixes.sort_by_key(|mix| match *mix {
            Mix::READ => 0,
            Mix::WRITE => 1,
            _ => 2,
        });
        mixes.dedup();
        let shapes = self.all_shapes();
        let of_mix = |mix| shapes.iter().map(move |&shape| Cell { shape, mix });
        mixes.into_iter().flat_map(of_mix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_crystaldiskmarks() {
        let names = |p: Preset| p.shapes().iter().map(Shape::to_string).collect::<Vec<_>>();
        for (preset, shapes) in [
            (Preset::Default, "seq1m_q8t1 seq1m_q1t1 rnd4k_q32t1 rnd4k_q1t1"),
            (Preset::Nvme, "seq1m_q8t1 seq128k_q32t1 rnd4k_q32t16 rnd4k_q1t1"),
            (Preset::Peak, "seq1m_q8t1 rnd4k_q32t1"),
            (Preset::PeakNvme, "seq1m_q8t1 rnd4k_q32t16"),
            (Preset::RealWorld, "seq1m_q1t1 rnd4k_q1t1"),
        ] {
            assert_eq!(names(preset).join(" "), shapes);
        }
    }

    #[test]
    fn shape_of_the_preset_is_not_run_twice() {
        let options = TransferOptions {
            preset: Some(Preset::RealWorld),
            shapes: vec!["rnd4k_q1t1".parse().unwrap(), "rnd4k_q4t1".parse().unwrap()],
            ..TransferOptions::default()
        };
        assert_eq!(options.all_shapes().len(), 3);
    }
}
