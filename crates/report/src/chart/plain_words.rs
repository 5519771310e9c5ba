//! Cells in plain words: `rnd4k_q32t1.read` is `random 4 KiB, Q32, read`.

use drivescope_model::Cell;
use drivescope_model::cell::Order;

/// What a cell of `transfer` measures.
pub fn cell_words(cell: &Cell) -> String {
    let order = match cell.shape.order {
        Order::Seq => "sequential",
        Order::Rnd => "random",
    };
    let threads = match cell.shape.threads {
        1 => String::new(),
        n => format!(" × {n}"),
    };
    format!("{order} {}, Q{}{threads}, {}", cell.shape.block.binary(), cell.shape.depth, cell.mix)
}

/// The same in a few characters, for the end of a curve: `read 4K Q32`.
pub fn cell_label(cell: &Cell) -> String {
    format!("{} {} Q{}", cell.mix, cell.shape.block.short().to_uppercase(), cell.shape.depth)
}
