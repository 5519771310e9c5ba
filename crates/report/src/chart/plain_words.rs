//! Cells in plain words: `rnd4k_q32t1.read` is `random 4 KiB, Q32, read`.

use drivescope_model::cell::Order;
use drivescope_model::{Cell, Shape};

pub fn cell_words(cell: &Cell) -> String {
    format!("{}, {}", shape_words(&cell.shape), cell.mix)
}

/// Without direction: `random 4 KiB, Q32 × 4`.
pub fn shape_words(shape: &Shape) -> String {
    let order = match shape.order {
        Order::Seq => "sequential",
        Order::Rnd => "random",
    };
    let threads = match shape.threads {
        1 => String::new(),
        n => format!(" × {n}"),
    };
    format!("{order} {}, Q{}{threads}", shape.block.binary(), shape.depth)
}

/// Short form for the end of a curve: `read 4K Q32`.
pub fn cell_label(cell: &Cell) -> String {
    format!("{} {} Q{}", cell.mix, cell.shape.block.short().to_uppercase(), cell.shape.depth)
}

pub(crate) fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
