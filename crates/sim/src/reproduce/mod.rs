//! Published measurements beside what the models give.
//!
//! [`table`] reads the published cells, [`instruments`] repeat the programs that measured them on a model in
//! virtual time, and [`judge`] says whether the two agree. One run of an instrument on one drive (a [`Job`])
//! gives figures for many cells, so the way is: [`cells`] → [`jobs`] → [`Job::run`], in any order and on
//! any thread → [`Cell::result`].

pub mod figures;
pub mod instruments;
pub mod judge;
mod pc;
pub mod table;

pub use figures::{Figures, Formula, Job};
pub use judge::Op;
pub use table::{Cell, TableError, cells};

use std::collections::{BTreeMap, BTreeSet};

/// What all jobs gave, or why one could not be done.
pub type Measured = BTreeMap<Job, Result<Figures, String>>;

/// What must be run for these cells, each job once.
#[must_use]
pub fn jobs(cells: &[Cell]) -> BTreeSet<Job> {
    cells.iter().flat_map(Cell::jobs).collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
mod unit_tests;
