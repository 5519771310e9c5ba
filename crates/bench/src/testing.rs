//! A drive in virtual time whose truth is known, for tests of the loops; and whole tests on simulated
//! drives.

use crate::io::cpu_usage::CpuCost;
use crate::io::offsets::Offsets;
use crate::io::payload::Payload;
use crate::io::queue::{IoCompletion, IoQueue, IoRequest};
use crate::io::recorder::Recorder;
use crate::io::request_sizes::RequestSizes;
use crate::judging::round::{Cache, CoresTaken, Round};
use crate::loops::closed::{ClosedLoop, send_together};
use crate::loops::control::Control;
use crate::loops::phase::{Load, PhaseResult};
use crate::plan::expected_speed::ExpectedSpeed;
use crate::plan::plan_context::PlanContext;
use crate::runner::Runner;
use crate::session::{HostFacts, Session};
use crate::{planner, suites};
use drivescope_drive::{IoFile, OwnFolder, Target};
use drivescope_machine::Roots;
use drivescope_machine::counters::DeviceCounters;
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::document::{Limiter, TestResult, TestStatus};
use drivescope_model::drive::Drive;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::{Engine, Plan, PlannedTest, WriteLevel};
use drivescope_model::target::TargetInfo;
use drivescope_model::units::{Bytes, Secs};
use std::borrow::Borrow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use tempfile::{NamedTempFile, TempDir};

pub const SECOND: u64 = 1_000_000_000;

/// In CI and in the soak; elsewhere tests do a part that a newcomer waits for.
pub fn is_thorough() -> bool {
    std::env::var_os("DRIVESCOPE_TESTS_THOROUGH").is_some_and(|value| !value.is_empty())
}

/// Every `nth` of many cases, or each of them in CI.
pub fn every<T>(nth: usize, all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().step_by(if is_thorough() { 1 } else { nth })
}

/// Serves up to `servers` requests at a time; `service` gives each one's time from its start.
pub struct VirtualQueue<F> {
    slots: u32,
    servers: usize,
    service: F,
    now_ns: u64,
    busy_until: Vec<u64>,
    flying: Vec<(u64, IoCompletion)>,
    /// Σ requests in flight × time: the true depth.
    depth_integral: f64,
    pub depth_max: usize,
    unsent: usize,
    /// The most requests that were submitted together.
    pub batch_max: usize,
    pub served: Vec<IoRequest>,
}

impl<F: FnMut(&IoRequest, u64) -> Result<u64, i32>> VirtualQueue<F> {
    pub fn new(slots: u32, servers: usize, service: F) -> Self {
        let busy_until = vec![0; servers];
        Self {
            slots,
            servers,
            service,
            now_ns: 0,
            busy_until,
            flying: Vec::new(),
            depth_integral: 0.0,
            depth_max: 0,
            unsent: 0,
            batch_max: 0,
            served: Vec::new(),
        }
    }

    pub fn depth_mean(&self) -> f64 {
        self.depth_integral / self.now_ns as f64
    }

    fn hand_over(&mut self) {
        self.batch_max = self.batch_max.max(std::mem::take(&mut self.unsent));
    }

    fn advance(&mut self, to_ns: u64) {
        self.depth_integral += self.flying.len() as f64 * (to_ns - self.now_ns) as f64;
        self.now_ns = to_ns;
    }

    fn take_due(&mut self, done: &mut Vec<IoCompletion>) {
        let now = self.now_ns;
        done.extend(self.flying.extract_if(.., |(at, _)| *at <= now).map(|(_, c)| c));
    }
}

impl<F: FnMut(&IoRequest, u64) -> Result<u64, i32>> IoQueue for VirtualQueue<F> {
    fn slots(&self) -> u32 {
        self.slots
    }
    fn buffer(&mut self, _slot: u16) -> &mut [u8] {
        &mut []
    }
    fn submit(&mut self, request: IoRequest) {
        let server = (0..self.servers).min_by_key(|&i| self.busy_until[i]).unwrap();
        let start = self.busy_until[server].max(self.now_ns);
        let (end, result) = match (self.service)(&request, start) {
            Ok(ns) => (start + ns, request.len as i32),
            Err(errno) => (start + 1, -errno),
        };
        self.busy_until[server] = end;
        self.served.push(request);
        self.unsent += 1;
        self.flying.push((end, IoCompletion { slot: request.slot, result }));
        self.depth_max = self.depth_max.max(self.flying.len());
    }
    fn kick(&mut self) -> io::Result<()> {
        self.hand_over();
        Ok(())
    }
    fn wait_until(&mut self, at_ns: u64, done: &mut Vec<IoCompletion>) -> io::Result<()> {
        self.hand_over();
        let first = self.flying.iter().map(|(at, _)| *at).min().unwrap_or(u64::MAX);
        let to_ns = first.min(at_ns).max(self.now_ns);
        assert!(to_ns < u64::MAX, "nothing in flight is waited for");
        self.advance(to_ns);
        self.take_due(done);
        Ok(())
    }
    fn now(&self) -> u64 {
        self.now_ns
    }
}

/// On a target such as `sim:wd20ears` or a directory.
pub fn run_on(target: impl AsRef<Path>, suite: Suite) -> TestResult {
    run_at(&run_target(target), suite, 1, false)
}

/// A simulated drive keeps its contents as long as this is kept.
pub fn run_target(target: impl AsRef<Path>) -> Target {
    Target::find(target.as_ref(), &Roots::host()).unwrap()
}

pub fn whole_plan(target: &Target, suite: Suite, seed: u64) -> Plan {
    planner::plan(suite, seed, Engine::Sim, target, false, WriteLevel::Read).unwrap()
}

pub fn plan_of(target: &Target, suite: Suite) -> PlannedTest {
    whole_plan(target, suite, 1).tests.remove(0)
}

pub fn skip_of(target: &Target, suite: Suite) -> Option<String> {
    let draft = planner::draft(suite, 1, Engine::Sim, target, false, WriteLevel::Read);
    draft.unwrap().tests.remove(0).skip
}

/// Everything may be overwritten.
pub fn plan_context<'a>(
    suite: &'a Suite,
    target: &'a TargetInfo,
    drive: &'a Drive,
) -> PlanContext<'a> {
    PlanContext {
        round_requests_max: None,
        suite,
        target,
        typical: ExpectedSpeed::typical(Some(drive)),
        is_slow: false,
        fastest: None,
        span_bytes: target.size_bytes,
        room_bytes: 0,
        allowed: WriteLevel::Destroy,
        drive: Some(drive),
        zoned: drive.zoned,
    }
}

/// On a target that was found before, with other offsets and data, or with a stop from the beginning on.
pub fn run_at(target: &Target, suite: Suite, seed: u64, stop: bool) -> TestResult {
    run_behind(None, target, suite, seed, stop)
}

/// Continues a result that was stopped.
pub fn run_behind(
    earlier: Option<TestResult>,
    target: &Target,
    suite: Suite,
    seed: u64,
    stop: bool,
) -> TestResult {
    let plan = whole_plan(target, suite, seed);
    with_session(target, &plan, stop, |session| {
        let mut runner = Runner::new(session).with_earlier(earlier);
        let result = runner.run_test(&plan.tests[0]);
        runner.close().unwrap();
        result
    })
}

/// One after the other in one session.
pub fn run_all(target: &Target, suite: Suite) -> Vec<TestResult> {
    let plan = whole_plan(target, suite, 1);
    with_session(target, &plan, false, |session| {
        let mut runner = Runner::new(session);
        let results = plan.tests.iter().map(|planned| runner.run_test(planned)).collect();
        runner.close().unwrap();
        results
    })
}

pub fn with_session<T>(
    target: &Target,
    plan: &Plan,
    stop: bool,
    work: impl FnOnce(Session<'_>) -> T,
) -> T {
    let (events, _listener) = channel();
    let stop = Arc::new(AtomicBool::new(stop));
    work(Session::new(plan, target, None, HostFacts::default(), events, stop))
}

/// On the disk that the program is built on.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

/// A file, with the folders that must outlive it.
pub struct ScratchFile {
    _folder: OwnFolder,
    dir: TempDir,
}

impl ScratchFile {
    pub fn new(bytes: u64) -> (Self, IoFile) {
        let dir = scratch();
        let mut folder = OwnFolder::create(dir.path(), "test").unwrap();
        let file = folder.create_file("data", Bytes(bytes)).unwrap();
        (Self { _folder: folder, dir }, file)
    }

    pub fn contents(&self) -> Vec<u8> {
        let folder = std::fs::read_dir(self.dir.path()).unwrap().next().unwrap().unwrap();
        std::fs::read(folder.path().join("data")).unwrap()
    }
}

/// A model of a drive as a file, which is a target as long as it is kept, and that target's name.
pub fn model_file(toml: &str) -> (NamedTempFile, String) {
    let mut file = NamedTempFile::with_suffix(".toml").unwrap();
    file.write_all(toml.as_bytes()).unwrap();
    let target = format!("sim:{}", file.path().display());
    (file, target)
}

/// A built-in model with some of its lines changed, each the only one that begins so.
pub fn changed_model(model: &str, lines: &[(&str, &str)]) -> (NamedTempFile, String) {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models/");
    let text = std::fs::read_to_string(format!("{models}{model}.toml")).unwrap();
    for (line, _) in lines {
        assert_eq!(text.lines().filter(|read| read.starts_with(line)).count(), 1, "{line}");
    }
    let put = |read: &str| {
        let to = lines.iter().find(|(line, _)| read.starts_with(line));
        format!("{}\n", to.map_or(read, |(_, to)| to))
    };
    model_file(&text.lines().map(put).collect::<String>())
}

/// Everything else at its default.
pub fn suite_of(test: TestKind) -> Suite {
    Suite { tests: vec![test], ..suites::find("quick", None).unwrap() }
}

#[track_caller]
pub fn done<R: Borrow<TestResult>>(result: R) -> R {
    let TestResult { status, reason, .. } = result.borrow();
    assert_eq!(*status, TestStatus::Done, "{reason:?}");
    result
}

pub fn finding(result: &TestResult, id: FindingId) -> Option<&Finding> {
    result.findings.iter().find(|finding| finding.id == id)
}

pub fn has(result: &TestResult, id: FindingId) -> bool {
    finding(result, id).is_some()
}

pub fn value(result: &TestResult, key: &str) -> Option<f64> {
    result.metrics.iter().find(|metric| metric.key == key).map(|metric| metric.value)
}

pub fn points(result: &TestResult, key: &str) -> Vec<(f64, f64)> {
    let series = result.series.iter().find(|series| series.key == key).unwrap();
    series.x.iter().copied().zip(series.y.iter().copied()).collect()
}

/// One second of a closed loop.
pub fn load(shape: Shape, mix: Mix) -> Load {
    Load { time: Secs(1.0), pass: 1, ..Load::closed(shape, mix, 0..1 << 40, 1) }
}

/// One second, 4 KiB.
pub fn random_reads(depth: u32, seed: u64, control: &Control) -> ClosedLoop<'_> {
    ClosedLoop {
        depth,
        send_together: send_together(depth, false),
        sizes: RequestSizes::new(&Shape::plain(Order::Rnd, Bytes(4096), depth), seed),
        offsets: Offsets::new(Order::Rnd, 0..1 << 30, 4096, Mix::READ, 0.0, seed),
        payload: Payload::new(1, 1),
        think_ns: 0,
        ramp_ns: 0,
        time_ns: SECOND,
        ops_max: u64::MAX,
        control,
    }
}

/// One second at `iops` requests of `block` bytes, seen in full by the device.
pub fn round(cell: &str, iops: u64, block: u64, mix: Mix) -> Round {
    let mut recorder = Recorder::new(SECOND);
    recorder.start(SECOND);
    for i in 1..=iops {
        recorder.complete(SECOND + i * SECOND / iops, SECOND / iops, block);
    }
    recorder.requests = iops;
    let bytes = iops * block;
    let reads = u64::from(mix.read_percent()) * bytes / 100;
    let seen = DeviceCounters {
        read_bytes: reads,
        written_bytes: bytes - reads,
        busy_ms: 990,
        ..Default::default()
    };
    let shape: Shape = cell.split('.').next().unwrap().parse().unwrap();
    Round {
        cell: cell.to_string(),
        round: 1,
        start_s: 0.0,
        window_s: 1.0,
        measured: PhaseResult {
            recorder,
            cpu_cost: CpuCost {
                busiest_cpu_ns: SECOND / 10,
                wait_ns: Some(SECOND / 100),
                wall_ns: SECOND,
                ..CpuCost::default()
            },
            engine: None,
        },
        load: Some(load(shape, mix)),
        asked: Some((reads as f64, (bytes - reads) as f64)),
        top: Some(seen),
        disk: Some(seen),
        below_loop: None,
        cores: Some(CoresTaken {
            others_ns: SECOND / 20,
            steal_ns: 0,
            total_ns: 2 * SECOND,
            ..CoresTaken::default()
        }),
        temperature_c: None,
        limiter: Limiter::Drive,
        cache: Cache::Past,
        is_cut_short: false,
        own_metrics: false,
        own_limiter: None,
        counts: "iops",
        extra: Vec::new(),
    }
}
