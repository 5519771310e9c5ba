//! Each finding on a round whose truth is known: it fires where it must, and is silent on a healthy
//! drive.

use super::*;
use crate::judging::rate_drop::drop_of;
use crate::judging::round::{Cache, CoresTaken};
use crate::testing::{SECOND, round};
use drivescope_machine::counters::DeviceCounters;
use drivescope_model::cell::Mix;
use drivescope_model::document::Limiter;
use drivescope_model::options::Arrivals;
use std::ops::Range;

pub(super) fn environment() -> Environment {
    Environment {
        test: TestKind::Transfer,
        direct: true,
        memory_backed: false,
        file_system: true,
        unproven: false,
        writes_its_own: false,
        link_mb_s: Some(600.0),
        duplex: false,
        shared_mb_s: None,
        rpm: None,
        capacity_bytes: 1 << 40,
        whole_bytes: 1 << 40,
        loop_caches: false,
        has_holes: false,
        loop_cached_share: None,
        uncounted: false,
        warning_c: Some(80.0),
        memory_bytes: 16 << 30,
        memory_copy_mb_s: 10_000.0,
        memory_copy_again: || 0.0,
        cores: 1,
        generator_mb_s: 8_000.0,
        io_limits: None,
    }
}

fn others_had(others_ns: u64) -> CoresTaken {
    CoresTaken { others_ns, total_ns: 2 * SECOND, ..CoresTaken::default() }
}

fn reads(iops: u64) -> Round {
    round("rnd4k_q1t1.read", iops, 4096, Mix::READ)
}

fn writes(iops: u64) -> Round {
    round("rnd4k_q1t1.write", iops, 4096, Mix::WRITE)
}

fn stream(mib_s: u64) -> Round {
    round("seq1m_q8t1.read", mib_s, 1 << 20, Mix::READ)
}

fn over(span: Range<u64>, mut round: Round) -> Round {
    round.load.as_mut().unwrap().span = span;
    round
}

fn evidence_of(round: &Round) -> String {
    of_round(round, &environment()).remove(0).evidence
}

fn ids(round: &Round, environment: &Environment) -> Vec<FindingId> {
    of_round(round, environment).into_iter().map(|finding| finding.id).collect()
}

#[test]
fn a_healthy_drive_raises_nothing() {
    let healthy = stream(500);
    assert_eq!(ids(&healthy, &environment()), []);
    assert_eq!(limiter(&healthy, &environment()), Limiter::Drive);
}

/// Held back by the kernel, the device has little to do; the file system was blamed.
#[test]
fn control_group_limit_is_named_as_limiter() {
    fn of(iops: u64, bytes_s: [Option<u64>; 2], requests_s: [Option<u64>; 2]) -> Limiter {
        let mut held = round("rnd4k_q1t1.read", iops, 4096, Mix::READ);
        held.top.as_mut().unwrap().busy_ms = 50;
        let io_limits = Some(IoLimits { bytes_s, requests_s, ..IoLimits::default() });
        limiter(&held, &Environment { io_limits, ..environment() })
    }
    let none = [None, None];
    assert_eq!(of(1_900, none, [Some(2_000), None]), Limiter::ControlGroup);
    assert_eq!(of(1_900, none, [None, Some(2_000)]), Limiter::FileSystem, "a limit of writes");
    assert_eq!(of(1_900, none, [Some(9_000), None]), Limiter::FileSystem, "far from its limit");
    assert_eq!(of(2_400, [Some(10_000_000), None], none), Limiter::ControlGroup);
    assert_eq!(of(1_200, [Some(10_000_000), None], none), Limiter::FileSystem);
}

#[test]
fn a_rate_above_the_link_is_invalid() {
    let fast = stream(600);
    assert_eq!(ids(&fast, &environment()), [FindingId::AboveLink]);
    let slow = stream(560);
    assert_eq!(ids(&slow, &environment()), []);
    assert_eq!(limiter(&slow, &environment()), Limiter::Link);
}

#[test]
fn rate_above_memory_is_invalid_without_known_link() {
    let environment = Environment { link_mb_s: None, memory_copy_mb_s: 500.0, ..environment() };
    let fast = stream(600);
    assert_eq!(ids(&fast, &environment), [FindingId::AboveMemory]);
    // Through the page cache, as many cores copy as there are threads; direct I/O needs none of them.
    let two_cores = Environment { cores: 2, ..environment };
    assert_eq!(ids(&fast, &two_cores), []);
    let two_threads = round("seq1m_q8t2.read", 600, 1 << 20, Mix::READ);
    let buffered = Environment { direct: false, memory_bytes: 1, ..two_cores };
    assert_eq!(ids(&two_threads, &buffered), []);
    assert_eq!(ids(&fast, &buffered), [FindingId::AboveMemory]);
    let one_core = Environment { cores: 1, ..buffered };
    assert_eq!(ids(&two_threads, &one_core), [FindingId::AboveMemory]);
    // A slow copy at the start, on a busy machine, does not count against a target.
    let busy_at_the_start = Environment { memory_copy_again: || 700.0, ..one_core };
    assert_eq!(ids(&fast, &busy_at_the_start), []);
}

#[test]
fn rotation_bounds_reads_and_not_cached_writes() {
    let environment = Environment { rpm: Some(5_400.0), capacity_bytes: 1 << 40, ..environment() };
    let possible = reads(90);
    assert_eq!(ids(&possible, &environment), []);
    let impossible = reads(400);
    assert_eq!(ids(&impossible, &environment), [FindingId::AboveRotation]);
    // Nine of them in a round by chance, on a disk that turns 90 times a second.
    let lucky = reads(250);
    let mut few = lucky.clone();
    (few.measured.recorder.ops, few.measured.recorder.last_ns) = (9, SECOND + 36_000_000);
    assert_eq!(ids(&few, &environment), [], "{} reads/s", few.measured.iops());
    assert_eq!(ids(&lucky, &environment), [FindingId::AboveRotation]);
    let cached = writes(418);
    assert_eq!(ids(&cached, &environment), [], "every disk answers writes from its cache");
    // A span within the drive's reach of its cache, or a deep queue, may be faster.
    assert_eq!(ids(&over(0..1 << 34, reads(400)), &environment), []);
    assert_eq!(ids(&round("rnd4k_q32t1.read", 400, 4096, Mix::READ), &environment), []);
}

#[test]
fn bytes_that_never_reached_the_device_are_missed() {
    let mut cached = reads(10_000);
    cached.top = Some(DeviceCounters { read_bytes: 1 << 20, ..DeviceCounters::default() });
    assert_eq!(ids(&cached, &environment()), [FindingId::BytesMissing]);
    let buffered = Environment { direct: false, memory_bytes: 1 << 30, ..environment() };
    assert_eq!(ids(&cached, &buffered), [FindingId::PageCache]);
    cached.top = None;
    assert_eq!(ids(&cached, &environment()), [], "without counters nothing is claimed");
}

#[test]
fn loop_answering_from_memory_is_found_below_it() {
    let environment = Environment { loop_caches: true, memory_bytes: 1 << 30, ..environment() };
    let mut cached = reads(10_000);
    cached.disk = None;
    cached.below_loop = Some(DeviceCounters::default());
    assert_eq!(ids(&cached, &environment), [FindingId::PageCache]);
    assert_eq!(limiter(&cached, &environment), Limiter::Memory, "however busy the loop device was");
    cached.below_loop = cached.top;
    assert_eq!(ids(&cached, &environment), []);
    assert_eq!(limiter(&cached, &environment), Limiter::Drive);
    let in_memory = Environment { loop_cached_share: Some(0.98), ..environment };
    assert_eq!(ids(&cached, &in_memory), [FindingId::PageCache]);
    // A program's reads from a loop device that is busy while the drive below it is not.
    cached.cache = Cache::Reads;
    cached.below_loop = Some(DeviceCounters::default());
    assert_eq!(limiter(&cached, &in_memory), Limiter::Memory);
}

#[test]
fn limiter_is_not_the_drive_without_counters() {
    let mut hidden = stream(500);
    (hidden.top, hidden.disk) = (None, None);
    let unproven = Environment { unproven: true, link_mb_s: None, ..environment() };
    assert_eq!(limiter(&hidden, &unproven), Limiter::FileSystem);
    let known = limiter(&hidden, &environment());
    assert_eq!(known, Limiter::Drive, "a kernel file system takes it there");
    hidden.cache = Cache::SyncedWrites;
    assert_eq!(limiter(&hidden, &unproven), Limiter::FileSystem);
}

#[test]
fn answering_layer_is_named_as_limiter() {
    let mut cached = reads(10_000);
    cached.top.as_mut().unwrap().read_bytes = 1 << 20;
    assert_eq!(ids(&cached, &environment()), [FindingId::BytesMissing]);
    assert_eq!(limiter(&cached, &environment()), Limiter::FileSystem);
    let device = Environment { file_system: false, ..environment() };
    assert_eq!(limiter(&cached, &device), Limiter::Host);
    let buffered = Environment { direct: false, ..environment() };
    assert_eq!(limiter(&cached, &buffered), Limiter::Memory);
}

#[test]
fn file_system_writes_are_not_other_programs() {
    let mut synced = writes(107);
    synced.disk = Some(DeviceCounters { written_bytes: 20_100_000, ..DeviceCounters::default() });
    assert_eq!(ids(&synced, &environment()), [FindingId::OtherIo]);
    let btrfs = Environment { writes_its_own: true, ..environment() };
    assert_eq!(ids(&synced, &btrfs), []);
    synced.disk.as_mut().unwrap().read_bytes = 20_000_000;
    assert_eq!(ids(&synced, &btrfs), [FindingId::OtherIo], "we read nothing");
}

#[test]
fn direct_loop_device_is_not_called_cached() {
    let environment = || Environment { memory_bytes: 64 << 30, ..environment() };
    let mut past = over(0..1 << 34, reads(10_000));
    past.disk = None;
    past.below_loop = past.top;
    assert_eq!(ids(&past, &environment()), []);
    past.below_loop = Some(DeviceCounters::default());
    assert_eq!(ids(&past, &environment()), [FindingId::BytesMissing]);
    // Reads of holes, which the run names once, for all its numbers.
    assert_eq!(ids(&past, &Environment { has_holes: true, ..environment() }), []);
    let fast = stream(5_000);
    assert_eq!(ids(&fast, &Environment { has_holes: true, ..environment() }), []);
    past.below_loop = past.top;
    let cached = Environment { loop_caches: true, ..environment() };
    assert_eq!(ids(&past, &cached), [FindingId::SmallWorkingSet], "memory holds all of it");
}

#[test]
fn other_users_of_the_drive_are_seen() {
    fn counted(read_bytes: u64, written_bytes: u64) -> Option<DeviceCounters> {
        Some(DeviceCounters { read_bytes, written_bytes, ..DeviceCounters::default() })
    }
    let mut shared = reads(10_000);
    let ours = 10_000 * 4096;
    shared.disk = counted(ours, ours / 5);
    assert_eq!(ids(&shared, &environment()), [FindingId::OtherIo]);
    shared.disk = counted(ours + ours / 20, 0);
    assert_eq!(ids(&shared, &environment()), [], "five percent are the file system's own");
}

#[test]
fn a_busy_core_is_named() {
    let mut busy = round("rnd4k_q32t1.read", 100_000, 4096, Mix::READ);
    busy.measured.cpu_cost.busiest_cpu_ns = SECOND * 95 / 100;
    assert_eq!(ids(&busy, &environment()), [FindingId::CpuBound]);
    assert_eq!(limiter(&busy, &environment()), Limiter::Cpu);
    let mut writer = round("seq1m_q8t1.write", 5_000, 1 << 20, Mix::WRITE);
    writer.measured.cpu_cost.busiest_cpu_ns = SECOND;
    let no_link = Environment { link_mb_s: None, ..environment() };
    assert_eq!(limiter(&writer, &no_link), Limiter::Generator);
}

#[test]
fn stalls_and_small_spans_are_named() {
    let mut stalled = reads(90);
    stalled.measured.recorder.gap_max_ns = 2 * SECOND;
    assert_eq!(ids(&stalled, &environment()), [FindingId::Stall]);
    let small = over(0..64 << 20, reads(90));
    assert_eq!(ids(&small, &environment()), [FindingId::SmallWorkingSet]);
    let cached = Environment { loop_caches: true, ..environment() };
    assert_eq!(ids(&over(0..1 << 30, small), &cached), [FindingId::SmallWorkingSet]);
}

#[test]
fn span_within_disk_cache_is_reported() {
    let disk = Environment { rpm: Some(5_400.0), ..environment() };
    let mut part = over(0..10 << 20, reads(90));
    part.load.as_mut().unwrap().studies_span = true;
    assert_eq!(ids(&part, &disk), [FindingId::SmallWorkingSet]);
    assert_eq!(ids(&part, &environment()), [], "flash is as fast there");
    assert_eq!(ids(&over(0..10 << 30, part), &disk), [], "of a large drive it is a short seek");
}

#[test]
fn random_requests_in_a_corner_are_not_seeks() {
    fn corner() -> Environment {
        Environment { rpm: Some(7_200.0), whole_bytes: 1 << 30, ..environment() }
    }
    let small = over(0..1 << 30, reads(90));
    assert_eq!(ids(&small, &corner()), [FindingId::ShortStroke]);
    let evidence = of_round(&small, &corner()).remove(0).evidence;
    assert!(evidence.contains("1.07 GB of a rotating drive of 1.10 TB (0.0977 %)"), "{evidence}");
    assert_eq!(ids(&small, &Environment { rpm: None, ..corner() }), []);
    let fifth = Environment { whole_bytes: 200 << 30, ..corner() };
    assert_eq!(ids(&over(0..200 << 30, small), &fifth), []);
    assert_eq!(ids(&over(0..1 << 30, stream(90)), &corner()), []);
}

#[test]
fn an_open_loop_that_falls_behind_is_overload() {
    let mut open = reads(90);
    open.load.as_mut().unwrap().mode = LoopMode::Open { arrivals: Arrivals::Fixed, rate: 100.0 };
    open.measured.recorder.due = 100;
    assert_eq!(ids(&open, &environment()), [FindingId::RateMissed]);
    // Requests that had been due before are done as well, but they are not among these 100.
    for (overdue, late) in [(0, "10 of 100 requests (10 %)"), (40, "50 of 100 requests (50 %)")] {
        open.measured.recorder.overdue = overdue;
        let evidence = evidence_of(&open);
        let rates = "late at the end: target 100/s, due 100/s, completed 90.0/s";
        assert!(evidence.ends_with(&format!("{late} were {rates}")), "{evidence}");
    }
    // Others held the processors, and the drive waited for requests.
    let mut held = open.clone();
    held.measured.cpu_cost.wait_ns = Some(SECOND * 6 / 10);
    held.cores = Some(others_had(SECOND * 19 / 10));
    assert_eq!(ids(&held, &environment()), [FindingId::BusyProcessors, FindingId::RateMissed]);
    held.top.as_mut().unwrap().busy_ms = 100;
    assert_eq!(ids(&held, &environment()), [FindingId::BusyProcessors]);
    assert_eq!(limiter(&held, &environment()), Limiter::OtherPrograms);
    open.measured.recorder.overdue = 0;
    // Chance made fewer requests due than the rate says, and the last few are under way.
    open.measured.recorder.due = 95;
    assert_eq!(ids(&open, &environment()), []);
    assert_eq!(limiter(&open, &environment()), Limiter::Schedule);
}

#[test]
fn sparse_open_loop_is_not_a_stall() {
    let mut open = reads(90);
    let recorder = &mut open.measured.recorder;
    (recorder.due, recorder.gap_max_ns) = (90, 3 * SECOND);
    open.load.as_mut().unwrap().mode = LoopMode::Open { arrivals: Arrivals::Poisson, rate: 1.0 };
    assert_eq!(ids(&open, &environment()), [], "nothing was due in these seconds");
    open.measured.recorder.latencies.record(5 * SECOND / 2).unwrap();
    let found = of_round(&open, &environment());
    assert_eq!(found.iter().map(|f| f.id).collect::<Vec<_>>(), [FindingId::Stall]);
    assert!(found[0].evidence.ends_with("nothing completed for 2.5 s"), "{}", found[0].evidence);
    open.load.as_mut().unwrap().mode = LoopMode::Closed;
    assert_eq!(ids(&open, &environment()), [FindingId::Stall]);
}

#[test]
fn memory_says_so_once_and_not_per_round() {
    let environment = Environment { memory_backed: true, ..environment() };
    let fast = stream(20_000);
    assert_eq!(ids(&fast, &environment), []);
    assert_eq!(limiter(&fast, &environment), Limiter::Memory);
}

#[test]
fn through_page_cache_the_drive_limits_waiting_requests() {
    let mut cached = writes(1_000);
    let counted = |busy_ms, read_wait_ms, flush_wait_ms, written_bytes| {
        let other = DeviceCounters::default();
        Some(DeviceCounters { busy_ms, read_wait_ms, flush_wait_ms, written_bytes, ..other })
    };
    let mut of = |cache, counters| {
        (cached.cache, cached.top, cached.disk) = (cache, counters, counters);
        limiter(&cached, &environment())
    };
    assert_eq!(of(Cache::Reads, counted(0, 0, 0, 0)), Limiter::Memory);
    assert_eq!(of(Cache::Reads, counted(900, 900, 0, 0)), Limiter::Drive);
    // Written by another program during the round.
    assert_eq!(of(Cache::Writes, counted(900, 0, 0, 400_000)), Limiter::Memory);
    assert_eq!(of(Cache::Writes, counted(900, 0, 0, 4_000_000)), Limiter::Drive);
    assert_eq!(of(Cache::Writes, counted(900, 800, 0, 0)), Limiter::Drive);
    // The kernel counts a flush apart from the busy time.
    assert_eq!(of(Cache::SyncedWrites, counted(100, 0, 850, 8_000_000)), Limiter::Drive);
    assert_eq!(of(Cache::SyncedWrites, counted(100, 0, 50, 8_000_000)), Limiter::FileSystem);
    assert_eq!(of(Cache::SyncedWrites, None), Limiter::Drive);
    // What waited for a core and not for the drive is neither memory's pace nor the file system's.
    cached.measured.cpu_cost.wait_ns = Some(SECOND * 8 / 10);
    cached.cores = Some(others_had(SECOND * 18 / 10));
    for cache in [Cache::Reads, Cache::Writes, Cache::SyncedWrites] {
        for counters in [counted(100, 0, 50, 0), None] {
            (cached.cache, cached.top, cached.disk) = (cache, counters, counters);
            assert_eq!(limiter(&cached, &environment()), Limiter::OtherPrograms, "{cache:?}");
        }
    }
}

#[test]
fn an_idle_device_points_at_the_layers_above() {
    let mut idle = writes(1_000);
    idle.top.as_mut().unwrap().busy_ms = 100;
    assert_eq!(limiter(&idle, &environment()), Limiter::FileSystem);
    let device = Environment { file_system: false, ..environment() };
    assert_eq!(limiter(&idle, &device), Limiter::Host, "a block device has no file system");
}

#[test]
fn others_that_hold_the_processors_are_named() {
    let mut held = reads(1_000);
    held.measured.cpu_cost.wait_ns = Some(SECOND * 4 / 10);
    let busy = others_had(SECOND * 19 / 10);
    held.cores = Some(busy);
    assert_eq!(ids(&held, &environment()), [FindingId::BusyProcessors]);
    let evidence = evidence_of(&held);
    assert!(evidence.contains("40 %") && evidence.contains("95 % of all CPUs"), "{evidence}");
    assert_eq!(limiter(&held, &environment()), Limiter::Drive, "the device was busy for longer");
    held.top.as_mut().unwrap().busy_ms = 300;
    assert_eq!(limiter(&held, &environment()), Limiter::OtherPrograms);
    // The load's own threads wait for each other: no other program ran.
    held.cores = Some(CoresTaken { others_ns: SECOND / 10, ..busy });
    assert_eq!(ids(&held, &environment()), []);
    let mut stolen = reads(1_000);
    stolen.cores = Some(CoresTaken { others_ns: 0, steal_ns: SECOND / 2, ..busy });
    assert_eq!(ids(&stolen, &environment()), [FindingId::BusyProcessors]);
    let evidence = evidence_of(&stolen);
    assert_eq!(evidence, "rnd4k_q1t1.read: the hypervisor took 25 % of all CPUs");
}

#[test]
fn a_program_that_was_stopped_blames_no_drive() {
    let mut stopped = reads(1_000);
    // Three seconds of nothing, at the end of which the round was over: half of it has no requests.
    let recorder = &mut stopped.measured.recorder;
    recorder.gap_max_ns = 3 * SECOND;
    let half = recorder.intervals.len() / 2;
    recorder.intervals[half..].fill(Default::default());
    let cpu_cost = &mut stopped.measured.cpu_cost;
    (cpu_cost.wall_ns, cpu_cost.still_ns) = (4 * SECOND, 0);
    stopped.top.as_mut().unwrap().busy_ms = 250;
    stopped.window_s = 4.0;
    assert_eq!(ids(&stopped, &environment()), [FindingId::Stall]);
    stopped.measured.cpu_cost.still_ns = SECOND * 29 / 10;
    assert_eq!(ids(&stopped, &environment()), [FindingId::BusyProcessors]);
    assert_eq!(drop_of(&stopped), None);
    assert_eq!(limiter(&stopped, &environment()), Limiter::OtherPrograms);
    let evidence = evidence_of(&stopped);
    assert!(evidence.ends_with("drivescope itself was paused for 72 % of the round"), "{evidence}");
}

#[test]
fn duplex_links_carry_the_same_both_ways() {
    let mix: Mix = "mix70".parse().unwrap();
    // 720 MB/s in all, 504 of them read, over 600 MB/s each way.
    let both = round("seq1m_q8t1.mix70", 720, 1 << 20, mix);
    let rate = both.measured.mb_s();
    assert!((700.0..800.0).contains(&rate), "{rate}");
    assert_eq!(ids(&both, &environment()), [FindingId::AboveLink]);
    assert_eq!(ids(&both, &Environment { duplex: true, ..environment() }), []);
    let reads = stream(720);
    assert_eq!(ids(&reads, &Environment { duplex: true, ..environment() }), [FindingId::AboveLink]);
}

#[test]
fn unseen_small_requests_are_noticed() {
    // As `surface` reads single blocks: 0.8 MB in all.
    let mut small = reads(200);
    small.load = None;
    small.top.as_mut().unwrap().read_bytes = 0;
    assert_eq!(ids(&small, &environment()), [FindingId::BytesMissing]);
    let few = Round { asked: Some((12.0 * 4096.0, 0.0)), ..small };
    assert_eq!(ids(&few, &environment()), []);
}

#[test]
fn path_shared_with_other_drives_is_not_the_drives_fault() {
    fn of(shared_mb_s: Option<f64>) -> Vec<FindingId> {
        ids(&stream(200), &Environment { shared_mb_s, ..environment() })
    }
    let rate = stream(200).measured.mb_s();
    assert_eq!(of(None), []);
    assert_eq!(of(Some(rate * 1.1)), [FindingId::SharedPath]);
    assert_eq!(of(Some(rate * 3.0)), [], "the path carries three times as much");
}
