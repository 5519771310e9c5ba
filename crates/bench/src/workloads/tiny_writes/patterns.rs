//! The patterns of access, and which of them run.

use crate::plan::option_checks::check_once;
use drivescope_model::cell::{Mix, Order};
use drivescope_model::nearest::nearest;
use drivescope_model::options::TinyWritesOptions;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoPath {
    /// The page cache, empty at first.
    Cold,
    /// The page cache with what the stream of writes just left there, and nothing past it.
    Warm,
    /// Direct I/O: the drive itself.
    Direct,
}

#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    pub cell: &'static str,
    pub mix: Mix,
    pub order: Order,
    pub path: IoPath,
    pub sync: bool,
    /// The cell that shows the same done by the drive itself.
    pub drive: Option<&'static str>,
}

impl Pattern {
    /// Whether it leaves data elsewhere than in order, on a drive that cannot write a little in place.
    pub fn may_scatter(self) -> bool {
        self.mix.writes() && (self.order == Order::Rnd || self.path == IoPath::Direct)
    }
}

/// In the order they run; each `drive` cell is one of them.
const PATTERNS: [Pattern; 8] = [
    pattern("rnd16_buffered", Mix::WRITE, Order::Rnd, IoPath::Cold, false, Some("rnd4k_direct")),
    pattern("rnd16_sync", Mix::WRITE, Order::Rnd, IoPath::Cold, true, Some("rnd4k_direct_sync")),
    pattern("rnd4k_direct", Mix::WRITE, Order::Rnd, IoPath::Direct, false, None),
    pattern("rnd4k_direct_sync", Mix::WRITE, Order::Rnd, IoPath::Direct, true, None),
    pattern(WARMING, Mix::WRITE, Order::Seq, IoPath::Cold, false, Some("seq_direct_write")),
    pattern(
        "seq512_read_warm",
        Mix::READ,
        Order::Seq,
        IoPath::Warm,
        false,
        Some("seq_direct_read"),
    ),
    pattern(
        "seq512_read_cold",
        Mix::READ,
        Order::Seq,
        IoPath::Cold,
        false,
        Some("seq_direct_read"),
    ),
    pattern("seq_direct_write", Mix::WRITE, Order::Seq, IoPath::Direct, false, None),
];

/// The cell whose bytes the warm reads read.
pub const WARMING: &str = "seq512_write";

/// The drive's own sequential reads, apart because a file target has only reads.
const SEQ_DIRECT_READ: Pattern =
    pattern("seq_direct_read", Mix::READ, Order::Seq, IoPath::Direct, false, None);

const fn pattern(
    cell: &'static str,
    mix: Mix,
    order: Order,
    path: IoPath,
    sync: bool,
    drive: Option<&'static str>,
) -> Pattern {
    Pattern { cell, mix, order, path, sync, drive }
}

pub fn patterns() -> impl Iterator<Item = Pattern> {
    PATTERNS.into_iter().chain([SEQ_DIRECT_READ])
}

pub fn chosen(options: &TinyWritesOptions) -> impl Iterator<Item = Pattern> {
    let is_chosen = |cell| options.cells.is_empty() || options.cells.iter().any(|c| c == cell);
    patterns().filter(move |pattern| is_chosen(pattern.cell))
}

pub fn check_cells(cells: &[String]) -> Result<(), String> {
    let known = || patterns().map(|pattern| pattern.cell);
    if let Some(cell) = cells.iter().find(|cell| known().all(|known| known != *cell)) {
        let hint = nearest(cell, known()).map(|near| format!(" (did you mean '{near}'?)"));
        return Err(format!("tiny-writes has no cell '{cell}'{}", hint.unwrap_or_default()));
    }
    check_once(cells, "tiny-writes names the cell")
}
