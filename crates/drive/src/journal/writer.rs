//! Saving originals before a drive is written.

use super::byte_range::{ByteRange, ByteRangeSet};
use super::format::{
    self, APART_BYTES, BLOCK_BYTES, COMMIT_MAX, COMMITTED_AT, DATA_MAX, FIRST_RECORD, HEAD_BYTES,
    Head, Header, INTENDED_AT,
};
use super::recover::remove_done;
use super::rollback::{RollbackStep, not_restored, roll_back};
use super::scan::Saved;
use super::storage::{ENDING, Folder, JournalFile, unfinished};
use super::watermark::{self, Watermark};
use super::{Disk, DriveIdentity, JournalError};
use crate::aligned_buffer::AlignedBuffer;
use std::io::{self, Read};
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// A commit and the gap after it.
pub(super) const COMMITTED_BYTES: u64 = BLOCK_BYTES as u64 + APART_BYTES;

#[derive(Debug, Clone)]
pub struct JournalSettings {
    /// Also a part of the file's name.
    pub run_id: String,
    /// Seed of its test data, by which the drive is recognized.
    pub data_seed: Option<u64>,
    /// Largest size of the file.
    pub window_bytes: u64,
}

/// Keeps the originals of one drive for one run. Dropping it leaves the journal open.
#[derive(Debug)]
pub struct Journal<F: Folder> {
    folder: F,
    drive: DriveIdentity,
    settings: JournalSettings,
    windows: u64,
    window: Option<JournalWindow<F::File>>,
}

#[derive(Debug)]
struct JournalWindow<T> {
    name: String,
    file: T,
    header: Header,
    saved: Vec<Saved>,
    held: ByteRangeSet,
    next: u64,
    end: u64,
    /// A write failed: what is durable in the file is unknown.
    failed: bool,
}

impl<F: Folder> Journal<F> {
    /// A journal for `disk`. Nothing is made before something is saved.
    pub(super) fn new(folder: F, disk: &dyn Disk, settings: JournalSettings) -> Self {
        Self { folder, drive: disk.identity().clone(), settings, windows: 0, window: None }
    }

    /// Saves the originals of these ranges; when it returns, they are durable and the ranges may be
    /// written. Each is widened to whole physical sectors, which a torn write can take along, and to
    /// 4096 bytes.
    ///
    /// If they do not fit into the window, all that was saved before is given back first, and may not be written any
    /// more (see [`Journal::is_protected`]). Errors: see [`JournalError`]; then none of these ranges may be written.
    pub fn protect(
        &mut self,
        disk: &mut dyn Disk,
        ranges: &[Range<u64>],
        on: &mut dyn FnMut(RollbackStep),
    ) -> Result<(), JournalError> {
        self.check_drive(disk)?;
        let mut wanted = ByteRangeSet::default();
        for range in ranges {
            wanted.insert(self.widened(disk, range)?);
        }
        let wanted = wanted.ranges();
        let mut missing = self.missing(&wanted);
        if missing.is_empty() {
            return self.check_fit();
        }
        let (space, used) = (self.space_for(&missing), self.used());
        if used > 0 && used + space > self.settings.window_bytes {
            self.roll_back(disk, on)?;
            missing = self.missing(&wanted);
        }
        let needed = FIRST_RECORD + self.space_for(&missing);
        if self.window.is_none() && needed > self.settings.window_bytes {
            let window = self.settings.window_bytes;
            return Err(JournalError::TooLarge { wanted: needed, window });
        }
        if self.window.is_none() {
            self.begin_window(disk.sector_bytes())?;
        }
        self.save(disk, &missing)
    }

    pub fn window_bytes(&self) -> u64 {
        self.settings.window_bytes
    }

    /// Whether it has originals that are not restored.
    pub(super) fn is_open(&self) -> bool {
        self.window.is_some()
    }

    pub fn is_protected(&self, range: &Range<u64>) -> bool {
        let extent = ByteRange::new(range.start, range.end.saturating_sub(range.start));
        self.window.as_ref().is_some_and(|w| !w.failed && w.held.contains(extent))
    }

    /// Saves the originals of what `bytes` will replace, then writes them.
    pub fn write_at(
        &mut self,
        disk: &mut dyn Disk,
        offset: u64,
        bytes: &[u8],
        on: &mut dyn FnMut(RollbackStep),
    ) -> Result<(), JournalError> {
        let range = offset..offset + bytes.len() as u64;
        self.protect(disk, std::slice::from_ref(&range), on)?;
        disk.write_at(offset, bytes).map_err(|source| JournalError::Unwritable {
            drive: self.drive.to_string(),
            extent: ByteRange::new(offset, bytes.len() as u64),
            source,
        })
    }

    /// Writes all originals back, verifies them, and removes the file. Afterwards nothing is protected.
    pub fn roll_back(
        &mut self,
        disk: &mut dyn Disk,
        on: &mut dyn FnMut(RollbackStep),
    ) -> Result<(), JournalError> {
        self.check_drive(disk)?;
        let Some(mut window) = self.window.take() else { return Ok(()) };
        let path = self.folder.path(&window.name).display().to_string();
        let drive = self.drive.to_string();
        let failed = match roll_back(disk, &mut window.file, &window.saved, on) {
            Err(why) => JournalError::Taken { drive, why },
            Ok(refused) if !refused.is_empty() => not_restored(drive, path, &refused, ""),
            Ok(_) => {
                let JournalWindow { file, name, header, end, .. } = window;
                return remove_done(&mut self.folder, file, &name, &header.id, end);
            }
        };
        // It stays, so that another attempt can be made.
        self.window = Some(JournalWindow { failed: true, ..window });
        Err(failed)
    }

    fn check_drive(&self, disk: &dyn Disk) -> Result<(), JournalError> {
        match self.drive.difference(disk.identity()) {
            None => Ok(()),
            Some(what) => Err(JournalError::WrongDrive { path: self.path(), what }),
        }
    }

    fn check_fit(&self) -> Result<(), JournalError> {
        if self.window.as_ref().is_some_and(|window| window.failed) {
            Err(JournalError::Failed { path: self.path() })
        } else {
            Ok(())
        }
    }

    /// The file, or the folder where it would be.
    fn path(&self) -> String {
        let name = self.window.as_ref().map_or("", |window| &window.name);
        self.folder.path(name).display().to_string()
    }

    fn widened(&self, disk: &dyn Disk, range: &Range<u64>) -> Result<ByteRange, JournalError> {
        let size_bytes = self.drive.size_bytes;
        if range.start >= range.end || range.end > size_bytes {
            let extent = ByteRange::new(range.start, range.end.saturating_sub(range.start));
            let drive = self.drive.to_string();
            return Err(JournalError::Outside { drive, extent, size_bytes });
        }
        // Physical sectors count from the beginning of the drive, not of the partition.
        let unit = u64::from(disk.physical_sector_bytes()).max(BLOCK_BYTES as u64);
        let shift = self.drive.start_bytes % unit;
        let start = ((range.start + shift) / unit * unit).saturating_sub(shift);
        let end = ((range.end + shift).div_ceil(unit) * unit - shift).min(size_bytes);
        Ok(ByteRange::new(start, end - start))
    }

    fn missing(&self, wanted: &[ByteRange]) -> Vec<ByteRange> {
        let nothing = ByteRangeSet::default();
        let held = self.window.as_ref().map_or(&nothing, |window| &window.held);
        wanted.iter().flat_map(|extent| held.gaps(*extent)).collect()
    }

    fn used(&self) -> u64 {
        self.window.as_ref().map_or(0, |window| window.end)
    }

    /// Bytes of the file that these ranges take, with commits, and the last block.
    fn space_for(&self, extents: &[ByteRange]) -> u64 {
        let records: u64 = pieces(extents).map(|piece| format::record_bytes(piece.len)).sum();
        let commits = pieces(extents).count().div_ceil(COMMIT_MAX) as u64;
        records + commits * COMMITTED_BYTES + BLOCK_BYTES as u64
    }

    fn begin_window(&mut self, sector_bytes: u32) -> Result<(), JournalError> {
        let name = format!("{}-{}{ENDING}", plain(&self.settings.run_id), self.windows);
        let folder = self.folder.path("").display().to_string();
        let fail = |what, source| JournalError::of_file(what, folder.clone(), source);
        let header = Header {
            drive: self.drive.clone(),
            sector_bytes,
            run_id: self.settings.run_id.clone(),
            data_seed: self.settings.data_seed,
            made_at_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()),
            id: fresh_id().map_err(|source| fail("name", source))?,
        };
        let too_long = || io::Error::other("the drive's names do not fit into the header");
        let bytes = header.encode().ok_or_else(|| fail("write", too_long()))?;
        let making = unfinished(&name);
        let mut file = self
            .folder
            .create(&making, self.settings.window_bytes)
            .map_err(|source| fail("make", source))?;
        // It gets its name when header and marks are durable: without them it is damaged from then on.
        let written = watermark::write_first(&mut file, &header.id)
            .and_then(|()| file.write_at(0, &bytes))
            .and_then(|()| file.sync())
            .and_then(|()| self.folder.rename(&making, &name))
            .and_then(|()| self.folder.sync());
        if let Err(source) = written {
            // Nothing was committed: it would count as never used.
            let _ = self.folder.remove(&making).or_else(|_| self.folder.remove(&name));
            return Err(fail("write", source));
        }
        self.windows += 1;
        self.window = Some(JournalWindow {
            name,
            file,
            header,
            saved: Vec::new(),
            held: ByteRangeSet::default(),
            next: 0,
            end: FIRST_RECORD,
            failed: false,
        });
        Ok(())
    }

    fn save(&mut self, disk: &mut dyn Disk, missing: &[ByteRange]) -> Result<(), JournalError> {
        let (path, drive) = (self.path(), self.drive.to_string());
        self.check_fit()?;
        let window = self.window.as_mut().expect("the caller began one");
        let pieces: Vec<ByteRange> = pieces(missing).collect();
        for batch in pieces.chunks(COMMIT_MAX) {
            window.save(disk, batch, &path, &drive).inspect_err(|_| window.failed = true)?;
        }
        Ok(())
    }
}

impl<T: JournalFile> JournalWindow<T> {
    /// Appends records and their commit, syncs, marks them as saved, syncs. Until both are durable nothing is written
    /// to the drive. Later writes may tear neither. The other mark, synced with the records, counts them if the last
    /// one is torn or lost.
    fn save(
        &mut self,
        disk: &mut dyn Disk,
        batch: &[ByteRange],
        path: &str,
        drive: &str,
    ) -> Result<(), JournalError> {
        let fail = |what, source| JournalError::of_file(what, path, source);
        let mut held = self.held.clone();
        for extent in batch {
            held.insert(*extent);
        }
        let (first, id) = (self.next, self.header.id);
        let mark = Watermark::new(first + batch.len() as u64, &held).encode(&id);
        self.file.write_at(INTENDED_AT, &mark).map_err(|source| fail("write", source))?;
        let mut saved = self.append_records(disk, batch, path, drive)?;
        let sector = u64::from(self.header.sector_bytes);
        let ranges = saved.iter().map(|it| (it.extent.offset / sector, it.extent.len as u32));
        let ranges: Vec<(u64, u32)> = ranges.collect();
        let commit = format::commit(&id, first, &ranges);
        self.append(&commit).map_err(|source| fail("write", source))?;
        self.file.sync().map_err(|source| fail("sync", source))?;
        self.file.write_at(COMMITTED_AT, &mark).map_err(|source| fail("write", source))?;
        self.file.sync().map_err(|source| fail("sync", source))?;
        self.end += APART_BYTES;
        self.saved.append(&mut saved);
        self.held = held;
        Ok(())
    }

    /// Reads originals and appends them; returns their places.
    fn append_records(
        &mut self,
        disk: &mut dyn Disk,
        batch: &[ByteRange],
        path: &str,
        drive: &str,
    ) -> Result<Vec<Saved>, JournalError> {
        let sector = u64::from(self.header.sector_bytes);
        let mut saved = Vec::with_capacity(batch.len());
        let largest = batch.iter().map(|extent| extent.len).max().unwrap_or(0);
        let mut original = AlignedBuffer::new(largest as usize);
        let mut record = Vec::new();
        for &extent in batch {
            let data = &mut original[..extent.len as usize];
            disk.read_at(extent.offset, data).map_err(|source| JournalError::Unreadable {
                drive: drive.to_string(),
                extent,
                source,
            })?;
            let head = Head {
                number: self.next,
                lba: extent.offset / sector,
                data_bytes: extent.len as u32,
                data_crc: crc32c::crc32c(data),
            };
            record.clear();
            record.resize(format::record_bytes(extent.len) as usize, 0);
            record[HEAD_BYTES..HEAD_BYTES + data.len()].copy_from_slice(data);
            format::finish_record(&mut record, &self.header.id, &head);
            let data_at = self.end + HEAD_BYTES as u64;
            self.append(&record).map_err(|source| JournalError::of_file("write", path, source))?;
            self.next += 1;
            saved.push(Saved { extent, data_at, crc: head.data_crc });
        }
        Ok(saved)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(self.end, bytes)?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

/// Ranges cut to the size of one record.
fn pieces(extents: &[ByteRange]) -> impl Iterator<Item = ByteRange> + '_ {
    extents.iter().flat_map(|extent| {
        (0..extent.len.div_ceil(DATA_MAX)).map(move |index| {
            let done = index * DATA_MAX;
            ByteRange::new(extent.offset + done, DATA_MAX.min(extent.len - done))
        })
    })
}

/// Keeps the characters that a file's name may have.
fn plain(run_id: &str) -> String {
    run_id.chars().filter(|c| c.is_ascii_alphanumeric()).take(64).collect()
}

/// Sixteen random bytes.
fn fresh_id() -> io::Result<format::Id> {
    let mut id = format::Id::default();
    std::fs::File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(id)
}
