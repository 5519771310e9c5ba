//! Options of the `steady` test.

use crate::cell::{Cell, Mix, Shape};
use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `steady` repeats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SteadySequence {
    /// Rounds of all cells, until those that are tracked are steady, as the SNIA PTS has them.
    #[default]
    Rounds,
    /// Random writes, longer from time to time, then of equal length, then pauses, as PCMark 8 has them: after each a
    /// pass of the traces that the options of `apps` choose.
    Consistency,
}

/// Which figure of a round has to be steady.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrackedFigure {
    /// Requests per second; bytes per second are in proportion.
    #[default]
    Rate,
    /// Mean latency.
    MeanLatency,
}

/// Options of the `steady` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SteadyOptions {
    /// What is repeated.
    pub sequence: SteadySequence,
    /// Whether everything is discarded (TRIM) first, where that can be: on a block device that may be written all over,
    /// and on a simulated SSD.
    pub purge: bool,
    /// How many times the whole target is then written in order.
    pub passes: u32,
    /// Bytes per request of these passes.
    pub pass_chunk: Bytes,
    /// Requests in flight in these passes.
    pub pass_depth: u32,
    /// Shapes such as `rnd4k_q32t4`, each in every direction of `mixes`.
    pub shapes: Vec<Shape>,
    /// Directions: `read`, `write`, `mix65` (65 % reads).
    pub mixes: Vec<Mix>,
    /// Exactly these cells, instead of every shape in every direction.
    pub cells: Vec<Cell>,
    /// The cells that have to be steady; all of them if it names none.
    pub tracking: Vec<Cell>,
    /// Which of their figures.
    pub figure: TrackedFigure,
    /// Measured time of a cell in a round. Of `consistency`: of the first random writes; each further stretch is longer
    /// by half of it, and pauses are half as long.
    pub time: Secs,
    /// Rounds at most.
    pub rounds_max: u32,
    /// Rounds end when they have written this many times the size of the target, steady or not; 0 is no limit.
    pub volume_max: f64,
    /// How many times the size of the target is written within the five points that are compared, at least: rounds are
    /// taken together for that. With 0, every round is a point.
    pub window_volume: f64,
}

impl Default for SteadyOptions {
    /// The three cells that the IOPS test of the PTS-E tracks.
    fn default() -> Self {
        Self {
            sequence: SteadySequence::Rounds,
            purge: true,
            passes: 2,
            pass_chunk: Bytes::kib(128),
            pass_depth: 32,
            shapes: Vec::new(),
            mixes: Vec::new(),
            cells: ["rnd1m_q32t4.read", "rnd64k_q32t4.mix65", "rnd4k_q32t4.write"]
                .map(|text| text.parse().expect("a cell"))
                .to_vec(),
            tracking: Vec::new(),
            figure: TrackedFigure::Rate,
            time: Secs(10.0),
            rounds_max: 25,
            volume_max: 0.0,
            window_volume: 0.0,
        }
    }
}

impl SteadyOptions {
    /// In the order of the PTS: direction by direction, and within one shape by shape.
    pub fn all_cells(&self) -> Vec<Cell> {
        if !self.cells.is_empty() {
            return self.cells.clone();
        }
        let of_mix = |&mix| self.shapes.iter().map(move |&shape| Cell { shape, mix });
        self.mixes.iter().flat_map(of_mix).collect()
    }

    pub fn is_tracked(&self, cell: &Cell) -> bool {
        self.tracking.is_empty() || self.tracking.contains(cell)
    }
}
