//! One run on one target: what tests share, and the way they report.

mod checkpoint;
mod guard;
mod keeping;
mod phases;
mod watch;
mod work;

pub use checkpoint::Keeper;
pub use keeping::Keeping;
pub use watch::{Progress, Watch};

use crate::device::Device;
use crate::error::BenchError;
use crate::results::TestRecord;
use crate::{blank, clock, layout, validity};
use checkpoint::Checkpoints;
use drivescope_drive::gate::RawDisk;
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_drive::{ErrorKind, IoFile, OwnFolder, Target};
use drivescope_machine::Roots;
use drivescope_machine::limits::{self, IoLimits};
use drivescope_model::document::{TestResult, TestStatus};
use drivescope_model::event::Event;
use drivescope_model::findings::Finding;
use drivescope_model::host::Calibration;
use drivescope_model::options::TestKind;
use drivescope_model::plan::{Engine, Plan, PlannedTest, Restores, WriteLevel};
use drivescope_model::resume::ResumePoint;
use drivescope_model::target::{FileSystem, IoMode, TargetKind};
use drivescope_model::units::{Bytes, Secs};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;
use work::Work;

/// Name of the one test file in a directory target.
const DATA_FILE: &str = "data";

/// What a session needs to know about the machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostFacts {
    /// Memory, which bounds the page cache.
    pub memory_bytes: u64,
    /// Processors online.
    pub cpus: u32,
    /// Evidence of a slow governor or battery.
    pub power_save: Option<String>,
}

/// A run in progress.
pub struct Session<'a> {
    /// What is to be run.
    pub plan: &'a Plan,
    /// On what.
    pub target: &'a Target,
    /// The tool's own cost.
    pub calibration: &'a Calibration,
    events: Sender<Event>,
    stop: Arc<AtomicBool>,
    start_ns: u64,
    memory_bytes: u64,
    cpus: u32,
    /// What control groups allow.
    io_limits: Option<IoLimits>,
    /// What is known of the target before the first request.
    findings: Vec<Finding>,
    /// The claim of a block device that may be written, until it is opened.
    claim: Option<RawDisk>,
    /// What it was claimed for.
    claimed: WriteLevel,
    /// Where originals are kept while tests write patterns.
    keeping: Option<Keeping<'a>>,
    device: Option<Device>,
    /// Behind the device, whose file must be closed before its folder goes.
    folder: Option<OwnFolder>,
    /// The simulated drive in use, whose clock is the session's: the target, or a file on one like it.
    simulated: Option<Arc<SimulatedDrive>>,
    pass: u64,
    test: TestClock,
    work: Work,
    guard: guard::Guard,
    checkpoints: Checkpoints<'a>,
    earlier: Option<TestResult>,
    /// The gravest of what ended tests before their end.
    failure: Option<ErrorKind>,
    /// What there is to say of a block device that holds little.
    blank: Option<String>,
}

/// How far the test in progress is.
#[derive(Debug, Default)]
struct TestClock {
    start_ns: u64,
    expected_s: f64,
    /// How it writes, and where if that is put back.
    writes: Option<WriteLevel>,
    restores: Option<Restores>,
}

impl<'a> Session<'a> {
    /// A session. `stop` is raised by signals; every phase then drains and ends.
    pub fn new(
        plan: &'a Plan,
        target: &'a Target,
        calibration: &'a Calibration,
        host: HostFacts,
        events: Sender<Event>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            plan,
            target,
            calibration,
            events,
            stop,
            start_ns: target.simulated().map_or_else(clock::now_ns, |drive| drive.now()),
            memory_bytes: host.memory_bytes,
            cpus: host.cpus,
            io_limits: limits::io_limits(&Roots::host(), &target.info().stack),
            findings: validity::of_target(target, host.power_save),
            folder: None,
            claim: None,
            claimed: WriteLevel::Read,
            keeping: None,
            device: None,
            simulated: target.simulated().cloned(),
            pass: 0,
            test: TestClock::default(),
            work: Work::default(),
            guard: guard::Guard::default(),
            checkpoints: Checkpoints::default(),
            earlier: None,
            failure: None,
            blank: None,
        }
    }

    /// The same with somebody who keeps what a long test has found so far: see [`Session::checkpoint`].
    pub fn with_keeper(mut self, keeper: Keeper<'a>) -> Self {
        self.checkpoints = Checkpoints::of(keeper);
        self
    }

    /// The same with the result of a test that was ended before its end, which its test here goes on with.
    pub fn with_earlier(mut self, earlier: Option<TestResult>) -> Self {
        self.earlier = earlier;
        self
    }

    /// What the run that this one goes on with has of a test.
    pub fn earlier(&self, test: TestKind) -> Option<&TestResult> {
        self.earlier.as_ref().filter(|result| result.test == test)
    }

    /// The same with a claimed block device, which tests may write as it was claimed for. The claim lasts
    /// until the session is closed.
    pub fn with_claim(mut self, disk: RawDisk) -> Self {
        self.claimed = disk.level();
        self.claim = Some(disk);
        self
    }

    /// The same with a place for the originals of what tests overwrite.
    pub fn with_keeping(mut self, keeping: Keeping<'a>) -> Self {
        self.keeping = Some(keeping);
        self
    }

    /// How the test in progress writes, as it was planned.
    pub fn writes(&self) -> WriteLevel {
        self.test.writes.unwrap_or(WriteLevel::Read)
    }

    /// The part of a block device that the test in progress writes and puts back.
    pub fn area(&self) -> Option<Range<u64>> {
        let restores = self.test.restores.as_ref()?;
        Some(restores.from_bytes..restores.from_bytes + restores.area_bytes)
    }

    /// Whether the target may be written, a block device at this level.
    pub fn may_write(&self, level: WriteLevel) -> bool {
        match self.target.info().kind {
            TargetKind::Directory | TargetKind::Simulated => true,
            TargetKind::File => false,
            TargetKind::Block => self.claimed >= level,
        }
    }

    /// What is known of the target before the first request: findings of the whole run.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The device as it was opened, if a test has opened it.
    pub fn opened(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// The simulated drive in use, or the file on one.
    pub fn simulated(&self) -> Option<&SimulatedDrive> {
        self.simulated.as_deref()
    }

    /// The time of the target: real, or a simulated drive's own.
    pub fn now_ns(&self) -> u64 {
        self.simulated.as_ref().map_or_else(clock::now_ns, |drive| drive.now())
    }

    /// Runs one test to its end, whatever that is.
    pub fn run_test(&mut self, planned: &PlannedTest) -> TestResult {
        if let Some(reason) = &planned.skip {
            return TestResult::empty(planned.test, TestStatus::Skipped, Some(reason.clone()));
        }
        if let Some(reason) = self.lost() {
            let reason = Some(reason.to_string());
            return TestResult::empty(planned.test, TestStatus::Skipped, reason);
        }
        self.emit(Event::TestStarted { test: planned.test, seconds: planned.cost.seconds });
        self.test = TestClock {
            start_ns: self.now_ns(),
            expected_s: planned.cost.seconds,
            writes: Some(planned.writes),
            restores: planned.restores.clone(),
        };
        self.work.clear();
        self.checkpoints.begin(self.test.start_ns);
        let mut record = TestRecord::new(planned.test);
        record.rotates(self.target.drive().is_some_and(|drive| drive.rpm > Some(1)));
        let workload = crate::workloads::find(planned.test);
        let end = workload.run(self, &mut record);
        let end = self.put_back(end).map_err(|error| error.on(self.plan.engine));
        self.leave_simulated_file();
        if let Some(evidence) = self.blank.as_ref().filter(|_| workload.reads_existing_data()) {
            blank::notice(&mut record, evidence);
        }
        let mut remarks = [planned.omitted.as_slice(), record.remarks()].concat();
        let mut result = record.finish(self.plan.suite.rounds);
        result.elapsed_s = (self.now_ns() - self.test.start_ns) as f64 / 1e9;
        (result.status, result.reason) = match end {
            Ok(()) => (TestStatus::Done, None),
            Err(BenchError::Interrupted) => (TestStatus::Interrupted, None),
            Err(BenchError::Unsuitable(why)) => (TestStatus::Skipped, Some(why)),
            Err(error) => {
                let kind = error.kind(self.target.info().kind);
                self.failure = self.failure.max(Some(kind));
                result.findings.extend(validity::of_error(&error, self.target.info().kind));
                (TestStatus::Failed, Some(failed(&error, result.resume)))
            }
        };
        if result.reason.is_none() {
            remarks.extend(result.resume.map(|point| point.to_string()));
            result.reason = Some(remarks.join("; ")).filter(|reason| !reason.is_empty());
        }
        result.mark_invalid(&self.findings);
        self.emit(Event::TestFinished(Box::new(result.clone())));
        result
    }

    /// What the tests failed of that failed: the gravest.
    pub fn failure(&self) -> Option<ErrorKind> {
        self.failure
    }

    /// Whether requests bypass the page cache; true until a device is open.
    pub fn is_direct(&self) -> bool {
        self.device.as_ref().is_none_or(Device::is_direct)
    }

    /// Memory of the host, which bounds its page cache.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// What the control groups of this program allow on the devices below.
    pub fn io_limits(&self) -> Option<&IoLimits> {
        self.io_limits.as_ref()
    }

    /// Processors online, at least one.
    pub fn cores(&self) -> u32 {
        self.cpus.max(1)
    }

    /// Seconds since the run began.
    pub fn elapsed_s(&self) -> f64 {
        (self.now_ns() - self.start_ns) as f64 / 1e9
    }

    /// Whether the run was asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the test if the run was asked to stop, or the target may not be written any more.
    pub fn check_stop(&self) -> Result<(), BenchError> {
        self.check_guard()?;
        if self.stopped() { Err(BenchError::Interrupted) } else { Ok(()) }
    }

    /// Tells the listeners; nobody listening is no error.
    pub fn emit(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Waits between phases, or until the run is asked to stop.
    pub fn pause(&self, length: Secs) -> Result<(), BenchError> {
        if let Some(drive) = &self.simulated {
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

    /// Opens what tests read and, in a directory, write: the target itself, or the data file of the
    /// session's own folder, made and filled with test data the first time.
    pub fn prepare_device(&mut self) -> Result<(), BenchError> {
        if let Some(device) = &self.device {
            return device.ready_to_write(self.writes());
        }
        if let Some(drive) = self.target.simulated() {
            let mode = self.target.info().io_mode.unwrap_or(IoMode::Direct);
            self.device = Some(Device::simulated(Arc::clone(drive), mode));
            self.blank = blank::look(self)?;
            return Ok(());
        }
        if self.target.info().kind == TargetKind::Directory {
            return self.make_data_file(self.plan.own_bytes);
        }
        let file = match self.claim.take() {
            Some(disk) => IoFile::claimed(disk)?,
            None => self.target.open_read()?,
        };
        let device = Device::new(file, self.plan.engine);
        device.ready_to_write(self.writes())?;
        self.device = Some(device);
        self.blank = blank::look(self)?;
        Ok(())
    }

    /// The device made by [`Session::prepare_device`], which every test calls first.
    pub fn open_device(&self) -> &Device {
        self.device.as_ref().expect("the test prepared its device")
    }

    /// The part of `device` that tests work on.
    pub fn span(&self, device: &Device) -> Range<u64> {
        let len = self.span_bytes(device);
        let start = self.target.part_start_bytes(len);
        start..start + len
    }

    /// How much of `device` tests work on; those of the whole surface begin at its start.
    pub fn span_bytes(&self, device: &Device) -> u64 {
        let size = device.size_bytes();
        match (self.target.info().kind, self.plan.suite.span.0) {
            (TargetKind::Directory, _) => size.min(self.plan.own_bytes.0),
            (_, 0) => size,
            (_, span) => size.min(span),
        }
    }

    /// Length of that part of what is open; 0 before.
    pub fn whole_bytes(&self) -> u64 {
        let span = self.device.as_ref().map(|device| self.span(device));
        span.map_or(0, |span| span.end - span.start)
    }

    fn make_data_file(&mut self, size: Bytes) -> Result<(), BenchError> {
        let folder = match &mut self.folder {
            Some(folder) => {
                // An earlier layout did not finish.
                folder.remove_file(DATA_FILE)?;
                folder
            }
            None => self.folder.insert(OwnFolder::create(self.target.path(), &unique_id())?),
        };
        let file = folder.create_file(DATA_FILE, size)?;
        let device = Device::new(file, self.plan.engine);
        self.emit(Event::Preparing { what: format!("writing the test file, {size}") });
        layout::fill(self, &device, size)?;
        self.device = Some(device);
        Ok(())
    }

    /// Whether `wanted` more bytes fit above the floor of free space.
    pub fn check_room(&self, wanted: Bytes) -> Result<(), BenchError> {
        self.folder.as_ref().map_or(Ok(()), |folder| Ok(folder.check_room(wanted)?))
    }

    /// Whether `bytes` may be written over own files, which takes space where the file system copies on
    /// write, as much as the file at most; and whether the floor was kept until now.
    pub fn check_room_to_overwrite(&self, bytes: u64) -> Result<(), BenchError> {
        let taken = if self.copies_on_write() { bytes.min(self.plan.own_bytes.0) } else { 0 };
        self.check_room(Bytes(taken))
    }

    /// After own files were overwritten: has a file system that copies on write free what was replaced.
    pub fn give_back_replaced(&self) -> Result<(), BenchError> {
        match self.folder.as_ref().filter(|_| self.copies_on_write()) {
            Some(folder) => Ok(folder.sync_file_system()?),
            None => Ok(()),
        }
    }

    fn copies_on_write(&self) -> bool {
        self.target.data_system().is_some_and(FileSystem::copies_on_write)
    }

    /// The data file twice: through the page cache, as an ordinary program opens it, and in its effective
    /// mode. On a simulated drive it is a file of `size`, whole MiB, on a fresh drive of the same
    /// kind.
    pub fn data_file_both_ways(&mut self, size: Bytes) -> Result<(Device, Device), BenchError> {
        self.prepare_device()?;
        let size = layout::rounded(size);
        if let Some(file) = self.target.simulated_file(size.0, self.now_ns()) {
            return self.fill_simulated_file(Arc::new(file?), size);
        }
        let folder = self.own_folder()?;
        // Such a program calls pread and pwrite, whatever the engine of other tests.
        let buffered = Device::new(folder.open_file_buffered(DATA_FILE)?, Engine::Threads);
        let direct = Device::new(folder.open_file(DATA_FILE)?, Engine::Threads);
        Ok((buffered, direct))
    }

    fn fill_simulated_file(
        &mut self,
        file: Arc<SimulatedDrive>,
        size: Bytes,
    ) -> Result<(Device, Device), BenchError> {
        self.simulated = Some(Arc::clone(&file));
        let direct = Device::simulated(Arc::clone(&file), IoMode::Direct);
        layout::fill(self, &direct, size)?;
        Ok((Device::simulated(file, IoMode::Buffered), direct))
    }

    /// Back to the target itself, if a test worked on a simulated file: time has passed for it too.
    fn leave_simulated_file(&mut self) {
        if let Some(drive) = self.target.simulated() {
            drive.idle_until(self.now_ns());
            self.simulated = Some(Arc::clone(drive));
        }
    }

    fn own_folder(&self) -> Result<&OwnFolder, BenchError> {
        let missing = || BenchError::Unsuitable("needs a directory".to_string());
        self.folder.as_ref().ok_or_else(missing)
    }

    /// Removes the session's own files; says so if that fails.
    pub fn close(mut self) -> Result<(), BenchError> {
        self.device = None;
        match self.folder.take() {
            Some(folder) => Ok(folder.remove()?),
            None => Ok(()),
        }
    }
}

/// Why a test failed and where it can be resumed: a cable that came off is no reason to begin anew.
fn failed(error: &BenchError, resume: Option<ResumePoint>) -> String {
    match resume.filter(ResumePoint::is_worthwhile) {
        Some(point) => format!("{error}; {point}"),
        None => error.to_string(),
    }
}

/// Distinguishes folders of runs that share a directory.
fn unique_id() -> String {
    format!("{:x}-{:x}", std::process::id(), clock::now_ns())
}

/// The test in progress, for listeners that join late.
impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tests: Vec<TestKind> = self.plan.tests.iter().map(|t| t.test).collect();
        f.debug_struct("Session").field("tests", &tests).finish_non_exhaustive()
    }
}
