//! One run on one target: what workloads need from below.

mod checkpoint;
mod claim_recheck;
mod common_start;
mod device_failure;
mod phase_counters;
mod phases;
mod progress;
mod remaining_time;
mod restore_journal;
mod slow_rounds;
mod storage;
mod viewer;

pub use checkpoint::SaveCheckpoint;
pub use phase_counters::PhaseCounters;
pub use progress::Progress;
pub use restore_journal::RestoreJournal;
pub(crate) use storage::FilledDrive;
pub use viewer::ViewerRequests;

use crate::error::BenchError;
use crate::io::clock;
use crate::io::device::IoDevice;
use crate::judging::validity;
use crate::loops::control::Control;
use checkpoint::Checkpoints;
use common_start::CommonStart;
use drivescope_drive::Target;
use drivescope_drive::gate::RawDisk;
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_machine::Roots;
use drivescope_machine::limits::{self, IoLimits};
use drivescope_model::document::TestResult;
use drivescope_model::event::Event;
use drivescope_model::findings::Finding;
use drivescope_model::host::Calibration;
use drivescope_model::plan::{Engine, Plan, PlannedTest, Restores, WriteLevel};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Secs;
use remaining_time::RemainingTime;
use slow_rounds::RoundsOver;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;
use storage::Storage;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostFacts {
    pub memory_bytes: u64,
    pub cpus: u32,
    pub power_save: Option<String>,
}

pub struct Session<'a> {
    pub plan: &'a Plan,
    pub target: &'a Target,
    platform: Platform<'a>,
    /// Known before the first request.
    findings: Vec<Finding>,
    events: Sender<Event>,
    stop: Arc<AtomicBool>,
    viewer: ViewerRequests,
    start_ns: u64,
    pub(crate) storage: Storage,
    test: CurrentTest,
    /// Whether a slow drive may have a smaller test file and fewer rounds than planned.
    pub(crate) may_be_shortened: bool,
    /// Where before-images are kept while tests write patterns.
    restore_journal: Option<RestoreJournal<'a>>,
    /// Why no further test may run, once the device does not answer.
    device_gone: Option<String>,
    checkpoints: Checkpoints<'a>,
    common_start: CommonStart,
}

struct Platform<'a> {
    host: HostFacts,
    /// The tool's own cost; `None` where it bounds nothing.
    calibration: Option<&'a Calibration>,
    io_limits: Option<IoLimits>,
    /// What the path that drives share left to this one, if it was the limit.
    shared_mb_s: Option<f64>,
}

#[derive(Default)]
struct CurrentTest {
    start_ns: u64,
    paused_ns: Cell<u64>,
    expected_s: f64,
    /// How it writes, and where if that is put back.
    writes: Option<WriteLevel>,
    restores: Option<Restores>,
    round_requests: Option<u64>,
    earlier: Option<TestResult>,
    remaining: RemainingTime,
    rounds_over: Cell<Option<RoundsOver>>,
    /// When the results of its rounds were last reported, in real time.
    reported_ns: Cell<u64>,
    engines: RefCell<BTreeMap<String, Option<Engine>>>,
}

impl<'a> Session<'a> {
    /// `stop` is raised by signals; every phase then drains and ends.
    pub fn new(
        plan: &'a Plan,
        target: &'a Target,
        calibration: Option<&'a Calibration>,
        host: HostFacts,
        events: Sender<Event>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let simulated = target.simulated().cloned();
        Self {
            plan,
            target,
            findings: validity::of_target(target, host.power_save.clone()),
            platform: Platform {
                host,
                calibration,
                io_limits: limits::io_limits(&Roots::host(), &target.info().stack),
                shared_mb_s: None,
            },
            events,
            stop,
            viewer: ViewerRequests::default(),
            start_ns: simulated.as_ref().map_or_else(clock::now_ns, |drive| drive.now()),
            storage: Storage::new(simulated),
            test: CurrentTest::default(),
            may_be_shortened: false,
            restore_journal: None,
            device_gone: None,
            checkpoints: Checkpoints::default(),
            common_start: CommonStart::default(),
        }
    }

    pub(crate) fn begin(&mut self, planned: &PlannedTest, earlier: Option<TestResult>) {
        self.emit(Event::TestStarted { test: planned.test, seconds: planned.cost.seconds });
        self.viewer.begin();
        self.test = CurrentTest {
            start_ns: self.now_ns(),
            expected_s: planned.cost.seconds,
            writes: Some(planned.writes),
            restores: planned.restores.clone(),
            round_requests: planned.round_requests,
            earlier,
            ..CurrentTest::default()
        };
        self.checkpoints.begin(self.test.start_ns);
    }

    /// Since the test in progress began, without pauses.
    pub(crate) fn test_elapsed_s(&self) -> f64 {
        (self.now_ns() - self.test.start_ns - self.test.paused_ns.get()) as f64 / 1e9
    }

    /// As planned, of the test in progress.
    pub(crate) fn expected_s(&self) -> f64 {
        self.test.expected_s
    }

    /// `save` stores what a long test has found so far: see [`Session::checkpoint`].
    pub fn with_checkpoints(mut self, save: SaveCheckpoint<'a>) -> Self {
        self.checkpoints = Checkpoints::of(save);
        self
    }

    pub(crate) fn round_requests(&self) -> Option<u64> {
        self.test.round_requests
    }

    pub fn earlier(&self) -> Option<&TestResult> {
        self.test.earlier.as_ref()
    }

    /// With a claimed block device, which tests may write as it was claimed for. The claim lasts until the session
    /// is closed.
    pub fn with_claim(mut self, disk: RawDisk) -> Self {
        self.storage.claimed = disk.level();
        self.storage.claim = Some(disk);
        self
    }

    /// Other drives are measured meanwhile, and what they share left this much to this one when all read at once.
    pub fn with_shared_path(mut self, mb_s: Option<f64>) -> Self {
        self.platform.shared_mb_s = mb_s;
        self
    }

    pub fn with_restore_journal(mut self, journal: RestoreJournal<'a>) -> Self {
        self.restore_journal = Some(journal);
        self
    }

    pub fn writes(&self) -> WriteLevel {
        self.test.writes.unwrap_or(WriteLevel::Read)
    }

    /// The part of a block device that the test in progress writes and puts back.
    pub fn restore_area(&self) -> Option<Range<u64>> {
        let restores = self.test.restores.as_ref()?;
        Some(restores.from_bytes..restores.from_bytes + restores.area_bytes)
    }

    /// Whether the target may be written, a block device at this level.
    pub fn may_write(&self, level: WriteLevel) -> bool {
        match self.target.info().kind {
            TargetKind::Directory | TargetKind::Simulated => true,
            TargetKind::File => false,
            TargetKind::Block => self.storage.claimed >= level,
        }
    }

    /// Known before the first request; for the whole run.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The device, if a test has opened it.
    pub fn opened(&self) -> Option<&IoDevice> {
        self.storage.device.as_ref()
    }

    /// The simulated drive in use, or the file on one.
    pub fn simulated(&self) -> Option<&SimulatedDrive> {
        self.storage.simulated.as_deref()
    }

    /// Real, or a simulated drive's own.
    pub fn now_ns(&self) -> u64 {
        self.storage.simulated.as_ref().map_or_else(clock::now_ns, |drive| drive.now())
    }

    /// Whether requests bypass the page cache; true until a device is open.
    pub fn is_direct(&self) -> bool {
        self.storage.device.as_ref().is_none_or(IoDevice::is_direct)
    }

    /// Since the run began.
    pub fn elapsed_s(&self) -> f64 {
        (self.now_ns() - self.start_ns) as f64 / 1e9
    }

    /// Whether the run was asked to stop, or the test in progress is to be skipped.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.viewer.skips()
    }

    pub(crate) fn pass_stop_on(&self, control: &Control) {
        if self.stopped() {
            control.stop();
        }
    }

    /// Whether the test in progress was skipped, and the run continues.
    pub(crate) fn is_skipped(&self) -> bool {
        self.viewer.skips() && !self.stop.load(Ordering::Relaxed)
    }

    /// Between phases. Errors: the run was asked to stop, or the target may not be written any more. Here a run
    /// pauses if its viewer wants that.
    pub fn check_stop(&self) -> Result<(), BenchError> {
        self.wait_while_paused();
        self.check_claim()?;
        if self.stopped() { Err(BenchError::Interrupted) } else { Ok(()) }
    }

    pub fn emit(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Waits between phases, or until the run is to end.
    pub fn pause(&self, length: Secs) -> Result<(), BenchError> {
        if let Some(drive) = &self.storage.simulated {
            drive.idle_until(drive.now() + length.nanos());
            return self.check_stop();
        }
        let until = clock::now_ns() + length.nanos();
        while clock::now_ns() < until {
            self.check_stop()?;
            let left = Duration::from_nanos(until.saturating_sub(clock::now_ns()));
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        self.check_stop()
    }

    pub fn device(&self) -> &IoDevice {
        self.storage.device.as_ref().expect("the runner opened the target")
    }

    /// Why no further test may run, if so.
    pub(crate) fn ended_by(&self) -> Option<&str> {
        self.lost().or(self.device_gone.as_deref())
    }

    /// Removes the scratch files; an error says if that fails.
    pub fn close(mut self) -> Result<(), BenchError> {
        self.storage.device = None;
        self.storage.folder.take().map_or(Ok(()), |folder| Ok(folder.remove()?))
    }
}
