//! Opens what workloads read and write: the target itself, or a test file in a directory.

use crate::error::BenchError;
use crate::io::clock;
use crate::io::device::IoDevice;
use crate::plan::expected_speed::ExpectedSpeed;
use crate::plan::time_limit::time_limit_s;
use crate::session::Session;
use crate::workloads::shared::test_file;
use drivescope_drive::simulated::SimulatedDrive;
use drivescope_drive::{DriveError, IoFile, OwnFolder, own_folder};
use drivescope_model::event::Event;
use drivescope_model::plan::Engine;
use drivescope_model::target::{IoMode, TargetKind};
use drivescope_model::units::{Bytes, Secs};
use std::path::Path;
use std::sync::Arc;

const DATA_FILE: &str = "data";
const NEW_FILE: &str = "new";

/// Opens the target, or makes the test file in the session's own folder and fills it, the first time. Returns why
/// that file is smaller than planned, if so.
pub fn open(session: &mut Session<'_>) -> Result<Option<String>, BenchError> {
    if let Some(device) = session.opened() {
        return device.ready_to_write(session.writes()).map(|()| None);
    }
    if let Some(drive) = session.target.simulated() {
        let mode = session.target.info().io_mode.unwrap_or(IoMode::Direct);
        session.storage.device = Some(IoDevice::simulated(Arc::clone(drive), mode));
        return Ok(None);
    }
    if session.target.info().kind == TargetKind::Directory {
        return make_test_file(session, session.plan.own_bytes);
    }
    let file = match session.storage.claim.take() {
        Some(disk) => IoFile::claimed(disk)?,
        None => session.target.open_read()?,
    };
    let device = IoDevice::new(file, session.plan.engine);
    device.ready_to_write(session.writes())?;
    session.storage.device = Some(device);
    Ok(None)
}

fn make_test_file(session: &mut Session<'_>, size: Bytes) -> Result<Option<String>, BenchError> {
    let engine = session.plan.engine;
    let folder = own_folder(session)?;
    // An earlier layout did not finish.
    folder.remove_file(DATA_FILE)?;
    let file = folder.create_file(DATA_FILE, size)?;
    let mut device = IoDevice::new(file, engine);
    session.emit(Event::Preparing { what: format!("writing the test file, {size}") });
    let start_ns = session.now_ns();
    let written = test_file::fill(session, &device, size, layout_limit(session))?;
    let remark = (written < size).then(|| {
        let took = Secs((session.now_ns() - start_ns) as f64 / 1e9);
        let (left, size) = (Bytes(size.0 - written.0).binary(), size.binary());
        format!(
            "{left} of the test file of {size}: the drive is slow, writing the rest took {took}"
        )
    });
    if remark.is_some() {
        drop(device);
        device = IoDevice::new(own_folder(session)?.shorten_file(DATA_FILE, written)?, engine);
    }
    session.storage.device = Some(device);
    Ok(remark)
}

/// How long writing the test file may take, where it may be smaller than planned.
fn layout_limit(session: &Session<'_>) -> Option<Secs> {
    let planned_s = ExpectedSpeed::of(session.target).layout_s(session.plan.own_bytes);
    session.may_be_shortened.then(|| Secs(time_limit_s(planned_s)))
}

/// The session's own folder in a directory target, made the first time.
pub(crate) fn own_folder<'s>(
    session: &'s mut Session<'_>,
) -> Result<&'s mut OwnFolder, BenchError> {
    let folder = match session.storage.folder.take() {
        Some(folder) => folder,
        None => OwnFolder::create(session.target.path(), &unique_id())?,
    };
    Ok(session.storage.folder.insert(folder))
}

/// Works in the session's own folder, which is its own again afterwards.
pub(crate) fn in_own_folder(
    session: &mut Session<'_>,
    work: impl FnOnce(&Session<'_>, &mut OwnFolder) -> Result<(), BenchError>,
) -> Result<(), BenchError> {
    own_folder(session)?;
    let mut folder = session.storage.folder.take().expect("it was just made");
    let end = work(session, &mut folder);
    session.storage.folder = Some(folder);
    end
}

/// A folder of our own in another directory. What killed runs left there goes first.
pub(crate) fn folder_in(path: &Path) -> Result<OwnFolder, DriveError> {
    own_folder::clean_for(path, false)?;
    OwnFolder::create(path, &unique_id())
}

/// Distinguishes folders of runs that share a directory.
fn unique_id() -> String {
    format!("{:x}-{:x}", std::process::id(), clock::now_ns())
}

/// The test file twice: through the page cache, as an ordinary program opens it, and in its effective
/// mode. On a simulated drive it is a file of `size`, whole MiB, on a fresh drive of the same
/// kind. A `new` file is another one, which has its space and holds nothing.
pub fn buffered_and_direct(
    session: &mut Session<'_>,
    size: Bytes,
    new: bool,
) -> Result<(IoDevice, IoDevice), BenchError> {
    let size = test_file::rounded(size);
    if let Some(file) = session.target.simulated_file(size.0, session.now_ns()) {
        return simulated_file(session, Arc::new(file?), size, new);
    }
    let missing = || BenchError::Unsuitable("needs a directory".to_string());
    let folder = session.storage.folder.as_mut().ok_or_else(missing)?;
    let name = if new { NEW_FILE } else { DATA_FILE };
    if new {
        folder.create_file(name, size)?;
    }
    // Such a program calls pread and pwrite, whatever the engine of other tests.
    let buffered = IoDevice::new(folder.open_file_buffered(name)?, Engine::Threads);
    let direct = IoDevice::new(folder.open_file(name)?, Engine::Threads);
    Ok((buffered, direct))
}

fn simulated_file(
    session: &mut Session<'_>,
    file: Arc<SimulatedDrive>,
    size: Bytes,
    new: bool,
) -> Result<(IoDevice, IoDevice), BenchError> {
    session.storage.simulated = Some(Arc::clone(&file));
    let direct = IoDevice::simulated(Arc::clone(&file), IoMode::Direct);
    if !new {
        test_file::fill(session, &direct, size, None)?;
    }
    Ok((IoDevice::simulated(file, IoMode::Buffered), direct))
}
