//! `steady` on drives of known truth: rates that follow what was written or the time, and flash that cleans up.

use super::*;
use crate::io::device::IoDevice;
use crate::testing::{
    changed_model, done, finding, has, plan_of, points, run_at, run_on, run_target, skip_of,
    suite_of, value, whole_plan, with_session,
};
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_model::document::TestResult;
use drivescope_model::findings::FindingId;

use drivescope_model::options::TrackedFigure;
use drivescope_model::target::IoMode;
use drivescope_model::units::Secs;
use drivescope_sim::device::{
    Nanos, RequestKind, SimCompletion, SimDevice, SimOutcome, SimRequest,
};
use std::collections::VecDeque;
use std::sync::Arc;

const MIB: u64 = 1 << 20;
const CELL: &str = "rnd4k_q4t1.write";
/// Length of a round.
const ROUND_S: f64 = 0.25;

/// Serves one request after the other; the time of a page depends on the bytes since the last TRIM and on the time.
struct ShapedDrive {
    capacity: u64,
    page_ns: fn(u64, f64) -> f64,
    written: u64,
    busy_until: Nanos,
    flying: VecDeque<SimCompletion>,
}

impl SimDevice for ShapedDrive {
    fn capacity_bytes(&self) -> u64 {
        self.capacity
    }
    fn sector_bytes(&self) -> u32 {
        512
    }
    fn submit(&mut self, now: Nanos, request: SimRequest) {
        let start = self.busy_until.max(now);
        let pages = request.len as f64 / 4096.0;
        let ns = match request.op {
            RequestKind::Read | RequestKind::Write => {
                pages * (self.page_ns)(self.written, start as f64 / 1e9)
            }
            RequestKind::Flush | RequestKind::Trim => 1_000.0,
        };
        match request.op {
            RequestKind::Write => self.written += request.len,
            RequestKind::Trim => self.written = 0,
            _ => {}
        }
        self.busy_until = start + ns as Nanos;
        let (id, at, outcome) = (request.id, self.busy_until, SimOutcome::Done);
        self.flying.push_back(SimCompletion { id, at, outcome });
    }
    fn next_completion(&mut self) -> Option<Nanos> {
        self.flying.front().map(|completion| completion.at)
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<SimCompletion>) {
        while self.flying.front().is_some_and(|completion| completion.at <= to) {
            done.extend(self.flying.pop_front());
        }
    }
    fn live_bytes(&self) -> Option<u64> {
        Some(self.capacity)
    }
}

fn suite(change: impl FnOnce(&mut SteadyOptions)) -> Suite {
    let mut suite = suite_of(TestKind::Steady);
    suite.simulated_requests = 0;
    suite.steady.cells = vec![CELL.parse().unwrap()];
    (suite.steady.passes, suite.steady.time) = (1, Secs(ROUND_S));
    change(&mut suite.steady);
    suite
}

/// The result of `suite` on a drive of 32 MiB.
fn run_shaped(page_ns: fn(u64, f64) -> f64, suite: Suite) -> TestResult {
    let target = run_target("sim:kioxia-bg4-128");
    let plan = whole_plan(&target, suite, 1);
    let flying = VecDeque::new();
    let device = ShapedDrive { capacity: 32 * MIB, page_ns, written: 0, busy_until: 0, flying };
    let drive = Arc::new(SimulatedDrive::new(Box::new(device)));
    with_session(&target, &plan, false, |mut session| {
        session.storage.device = Some(IoDevice::simulated(Arc::clone(&drive), IoMode::Direct));
        session.storage.simulated = Some(drive);
        session.begin(&plan.tests[0], None);
        let mut record = TestRecord::new(TestKind::Steady);
        let end = SteadyWorkload.run(&mut session, &mut record);
        let mut result = record.finish(3);
        result.reason = end.err().map(|error| error.to_string());
        result
    })
}

fn of_window(result: &TestResult) -> (f64, f64) {
    let of = |quantity: &str| value(result, &format!("steady.window.{quantity}")).unwrap();
    (of("first_round"), of("last_round"))
}

fn iops(result: &TestResult) -> f64 {
    value(result, &format!("steady.{CELL}.iops")).unwrap()
}

/// A page takes 100 µs: 10,000 writes/s.
const FLAT_NS: f64 = 100_000.0;

/// Drives of known truth, with what must be found of them.
#[test]
fn drive_is_steady_only_for_the_right_reason() {
    fn from_purge(options: &mut SteadyOptions) {
        (options.passes, options.window_volume, options.rounds_max) = (0, 1.0, 200);
    }
    // Flat: the first five rounds, at its rate.
    let flat = run_shaped(|_, _| FLAT_NS, suite(|_| ()));
    assert_eq!(flat.reason, None);
    assert_eq!(of_window(&flat), (1.0, 5.0));
    assert!((iops(&flat) / 10_000.0 - 1.0).abs() < 0.01 && !has(&flat, FindingId::NotSteady));
    assert_eq!(value(&flat, "steady.precondition.written_bytes"), Some((32 * MIB) as f64));
    // Drifts by 4 % from round to round, without an end: never steady, and the reason is given.
    let drift = run_shaped(|_, s| FLAT_NS * (0.04 / ROUND_S * s).exp(), suite(|_| ()));
    let told = &finding(&drift, FindingId::NotSteady).unwrap().evidence;
    assert!(told.contains("not after 25 rounds") && told.contains("fall by 1"), "{told}");
    assert_eq!(of_window(&drift), (21.0, 25.0));
    assert!(!has(&drift, FindingId::SlowWhenSteady), "it never is");
    // A saw tooth of three rounds: no drift, and not steady either.
    let saw = |_, s: f64| FLAT_NS * [1.0, 1.4, 1.9][(s / ROUND_S) as usize % 3];
    let saw = run_shaped(saw, suite(|_| ()));
    assert!(has(&saw, FindingId::NotSteady));
    assert!(value(&saw, &format!("steady.{CELL}.range_ratio")).unwrap() > 0.4);
    // A fast cache of half the drive, from a purge on: its flat rate is not taken for the drive's.
    let cache = |written, _: f64| if written < 16 * MIB { FLAT_NS / 10.0 } else { FLAT_NS };
    let ended = run_shaped(cache, suite(from_purge));
    assert!((iops(&ended) / 10_000.0 - 1.0).abs() < 0.01, "{}", iops(&ended));
    assert!(has(&ended, FindingId::SlowWhenSteady) && !has(&ended, FindingId::NotSteady));
    let written = points(&ended, "steady.rounds.written_bytes");
    assert!(written[of_window(&ended).0 as usize - 2].1 >= (32 * MIB) as f64);
    assert!(written[written.len() - 1].1 >= (64 * MIB) as f64);
    // Cleaning that begins when everything was written 1.3 times: the window reaches beyond.
    let late = |written, _: f64| if written < 42 * MIB { FLAT_NS / 4.0 } else { FLAT_NS };
    let late = run_shaped(late, suite(from_purge));
    assert!((iops(&late) / 10_000.0 - 1.0).abs() < 0.01, "{}", iops(&late));
}

#[test]
fn rounds_end_at_volume_and_can_track_latency() {
    fn latency(options: &mut SteadyOptions) {
        options.figure = TrackedFigure::MeanLatency;
        options.cells =
            ["rnd4k_q1t1.write", "rnd4k_q1t1.read"].map(|it| it.parse().unwrap()).into();
        options.tracking = vec!["rnd4k_q1t1.write".parse().unwrap()];
    }
    let bounded = |options: &mut SteadyOptions| {
        (options.passes, options.volume_max, options.rounds_max) = (0, 2.0, 500);
        options.window_volume = 1.0;
    };
    let drift = run_shaped(|written, _| FLAT_NS * (1.0 + written as f64 / 2e7), suite(bounded));
    let written = points(&drift, "steady.rounds.written_bytes");
    let all = written[written.len() - 1].1 / (32 * MIB) as f64;
    assert!((2.0..2.4).contains(&all) && has(&drift, FindingId::NotSteady), "{all}");
    let flat = run_shaped(|_, _| FLAT_NS, suite(latency));
    let mean = value(&flat, "steady.rnd4k_q1t1.write.lat_mean_us").unwrap();
    assert!((mean / 100.0 - 1.0).abs() < 0.01, "{mean}");
    assert!(value(&flat, "steady.rnd4k_q1t1.read.range_ratio").is_none(), "not tracked");
}

/// Of flash with 256 MiB and 7 % to spare.
const SMALL_FLASH: [(&str, &str); 4] = [
    ("capacity_bytes", "capacity_bytes = 268435456"),
    ("channels", "channels = 2"),
    ("pages_per_block", "pages_per_block = 16"),
    ("size_kib", "size_kib = 512"),
];

/// Purged flash is as fast as its chips until its blocks are used up, and then cleans up for every write. The truth is
/// the rate of a window that is so long that it begins with what no shorter one has reached.
#[test]
fn flash_is_steady_at_its_cleaning_rate() {
    const WRITES: &str = "rnd4k_q32t1.write";
    let (_file, name) = changed_model("laptop-ssd-2015", &SMALL_FLASH);
    let run = |volume: f64| {
        let suite = suite(|options| {
            options.cells = vec![WRITES.parse().unwrap()];
            (options.passes, options.window_volume, options.rounds_max) = (0, volume, 600);
        });
        let result = done(run_on(&name, suite));
        assert!(!has(&result, FindingId::NotSteady), "{:?}", result.findings);
        result
    };
    let found = run(1.0);
    let rates = points(&found, &format!("steady.{WRITES}.round_iops"));
    let rate = value(&found, &format!("steady.{WRITES}.iops")).unwrap();
    assert!(rates[0].1 > 2.0 * rate, "{} and {rate}", rates[0].1);
    assert!(has(&found, FindingId::SlowWhenSteady));
    assert!(found.reason.as_ref().unwrap().contains("purged: TRIM of 268 MB"));
    let longer = run(4.0);
    let rates = points(&longer, &format!("steady.{WRITES}.round_iops"));
    let last = &rates[rates.len() - 20..];
    let truth = last.iter().map(|(_, rate)| rate).sum::<f64>() / last.len() as f64;
    assert!((rate / truth - 1.0).abs() < 0.1, "{rate} for {truth}");
}

/// Before the reserve of flash is used up each round is as fast as the first: level, and not steady.
#[test]
fn shortened_rounds_call_no_fresh_flash_steady() {
    fn told(requests: u64) -> (Option<String>, Option<f64>) {
        let mut suite = suite(|options| {
            options.cells = vec!["rnd4k_q32t1.write".parse().unwrap()];
            (options.passes, options.window_volume, options.rounds_max) = (1, 0.0, 25);
        });
        (suite.simulated_requests, suite.span) = (25 * requests, Bytes(1024 * MIB));
        let result = run_on("sim:samsung-870evo-1tb", suite);
        let evidence = finding(&result, FindingId::NotSteady).map(|it| it.evidence.clone());
        (evidence, value(&result, "steady.window.last_round"))
    }
    // 51 MB in all rounds, and a tenth of the span is 107 MB.
    let (few, last) = told(500);
    let few = few.expect("51 MB do not use up the reserve");
    assert!(few.contains("too little to say"), "{few}");
    assert_eq!(last, Some(5.0), "more rounds would not help");
    // 8.2 MB a round.
    let (many, last) = told(2_000);
    assert_eq!((many, last), (None, Some(14.0)));
}

/// Rounds of an interrupted run are part of the curve, not of the window: the drive has had a rest.
#[test]
fn rounds_resume_where_they_were_interrupted() {
    let target = run_target("sim:kioxia-bg4-128");
    let suite = || {
        let mut suite = suite(|options| options.time = Secs(0.02));
        suite.span = Bytes(64 * MIB);
        suite
    };
    let first = run_at(&target, suite(), 1, false);
    let count = points(&first, "steady.rounds.written_bytes").len();
    // A simulated drive keeps no contents that could be checked: what follows begins after that.
    let prepared = Prepared::by(Some(&first));
    assert_eq!(prepared.bytes, 64 * MIB);
    let names = vec![CELL.to_string()];
    let log = round_log::RoundLog::new(names, Some(&first));
    assert_eq!((log.len(), log.earlier), (count, count));
}

#[test]
fn plans_show_written_volume_and_end() {
    let planned = plan_of(&run_target("sim:kioxia-bg4-128"), suite(|_| ()));
    assert_eq!((planned.skip, planned.writes), (None, WriteLevel::Destroy));
    assert!(planned.at_most.unwrap().contains("first 5 of 25 rounds"));
    let too_large = suite(|options| options.cells = vec!["rnd64m_q1t1.write".parse().unwrap()]);
    let too_large = Suite { span: Bytes(64 * MIB), ..too_large };
    let skip = skip_of(&run_target("sim:kioxia-bg4-128"), too_large).unwrap();
    assert!(skip.contains("needs 1 GiB or more"), "{skip}");
    for (change, word) in [
        ((|options| options.rounds_max = 4) as fn(&mut SteadyOptions), "5 to 3000 rounds"),
        (|options| options.tracking = vec!["rnd4k_q1t1.read".parse().unwrap()], "not among"),
        (|options| options.cells.push(CELL.parse().unwrap()), "twice"),
        (|options| options.cells = vec!["rnd4k_q1t1.sync".parse().unwrap()], "flushed writes"),
        (|options| options.volume_max = -1.0, "between 0 and"),
        (
            |options| {
                options.passes = 0;
                options.cells = vec!["rnd4k_q1t1.read".parse().unwrap()];
            },
            "must have been written once",
        ),
    ] {
        let message = SteadyWorkload.check(&suite(change)).unwrap_err();
        assert!(message.contains(word), "{message}");
    }
}

/// Degrading, steady and recovering: what the traces see of a drive that slows down with what was written since its
/// last pause. Stretches are short, and the traces few.
#[test]
fn sequence_shows_how_a_drive_degrades_and_recovers() {
    let mut suite = suite(|options| {
        options.sequence = SteadySequence::Consistency;
        options.time = Secs(0.2);
    });
    suite.span = Bytes(256 * MIB);
    suite.apps.traces = vec!["excel".to_string()];
    suite.apps.think_max = Some(Secs(0.0));
    let result = done(run_on("sim:kioxia-bg4-128", suite));
    assert_eq!(points(&result, "steady.pass.busy_mb_s").len(), 18);
    for (stage, passes) in [("degrade", 8), ("steady", 5), ("recover", 5)] {
        let key = format!("steady.{stage}.busy_mb_s");
        let metric = result.metrics.iter().find(|metric| metric.key == key).unwrap();
        assert_eq!(metric.rounds.len(), passes);
        assert!(value(&result, &format!("steady.{stage}.kept_ratio")).unwrap() > 0.0);
    }
    assert!(value(&result, "steady.steady.range_ratio").is_some());
    let waits = result.metrics.iter().find(|it| it.key == "steady.excel.busy_s").unwrap();
    assert_eq!(waits.rounds.len(), 18);
    let is_written = |cell: &str| ["degrade", "steady"].contains(&cell);
    let writes = result.phases.iter().filter(|phase| is_written(&phase.cell));
    let seconds: Vec<f64> = writes.map(|phase| phase.elapsed_s).collect();
    assert_eq!(seconds.len(), 13);
    assert!((seconds[7] / seconds[0] / 4.5 - 1.0).abs() < 0.1, "{seconds:?}");
}
