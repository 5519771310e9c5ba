//! A drive and a folder of journals that share one power supply.
//!
//! Everything written is only pending until it is synced. A power cut at the n-th write or sync leaves
//! of what is pending nothing, all, or any part: in requests, in sectors of 512 bytes, and with whole
//! [`Units`] turned into noise, neighbours included.

use super::super::storage::{Folder, JournalFile};
use super::super::{Disk, DriveIdentity, Journal, JournalError, JournalSettings, NotReady};
pub use super::faults::{Below, Faults, Synced};
use super::medium::Medium;
pub use super::medium::{Dice, Left, SECTOR, UNIT, Units};
use crate::journal::recover;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

/// Size of the drive, not a whole number of physical sectors.
pub const DISK: usize = 48 * UNIT + SECTOR;

#[derive(Debug, Clone)]
enum Change {
    Made(String, usize),
    Renamed(String, String, usize),
    Removed(String),
}

#[derive(Debug, Clone, Default)]
struct State {
    disk: Medium,
    files: Vec<Medium>,
    names: BTreeMap<String, usize>,
    names_durable: BTreeMap<String, usize>,
    changes: Vec<Change>,
    steps: u64,
    cut_at: Option<u64>,
    is_off: bool,
    faults: Faults,
    /// Which steps were syncs, and of what.
    syncs: Vec<(u64, Synced)>,
    journal_units: Units,
}

impl State {
    /// Counts a sync of the protocol; returns whether it must be done.
    fn sync_step(&mut self, what: Synced) -> io::Result<bool> {
        self.step()?;
        self.still_on()?;
        self.syncs.push((self.steps, what));
        Ok(self.faults.lying_step != Some(self.steps))
    }

    /// Counts a write or sync, during which the power may fail.
    fn step(&mut self) -> io::Result<()> {
        self.still_on()?;
        self.steps += 1;
        self.is_off = self.cut_at == Some(self.steps);
        Ok(())
    }

    /// Drops files that have no name any more.
    fn forget_removed(&mut self) {
        let Self { files, names_durable, .. } = self;
        for (file, medium) in files.iter_mut().enumerate() {
            if !names_durable.values().any(|known| *known == file) {
                medium.forget();
            }
        }
    }

    fn change(&mut self, change: Change) -> io::Result<()> {
        apply(&mut self.names, &change);
        self.changes.push(change);
        self.still_on()
    }

    fn still_on(&self) -> io::Result<()> {
        if self.is_off { Err(io::Error::other("no power")) } else { Ok(()) }
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &Change) {
    match change {
        Change::Made(name, file) => names.insert(name.clone(), *file),
        Change::Renamed(from, to, file) => {
            names.remove(from);
            names.insert(to.clone(), *file)
        }
        Change::Removed(name) => names.remove(name),
    };
}

#[derive(Debug, Clone)]
pub struct World(Rc<RefCell<State>>);

impl World {
    /// A drive with noise on it, and an empty folder.
    pub fn new(faults: Faults) -> Self {
        Self::of_size(DISK, Below::default(), faults)
    }

    /// With other units. A drive with a shift is a partition.
    pub fn over(below: Below, faults: Faults) -> Self {
        Self::of_size(DISK, below, faults)
    }

    /// With a drive of `bytes`.
    pub fn of_size(bytes: usize, below: Below, faults: Faults) -> Self {
        let mut dice = Dice(7);
        let noise: Vec<u8> = (0..bytes).map(|_| dice.below(256) as u8).collect();
        let units = below.drive;
        let disk = Medium { durable: noise.clone(), now: noise, pending: Vec::new(), units };
        let state = State { disk, faults, journal_units: below.journal, ..State::default() };
        Self(Rc::new(RefCell::new(state)))
    }

    /// An independent copy.
    pub fn fork(&self) -> Self {
        Self(Rc::new(RefCell::new(self.0.borrow().clone())))
    }

    /// The drive as it reads now.
    pub fn contents(&self) -> Vec<u8> {
        self.0.borrow().disk.now.clone()
    }

    /// What the drive would hold after a power cut that loses everything pending.
    pub fn durable(&self) -> Vec<u8> {
        self.0.borrow().disk.durable.clone()
    }

    /// Writes and syncs up to now.
    pub fn steps(&self) -> u64 {
        self.0.borrow().steps
    }

    /// Syncs of the protocol so far: which step, and of what.
    pub fn syncs(&self) -> Vec<(u64, Synced)> {
        self.0.borrow().syncs.clone()
    }

    /// A sync of the drive outside the protocol: a test may sync too.
    pub fn sync_as_a_test(&self) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.step()?;
        state.still_on()?;
        state.disk.sync();
        Ok(())
    }

    /// After a run the owner uses the drive: from now on it must keep this.
    pub fn use_drive(&self, byte: u8) -> Vec<u8> {
        let mut state = self.0.borrow_mut();
        state.disk.now.fill(byte);
        state.disk.sync();
        state.disk.now.clone()
    }

    /// Lets the power fail in the middle of the n-th write or sync from now on, counted from 1.
    pub fn cut_at(&self, n: Option<u64>) {
        let mut state = self.0.borrow_mut();
        state.steps = 0;
        state.syncs.clear();
        state.cut_at = n;
    }

    pub fn is_off(&self) -> bool {
        self.0.borrow().is_off
    }

    pub fn set_faults(&self, faults: Faults) {
        self.0.borrow_mut().faults = faults;
    }

    /// Cuts the power unless it is already off, and restores it.
    pub fn power_cycle(&self, left: Left, seed: u64) {
        let mut state = self.0.borrow_mut();
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        state.disk.cut(left, &mut dice);
        for file in &mut state.files {
            file.cut(left, &mut dice);
        }
        let changes = std::mem::take(&mut state.changes);
        let kept = dice.below(changes.len() as u64 + 1) as usize;
        for (index, change) in changes.iter().enumerate() {
            let is_kept = match left {
                Left::Nothing => false,
                Left::Everything => true,
                Left::Prefix => index < kept,
                Left::Last => index + 1 == changes.len(),
                Left::Requests | Left::Subset | Left::Torn => dice.below(2) == 0,
            };
            if is_kept {
                apply(&mut state.names_durable, change);
            }
        }
        state.names = state.names_durable.clone();
        state.is_off = false;
        state.cut_at = None;
    }

    pub fn journal_len(&self, name: &str) -> usize {
        let state = self.0.borrow();
        state.files[state.names[name]].now.len()
    }

    pub fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.0.borrow_mut();
        let file = state.names[name];
        let medium = &mut state.files[file];
        change(&mut medium.now);
        medium.durable = medium.now.clone();
    }

    pub fn cut_off(&self, name: &str, bytes: usize) {
        self.damage(name, |journal| journal.truncate(bytes));
    }

    pub fn disk(&self) -> SimDisk {
        let state = self.0.borrow();
        let Units { bytes, shift } = state.disk.units;
        let (shift, size) = (shift as u64, state.disk.now.len() as u64);
        let identity =
            DriveIdentity { size_bytes: size, disk_bytes: size + shift, ..identity(shift) };
        let physical_bytes = bytes as u32;
        SimDisk { world: self.clone(), identity, used_by: None, free_for: None, physical_bytes }
    }

    pub fn folder(&self) -> SimFolder {
        SimFolder(self.clone())
    }

    /// A journal of its drive in its folder.
    pub fn journal(&self, run_id: &str, window_bytes: u64) -> Journal<SimFolder> {
        let settings = JournalSettings { run_id: run_id.into(), data_seed: None, window_bytes };
        Journal::new(self.folder(), &self.disk(), settings)
    }
}

/// The drive of all worlds, or a partition of it.
pub fn identity(start_bytes: u64) -> DriveIdentity {
    DriveIdentity {
        model: Some("Model".into()),
        serial: Some("S-1".into()),
        place: "here".into(),
        disk_bytes: DISK as u64 + start_bytes,
        start_bytes,
        size_bytes: DISK as u64,
        ..DriveIdentity::default()
    }
}

/// The drive of a [`World`].
pub struct SimDisk {
    world: World,
    pub identity: DriveIdentity,
    /// Why originals must not be restored, if anything.
    pub used_by: Option<String>,
    /// The check from which the drive is in use, if any.
    pub free_for: Option<u32>,
    physical_bytes: u32,
}

impl Disk for SimDisk {
    fn identity(&self) -> &DriveIdentity {
        &self.identity
    }
    fn sector_bytes(&self) -> u32 {
        SECTOR as u32
    }
    fn physical_sector_bytes(&self) -> u32 {
        self.physical_bytes
    }
    fn ready(&mut self) -> Result<(), NotReady> {
        self.used_by.clone().map_or(Ok(()), |why| Err(why.into()))
    }
    fn still_free(&mut self) -> Result<(), String> {
        self.free_for = self.free_for.map(|looks: u32| looks.saturating_sub(1));
        if self.free_for == Some(0) { Err("it is mounted by now".to_string()) } else { Ok(()) }
    }
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.world.0.borrow();
        state.still_on()?;
        assert!(offset.is_multiple_of(512) && buffer.len().is_multiple_of(512));
        assert_eq!(buffer.as_ptr().align_offset(UNIT), 0, "direct I/O asks for aligned memory");
        buffer.copy_from_slice(&state.disk.now[offset as usize..][..buffer.len()]);
        Ok(())
    }
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.world.0.borrow_mut();
        let touched = offset..offset + bytes.len() as u64;
        assert!(touched.end <= self.identity.size_bytes && offset.is_multiple_of(512));
        let touches = |byte: Option<u64>| byte.is_some_and(|byte| touched.contains(&byte));
        let (fails, is_deaf) = (touches(state.faults.bad_byte), touches(state.faults.deaf_byte));
        state.step()?;
        if fails {
            return Err(io::Error::other("bad sector"));
        }
        if !is_deaf {
            state.disk.write(offset as usize, bytes);
        }
        state.still_on()
    }
    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.world.0.borrow_mut();
        if state.sync_step(Synced::Drive)? {
            state.disk.sync();
        }
        Ok(())
    }
    fn drop_cache(&mut self) -> io::Result<()> {
        self.world.0.borrow().still_on()
    }
}

#[derive(Debug)]
pub struct SimFolder(World);

#[derive(Debug)]
pub struct SimFile {
    world: World,
    file: usize,
}

impl Folder for SimFolder {
    type File = SimFile;

    fn create(&mut self, name: &str, reserve_bytes: u64) -> io::Result<SimFile> {
        let mut state = self.0.0.borrow_mut();
        state.step()?;
        if state.faults.reserves && state.faults.journal_room.is_some_and(|r| r < reserve_bytes) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        assert!(!state.names.contains_key(name), "{name} is made twice");
        let units = state.journal_units;
        state.files.push(Medium { units, ..Medium::default() });
        let file = state.files.len() - 1;
        state.change(Change::Made(name.to_string(), file))?;
        Ok(SimFile { world: self.0.clone(), file })
    }

    fn open(&mut self, name: &str) -> io::Result<SimFile> {
        let state = self.0.0.borrow();
        state.still_on()?;
        let file = *state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(SimFile { world: self.0.clone(), file })
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.0.0.borrow_mut();
        state.step()?;
        let file = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        assert!(!state.names.contains_key(to), "{to} is made twice");
        state.change(Change::Renamed(from.to_string(), to.to_string(), file))
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.0.0.borrow_mut();
        state.step()?;
        if state.faults.removal_fails {
            return Err(io::Error::other("no removal"));
        }
        if !state.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change(Change::Removed(name.to_string()))
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.0.0.borrow_mut();
        let what = match state.changes.last() {
            Some(Change::Made(..) | Change::Renamed(..)) => Synced::Made,
            _ => Synced::Removed,
        };
        if state.sync_step(what)? {
            state.names_durable = state.names.clone();
            state.changes.clear();
            state.forget_removed();
        }
        Ok(())
    }

    fn names(&mut self) -> io::Result<Vec<String>> {
        let state = self.0.0.borrow();
        state.still_on()?;
        Ok(state.names.keys().cloned().collect())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("/journals").join(name)
    }
}

impl JournalFile for SimFile {
    fn size_bytes(&mut self) -> io::Result<u64> {
        let state = self.world.0.borrow();
        state.still_on()?;
        Ok(state.files[self.file].now.len() as u64)
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.world.0.borrow();
        state.still_on()?;
        if state.faults.journal_unread {
            return Err(io::Error::other("bad place"));
        }
        let wanted = offset as usize..offset as usize + buffer.len();
        let there = state.files[self.file].now.get(wanted);
        buffer.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.world.0.borrow_mut();
        state.step()?;
        if state.faults.journal_room.is_some_and(|room| offset + bytes.len() as u64 > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.files[self.file].write(offset as usize, bytes);
        state.still_on()
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.world.0.borrow_mut();
        let what = state.files[self.file].pending.last().map(|(_, bytes)| &bytes[..8]);
        let what = match what {
            Some(b"DSJRNL01") => Synced::Header,
            Some(b"DSCOMMIT") => Synced::Records,
            Some(b"DSAMOUNT") => Synced::Commit,
            Some(b"DSALLBAK") => Synced::Done,
            other => panic!("a sync after {other:?}"),
        };
        if state.sync_step(what)? {
            state.files[self.file].sync();
        }
        Ok(())
    }
}

/// Restores from every journal in the folder.
pub fn recover_all(world: &World) -> Result<(), JournalError> {
    let mut folder = world.folder();
    let names = folder.names().map_err(|e| JournalError::of_file("list", "", e))?;
    for name in names {
        recover(&mut folder, &name, &mut world.disk(), &mut |_| {})?;
    }
    Ok(())
}
