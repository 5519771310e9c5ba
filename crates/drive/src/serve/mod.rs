//! Simulated drives in real time: a file that any program can use, and a block device on it.
//!
//! A [`Server`] mounts a FUSE file system with one file of the drive's size. Its requests go to one
//! thread that owns the model and keeps virtual time equal to real time; contents live in a sparse
//! backing file. Latency is the model's plus what the path costs (the kernel, two thread changes), and
//! never less than the model's.
//!
//! Write data reaches the backing file before the reply; a flush costs the time the model says and is
//! not passed on to the host's drive, which gets everything when the server stops.

mod backing;
mod clock;
mod error;
mod fuse;
mod in_flight;
mod lateness;
mod loop_device;
mod model_thread;
mod mount_point;
mod workers;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use error::ServeError;
pub use lateness::LatenessReport;

use backing::Backing;
use clock::{Clock, go_first};
use drivescope_sim::device::Device;
use fuse::{DriveFile, FILE_NAME, Owner};
use fuser::{Config, MountOption, Session, SessionACL, SessionUnmounter};
use lateness::Books;
use loop_device::{Looks, LoopDevice};
use model_thread::Message;
use rustix::io::Errno;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use workers::{Jobs, Workers};

/// Threads that take requests from the kernel: while one copies a large write, another one listens.
const LISTENERS: usize = 2;
/// Threads for the backing file: enough to wait for several cold reads at a time.
const WORKERS: usize = 8;
/// How long a stop waits for programs to let go of the block device, and then of the file.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is served where.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// An empty directory; the drive appears in it as `disk.img`.
    pub mount_point: PathBuf,
    /// The file that keeps the contents. Made sparse if it is not there; must be of the drive's
    /// capacity if it is.
    pub backing: PathBuf,
    /// Also attach a loop device with direct I/O; needs root.
    pub block: bool,
    /// Logical sector of the block device, 512 or 4096; a multiple of the device's own.
    pub sector_bytes: u32,
    /// The kernel is told that the block device turns.
    pub rotational: bool,
    /// Whether the drive has TRIM. Without it punching holes and discarding are refused, although the
    /// queue of a loop device announces them for any file.
    pub trim: bool,
}

/// A simulated drive that is being served. Dropping it stops it like [`Server::stop`].
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    books: Arc<Books>,
    backing: Arc<Backing>,
    /// In the order in which they are stopped; each is gone afterwards.
    block: Option<LoopDevice>,
    mounted: Option<Mounted>,
    model: Option<(Sender<Message>, JoinHandle<()>)>,
    workers: Option<Workers>,
}

impl Server {
    /// Mounts the drive and, if asked for, attaches a block device. What a killed server left at the
    /// mount point is removed first.
    ///
    /// # Errors
    /// [`ServeError`], with everything undone.
    pub fn start(
        device: Box<dyn Device + Send>,
        options: &ServeOptions,
    ) -> Result<Self, ServeError> {
        check_sector(&*device, options.sector_bytes)?;
        check_fuse()?;
        if options.block {
            loop_device::check_available()?;
        }
        let mount_point = mount_point::prepare(&options.mount_point)?;
        if mount_point::would_hide(&mount_point, &options.backing) {
            let why = "it lies below the mount point, which would hide it; name another file";
            return Err(ServeError::Backing { path: options.backing.clone(), why: why.into() });
        }
        let (capacity, sector) = (device.capacity_bytes(), device.sector_bytes());
        let backing = Arc::new(Backing::open(&options.backing, capacity)?);
        let (books, clock) = (Arc::new(Books::new()), Clock::start());
        let workers = Workers::start(WORKERS).map_err(ServeError::Thread)?;
        let model = start_model(device, clock, &books, workers.jobs())?;
        let file_system = DriveFile {
            capacity,
            sector: u64::from(sector),
            trim: options.trim,
            backing: Arc::clone(&backing),
            clock,
            books: Arc::clone(&books),
            jobs: workers.jobs(),
            model: model.0.clone(),
            next_id: AtomicU64::new(0),
            owner: Mutex::new(Owner {
                uid: rustix::process::geteuid().as_raw(),
                gid: rustix::process::getegid().as_raw(),
                mode: 0o600,
            }),
        };
        let mut server = Self {
            path: mount_point.join(FILE_NAME),
            books,
            backing,
            block: None,
            mounted: None,
            model: Some(model),
            workers: Some(workers),
        };
        server.mounted = Some(Mounted::mount(file_system, mount_point)?);
        if options.block {
            let ServeOptions { sector_bytes: sector, rotational, .. } = *options;
            let looks = Looks { sector, rotational };
            server.block = Some(LoopDevice::attach(&server.path, looks)?);
        }
        Ok(server)
    }

    /// The served file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The block device, if one was asked for.
    pub fn block_device(&self) -> Option<PathBuf> {
        self.block.as_ref().map(LoopDevice::node)
    }

    /// Who would be hurt by a stop now, as far as the kernel tells: file systems and swap areas on the
    /// block device, one complete sentence each.
    pub fn users(&self) -> Vec<String> {
        self.block.as_ref().map(LoopDevice::users).unwrap_or_default()
    }

    /// Whether somebody else has unmounted the drive, after which only [`Server::stop`] is left to do.
    pub fn has_ended(&self) -> bool {
        self.mounted.as_ref().is_none_or(|mounted| mounted.session.is_finished())
    }

    /// Detaches the block device, unmounts the file, waits for all threads and tells how it went.
    ///
    /// Programs that still use the drive get a few seconds to let go of it; after that all they get
    /// is errors, and the report says so.
    pub fn stop(mut self) -> LatenessReport {
        self.shut_down();
        self.books.report(self.backing.path())
    }

    fn shut_down(&mut self) {
        if let Some(mut block) = self.block.take() {
            let users = block.users();
            if !block.detach(PATIENCE) {
                let node = block.node();
                let who = if users.is_empty() { "it is open".into() } else { users.join(", ") };
                let node = node.display();
                self.books.note(format!("{node} was still in use ({who}) and fails from now on"));
            }
        }
        if let Some(mounted) = self.mounted.take() {
            mounted.unmount(&self.books);
        }
        if let Some((sender, thread)) = self.model.take() {
            // It is gone already if the model failed.
            let _ = sender.send(Message::Stop);
            if thread.join().is_err() {
                let note = "the model failed while it was served; requests got EIO from then on";
                self.books.note(note.into());
            }
        }
        if let Some(workers) = self.workers.take() {
            workers.finish();
            if let Err(errno) = self.backing.sync() {
                let path = self.backing.path().display();
                self.books.note(format!("the backing file {path} could not be synced: {errno}"));
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shut_down();
    }
}

fn start_model(
    device: Box<dyn Device + Send>,
    clock: Clock,
    books: &Arc<Books>,
    jobs: Jobs,
) -> Result<(Sender<Message>, JoinHandle<()>), ServeError> {
    let (sender, receiver) = channel();
    let books = Arc::clone(books);
    let thread = std::thread::Builder::new()
        .name("sim-model".into())
        .spawn(move || model_thread::run(device, &receiver, clock, &books, &jobs))
        .map_err(ServeError::Thread)?;
    Ok((sender, thread))
}

/// The mounted file system and the thread that keeps it going.
#[derive(Debug)]
struct Mounted {
    mount_point: PathBuf,
    /// Number of the FUSE connection.
    connection: u32,
    unmounter: SessionUnmounter,
    session: JoinHandle<io::Result<()>>,
}

impl Mounted {
    fn mount(file_system: DriveFile, mount_point: PathBuf) -> Result<Self, ServeError> {
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(mount_point::SOURCE.into()),
            MountOption::DefaultPermissions,
            MountOption::NoExec,
        ];
        // Others may look, and use the file if its owner lets them; only root may allow that.
        if rustix::process::geteuid().is_root() {
            config.acl = SessionACL::All;
        }
        config.n_threads = Some(LISTENERS);
        config.clone_fd = true;
        let mut session =
            Session::new(file_system, &mount_point, &config).map_err(|e| no_mount(&e))?;
        let unmounter = session.unmount_callable();
        let session = std::thread::Builder::new()
            .name("sim-fuse".into())
            .spawn(move || {
                go_first();
                session.run()
            })
            .map_err(ServeError::Thread)?;
        let connection =
            std::fs::metadata(&mount_point).map_or(0, |root| rustix::fs::minor(root.dev()));
        Ok(Self { mount_point, connection, unmounter, session })
    }

    /// Unmounts, with force if programs do not let go of the file in time.
    fn unmount(mut self, books: &Books) {
        let start = Instant::now();
        let mut gone = self.session.is_finished() || self.unmounter.unmount().is_ok();
        while !gone && start.elapsed() < PATIENCE {
            match mount_point::unmount(&self.mount_point) {
                Err(Errno::BUSY) => std::thread::sleep(Duration::from_millis(20)),
                _ => gone = true,
            }
        }
        // Unmounting by a helper is done before the last file is closed.
        if !self.ends_by(start + PATIENCE, gone) {
            let path = self.mount_point.join(FILE_NAME);
            let path = path.display();
            books.note(format!("{path} was still open in some program and fails from now on"));
            mount_point::abort(&self.mount_point, self.connection);
            if !self.ends_by(Instant::now() + PATIENCE, true) {
                books.note(format!("the FUSE connection of {path} ends with its last user"));
                return;
            }
        }
        if let Ok(Err(error)) = self.session.join() {
            books.note(format!("FUSE ended with an error: {error}"));
        }
    }

    /// Whether the session's threads are done by then.
    fn ends_by(&self, deadline: Instant, unmounted: bool) -> bool {
        while unmounted && !self.session.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.session.is_finished()
    }
}

fn check_sector(device: &dyn Device, sector: u32) -> Result<(), ServeError> {
    let refuse = |why: String| Err(ServeError::Sector { sector, why });
    let own = device.sector_bytes();
    if !matches!(sector, 512 | 4096) {
        return refuse("a loop device has 512 or 4096; use one of them".into());
    }
    if !sector.is_multiple_of(own) {
        return refuse(format!("the drive takes only multiples of {own}; use --sector {own}"));
    }
    let capacity = device.capacity_bytes();
    if capacity == 0 || !capacity.is_multiple_of(u64::from(sector)) {
        return refuse(format!("the capacity of {capacity} bytes is not a multiple of it"));
    }
    Ok(())
}

/// Says what of FUSE is missing before anything is touched.
fn check_fuse() -> Result<(), ServeError> {
    use rustix::fs::{Mode, OFlags};
    let opened = rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    match opened {
        Ok(_) => Ok(()),
        Err(errno) => Err(no_fuse(errno)),
    }
}

fn no_fuse(errno: Errno) -> ServeError {
    let missing = match errno {
        Errno::NOENT | Errno::NODEV | Errno::NXIO => {
            "/dev/fuse is missing; load the module (modprobe fuse), and in a container pass the device in"
                .into()
        }
        Errno::ACCESS | Errno::PERM => "no permission to open /dev/fuse; run with sudo".into(),
        _ => format!("/dev/fuse: {errno}"),
    };
    ServeError::NoFuse { missing }
}

fn no_mount(error: &io::Error) -> ServeError {
    let missing = match error.kind() {
        io::ErrorKind::NotFound => {
            "fusermount3 is missing (package fuse3), which mounts for users; install it, or run with sudo"
                .into()
        }
        io::ErrorKind::PermissionDenied => {
            format!("mounting is not permitted ({error}); run with sudo")
        }
        _ => format!("mounting failed ({error}); in a container it needs CAP_SYS_ADMIN"),
    };
    ServeError::NoFuse { missing }
}
