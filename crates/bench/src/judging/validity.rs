//! The promise that no impossible number is printed: what was measured against what can be.

mod ceiling;
mod limiter;
mod target_findings;
mod working_set;

pub(crate) use ceiling::of_figures;
pub use limiter::limiter;
pub use target_findings::{of_error, of_target};
pub use working_set::{DRIVE_CACHE_BYTES, short_stroke};

use crate::io::recorder::STALL_NS;
use crate::judging::cpu_contention;
use crate::judging::rate_drop;
use crate::judging::round::Round;
use crate::loops::phase::{Load, LoopMode};
use drivescope_machine::limits::IoLimits;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::number::{rounded, whole};
use drivescope_model::options::TestKind;
use drivescope_model::units::Bytes;
use drivescope_stats::uniform_wait::is_without_waits;

/// Worth reporting: this share of our bytes, and at least a minimum.
const OTHER_SHARE: f64 = 0.10;
const OTHER_MIN_BYTES: f64 = 4e6;
/// Less than this share of our bytes on the device: something else answered.
const SEEN_SHARE_MIN: f64 = 0.90;
/// Below this the kernel's counters and ours need not agree: it counts a request shortly after its end. Of small
/// requests fewer bytes do, since one of them is a small part.
const COUNTED_MIN_BYTES: f64 = 1e6;
const COUNTED_MANY: u64 = 100;
const COUNTED_MANY_BYTES: f64 = 256e3;
/// With more of its file in memory, memory answers a loop device.
const LOOP_CACHED_MAX: f64 = 0.5;
/// From this share of what a shared path leaves to a drive on, the path counts.
const SHARED_SHARE_MIN: f64 = 0.5;
/// Open loops with a larger share of requests undone, and more than the few that are always in flight, missed their
/// rate.
const LATE_SHARE_MAX: f64 = 0.05;
const LATE_MIN: u64 = 8;

#[derive(Debug)]
pub struct Environment {
    pub(crate) test: TestKind,
    pub(crate) direct: bool,
    pub(crate) memory_backed: bool,
    pub(crate) file_system: bool,
    /// No counters, and a layer in between may cache.
    pub(crate) unproven: bool,
    /// The file system writes more than programs request, some of it later.
    pub(crate) writes_its_own: bool,
    pub(crate) link_mb_s: Option<f64>,
    /// The link carries data both ways at once.
    pub(crate) duplex: bool,
    /// What the path that drives share left to this one when all of them read at once, if it was the limit.
    pub(crate) shared_mb_s: Option<f64>,
    pub(crate) rpm: Option<f64>,
    pub(crate) capacity_bytes: u64,
    /// Bytes of the target that tests use.
    pub(crate) whole_bytes: u64,
    /// The page cache lies below a loop device.
    pub(crate) loop_caches: bool,
    /// Parts of the target lie on no drive, which the run says once.
    pub(crate) has_holes: bool,
    pub(crate) loop_cached_share: Option<f64>,
    /// The bytes that the drives below several loop devices moved are unknown.
    pub(crate) uncounted: bool,
    pub(crate) warning_c: Option<f64>,
    pub(crate) memory_bytes: u64,
    pub(crate) memory_copy_mb_s: f64,
    /// Measures anew: what else ran at the start may have held caches and memory's channels.
    pub(crate) memory_copy_again: fn() -> f64,
    pub(crate) cores: u32,
    pub(crate) generator_mb_s: f64,
    pub(crate) io_limits: Option<IoLimits>,
}

impl Environment {
    fn key(&self, round: &Round) -> String {
        format!("{}.{}", self.test, round.cell)
    }
}

pub fn of_round(round: &Round, environment: &Environment) -> Vec<Finding> {
    if environment.memory_backed {
        return Vec::new(); // every number is memory's, and the run says so
    }
    let answered = if environment.has_holes {
        [None, None, None] // by nothing, and the run says so
    } else {
        [
            ceiling::above_ceiling(round, environment),
            above_rotation(round, environment),
            bytes_missing(round, environment),
        ]
    };
    let checks = [
        other_io(round, environment),
        shared_path(round, environment),
        cpu_contention::cpu_bound(round),
        cpu_contention::held_by_others(round),
        stalled(round),
        working_set::small_working_set(round, environment),
        working_set::short_stroke_of(round, environment),
        // Requests that waited for a core do not overload the drive.
        rate_missed(round).filter(|_| !cpu_contention::others_set_the_pace(round)),
        rate_drop::too_hot(round, environment.warning_c),
    ];
    let about = environment.key(round);
    answered
        .into_iter()
        .chain(checks)
        .flatten()
        .map(|finding| finding.about(about.clone()))
        .collect()
}

fn found(id: FindingId, evidence: String, weight: f64) -> Option<Finding> {
    Some(Finding::new(id, evidence).weighing(weight))
}

fn above_rotation(round: &Round, environment: &Environment) -> Option<Finding> {
    let rev_per_s = environment.rpm? / 60.0;
    let load = round.load.as_ref().filter(|load| load.is_random_depth_one())?;
    let whole = load.span.end - load.span.start >= environment.capacity_bytes / 2;
    let (requests, elapsed_s) = (round.measured.recorder.ops as f64, round.measured.elapsed_s());
    let possible = !is_without_waits(requests, elapsed_s * rev_per_s);
    if load.mix.read_percent() < 100 || !whole || possible {
        return None;
    }
    let iops = round.measured.iops();
    let rpm = rev_per_s * 60.0;
    let evidence = format!("{}: {} reads/s at {rpm:.0} rpm", round.cell, rounded(iops));
    found(FindingId::AboveRotation, evidence, iops)
}

fn must_show(asked: f64, round: &Round) -> bool {
    let many = round.measured.recorder.ops >= COUNTED_MANY;
    asked > if many { COUNTED_MANY_BYTES } else { COUNTED_MIN_BYTES }
}

fn bytes_missing(round: &Round, environment: &Environment) -> Option<Finding> {
    let (read, written) = round.asked?;
    if environment.uncounted {
        return None;
    }
    if let Some(share) = environment.loop_cached_share.filter(|&share| share > LOOP_CACHED_MAX) {
        let share = share * 100.0;
        let evidence =
            format!("{}: {share:.0} % of the loop device's file is cached in memory", round.cell);
        return found(FindingId::PageCache, evidence, share);
    }
    // A loop device without direct I/O answers from the page cache of its file.
    let (counted, from_cache, on_the_way) = match round.below_loop {
        Some(below) => {
            (below, environment.loop_caches, " through a loop device, but the drive below")
        }
        None => (round.top?, !environment.direct, ", but the device"),
    };
    for (asked, seen, what) in
        [(read, counted.read_bytes, "read"), (written, counted.written_bytes, "written")]
    {
        if must_show(asked, round) && (seen as f64) < asked * SEEN_SHARE_MIN {
            let id = if from_cache { FindingId::PageCache } else { FindingId::BytesMissing };
            let missing = 1.0 - seen as f64 / asked;
            let (asked, seen) = (Bytes(asked as u64), Bytes(seen));
            let evidence = format!("{}: {asked} {what}{on_the_way} saw {seen}", round.cell);
            return found(id, evidence, missing);
        }
    }
    None
}

fn other_io(round: &Round, environment: &Environment) -> Option<Finding> {
    let (read, written) = round.asked?;
    // Where layers change the number of bytes on their way down, the uppermost device must do.
    let disk = round.disk.or(round.top)?;
    if !environment.direct {
        return None; // read-ahead and write-back of our own file look the same
    }
    let ours = read + written;
    let others_read = disk.read_bytes as f64 - read;
    let others_written = disk.written_bytes as f64 - written;
    // What such a file system writes is for our own requests, of this round or one before.
    let others = others_read + if environment.writes_its_own { 0.0 } else { others_written };
    let share = others / ours.max(1.0);
    (share > OTHER_SHARE && others > OTHER_MIN_BYTES).then(|| {
        let others = Bytes(others as u64);
        let evidence =
            format!("{}: the drive moved {others} more than drivescope asked for", round.cell);
        Finding::new(FindingId::OtherIo, evidence).weighing(share)
    })
}

/// A drive that asks for half of what it can get feels the others.
fn shared_path(round: &Round, environment: &Environment) -> Option<Finding> {
    let left = environment.shared_mb_s?;
    let rate = round.measured.mb_s();
    let (rate_shown, left_shown) = (rounded(rate), rounded(left));
    let evidence = format!("{}: {rate_shown} MB/s of {left_shown} left to this drive", round.cell);
    (rate >= left * SHARED_SHARE_MIN)
        .then(|| Finding::new(FindingId::SharedPath, evidence).weighing(rate))
}

fn stalled(round: &Round) -> Option<Finding> {
    // No drive is to blame for what stopped the program that asks it.
    let own_ns = round.measured.cpu_cost.still_ns;
    let recorder = &round.measured.recorder;
    let open = round.load.as_ref().is_some_and(|load| load.mode != LoopMode::Closed);
    // Nor does it answer what it is not asked: between the requests of an open loop nothing need be due.
    let asked_ns = if open { recorder.latencies.max() } else { u64::MAX };
    let gap = recorder.gap_max_ns.min(asked_ns).saturating_sub(own_ns);
    let evidence = || format!("{}: nothing completed for {:.1} s", round.cell, gap as f64 / 1e9);
    (gap > STALL_NS).then(|| Finding::new(FindingId::Stall, evidence()).weighing(gap as f64))
}

fn rate_missed(round: &Round) -> Option<Finding> {
    let Some(Load { mode: LoopMode::Open { rate, .. }, .. }) = round.load else { return None };
    let recorder = &round.measured.recorder;
    let undone = recorder.due.saturating_sub(recorder.ops - recorder.overdue);
    let share = undone as f64 / recorder.due.max(1) as f64;
    (share > LATE_SHARE_MAX && undone > LATE_MIN).then(|| {
        let [due, done] = [recorder.due, recorder.ops].map(|n| n as f64 / round.measured.elapsed_s());
        let evidence = format!(
            "{}: {} of {} requests ({:.0} %) were late at the end: target {}/s, due {}/s, completed {}/s",
            round.cell,
            whole(undone),
            whole(recorder.due),
            share * 100.0,
            rounded(rate),
            rounded(due),
            rounded(done),
        );
        Finding::new(FindingId::RateMissed, evidence).weighing(share)
    })
}

#[cfg(test)]
mod tests;
