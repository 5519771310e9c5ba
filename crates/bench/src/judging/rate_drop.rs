//! Why a rate fell within the rounds of a cell. A cache is filled by writes alone, once a round, and leaves a
//! steady rate; heat comes with time, stays, and slows reads as well.

use crate::io::recorder::STALL_NS;
use crate::judging::cpu_contention;
use crate::judging::round::{Cache, Round};
use crate::loops::phase::LoopMode;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::units::Bytes;
use drivescope_stats::lasting_drop::{LastingDrop, lasting_drop};
use drivescope_stats::summary;

/// Mean requests per rate within a round.
const DROP_REQUESTS_MIN: f64 = 16.0;
/// After a full cache the rate stays within this share; heat continues to slow the drive.
const FLAT_SHARE: f64 = 0.8;
/// Reads that keep less than this share from first to last round were slowed by something other than a write cache.
const READS_KEPT_SHARE: f64 = 0.75;
/// No disk has a larger buffer.
const DISK_BUFFER_BYTES: u64 = 256 << 20;
/// Random reads, one at a time, slower than this come from a medium that turns: 15,000 rpm give about 300 per
/// second over a small span, the slowest flash gives thousands.
const MECHANICAL_IOPS: f64 = 400.0;

/// A lasting drop of the rate within the round; its index counts the round's intervals. `None` for rounds with
/// failed requests or threads that waited for a core. Intervals are joined until each has requests enough for a
/// rate: of three or four, one more or less is a quarter.
pub fn drop_of(round: &Round) -> Option<LastingDrop> {
    let recorder = &round.measured.recorder;
    if round.cached_on_purpose()
        || recorder.errors > 0
        || cpu_contention::held_by_others(round).is_some()
    {
        return None;
    }
    let mut rates = round.rates_mb_s();
    // A silence has a finding of its own: the rest is judged without it.
    if recorder.gap_max_ns > STALL_NS {
        rates.truncate(longest_silence(&rates));
    }
    let each = recorder.ops as f64 / rates.len().max(1) as f64;
    let together = (DROP_REQUESTS_MIN / each.max(0.01)).ceil().max(1.0) as usize;
    let bins = rates.chunks_exact(together).map(|bin| bin.iter().sum::<f64>() / together as f64);
    let drop = lasting_drop(&bins.collect::<Vec<f64>>())?;
    // What others had of the processors may come and go, and the rate with it.
    (drop.share > cpu_contention::taken_share(round))
        .then(|| LastingDrop { at_index: drop.at_index * together, ..drop })
}

fn longest_silence(rates: &[f64]) -> usize {
    let (mut longest, mut found, mut since) = (0, rates.len(), 0);
    for (index, &rate) in rates.iter().enumerate() {
        if rate > 0.0 {
            since = index + 1;
        } else if index + 1 - since > longest {
            (longest, found) = (index + 1 - since, since);
        }
    }
    found
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropCause {
    /// [`FindingId::CacheFull`] or [`FindingId::Throttled`].
    pub id: FindingId,
    /// Added to the evidence.
    pub sign: String,
}

/// Judges the drops of `cell` among the rounds of a test. `None` for a disk (`rotates`: heat does not change its
/// rate) whose buffer memory was full, as every disk's is at times.
pub fn cause(rounds: &[Round], cell: &str, rotates: bool) -> Option<DropCause> {
    let fallen: Vec<_> = rounds
        .iter()
        .filter(|round| round.cell == cell)
        .filter_map(|round| Some((round, drop_of(round)?)))
        .collect();
    if fallen.iter().any(|(round, _)| !writes(round)) {
        return throttled("reads fill no cache");
    }
    let before = |at: usize, round: &Round| {
        let seconds = round.measured.recorder.interval_ns as f64 / 1e9;
        round.rates_mb_s()[..at].iter().sum::<f64>() * seconds * 1e6
    };
    let written: Vec<f64> =
        fallen.iter().map(|(round, drop)| before(drop.at_index, round)).collect();
    let written = summary::median(&written).unwrap_or(0.0) as u64;
    let full =
        DropCause { id: FindingId::CacheFull, sign: format!("after {} written", Bytes(written)) };
    if rotates || is_mechanical(rounds) {
        (written > DISK_BUFFER_BYTES).then_some(full)
    } else if rounds.iter().any(|round| !writes(round) && drop_of(round).is_some()) {
        throttled("reads of this test slowed as well")
    } else if reads_slowed(rounds) {
        throttled("later reads of this test are slower than the first")
    } else if !fallen.iter().all(|(round, drop)| is_flat(&round.rates_mb_s()[drop.at_index..])) {
        throttled("and it kept falling")
    } else {
        Some(full)
    }
}

fn throttled(sign: &str) -> Option<DropCause> {
    Some(DropCause { id: FindingId::Throttled, sign: sign.to_string() })
}

/// Bytes written when the rate of a cell of writes fell for good, from one round to another: no more than `spread`
/// apart before and after, and no reads of the test slowed.
pub fn full_between_rounds(
    rounds: &[Round],
    cell: &str,
    spread: f64,
    rotates: bool,
) -> Option<u64> {
    let of_cell = || rounds.iter().filter(|round| round.cell == cell);
    let rates: Vec<f64> = of_cell().map(|round| round.measured.mb_s()).collect();
    let is_level = |rates: &[f64]| {
        let ends = summary::min(rates).zip(summary::max(rates));
        ends.is_some_and(|(low, high)| high - low <= spread * high)
    };
    let fall = (1..rates.len()).find(|&at| {
        let (before, after) = rates.split_at(at);
        is_level(before) && is_level(after) && after[0] < before[at - 1] * (1.0 - spread)
    })?;
    let fallen = of_cell().nth(fall)?.round;
    let is_flash = !rotates && !is_mechanical(rounds);
    let is_written = writes(of_cell().next()?) && is_flash && !reads_slowed(rounds);
    let earlier = rounds.iter().filter(|round| round.round < fallen && writes(round));
    is_written.then(|| earlier.map(|round| round.measured.recorder.bytes).sum())
}

/// At or above its warning temperature a drive may have been slow from the start, so that no rate falls.
pub fn too_hot(round: &Round, warning_c: Option<f64>) -> Option<Finding> {
    let (celsius, warning_c) = round.temperature_c.zip(warning_c)?;
    (celsius >= warning_c).then(|| {
        let cell = &round.cell;
        let evidence = format!(
            "{cell}: {celsius:.0} °C at the end; the drive's warning level is {warning_c:.0} °C"
        );
        Finding::new(FindingId::Throttled, evidence)
    })
}

/// Whether small random reads, one at a time, take as long as only a medium that turns makes them.
pub fn is_mechanical(rounds: &[Round]) -> bool {
    rounds.iter().any(|round| {
        let load = round.load.as_ref().filter(|load| load.is_random_depth_one());
        let reads =
            load.is_some_and(|load| load.mix.read_percent() == 100 && load.shape.think_us == 0);
        reads && round.measured.iops() < MECHANICAL_IOPS
    })
}

/// By its load or, without one, by the bytes asked of the drive.
fn writes(round: &Round) -> bool {
    let cached = matches!(round.cache, Cache::Writes | Cache::SyncedWrites);
    let one_by_one = || cached || round.asked.is_some_and(|(read, written)| written > read);
    round.load.as_ref().map_or_else(one_by_one, |load| load.mix.writes())
}

fn is_flat(rates: &[f64]) -> bool {
    let (first, second) = rates.split_at(rates.len() / 2);
    match (summary::median(first), summary::median(second)) {
        (Some(first), Some(second)) => second >= FLAT_SHARE * first,
        _ => true,
    }
}

fn reads_slowed(rounds: &[Round]) -> bool {
    let closed = |round: &&Round| {
        !writes(round) && round.load.as_ref().is_some_and(|load| load.mode == LoopMode::Closed)
    };
    rounds.iter().filter(closed).any(|first| {
        let last = rounds.iter().rfind(|round| round.cell == first.cell);
        let kept = |last: &Round| last.measured.mb_s() / first.measured.mb_s();
        first.round == 1 && last.is_some_and(|last| kept(last) < READS_KEPT_SHARE)
    })
}

#[cfg(test)]
mod tests;
