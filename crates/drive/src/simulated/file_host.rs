//! Many files on a simulated drive: what a program sees that makes, copies, reads and removes files through a host's
//! page cache and file system.

use super::counted::Counted;
use super::{AnyDrive, Served, SimulatedDrive, State, errno_of};
use crate::io_op::IoOp;
use drivescope_machine::counters::DeviceCounters;
use drivescope_model::target::IoMode;
use drivescope_sim::ParamProblem;
use drivescope_sim::device::{Nanos, RequestKind, SimDevice, SimRequest};
use drivescope_sim::host::{FileTable, HostParams, ManyFileSystem, PageCache};
use drivescope_sim::{PassEnd, checked_pass};

/// Depth at which a long file bypasses the page cache: of write-back the drive always has some requests
/// (`max_sectors_kb`), of read-ahead the next one is under way while one is used.
const WRITE_DEPTH: u32 = 8;
const READ_DEPTH: u32 = 2;

pub(super) trait FileHost {
    fn table(&mut self) -> &mut FileTable;

    /// Drops a range from memory, clean or dirty.
    fn forget(&mut self, offset: u64, len: u64);

    /// Share of a range that is in memory.
    fn cached_share(&self, offset: u64, len: u64) -> f64;

    /// Reads or writes stretches of the drive one after the other, up to the first request that fails.
    fn stream(&mut self, now: Nanos, op: RequestKind, pieces: &[(u64, u64)]) -> PassEnd;
}

/// A page cache over a file system, and the host's settings that streams follow.
struct ManyFiles {
    cache: PageCache<ManyFileSystem<Counted>>,
    read_bytes: u64,
    write_bytes: u64,
}

impl FileHost for ManyFiles {
    fn table(&mut self) -> &mut FileTable {
        self.cache.inner_mut().map_mut()
    }

    fn forget(&mut self, offset: u64, len: u64) {
        self.cache.discard(offset, len);
    }

    fn cached_share(&self, offset: u64, len: u64) -> f64 {
        self.cache.cached_share(offset, len)
    }

    fn stream(&mut self, now: Nanos, op: RequestKind, pieces: &[(u64, u64)]) -> PassEnd {
        let (chunk, depth) = match op {
            RequestKind::Read => (self.read_bytes, READ_DEPTH),
            _ => (self.write_bytes, WRITE_DEPTH),
        };
        let drive = self.cache.inner_mut().inner_mut();
        let mut end = PassEnd { at: now, failed: None };
        for &(at, len) in pieces {
            end = checked_pass(drive, end.at, (op, at, len), chunk, depth);
            if end.failed.is_some() {
                break;
            }
        }
        end
    }
}

impl SimDevice for ManyFiles {
    fn capacity_bytes(&self) -> u64 {
        self.cache.capacity_bytes()
    }
    fn sector_bytes(&self) -> u32 {
        self.cache.sector_bytes()
    }
    fn submit(&mut self, now: Nanos, request: SimRequest) {
        self.cache.submit(now, request);
    }
    fn next_completion(&mut self) -> Option<Nanos> {
        self.cache.next_completion()
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<drivescope_sim::device::SimCompletion>) {
        self.cache.advance(to, done);
    }
}

impl Served for ManyFiles {
    fn evict(&mut self) {
        self.cache.evict(0, self.cache.capacity_bytes());
    }

    fn counters(&self) -> Option<DeviceCounters> {
        Some(self.cache.inner().inner().counters())
    }

    fn files(&mut self) -> Option<&mut dyn FileHost> {
        Some(self)
    }
}

/// The file system has no room left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulated file system is full; use smaller or fewer files, or a larger model")]
pub struct FileSystemFull;

const HAS_FILES: &str = "made with a file system";

impl SimulatedDrive {
    /// An empty file system on a `drive`, of which the share `taken` (0 to 1) is in use; its time begins at `now`.
    ///
    /// Errors: a parameter of the host that cannot be.
    pub(super) fn with_files(
        drive: AnyDrive,
        host: &HostParams,
        taken: f64,
        now: Nanos,
    ) -> Result<Self, ParamProblem> {
        let taken_bytes = (drive.capacity_bytes() as f64 * taken) as u64;
        let system = ManyFileSystem::empty(Counted::new(drive), taken_bytes);
        let served = ManyFiles {
            cache: PageCache::new(host, system)?,
            read_bytes: host.read_ahead_kib.max(4) << 10,
            write_bytes: host.request_max_kib << 10,
        };
        Ok(Self::serving(Box::new(served), now))
    }

    fn with_table<R>(&self, ask: impl FnOnce(&mut FileTable) -> R) -> R {
        ask(self.lock().device.files().expect(HAS_FILES).table())
    }

    pub fn free_bytes(&self) -> u64 {
        self.with_table(|table| table.free_bytes())
    }

    /// Makes a directory in another one (0 is the root); returns its number.
    pub fn create_folder(&self, parent: usize) -> Result<usize, FileSystemFull> {
        self.with_table(|table| table.create_folder(parent)).map_err(|_| FileSystemFull)
    }

    /// Makes a file of this size; returns its first address.
    pub fn create_file(&self, folder: usize, size_bytes: u64) -> Result<u64, FileSystemFull> {
        self.with_table(|table| table.create_file(folder, size_bytes)).map_err(|_| FileSystemFull)
    }

    /// Removes a file from the file system and from memory.
    pub fn remove_file(&self, address: u64) {
        let mut state = self.lock();
        let files = state.device.files().expect(HAS_FILES);
        let size = files.table().size_of(address).next_multiple_of(4096);
        files.forget(address, size);
        files.table().remove_file(address);
    }

    /// First byte and length on the drive of each extent, in the file's order.
    pub fn file_extents(&self, address: u64) -> Vec<(u64, u64)> {
        self.with_table(|table| table.extents(address).to_vec())
    }

    pub fn file_cached_share(&self, address: u64, size_bytes: u64) -> f64 {
        self.lock().device.files().expect(HAS_FILES).cached_share(address, size_bytes)
    }

    /// One call of a program, which waits for the answer. Returns its latency, or a negative errno.
    pub fn call(&self, op: IoOp, offset: u64, len: u32) -> Result<Nanos, i32> {
        self.call_in(IoMode::Buffered, op, offset, len)
    }

    /// Writes (or reads) a whole file past the page cache, in the requests that write-back (or read-ahead) sends, and
    /// commits it after a write; returns the time taken. Pages would only be moved through memory meanwhile: for a
    /// file larger than the dirty limit, the drive sets the pace.
    /// Errors: the negative errno of the first request that failed.
    pub fn stream_file(&self, op: IoOp, address: u64) -> Result<Nanos, i32> {
        let before = self.now();
        {
            let mut state = self.lock();
            let now = state.now;
            let files = state.device.files().expect(HAS_FILES);
            let pieces = files.table().extents(address).to_vec();
            let kind = if op == IoOp::Read { RequestKind::Read } else { RequestKind::Write };
            let end = files.stream(now, kind, &pieces);
            if op != IoOp::Read {
                files.table().note_written(address);
            }
            State::advance(&mut state, end.at, &mut Vec::new());
            if let Some(errno) = end.failed.and_then(|(_, outcome)| errno_of(outcome)) {
                return Err(errno);
            }
        }
        if op != IoOp::Read {
            self.call(IoOp::Sync, 0, 0)?;
        }
        Ok(self.now() - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::spec::Spec;

    const MIB: u64 = 1 << 20;

    #[test]
    fn evicted_files_are_cold_and_after_used_space() {
        let spec = Spec::parse("sim:wd40efrx?fill=0.5").unwrap();
        let drive = spec.build_with_files(1_000).unwrap();
        let folder = drive.create_folder(0).unwrap();
        let file = drive.create_file(folder, 8 * MIB).unwrap();
        assert!(drive.file_extents(file)[0].0 >= drive.free_bytes() * 9 / 10, "half is taken");
        let write = drive.call(IoOp::Write, file, 8 << 20).unwrap();
        let sync = drive.call(IoOp::Sync, 0, 0).unwrap();
        assert!(sync > 5 * write, "{write} and {sync} ns");
        assert!((drive.file_cached_share(file, 8 * MIB) - 1.0).abs() < 1e-9);
        let warm = drive.call(IoOp::Read, file, 8 << 20).unwrap();
        drive.evict();
        assert!(drive.file_cached_share(file, 8 * MIB) < 1e-9);
        let cold = drive.call(IoOp::Read, file, 8 << 20).unwrap();
        assert!(cold > 5 * warm, "{cold} and {warm} ns");
        let free = drive.free_bytes();
        drive.remove_file(file);
        assert_eq!(drive.free_bytes(), free + 8 * MIB);
    }

    #[test]
    fn stream_takes_as_long_as_the_page_cache() {
        const SIZE: u64 = 4 << 30;
        fn of(streamed: bool) -> u64 {
            let drive = Spec::parse("sim:wd40efrx").unwrap().build_with_files(0).unwrap();
            let file = drive.create_file(0, SIZE).unwrap();
            let begin = drive.now();
            if streamed {
                drive.stream_file(IoOp::Write, file).unwrap();
            } else {
                for at in (0..SIZE).step_by(16 << 20) {
                    drive.call(IoOp::Write, file + at, 16 << 20).unwrap();
                }
                drive.call(IoOp::Sync, 0, 0).unwrap();
            }
            drive.now() - begin
        }
        let ratio = of(true) as f64 / of(false) as f64;
        assert!((0.93..1.07).contains(&ratio), "{ratio}");
    }
}
