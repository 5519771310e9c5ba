//! Cells in plain words: `rnd4k_q32t1.read` is `random 4 KiB, Q32, read`.

use drivescope_model::cell::Order;
use drivescope_model::{Cell, Shape};

pub fn cell_words(cell: &Cell) -> String {
    format!("{}, {}", shape_words(&cell.shape), cell.mix)
}

/// Without direction: `random 4 KiB, Q32 × 4`, `random 60 % 4 KiB, 40 % 64 KiB, Q1, 10 ms between requests`.
pub fn shape_words(shape: &Shape) -> String {
    let order = match shape.order {
        Order::Seq => "sequential",
        Order::Rnd => "random",
    };
    let threads = match shape.threads {
        1 => String::new(),
        n => format!(" × {n}"),
    };
    let size = match &shape.split {
        None => shape.block.binary(),
        Some(split) => {
            let shares =
                split.sizes().map(|(size, percent)| format!("{percent} % {}", size.binary()));
            shares.collect::<Vec<_>>().join(", ")
        }
    };
    let pause = match shape.think_us {
        0 => String::new(),
        us if us.is_multiple_of(1_000) => format!(", {} ms between requests", us / 1_000),
        us => format!(", {us} µs between requests"),
    };
    format!("{order} {size}, Q{}{threads}{pause}", shape.depth)
}

/// Short form for the end of a curve: `read 4K Q32`.
pub fn cell_label(cell: &Cell) -> String {
    format!("{} {} Q{}", cell.mix, cell.shape.block.short().to_uppercase(), cell.shape.depth)
}

pub(crate) fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_words_for_shares_and_pauses() {
        for (cell, words) in [
            ("rnd4k_q32t16.read", "random 4 KiB, Q32 × 16, read"),
            ("rnd4k60-64k40_q8t1.mix70", "random 60 % 4 KiB, 40 % 64 KiB, Q8, mix70"),
            ("seq1m_q1t1_think2ms.write", "sequential 1 MiB, Q1, 2 ms between requests, write"),
            ("rnd4k_q1t1_think150us.read", "random 4 KiB, Q1, 150 µs between requests, read"),
        ] {
            assert_eq!(cell_words(&cell.parse().unwrap()), words);
        }
    }
}
