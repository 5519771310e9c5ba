//! `verify` in a directory: fills the free space with scratch files, as f3write does (AltraMayor/f3), and reads them
//! back. Their places on the drive are the file system's, so that single blocks of the drive cannot be asked for, and
//! there is no quick mode.

use super::{FULL_PASS, SIZE_MIN, push_of, run_full};
use crate::error::BenchError;
use crate::io::device::IoDevice;
use crate::io::payload::Payload;
use crate::judging::test_record::TestRecord;
use crate::plan::plan_context::PlanContext;
use crate::session::Session;
use crate::workloads::shared::{buffered, open_target};
use drivescope_model::event::Event;
use drivescope_model::options::{TestKind, VerifyPhase};
use drivescope_model::plan::{Cost, PlannedTest};
use drivescope_model::target::{FileSystem, TargetKind};
use drivescope_model::units::Bytes;

/// Length of the files together is a multiple of it.
const UNIT: u64 = 1 << 20;
/// Bits of the clock in the number of the pass: it stays below the bits that have another meaning.
const CLOCK_BITS: u32 = 48;

pub(super) fn plan(context: &PlanContext<'_>) -> PlannedTest {
    let skip = |reason: String| context.skipped(TestKind::Verify, reason);
    let options = &context.suite.verify;
    if options.phase == VerifyPhase::Read || options.from.0 > 0 {
        let why = "in a directory it reads back what it has just written: omit verify.phase and verify.from";
        return skip(why.to_string());
    }
    let (room, asked) = (room_bytes(context), context.suite.span.0 / UNIT * UNIT);
    if asked > room {
        let (asked, room) = (Bytes(asked), Bytes(room));
        return skip(format!(
            "{asked} do not fit above the floor of free space: omit --size, or use {room} or less"
        ));
    }
    let bytes = if asked > 0 { asked } else { room };
    if bytes < SIZE_MIN.0 {
        return skip(format!("needs {} above the floor of free space", SIZE_MIN.binary()));
    }
    let mut test = context.planned(TestKind::Verify);
    test.files_bytes = Bytes(bytes);
    let what =
        if asked > 0 { "of the free space (--size)" } else { "of free space, all above the floor" };
    test.at_most = Some(format!(
        "{} {what}, every sector: there is no quick mode in a directory; a smaller --size tests less",
        Bytes(bytes)
    ));
    let written = bytes + push_of(options.cache.0, bytes);
    let seconds = (written + bytes) as f64 / (context.sequential_write_mb_s(bytes) * 1e6);
    test.cost = Cost { seconds, read_bytes: bytes, written_bytes: written, computed_s: 0.0 };
    test
}

/// What files may take. Where the file system copies on write, what is written again takes space once more.
fn room_bytes(context: &PlanContext<'_>) -> u64 {
    let copies = context.target.file_system.as_ref().is_some_and(FileSystem::copies_on_write);
    let again = if copies { push_of(context.suite.verify.cache.0, context.room_bytes) } else { 0 };
    (context.room_bytes - again) / UNIT * UNIT
}

pub(super) fn run(session: &mut Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let room_bytes = session.target.room()?.0;
    session.emit(Event::Preparing { what: "reserving free space".into() });
    let planned = session.plan.active().find(|test| test.test == TestKind::Verify);
    let total = planned.map_or(Bytes(0), |test| test.files_bytes);
    let mut files = None;
    open_target::in_own_folder(session, |session, folder| {
        files = Some(folder.create_joined(total, || !session.stopped())?);
        Ok(())
    })?;
    session.check_stop()?;
    let files = files.expect("they were just made");
    let size = files.size_bytes();
    let is_part = session.plan.suite.span.0 > 0;
    record.metric(
        "capacity.free_bytes",
        vec![if is_part { room_bytes.max(size) } else { size } as f64],
    );
    if let Some(drive) = session.target.drive() {
        record.metric("capacity.device_bytes", vec![drive.capacity_bytes as f64]);
    }
    let test_file = session.storage.device.replace(IoDevice::new(files, session.plan.engine));
    let end =
        session.pause(session.plan.suite.pause).and_then(|()| run_full(session, record, size));
    session.storage.device = test_file;
    record.cannot_be_resumed();
    let folder = session.storage.folder.as_mut();
    let removed = folder.map_or(Ok(()), |folder| Ok(folder.remove_joined()?));
    end.and(removed)
}

/// Fresh data in a pass of its own: scratch files do not show what an earlier run with this seed has left below them.
pub(super) fn data(session: &Session<'_>) -> Payload {
    Payload::new(session.plan.seed, FULL_PASS + (session.now_ns() & ((1 << CLOCK_BITS) - 1)))
}

/// The bytes to read back where the file system had room for no more than these.
pub(super) fn cut_short(
    session: &Session<'_>,
    record: &mut TestRecord,
    written: u64,
) -> Result<u64, BenchError> {
    if written < SIZE_MIN.0 {
        return Err(session.target.no_room(SIZE_MIN).into());
    }
    record.remark(format!(
        "the free space beyond {}: other programs took it, or the file system had less than it reported",
        Bytes(written)
    ));
    Ok(written)
}

/// Drops what was written from memory; files that are read through the page cache must prove it.
pub(super) fn evict(session: &Session<'_>, record: &mut TestRecord) -> Result<(), BenchError> {
    let device = session.device();
    if session.target.info().kind == TargetKind::Directory && !device.is_direct() {
        return buffered::evict(device, "read", record);
    }
    device.evict()
}
