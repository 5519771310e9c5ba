//! What held a round back.

use super::processors::{is_cpu_bound, others_set_the_pace};
use super::{Facts, rate_missed};
use crate::phase::Pace;
use crate::results::Round;
use drivescope_model::document::Limiter;

/// A link this full sets the pace.
const LINK_FULL_SHARE: f64 = 0.90;
/// A device less busy than this was waiting for the layers above it.
const DEVICE_IDLE_PCT: f64 = 50.0;

/// Through the page cache on purpose: the drive's pace where it was busy with it, and memory's otherwise.
/// What waited for the drive each time and did not keep it busy waited for the layer between.
fn through_the_cache(round: &Round) -> Limiter {
    match round.device_share() {
        Some(share) if share * 100.0 >= DEVICE_IDLE_PCT => Limiter::Drive,
        Some(_) if round.each_synced => Limiter::FileSystem,
        None if round.each_synced => Limiter::Drive,
        _ => Limiter::Memory,
    }
}

/// What held a round back; throttling is told from all rounds of a cell, in [`crate::results`].
pub fn limiter(round: &Round, facts: &Facts) -> Limiter {
    let rate = round.measured.mb_s();
    let writes = round.load.as_ref().is_some_and(|load| load.mix.writes());
    let open = round.load.as_ref().is_some_and(|load| load.pace != Pace::Closed);
    if facts.memory_backed {
        Limiter::Memory
    } else if round.cached_on_purpose {
        through_the_cache(round)
    } else if facts.link_mb_s.is_some_and(|link| rate > link * LINK_FULL_SHARE) {
        Limiter::Link
    } else if is_cpu_bound(round) {
        let making_data = writes && rate > facts.generator_mb_s / 2.0;
        if making_data { Limiter::Generator } else { Limiter::Cpu }
    } else if open && rate_missed(round).is_none() {
        Limiter::Schedule
    } else if others_set_the_pace(round) {
        Limiter::OtherPrograms
    } else if round.busy_pct().is_some_and(|busy| busy < DEVICE_IDLE_PCT) {
        if facts.file_system { Limiter::FileSystem } else { Limiter::Host }
    } else {
        Limiter::Drive
    }
}
