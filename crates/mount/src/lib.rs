//! Simulated drives in real time: a file that any program can use, and a block device on it.
//!
//! A [`Server`] mounts a FUSE file system with one file of the drive's size. Its requests go to one
//! thread that owns the model and keeps virtual time equal to real time; contents live in a sparse
//! backing file. Latency is the model's plus what the path costs (measured at the start) and the lateness of
//! the reply (recorded), and never less than the model's.
//!
//! Whoever uses the drive is not cut off: [`Server::release`] lets go of it as its users do. Only
//! [`Server::stop`] takes it away.
//!
//! Write data reaches the backing file before the reply; a flush costs the time the model says and is
//! not passed on to the host's drive, which gets everything when the server stops.

#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests use the drives that they serve")
)]

mod backing_store;
mod error;
mod fuse;
mod fuse_session;
mod held_device;
mod isolated_thread;
mod loop_device;
mod model_thread;
mod mount_point;
mod path_overhead;
mod pending_request;
mod real_time_clock;
mod recorder;
mod report;
mod thread_priority;
mod users;
mod workers;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use error::ServeError;
pub use mount_point::resolve;
pub use path_overhead::PathOverhead;
pub use report::ServeReport;

use backing_store::BackingStore;
use drivescope_machine::roots::Roots;
use drivescope_sim::device::{Nanos, SimDevice};
use drivescope_sim::fake_capacity::FakeCapacity;
use fuse::{DriveFile, FILE_NAME, Owner};
use fuse_session::FuseSession;
use loop_device::{LoopAttributes, LoopDevice};
use model_thread::ModelMessage;
use path_overhead::PathProbe;
use real_time_clock::Clock;
use recorder::ServeRecorder;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use workers::{Jobs, Workers};

/// Threads for the backing file: enough to wait for several cold reads at a time.
const WORKERS: usize = 8;
const MODEL_FAILED: &str = "the model failed while it was served (a bug of drivescope): requests get EIO from then on; the contents are kept";
/// How long a stop waits for programs to let go of the block device, and then of the file.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Name of the model, which the mount table then shows.
    pub model: String,
    /// An empty directory; the drive appears in it as `disk.img`.
    pub mount_point: PathBuf,
    /// The file that keeps the contents. Made sparse if it is not there; must be of the drive's
    /// capacity if it is.
    pub backing: PathBuf,
    /// Also attach a loop device with direct I/O; needs root.
    pub block: bool,
    /// Logical sector of the block device, 512 or 4096; a multiple of the device's own.
    pub sector_bytes: u32,
    pub rotational: bool,
    /// Whether the drive has TRIM. Without it punching holes and discarding are refused, although the
    /// queue of a loop device announces them for any file.
    pub trim: bool,
    /// When the model's drive disappears, after its power-on: what arrives from then on changes no contents.
    pub gone_at: Option<Nanos>,
    /// The drive has less memory than it announces. Its cache, if it has one, is left out.
    pub fake: Option<FakeCapacity>,
}

/// A simulated drive that is being served. Dropping it stops it like [`Server::stop`].
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    recorder: Arc<ServeRecorder>,
    backing: Arc<BackingStore>,
    probe: Arc<PathProbe>,
    /// In the order in which they are stopped; each is gone afterwards.
    block: Option<LoopDevice>,
    mounted: Option<FuseSession>,
    model: Option<(Sender<ModelMessage>, JoinHandle<()>)>,
    workers: Option<Workers>,
}

impl Server {
    /// Mounts the drive and, if asked for, attaches a block device. What a killed server left at the
    /// mount point is removed first.
    ///
    /// # Errors
    /// [`ServeError`], with everything undone.
    pub fn start(
        device: Box<dyn SimDevice + Send>,
        options: &ServeOptions,
    ) -> Result<Self, ServeError> {
        check_sector(&*device, options.sector_bytes)?;
        fuse_session::check_fuse()?;
        if options.block {
            loop_device::check_available()?;
        }
        let mount_point = mount_point::prepare(&options.mount_point)?;
        if mount_point::would_hide(&mount_point, &options.backing) {
            let why =
                "it lies below the mount point, which would hide it; name another file".into();
            return Err(ServeError::BackingStore { path: options.backing.clone(), why });
        }
        let backing = BackingStore::open(&options.backing, device.capacity_bytes())?;
        let backing = Arc::new(backing.with_fake(options.fake));
        let started = Self::prepare(device, options, &backing)
            .and_then(|(file_system, server)| server.mount(file_system, mount_point, options));
        started.inspect_err(|_| backing.remove_if_unused())
    }

    fn mount(
        mut self,
        file_system: DriveFile,
        mount_point: PathBuf,
        options: &ServeOptions,
    ) -> Result<Self, ServeError> {
        let capacity = file_system.capacity;
        self.path = mount_point.join(FILE_NAME);
        let source = drivescope_machine::served::source_of(&options.model);
        self.mounted = Some(FuseSession::mount(file_system, mount_point, source)?);
        if options.block {
            let ServeOptions { sector_bytes: sector, rotational, .. } = *options;
            let attributes = LoopAttributes { sector, rotational };
            self.block = Some(LoopDevice::attach(&self.path, attributes)?);
        }
        let measure = |path: &Path| self.probe.measure(path, capacity);
        let file = measure(&self.path);
        let device = self.block_device().and_then(|node| measure(&node));
        self.recorder.paths(file, device);
        Ok(self)
    }

    /// The file system and its threads, not mounted yet.
    fn prepare(
        device: Box<dyn SimDevice + Send>,
        options: &ServeOptions,
        backing: &Arc<BackingStore>,
    ) -> Result<(DriveFile, Self), ServeError> {
        let (capacity, sector) = (device.capacity_bytes(), device.sector_bytes());
        let (recorder, clock) = (Arc::new(ServeRecorder::new()), Clock::start());
        let workers = Workers::start(WORKERS).map_err(ServeError::Thread)?;
        let model = start_model(device, clock, &recorder, workers.jobs())?;
        let probe = Arc::new(PathProbe::new());
        let file_system = DriveFile {
            capacity,
            sector: u64::from(sector),
            trim: options.trim,
            gone_at: options.gone_at,
            backing: Arc::clone(backing),
            clock,
            recorder: Arc::clone(&recorder),
            probe: Arc::clone(&probe),
            jobs: workers.jobs(),
            model: model.0.clone(),
            next_id: AtomicU64::new(0),
            owner: Mutex::new(Owner {
                uid: rustix::process::geteuid().as_raw(),
                gid: rustix::process::getegid().as_raw(),
                mode: 0o600,
            }),
        };
        let server = Self {
            path: PathBuf::new(),
            recorder,
            backing: Arc::clone(backing),
            probe,
            block: None,
            mounted: None,
            model: Some(model),
            workers: Some(workers),
        };
        Ok((file_system, server))
    }

    /// The served file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The block device, if one was asked for.
    pub fn block_device(&self) -> Option<PathBuf> {
        self.block.as_ref().map(LoopDevice::node)
    }

    pub fn backing_bytes(&self) -> u64 {
        self.backing.allocated_bytes()
    }

    /// Who would be hurt by a stop now, as far as can be seen: file systems, swap areas and devices on
    /// the block device, programs that have it or the file open; one clause each.
    pub fn users(&self) -> Vec<String> {
        let mut users = users::of_file(&Roots::host(), &self.path);
        users.extend(self.block.iter().flat_map(LoopDevice::users));
        users
    }

    /// Whether another program has unmounted the drive; then only [`Server::stop`] remains.
    pub fn has_ended(&self) -> bool {
        self.mounted.as_ref().is_none_or(FuseSession::is_finished)
    }

    pub fn report(&self) -> ServeReport {
        self.look_after_model();
        self.recorder.report()
    }

    /// Releases the drive: unused parts end, used parts are served until their users finish. True once all has ended
    /// and [`Server::stop`] cuts off no user; call again until then.
    pub fn release(&mut self) -> bool {
        if let Some(block) = &mut self.block {
            if !block.release() {
                return false;
            }
            self.block = None;
        }
        self.mounted.as_ref().is_none_or(FuseSession::release)
    }

    /// Begins to write to the drive what file systems on the block device still have in memory, before
    /// they lose it. The receiver gets what could not be saved, one sentence each, when that is done,
    /// which takes as long as the drive needs.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn save(&self) -> Result<Receiver<Vec<String>>, ServeError> {
        let (sender, receiver) = channel();
        let node = self.block_device();
        let work = move || {
            let lost = node.map(|node| users::save(&Roots::host(), &node)).unwrap_or_default();
            // The caller may have stopped waiting.
            let _ = sender.send(lost);
        };
        isolated_thread::spawn_isolated("sim-save", work).map_err(ServeError::Thread)?;
        Ok(receiver)
    }

    /// Detaches the block device, unmounts the file, waits for all threads and returns a report.
    ///
    /// Programs that still use the drive get a few seconds to close it; after that they get errors, and the report says
    /// so.
    pub fn stop(mut self) -> ServeReport {
        self.shut_down();
        self.recorder.report()
    }

    fn shut_down(&mut self) {
        if let Some(mut block) = self.block.take() {
            let users = block.users();
            if !block.detach(PATIENCE) {
                let who = if users.is_empty() { "it is open".into() } else { users.join(", ") };
                let what = format!("was still in use ({who}) and fails from now on");
                self.recorder.cut_off(format!("{} {what}", block.node().display()));
            }
        }
        if let Some(mounted) = self.mounted.take() {
            mounted.unmount(PATIENCE, &self.recorder);
        }
        self.look_after_model();
        if let Some((sender, thread)) = self.model.take() {
            // It is gone already if the model failed.
            let _ = sender.send(ModelMessage::Stop);
            if thread.join().is_err() {
                self.recorder.trouble(MODEL_FAILED.into());
            }
        }
        if let Some(workers) = self.workers.take() {
            workers.finish();
            if let Err(errno) = self.backing.sync() {
                let (path, what) =
                    (self.backing.path().display(), "what was written last may be lost");
                let why = format!("could not be synced ({errno}): {what}");
                self.recorder.trouble(format!("the backing file {path} {why}"));
            }
        }
    }

    /// The model's thread runs until it is stopped, unless the model has a bug.
    fn look_after_model(&self) {
        if self.model.as_ref().is_some_and(|(_, thread)| thread.is_finished()) {
            self.recorder.trouble(MODEL_FAILED.into());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shut_down();
    }
}

fn start_model(
    device: Box<dyn SimDevice + Send>,
    clock: Clock,
    recorder: &Arc<ServeRecorder>,
    jobs: Jobs,
) -> Result<(Sender<ModelMessage>, JoinHandle<()>), ServeError> {
    let (sender, receiver) = channel();
    let recorder = Arc::clone(recorder);
    let thread = std::thread::Builder::new()
        .name("sim-model".into())
        .spawn(move || model_thread::run(device, &receiver, clock, &recorder, &jobs))
        .map_err(ServeError::Thread)?;
    Ok((sender, thread))
}

fn check_sector(device: &dyn SimDevice, sector: u32) -> Result<(), ServeError> {
    let refuse = |why: String| Err(ServeError::Sector { sector, why });
    let own = device.sector_bytes();
    if !matches!(sector, 512 | 4096) {
        return refuse("a loop device has 512 or 4096; use one of them".into());
    }
    if !sector.is_multiple_of(own) {
        return refuse(format!(
            "the model's drive takes only multiples of {own}; let its file report {own} (reported_logical_sector_bytes)"
        ));
    }
    let capacity = device.capacity_bytes();
    if capacity == 0 || !capacity.is_multiple_of(u64::from(sector)) {
        return refuse(format!("the capacity of {capacity} bytes is not a multiple of it"));
    }
    Ok(())
}
