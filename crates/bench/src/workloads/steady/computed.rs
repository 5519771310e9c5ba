//! How much of a round is computed on a simulated drive, and how long that takes.

use crate::plan::expected_speed::DEPTHS_MIN;
use crate::plan::plan_context::{FASTER_THAN_TYPICAL, PlanContext};
use drivescope_model::cell::{Cell, Order};
use drivescope_model::options::{SteadyOptions, Suite};
use drivescope_model::plan::PlannedTest;
use drivescope_model::target::TargetKind;

/// Rounds until most drives are steady, for the time that they are computed.
const ROUNDS_EXPECTED: u32 = 8;

/// ns to compute, in release builds: two thirds of `cargo xtask suites` on a machine half as fast as another.
#[derive(Debug, Clone, Copy)]
struct ComputingTimes {
    /// Of a request in order, and of each of its MiB.
    ordered: f64,
    ordered_mib: f64,
    /// Of a random request, and of each of its pages.
    random: f64,
    random_page: f64,
    /// Of each that waits beside it, up to the queue of a disk: it chooses among them.
    waiting: f64,
}

/// Flash keeps the place of every page; a pass in order fills whole blocks.
const FLASH: ComputingTimes = ComputingTimes {
    ordered: 400.0,
    ordered_mib: 2_300.0,
    random: 400.0,
    random_page: 300.0,
    waiting: 0.0,
};
const DISK: ComputingTimes = ComputingTimes {
    ordered: 400.0,
    ordered_mib: 170.0,
    random: 4_000.0,
    random_page: 0.0,
    waiting: 20.0,
};
const QUEUE_MAX: u32 = 32;
const PAGE: u64 = 4096;
const MIB: f64 = (1u64 << 20) as f64;

fn times(context: &PlanContext<'_>) -> ComputingTimes {
    if context.is_disk() { DISK } else { FLASH }
}

/// A random request of a disk counts as this many of flash, whatever its length: the disk chooses among those waiting.
const DISK_REQUESTS: u64 = 10;

/// Requests of all threads in a round of a cell on a simulated drive: its share of all that is computed.
fn round_requests(context: &PlanContext<'_>) -> Option<u64> {
    let Suite { simulated_requests, steady, .. } = context.suite;
    let is_bounded = context.target.kind == TargetKind::Simulated && *simulated_requests > 0;
    let cells = steady.all_cells();
    let is_random = cells.iter().any(|cell| cell.shape.order == Order::Rnd);
    let each = if is_random && context.is_disk() { DISK_REQUESTS } else { 1 };
    let phases = cells.len() as u64 * u64::from(steady.rounds_max);
    simulated_requests.checked_div(phases * each).filter(|_| is_bounded)
}

/// Plans a round of some requests, which may be shorter than its time: its share of them.
pub(super) fn timed_round(
    context: &PlanContext<'_>,
    test: &mut PlannedTest,
    cell: &Cell,
    requests: f64,
) -> f64 {
    let Some(most) = round_requests(context) else { return 1.0 };
    let threads = u64::from(cell.shape.threads);
    let least = u64::from(cell.shape.depth) * DEPTHS_MIN;
    let all =
        (thread_requests((most / threads).max(least), cell, context.is_disk()) * threads) as f64;
    if requests * FASTER_THAN_TYPICAL <= all {
        return 1.0;
    }
    test.round_requests = Some(most);
    (all / requests).min(1.0)
}

/// Bytes of a request to flash that count as one where most are writes: what is written decides how soon the drive must
/// clean up, and with that whether it is steady.
const WRITTEN_BYTES: u64 = 16 << 10;
/// Longer writes scatter little, so that they decide little.
const SCATTERING_MAX_BYTES: u64 = 64 << 10;
/// Requests that decide little, because they are long or most are reads, are reduced to this part.
const MINOR_PART: u64 = 2;

/// Requests of a thread in a bounded round of `most`: fewer long random ones of flash, computed by page.
pub(super) fn thread_requests(most: u64, cell: &Cell, is_disk: bool) -> u64 {
    let shape = cell.shape;
    if most == u64::MAX || is_disk || shape.order == Order::Seq {
        return most;
    }
    let decides = cell.mix.read_percent() < 50 && shape.block.0 <= SCATTERING_MAX_BYTES;
    let (one, part) = if decides { (WRITTEN_BYTES, 1) } else { (PAGE, MINOR_PART) };
    (most / part / (shape.block.0 / one).max(1)).max(u64::from(shape.depth) * DEPTHS_MIN)
}

/// Rounds that are likely to be computed: where each is a point, most drives are steady long before the last.
pub(super) fn rounds_expected(steady: &SteadyOptions) -> f64 {
    let is_soon = steady.window_volume == 0.0;
    f64::from(if is_soon { steady.rounds_max.min(ROUNDS_EXPECTED) } else { steady.rounds_max })
}

/// Time to compute a round of a cell with `requests`, s; 0 of a real drive.
pub(super) fn round_s(context: &PlanContext<'_>, cell: &Cell, requests: f64) -> f64 {
    let (times, shape) = (times(context), cell.shape);
    let ns = match shape.order {
        Order::Seq => times.ordered + times.ordered_mib * shape.block.0 as f64 / MIB,
        Order::Rnd => {
            let waiting = f64::from((shape.depth * shape.threads).min(QUEUE_MAX) - 1);
            let pages = shape.block.0.div_ceil(PAGE) as f64;
            times.random + times.random_page * pages + times.waiting * waiting
        }
    };
    seconds(context, requests * ns)
}

pub(super) fn passes_s(context: &PlanContext<'_>, bytes: u64) -> f64 {
    seconds(context, times(context).ordered_mib * bytes as f64 / MIB)
}

/// Time to compute random writes of many lengths, `bytes` in all and `request_bytes` each in the mean.
pub(super) fn random_s(context: &PlanContext<'_>, bytes: f64, request_bytes: f64) -> f64 {
    let times = times(context);
    seconds(context, bytes / request_bytes * times.random + bytes / PAGE as f64 * times.random_page)
}

fn seconds(context: &PlanContext<'_>, ns: f64) -> f64 {
    if context.target.kind == TargetKind::Simulated { ns / 1e9 } else { 0.0 }
}
