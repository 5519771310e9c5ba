//! What the user named: resolved, identified, and described down to the drive.

mod access;
mod drive_below;
mod file_positions;
mod loop_device;
mod self_testing;
mod thermometer;

pub(crate) use access::is_silent;
pub use access::{PATH, TARGET, check_answers, look, look_up};
pub use file_positions::FilePositions;
pub use loop_device::SparseFile;
pub use thermometer::Thermometer;

use crate::error::DriveError;
use crate::gate::{self, Overlap};
use crate::holes;
use crate::io_file::IoFile;
use crate::own_folder;
use crate::simulated::SimulatedDrive;
use crate::simulated::spec::{PREFIX, Spec, SpecError};
use drivescope_machine::counters::{self, DeviceCounters};
use drivescope_machine::filesystem::{FsClass, compression, copies_on_write, file_system_of};
use drivescope_machine::graph::{BlockGraph, Stack};
use drivescope_machine::list::is_zfs_volume;
use drivescope_machine::roots::Roots;
use drivescope_model::document::GateCheck;
use drivescope_model::drive::{Drive, Zoned};
use drivescope_model::target::{FileSystem, TargetInfo, TargetKind};
use drivescope_model::units::Bytes;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Holes in more than this share of a file show in its rates.
const HOLES_SHARE_MAX: f64 = 0.02;

/// A target on this machine. Nothing is opened before a test needs it.
#[derive(Debug)]
pub struct Target {
    info: TargetInfo,
    path: PathBuf,
    identity: (u64, u64),
    drive: Option<Drive>,
    stack: Stack,
    /// The uppermost block devices: several below a file system that itself spreads over them.
    tops: Vec<String>,
    /// The file system of the layer of an overlay that has the data.
    layer_system: Option<FileSystem>,
    roots: Roots,
    simulated: Option<(Spec, Arc<SimulatedDrive>)>,
    notes: Vec<String>,
}

impl Target {
    /// Finds out what `path` is; `sim:…` is a simulated drive.
    ///
    /// Errors: it does not exist, is neither a directory, file nor block device, may not be read (or, for a directory,
    /// written), or is a directory on a read-only file system.
    pub fn find(path: &Path, roots: &Roots) -> Result<Self, DriveError> {
        if let Some(text) = path.to_str().filter(|text| text.starts_with(PREFIX)) {
            return Self::simulate(text, roots);
        }
        if path.as_os_str().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            let shown = path.display();
            let message = format!(
                "the name {shown} is not UTF-8, as those of models must be; rename the file"
            );
            return Err(SpecError::Wrong(message).into());
        }
        let fail = |error| DriveError::from_io("look at", path, error);
        check_answers(path)?;
        let real = std::fs::canonicalize(path).map_err(fail)?;
        let meta = std::fs::metadata(&real).map_err(fail)?;
        let kind = access::kind_of(path, meta.file_type())?;
        let graph = BlockGraph::read(roots);
        let stack = graph.stack_of_data(&real);
        if let Some(device) = graph.suspended_in(&stack) {
            let device = device.to_string();
            return Err(DriveError::Suspended { path: real, device });
        }
        let file_system = match kind {
            TargetKind::Block | TargetKind::Simulated => None,
            _ => Some(file_system_of(roots, &real)?),
        };
        access::check(&real, kind, file_system.as_ref())?;
        let info = TargetInfo {
            path: real.display().to_string(),
            kind,
            size_bytes: access::size_of(roots, &real, kind, file_system.as_ref())?,
            file_system,
            stack: stack.names.clone(),
            system_disk: !shared_with_system(&graph, &stack).is_empty(),
            io_mode: None,
            io_align_bytes: 0,
        };
        let drive =
            drive_below::drive_below(&graph, &stack).or_else(|| served_drive(&stack, &real));
        let layer_system = stack.layer.as_ref().and_then(|layer| file_system_of(roots, layer).ok());
        let identity = match kind {
            TargetKind::Block => (meta.rdev(), 0),
            _ => (meta.dev(), meta.ino()),
        };
        Ok(Self {
            info,
            path: real,
            identity,
            drive,
            tops: drive_below::tops(&graph, &stack),
            stack,
            layer_system,
            roots: roots.clone(),
            simulated: None,
            notes: Vec::new(),
        })
    }

    /// A simulated drive, by `sim:MODEL?…`. Errors: no such model, or a state no drive can be in.
    pub fn simulate(text: &str, roots: &Roots) -> Result<Self, DriveError> {
        let spec = Spec::parse(text)?;
        let simulated = Arc::new(spec.build()?);
        Ok(Self {
            info: spec.target_info(),
            path: PathBuf::from(text),
            identity: (0, 0),
            drive: Some(spec.drive()),
            stack: Stack::default(),
            tops: Vec::new(),
            layer_system: None,
            roots: roots.clone(),
            notes: spec.notes.clone(),
            simulated: Some((spec, simulated)),
        })
    }

    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub fn simulated(&self) -> Option<&Arc<SimulatedDrive>> {
        self.simulated.as_ref().map(|(_, drive)| drive)
    }

    /// Whether it is simulated: a `sim:` target in virtual time, or lies on a drive that `sim mount` serves.
    pub fn is_simulated(&self) -> bool {
        self.simulated.is_some() || self.stack.served_model.is_some()
    }

    /// A new file on a fresh drive like the simulated one, below a host's page cache: the equivalent of a directory
    /// on a real drive. `None` for real targets. Its time begins at `now_ns`. Errors: it does not fit.
    pub fn simulated_file(
        &self,
        size_bytes: u64,
        now_ns: u64,
    ) -> Option<Result<SimulatedDrive, DriveError>> {
        let (spec, _) = self.simulated.as_ref()?;
        Some(spec.build_with_file(size_bytes, now_ns).map_err(DriveError::from))
    }

    /// An empty file system on a fresh drive like the simulated one; see [`Target::simulated_file`].
    pub fn simulated_files(&self, now_ns: u64) -> Option<Result<SimulatedDrive, DriveError>> {
        let (spec, _) = self.simulated.as_ref()?;
        Some(spec.build_with_files(now_ns).map_err(DriveError::from))
    }

    /// Where tests work that use only `len` bytes of it: after the space that a simulated hard disk's `fill=` says is
    /// used, else at the start.
    pub fn part_start_bytes(&self, len: u64) -> u64 {
        self.simulated.as_ref().map_or(0, |(spec, _)| spec.part_start_bytes(len))
    }

    pub fn info(&self) -> &TargetInfo {
        &self.info
    }

    /// Canonical.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The drive at the bottom, when the machine shows one; of several, the device that is made of them.
    pub fn drive(&self) -> Option<&Drive> {
        self.drive.as_ref()
    }

    /// The zones that writes to this block device must respect, whatever the drive below has.
    pub fn zoned(&self) -> Option<Zoned> {
        let top = self.stack.names.first().filter(|_| self.info.kind == TargetKind::Block)?;
        drivescope_machine::list::zoned_of(&self.roots, top)
    }

    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Whether both name the same thing, by device and inode, not by path.
    pub fn is_same_as(&self, other: &Self) -> bool {
        if self.simulated.is_some() || other.simulated.is_some() {
            self.path == other.path
        } else {
            self.identity == other.identity
        }
    }

    /// If both are block devices that share bytes.
    pub fn overlap(&self, other: &Self) -> Option<Overlap> {
        let block = |target: &Self| {
            let is_block = target.info.kind == TargetKind::Block;
            target.stack.names.first().filter(|_| is_block).cloned()
        };
        gate::overlap(&self.roots, &block(self)?, &block(other)?)
    }

    /// Opens a file or block device for reading; a directory has nothing to read.
    pub fn open_read(&self) -> Result<IoFile, DriveError> {
        IoFile::open_read(&self.path)
    }

    /// Space for own files of a directory target, the floor of free space kept.
    pub fn room(&self) -> Result<Bytes, DriveError> {
        own_folder::room(&self.path)
    }

    pub fn no_room(&self, wanted: Bytes) -> DriveError {
        own_folder::no_room(&self.path, Some(wanted))
    }

    /// The drive's temperature now, if the kernel has a sensor.
    pub fn temperature_c(&self) -> Option<f64> {
        drivescope_machine::list::temperature_of(&self.roots, self.stack.whole_disks.first()?)
    }

    /// The drive's own limit of its temperature, if reported.
    pub fn warning_c(&self) -> Option<f64> {
        if let Some(drive) = self.simulated() {
            return drive.heat().map(|heat| heat.warning_c);
        }
        drivescope_machine::list::warning_temperature_of(
            &self.roots,
            self.stack.whole_disks.first()?,
        )
    }

    /// The file system that has the data of a directory or file: for an overlay, the file system of its data's layer,
    /// where visible.
    pub fn data_system(&self) -> Option<&FileSystem> {
        self.layer_system.as_ref().or(self.info.file_system.as_ref())
    }

    /// Path of the data on [`Target::data_system`].
    fn data_path(&self) -> &Path {
        self.stack.layer.as_deref().filter(|_| self.layer_system.is_some()).unwrap_or(&self.path)
    }

    /// Why nothing shows that a drive answers, if so: a program or a network does, or a file system that answers
    /// requests past its own pages from further ones; and no device is below.
    pub fn unproven(&self) -> Option<String> {
        if let Some(volume) = self.stack.names.iter().find(|name| is_zfs_volume(name)) {
            return Some(format!("{volume} is a ZFS volume, which has its own cache"));
        }
        let is_far = |fs: &&FileSystem| {
            matches!(FsClass::of(&fs.kind), FsClass::Fuse | FsClass::Network)
                || ["zfs", "ecryptfs"].contains(&fs.kind.as_str())
        };
        let own = self.data_system().filter(is_far).filter(|_| self.top_counters().is_none());
        let own = own.map(|fs| (&fs.kind, fs.mount_point.clone()));
        let is_hidden = self.stack.whole_disks.iter().all(|disk| disk.starts_with("loop"));
        let of_loop = self.loop_system().filter(|_| is_hidden);
        let of_loop = of_loop.map(|mount| (&mount.kind, mount.mount_point.display().to_string()));
        let (kind, point) = own.or(of_loop).filter(|_| !self.is_simulated())?;
        Some(format!("no device below {kind} at {point}"))
    }

    /// Whether the file system writes on its own account for data written in this directory, at any time.
    pub fn writes_its_own(&self) -> bool {
        let copies = self.data_system().is_some_and(|fs| copies_on_write(&fs.kind));
        copies && self.info.kind == TargetKind::Directory
    }

    pub fn compression(&self) -> Option<String> {
        self.data_system().and_then(|fs| compression(fs, self.data_path()))
    }

    /// Why the data is in memory, or `None`.
    pub fn memory_backed(&self) -> Option<String> {
        if let Some(evidence) = &self.stack.memory_backed {
            return Some(evidence.clone());
        }
        let fs = self.info.file_system.as_ref()?;
        (FsClass::of(&fs.kind) == FsClass::Memory)
            .then(|| format!("{} at {} keeps its files in memory", fs.kind, fs.mount_point))
    }

    /// Why the files of a directory are in memory alone, if so.
    pub fn in_memory_only(&self) -> Option<String> {
        let is_directory = self.info.kind == TargetKind::Directory && self.simulated.is_none();
        self.memory_backed().filter(|_| is_directory && self.stack.names.is_empty())
    }

    /// The drives at the bottom of the target that also hold the running system.
    pub fn disks_of_the_system(&self) -> Vec<String> {
        if !self.info.system_disk {
            return Vec::new();
        }
        shared_with_system(&BlockGraph::read(&self.roots), &self.stack)
    }

    /// The part of a file, or of a loop device's file, that was never written and lies on no drive: reading it needs no
    /// drive. `None` if there is none, or if unknown.
    pub fn holes(&self) -> Option<String> {
        let file = match self.info.kind {
            TargetKind::File => self.path.clone(),
            TargetKind::Block => self.loop_file()?,
            TargetKind::Directory | TargetKind::Simulated => return None,
        };
        // Compressed data take fewer blocks than they are long.
        let file_system = file_system_of(&self.roots, &file).ok()?;
        if compression(&file_system, &file).is_some() {
            return None;
        }
        let (size, missing) = holes::size_and_missing(&file)?;
        (missing as f64 > size as f64 * HOLES_SHARE_MAX).then(|| {
            let (size, missing) = (Bytes(size), Bytes(missing));
            format!(
                "{missing} of the {size} of {} hold no data: holes, or never written",
                file.display()
            )
        })
    }

    /// The counters of the one drive below, when nothing in between changes the number of bytes.
    pub fn disk_counters(&self) -> Option<DeviceCounters> {
        let layers = ["dm-", "md", "loop", "bcache"];
        let composite = |name: &String| layers.iter().any(|layer| name.starts_with(layer));
        if self.stack.whole_disks.len() != 1 || self.stack.names.iter().any(composite) {
            return None;
        }
        counters::read(&self.roots, &self.stack.whole_disks[0])
    }

    /// What was checked before the target is used, for the run document.
    pub fn checks(&self) -> Vec<GateCheck> {
        fn check(check: &str, evidence: String) -> GateCheck {
            GateCheck { check: check.to_string(), passed: true, evidence }
        }
        if self.simulated.is_some() {
            return vec![check("simulated", "nothing of this machine is read or written".into())];
        }
        let access = match self.info.kind {
            TargetKind::Directory => "writes only to its own folder inside it",
            _ => "opened read-only; the kernel refuses writes through this handle",
        };
        let (major_minor, inode) = self.identity;
        vec![
            check("path", format!("{} resolved to itself", self.info.path)),
            check("identity", format!("device number {major_minor:#x}, inode {inode}")),
            check("access", access.to_string()),
        ]
    }
}

/// The drive of a served file, as its model describes it; built-in models only.
fn served_drive(stack: &Stack, file: &Path) -> Option<Drive> {
    let name = stack.served_model.as_ref().filter(|name| !name.contains(['/', '?', '.']))?;
    let drive = Spec::parse(name).ok()?.drive();
    Some(Drive { path: file.display().to_string(), ..drive })
}

fn shared_with_system(graph: &BlockGraph, stack: &Stack) -> Vec<String> {
    let system = graph.system_disks();
    stack.whole_disks.iter().filter(|disk| system.contains(disk)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_distinguished_and_wrong_ones_refused() {
        let roots = Roots::host();
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = dir.path().join("data");
        std::fs::write(&file, vec![1; 8192]).unwrap();
        let target = Target::find(dir.path(), &roots).unwrap();
        assert_eq!(target.info().kind, TargetKind::Directory);
        assert!(target.info().file_system.is_some());
        let target = Target::find(&file, &roots).unwrap();
        assert_eq!((target.info().kind, target.info().size_bytes), (TargetKind::File, 8192));
        let error = Target::find(Path::new("/dev/null"), &roots).unwrap_err();
        assert!(error.to_string().contains("character device"), "{error}");
        let error = Target::find(Path::new("/nonexistent"), &roots).unwrap_err();
        assert!(matches!(error, DriveError::NotFound { .. }), "{error}");
        std::fs::write(&file, "").unwrap();
        let error = Target::find(&file, &roots).unwrap_err();
        assert!(matches!(error, DriveError::TooSmall { .. }), "{error}");
    }

    #[test]
    fn target_is_the_same_through_links() {
        let roots = Roots::host();
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let one = Target::find(dir.path(), &roots).unwrap();
        assert!(one.is_same_as(&Target::find(&link, &roots).unwrap()));
        assert!(one.is_same_as(&Target::find(&link.join("."), &roots).unwrap()));
        assert!(!one.is_same_as(&Target::find(dir.path().parent().unwrap(), &roots).unwrap()));
    }

    #[test]
    fn sparse_file_is_distinguished_from_a_full_one() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.sync_all().unwrap();
        let holes = || Target::find(&path, &Roots::host()).unwrap().holes();
        assert_eq!(holes(), None);
        file.set_len(4 << 20).unwrap();
        let evidence = holes().unwrap();
        assert!(evidence.starts_with("3.15 MB of the 4.19 MB of "), "{evidence}");
    }

    #[test]
    fn file_on_a_suspended_device_is_refused_unread() {
        use drivescope_machine::roots::fake::Fake;
        let fake = Fake::new();
        for (minor, lower) in [(0, None), (1, Some("dm-0"))] {
            fake.upper(&format!("dm-{minor}"), (253, minor), 1 << 20, lower.as_slice());
        }
        let point = fake.path("").canonicalize().unwrap();
        fake.mounts(&[&format!("2 1 253:1 / {} rw - ext4 /dev/dm-1 rw", point.display())]);
        Target::find(&point, &fake.roots).unwrap();
        fake.attrs("dm-0", &[("dm/suspended", "1")]);
        let error = Target::find(&point, &fake.roots).unwrap_err();
        assert!(error.to_string().contains("run dmsetup resume dm-0"), "{error}");
        assert_eq!(error.kind(), crate::error::ErrorKind::Refused);
    }

    #[test]
    fn memory_is_recognised() {
        let shm = Path::new("/dev/shm");
        if shm.is_dir() {
            let target = Target::find(shm, &Roots::host()).unwrap();
            assert!(target.memory_backed().unwrap().contains("tmpfs"));
        }
    }
}
