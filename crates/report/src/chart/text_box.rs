//! Texts in a picture: how wide they are, and where they fit without covering each other.

/// Widths of characters as shares of the size, at the widest of common system fonts (DejaVu Sans, bold): texts never
/// run into each other, whatever font draws them. The widest, other capitals, digits, and the mean of the others.
const WIDEST: f64 = 1.1;
const CAPITAL_WIDTH: f64 = 0.78;
const DIGIT_WIDTH: f64 = 0.7;
const OTHER_WIDTH: f64 = 0.62;
const LINE_HEIGHT: f64 = 1.25;
/// How far a text may move from its place, in lines, nearest first.
const MOVES: [f64; 9] = [0.0, -0.5, 0.5, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0];

pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(letter_width).sum::<f64>() * size
}

fn letter_width(letter: char) -> f64 {
    match letter {
        'M' | 'W' | '…' => WIDEST,
        letter if letter.is_uppercase() => CAPITAL_WIDTH,
        letter if letter.is_ascii_digit() => DIGIT_WIDTH,
        _ => OTHER_WIDTH,
    }
}

pub fn line_height(size: f64) -> f64 {
    size * LINE_HEIGHT
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextBox {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl TextBox {
    pub fn around(left: f64, middle: f64, text: &str, size: f64) -> Self {
        let half = line_height(size) / 2.0;
        let right = left + text_width(text, size);
        Self { left, top: middle - half, right, bottom: middle + half }
    }

    /// A place that a line goes through.
    pub fn point((x, y): (f64, f64)) -> Self {
        Self { left: x - 1.0, top: y - 1.0, right: x + 1.0, bottom: y + 1.0 }
    }

    /// A place that a mark takes, with its rim.
    pub fn mark((x, y): (f64, f64)) -> Self {
        Self { left: x - 6.0, top: y - 6.0, right: x + 6.0, bottom: y + 6.0 }
    }

    fn moved_down(self, by: f64) -> Self {
        Self { top: self.top + by, bottom: self.bottom + by, ..self }
    }

    fn covers(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn is_within(&self, outer: &Self) -> bool {
        let is_level = self.left >= outer.left && self.right <= outer.right;
        is_level && self.top >= outer.top && self.bottom <= outer.bottom
    }
}

#[derive(Debug, Default)]
pub struct PlacedTexts {
    taken: Vec<TextBox>,
    avoided: Vec<TextBox>,
}

impl PlacedTexts {
    pub fn take(&mut self, place: TextBox) {
        self.taken.push(place);
    }

    /// Texts stand on this place only where they find no other.
    pub fn avoid(&mut self, place: TextBox) {
        self.avoided.push(place);
    }

    /// The first of the wanted places, each tried at several heights, where a text fits within `bounds`: its index and
    /// its box.
    pub fn place(&mut self, wanted: &[TextBox], bounds: &TextBox) -> Option<(usize, TextBox)> {
        let is_free = |place: &TextBox| place.is_within(bounds) && is_clear(place, &self.taken);
        let moved = || {
            MOVES.iter().flat_map(|lines| {
                let by =
                    move |place: &TextBox| place.moved_down(lines * (place.bottom - place.top));
                wanted.iter().map(by).enumerate()
            })
        };
        let best = moved().find(|(_, place)| is_free(place) && is_clear(place, &self.avoided));
        let found = best.or_else(|| moved().find(|(_, place)| is_free(place)))?;
        self.taken.push(found.1);
        Some(found)
    }
}

fn is_clear(place: &TextBox, of: &[TextBox]) -> bool {
    !of.iter().any(|placed| placed.covers(place))
}

/// Heights at least `gap` apart and within `bounds`, as near to those wanted as that allows, in the order given.
///
/// Neighbours that touch form a block whose middle stays at the mean of what its members want (the pool-adjacent-
/// violators algorithm on the heights less their ranks times the gap).
pub fn pushed_apart(wanted: &[f64], gap: f64, bounds: (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (rank, i) in order.iter().enumerate() {
        blocks.push((wanted[*i] - rank as f64 * gap, 1));
        while let [.., (before, m), (last, n)] = blocks[..]
            && before > last
        {
            blocks.truncate(blocks.len() - 2);
            let mean = (before * m as f64 + last * n as f64) / (m + n) as f64;
            blocks.push((mean, m + n));
        }
    }
    let highest = bounds.1 - wanted.len().saturating_sub(1) as f64 * gap;
    let starts = blocks.iter().flat_map(|(mean, n)| std::iter::repeat_n(*mean, *n));
    let mut placed = vec![0.0; wanted.len()];
    for ((rank, i), start) in order.iter().enumerate().zip(starts) {
        placed[*i] = start.min(highest).max(bounds.0) + rank as f64 * gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_moves_until_free_or_is_omitted() {
        let bounds = TextBox { left: 0.0, top: 0.0, right: 300.0, bottom: 45.0 };
        let text = TextBox::around(10.0, 20.0, "264 MB/s", 12.0);
        let mut placed = PlacedTexts::default();
        let mut top = || placed.place(&[text], &bounds).map(|(_, place)| place.top);
        assert_eq!([top(), top(), top()], [Some(12.5), Some(27.5), None]);
        placed = PlacedTexts::default();
        placed.avoid(TextBox { left: 20.0, right: 20.0, ..bounds });
        let beside = TextBox::around(110.0, 20.0, "264 MB/s", 12.0);
        assert_eq!(placed.place(&[text, beside], &bounds).map(|(i, _)| i), Some(1));
        assert_eq!(placed.place(&[text, beside], &bounds).map(|(i, _)| i), Some(1));
        placed.take(TextBox { left: 105.0, ..bounds });
        // On a line rather than nowhere.
        assert_eq!(placed.place(&[text, beside], &bounds).map(|(i, _)| i), Some(0));
    }

    proptest! {
        #[test]
        fn heights_are_apart_and_keep_their_order(wanted in proptest::collection::vec(0.0..200.0f64, 1..8)) {
            let placed = pushed_apart(&wanted, 14.0, (0.0, 200.0));
            let mut pairs: Vec<(f64, f64)> = wanted.iter().copied().zip(placed).collect();
            pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
            for pair in pairs.windows(2) {
                prop_assert!(pair[1].1 - pair[0].1 >= 14.0 - 1e-9);
                prop_assert!(pair[0].0 <= pair[1].0);
            }
            prop_assert!(pairs[0].1 >= 0.0 && pairs[pairs.len() - 1].1 <= 200.0 + 1e-9);
            if wanted.len() == 1 {
                prop_assert_eq!(pairs[0].0, pairs[0].1);
            }
        }
    }
}
