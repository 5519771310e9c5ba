//! Two programs that measure the same thing one after the other, and the summary of their figures.

use super::table::median;

/// Pairs in alternating order, after one that only makes both sides equal.
pub fn in_turns<A, B>(
    pairs: usize,
    ours: impl Fn() -> Result<A, String>,
    theirs: impl Fn() -> Result<B, String>,
) -> Result<Vec<(A, B)>, String> {
    let mut all = Vec::new();
    for pair in 0..=pairs {
        let both = if pair % 2 == 0 {
            (ours()?, theirs()?)
        } else {
            let theirs = theirs()?;
            (ours()?, theirs)
        };
        all.push(both);
    }
    Ok(all.split_off(1))
}

/// The value of `figure` for each, from the lowest to the highest.
pub fn sorted<T>(all: &[T], figure: impl Fn(&T) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = all.iter().map(figure).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The median of those.
pub fn middle<T>(all: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    median(all.iter().map(figure).collect())
}
