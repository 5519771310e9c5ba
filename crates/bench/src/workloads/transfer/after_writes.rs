//! After random writes: the state that they leave is measured, and later tests find data in order.

use super::places::CellPlaces;
use super::scattered;
use crate::error::BenchError;
use crate::expected_speed::ExpectedSpeed;
use crate::plan_context::PlanContext;
use crate::session::Session;
use crate::test_file;
use crate::workloads;
use drivescope_model::cell::{Cell, Order};
use drivescope_model::options::TestKind;
use drivescope_model::plan::{Cost, WriteLevel};
use std::ops::Range;

/// Leaves in order what random writes have scattered, where later tests read it: all of a small part, or what was
/// scattered on purpose. On a whole drive a few random writes are met by chance only.
pub(super) fn put_in_order(
    session: &Session<'_>,
    places: &CellPlaces,
    scattered: Option<Range<u64>>,
    cells: &[Cell],
) -> Result<(), BenchError> {
    let is_read_later =
        later_reads(session.plan.tests.iter().map(|test| (test.test, test.skip.is_none())));
    let part = part_to_put_in_order(places, cells).or(scattered).filter(|_| is_read_later);
    match part {
        Some(part) => test_file::write_in_order(session, session.device(), part),
        None => Ok(()),
    }
}

/// All that is written, if that is small and some of it is written at random.
fn part_to_put_in_order(places: &CellPlaces, cells: &[Cell]) -> Option<Range<u64>> {
    let scatters = cells.iter().any(|cell| cell.mix.writes() && cell.shape.order == Order::Rnd);
    (scatters && places.is_small()).then(|| places.written.clone())
}

/// Whether tests after this one read what is there; each with whether it runs.
fn later_reads(tests: impl Iterator<Item = (TestKind, bool)>) -> bool {
    let mut later = tests.skip_while(|(test, _)| *test != TestKind::Transfer).skip(1);
    later.any(|(test, runs)| runs && workloads::find(test).reads_existing_data())
}

/// What reading scattered data and putting them in order cost.
pub(super) fn cost(cells: &[Cell], places: &CellPlaces, context: &PlanContext<'_>) -> Cost {
    let Range { start, end } = places.written;
    let ExpectedSpeed { mb_s, iops, .. } = context.typical;
    let mut cost = Cost::default();
    if context.is_disk() && scattered::has_time(context.suite) {
        cost = scattered::cost(cells, end - start, mb_s, iops);
    }
    let tests = context.suite.tests.iter().map(|&test| (test, true));
    if context.allowed != WriteLevel::Restore
        && later_reads(tests)
        && let Some(part) = part_to_put_in_order(places, cells)
    {
        let bytes = part.end - part.start;
        let seconds = bytes as f64 / (mb_s * 1e6);
        cost = cost + Cost { seconds, written_bytes: bytes, ..Cost::default() };
    }
    cost
}
