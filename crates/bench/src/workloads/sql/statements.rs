//! The statements of clients: which rows they ask for, and what they add.

use super::client_loop::Statement;
use crate::io::offsets::derive_seed;
use drivescope_sql::{COMMIT_BYTES, Client, UserQuery};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Numbers of rows that one client adds lie this far from those of the next.
const COMMITS_EACH: i64 = 1 << 32;

/// Up to `count` different rows of a table, in random order; the same for the same seed and round.
pub(super) fn distinct_rows(rows: u64, count: u64, seed: u64, round: u32) -> Vec<i64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(derive_seed(seed, "sql rows", round, 0));
    let mut all: Vec<i64> = (1..=rows as i64).collect();
    let count = (count as usize).min(all.len());
    // The beginning of a Fisher-Yates shuffle.
    for at in 0..count {
        let other = random.random_range(at..all.len());
        all.swap(at, other);
    }
    all.truncate(count);
    all
}

/// Single rows, one after the other, and from the first again.
pub(super) fn seeks(mut client: Box<dyn Client>, ids: &[i64]) -> Statement<'static> {
    let ids = ids.to_vec();
    Box::new(move |number| client.seek(ids[(number % ids.len() as u64) as usize]))
}

/// Transactions that add a row each, of bytes that nothing compresses.
pub(super) fn commits(mut client: Box<dyn Client>, series: u32, seed: u64) -> Statement<'static> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(derive_seed(seed, "sql commits", series, 0));
    let mut data = [0; COMMIT_BYTES];
    Box::new(move |number| {
        random.fill_bytes(&mut data);
        client.commit(i64::from(series) * COMMITS_EACH + number as i64, &data)?;
        Ok(COMMIT_BYTES)
    })
}

/// The user's own statement, with every `step`th row of its parameters from the `first` on.
pub(super) fn queries<'q>(
    mut client: Box<dyn Client>,
    query: &'q UserQuery,
    first: u64,
    step: u64,
) -> Statement<'q> {
    let rows = query.rows();
    Box::new(move |number| {
        let row = (first + number * step) % rows.len() as u64;
        client.query(&rows[row as usize])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rows_are_distinct_spread_and_repeatable() {
        let rows = distinct_rows(1_000, 500, 7, 1);
        let different: BTreeSet<i64> = rows.iter().copied().collect();
        assert_eq!((rows.len(), different.len()), (500, 500));
        assert!(rows.iter().all(|row| (1..=1_000).contains(row)));
        let mean = rows.iter().sum::<i64>() / 500;
        assert!((450..550).contains(&mean), "{mean}");
        assert_eq!(rows, distinct_rows(1_000, 500, 7, 1));
        assert_ne!(rows, distinct_rows(1_000, 500, 7, 2));
        assert_eq!(distinct_rows(10, 500, 7, 1).len(), 10);
    }
}
