//! Whether the processors set the pace: because one was busy with the load, or because others held them.

use crate::judging::round::{CoresTaken, Round};
use drivescope_model::findings::{Finding, FindingId};

const CPU_BUSY_SHARE: f64 = 0.85;
/// More waiting for a core, or more of all cores taken by a hypervisor, shows in a round's numbers.
const WAIT_SHARE_MAX: f64 = 0.10;
/// With this share of all cores taken by others, none is free when a load needs it.
const TAKEN_PCT: f64 = 75.0;
/// A device less busy than this was waiting for what is above it.
pub(crate) const DEVICE_IDLE_PCT: f64 = 50.0;

fn busiest_share(round: &Round) -> f64 {
    let cpu_cost = &round.measured.cpu_cost;
    cpu_cost.busiest_cpu_ns as f64 / cpu_cost.wall_ns.max(1) as f64
}

pub(crate) fn is_cpu_bound(round: &Round) -> bool {
    busiest_share(round) >= CPU_BUSY_SHARE
}

pub(crate) fn cpu_bound(round: &Round) -> Option<Finding> {
    (is_cpu_bound(round) && !round.cached_on_purpose()).then(|| {
        let share = busiest_share(round) * 100.0;
        let evidence = format!("{}: one thread used {share:.0} % of a CPU", round.cell);
        Finding::new(FindingId::CpuBound, evidence).weighing(share)
    })
}

/// Share of the round in which a measuring thread waited for a core because of others: no longer than others ran,
/// since the rest is waiting for the load's own threads.
fn waited_share(round: &Round) -> Option<f64> {
    let cpu_cost = &round.measured.cpu_cost;
    let wait_ns = cpu_cost.wait_ns?;
    let others_did_it = round.cores.is_none_or(|cores| cores.others_ns >= wait_ns);
    others_did_it.then(|| wait_ns as f64 / cpu_cost.wall_ns.max(1) as f64)
}

/// Share of the round in which the whole program stood.
fn still_share(round: &Round) -> f64 {
    let cpu_cost = &round.measured.cpu_cost;
    (cpu_cost.still_ns as f64 / cpu_cost.wall_ns.max(1) as f64).min(1.0)
}

/// Share of a rate that others may have taken: of all processors, or of the time of the thread that needed one.
pub(crate) fn taken_share(round: &Round) -> f64 {
    let cores = round.cores.map_or(0.0, |cores| (cores.others_pct() + cores.steal_pct()) / 100.0);
    cores.max(waited_share(round).unwrap_or(0.0))
}

pub(crate) fn held_by_others(round: &Round) -> Option<Finding> {
    let waited = waited_share(round).unwrap_or(0.0);
    let stolen = round.cores.map_or(0.0, |cores| cores.steal_pct() / 100.0);
    let still = still_share(round);
    let others = round.cores.map_or(0.0, |cores| cores.others_pct());
    let starved = if starved_of_cores(round) { others / 100.0 } else { 0.0 };
    let most = waited.max(stolen).max(still).max(starved);
    if most <= WAIT_SHARE_MAX {
        return None;
    }
    // Only what explains it, not a hundredth of the round.
    let parts = [
        (waited * 100.0, "CPU busy: timing unreliable for {} % of the round"),
        (others, "other programs used {} % of all CPUs"),
        (stolen * 100.0, "the hypervisor took {} % of all CPUs"),
        (still * 100.0, "drivescope itself was paused for {} % of the round"),
    ];
    let said = parts.iter().filter(|(pct, _)| *pct >= WAIT_SHARE_MAX * 100.0);
    let said: Vec<String> =
        said.map(|(pct, text)| text.replace("{}", &format!("{pct:.0}"))).collect();
    let evidence = format!("{}: {}", round.cell, said.join("; "));
    Some(Finding::new(FindingId::BusyProcessors, evidence).weighing(most))
}

/// Whether other programs left no core to what serves requests, while the device had little to do. A flush, a
/// checksum or a loop device is work of kernel threads, whose waiting for a core shows nowhere. Where they took the
/// cores themselves, most of that time is the kernel's, and no other program is to blame.
fn starved_of_cores(round: &Round) -> bool {
    let is_taken = |cores: CoresTaken| {
        cores.others_pct() + cores.steal_pct() >= TAKEN_PCT
            && cores.programs_ns * 2 > cores.others_ns
    };
    round.cores.is_some_and(is_taken) && round.busy_pct().is_some_and(|pct| pct < DEVICE_IDLE_PCT)
}

/// Whether waiting for a core, or standing, took more of the round than the device was busy (more than half, where
/// that is unknown); or no core was left for the device.
pub(crate) fn others_set_the_pace(round: &Round) -> bool {
    const HALF: f64 = 0.5;
    let device = round.busy_pct().map_or(HALF, |pct| pct / 100.0);
    let held = waited_share(round).unwrap_or(0.0).max(still_share(round));
    (held > WAIT_SHARE_MAX && held > device) || starved_of_cores(round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SECOND, round};
    use drivescope_machine::counters::DeviceCounters;
    use drivescope_model::cell::Mix;

    /// A flush waits for a thread of the kernel, which waited behind compilers: the file system was blamed.
    #[test]
    fn programs_starving_kernel_threads_are_the_limiter() {
        fn busy(busy_ms: u64) -> Option<DeviceCounters> {
            Some(DeviceCounters { busy_ms, ..DeviceCounters::default() })
        }
        fn taken(others_pct: u64, programs_pct: u64) -> Option<CoresTaken> {
            let of = |pct: u64| 2 * SECOND * pct / 100;
            let (others_ns, programs_ns) = (of(others_pct), of(programs_pct));
            Some(CoresTaken { others_ns, programs_ns, steal_ns: 0, total_ns: 2 * SECOND })
        }
        let mut starved = round("rnd4k_q1t1.write", 100, 4096, Mix::WRITE);
        (starved.top, starved.cores) = (busy(300), taken(97, 85));
        assert!(others_set_the_pace(&starved));
        // A warning leaves out a wait of a hundredth of the round.
        starved.measured.cpu_cost.wait_ns = Some(SECOND / 100);
        let evidence = held_by_others(&starved).unwrap().evidence;
        assert_eq!(evidence, "rnd4k_q1t1.write: other programs used 97 % of all CPUs");
        starved.top = busy(600);
        assert!(!others_set_the_pace(&starved), "the device was busy");
        assert_eq!(held_by_others(&starved), None);
        starved.top = busy(300);
        // One core was free; or the kernel encrypts what is written; or a program serves the file system.
        let served = taken(97, 85).map(CoresTaken::by_the_file_system);
        for cores in [taken(55, 50), taken(97, 20), served, None] {
            starved.cores = cores;
            assert!(!others_set_the_pace(&starved), "{cores:?}");
        }
    }
}
