//! Whether the processors set the pace: because one was busy with the load, or because others held them.

use crate::results::Round;
use drivescope_model::findings::{Finding, FindingId};

/// A core this busy sets the pace.
const CPU_BUSY_SHARE: f64 = 0.85;
/// Waiting longer than this part of a round for a core shows in its numbers; so does a hypervisor that
/// takes more than this part of all cores.
const WAIT_SHARE_MAX: f64 = 0.10;

/// Share of the round in which the busiest thread ran.
fn busiest_share(round: &Round) -> f64 {
    let effort = &round.measured.effort;
    effort.busiest_cpu_ns as f64 / effort.wall_ns.max(1) as f64
}

/// Whether a core was busy with the load all the time.
pub(super) fn is_cpu_bound(round: &Round) -> bool {
    busiest_share(round) >= CPU_BUSY_SHARE
}

pub(super) fn cpu_bound(round: &Round) -> Option<Finding> {
    (is_cpu_bound(round) && !round.cached_on_purpose()).then(|| {
        let share = busiest_share(round) * 100.0;
        let evidence = format!("{}: one thread used {share:.0} % of a core", round.cell);
        Finding::new(FindingId::CpuBound, evidence).weighing(share)
    })
}

/// Share of the round in which a measuring thread waited for a core because of others. It cannot wait
/// longer for them than they ran; what is more is waiting for the load's own threads, which are no
/// others.
pub(super) fn waited_share(round: &Round) -> Option<f64> {
    let effort = &round.measured.effort;
    let wait_ns = effort.wait_ns?;
    let others_did_it = round.cores.is_none_or(|cores| cores.others_ns >= wait_ns);
    others_did_it.then(|| wait_ns as f64 / effort.wall_ns.max(1) as f64)
}

/// Share of the round in which nothing of the program ran.
fn still_share(round: &Round) -> f64 {
    let effort = &round.measured.effort;
    (effort.still_ns as f64 / effort.wall_ns.max(1) as f64).min(1.0)
}

/// What others had of the processors, of all of them or of the time of the thread that needed one: so much of a
/// rate may have been theirs.
pub(super) fn taken_share(round: &Round) -> f64 {
    let cores = round.cores.map_or(0.0, |cores| (cores.others_pct() + cores.steal_pct()) / 100.0);
    cores.max(waited_share(round).unwrap_or(0.0))
}

pub(super) fn held_by_others(round: &Round) -> Option<Finding> {
    let waited = waited_share(round).unwrap_or(0.0);
    let stolen = round.cores.map_or(0.0, |cores| cores.steal_pct() / 100.0);
    let still = still_share(round);
    let most = waited.max(stolen).max(still);
    if most <= WAIT_SHARE_MAX {
        return None;
    }
    let others = round.cores.map_or(0.0, |cores| cores.others_pct());
    // Only what there was of it: a part of nothing explains nothing.
    let parts = [
        (waited * 100.0, "a measuring thread waited for a core for {} % of the round"),
        (others, "other programs used {} % of all cores"),
        (stolen * 100.0, "the hypervisor took {} % of all cores"),
        (still * 100.0, "drivescope itself stood still for {} % of the round"),
    ];
    let said = parts.iter().filter(|(pct, _)| *pct >= 1.0);
    let said: Vec<String> =
        said.map(|(pct, text)| text.replace("{}", &format!("{pct:.0}"))).collect();
    let evidence = format!("{}: {}", round.cell, said.join("; "));
    Some(Finding::new(FindingId::BusyProcessors, evidence).weighing(most))
}

/// Whether waiting for a core, or standing still, took more of the round than the device was busy; more than
/// half of it where nobody knows how busy that was.
pub(super) fn others_set_the_pace(round: &Round) -> bool {
    const HALF: f64 = 0.5;
    let device = round.busy_pct().map_or(HALF, |pct| pct / 100.0);
    let held = waited_share(round).unwrap_or(0.0).max(still_share(round));
    held > WAIT_SHARE_MAX && held > device
}
