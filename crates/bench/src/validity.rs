//! The promise that no impossible number is printed: what was measured against what can be.

use crate::calibrate;
use crate::error::BenchError;
use crate::fall;
use crate::phase::{Load, Pace};
use crate::results::Round;
use crate::session::Session;
use drivescope_drive::Target;
use drivescope_drive::counters::DeviceCounters;
use drivescope_drive::filesystem::FsClass;
use drivescope_drive::journal::JournalError;
use drivescope_model::cell::Order;
use drivescope_model::document::Limiter;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::options::TestKind;
use drivescope_model::units::Bytes;
use drivescope_stats::drop::{Drop, lasting_drop};

/// Clocks and counters of two devices agree to this; beyond it a rate is above its ceiling.
const CEILING_SLACK: f64 = 1.02;
/// A core this busy sets the pace.
const CPU_BUSY_SHARE: f64 = 0.85;
/// A link this full sets the pace.
const LINK_FULL_SHARE: f64 = 0.90;
/// Foreign bytes on the drive that are worth a word: a share of ours, and at least so many.
const OTHER_SHARE: f64 = 0.10;
const OTHER_MIN_BYTES: f64 = 4e6;
/// Less than this share of our bytes on the device means that something else answered.
const SEEN_SHARE_MIN: f64 = 0.90;
/// Below this many bytes the kernel's counters and ours need not agree.
const COUNTED_MIN_BYTES: f64 = 1e6;
/// A loop device whose file lies in memory by more than this share is answered by memory.
const LOOP_CACHED_MAX: f64 = 0.5;
/// Longest healthy silence of a drive.
const STALL_NS: u64 = 1_000_000_000;
/// Open loops that end with more of their requests undone than this share, and more than the few that
/// are always under way, have missed their rate.
const LATE_SHARE_MAX: f64 = 0.05;
const LATE_MIN: u64 = 8;
/// The cache assumed in a drive that does not tell: hard disks and SATA SSDs have up to this.
const DRIVE_CACHE_BYTES: u64 = 256 << 20;
/// A device less busy than this was waiting for the layers above it.
const DEVICE_IDLE_PCT: f64 = 50.0;

/// What is known about target, drive and host.
#[derive(Debug)]
pub struct Facts {
    test: TestKind,
    direct: bool,
    memory_backed: bool,
    link_mb_s: Option<f64>,
    rpm: Option<f64>,
    capacity_bytes: u64,
    loop_device: bool,
    loop_cached_share: Option<f64>,
    several_devices: bool,
    warning_c: Option<f64>,
    memory_bytes: u64,
    memory_copy_mb_s: f64,
    /// The same once more: a machine that was busy at the start copied slowly then.
    memory_copy_again: fn() -> f64,
    generator_mb_s: f64,
}

impl Facts {
    /// The facts of a session.
    pub fn of(session: &Session<'_>, test: TestKind) -> Self {
        let drive = session.target.drive();
        Self {
            test,
            direct: session.is_direct(),
            memory_backed: session.target.memory_backed().is_some(),
            link_mb_s: drive.and_then(|d| d.link.as_ref()).map(|link| link.payload_mb_s),
            rpm: drive.and_then(|d| d.rpm).filter(|&rpm| rpm > 1).map(f64::from),
            capacity_bytes: drive.map_or(u64::MAX, |d| d.capacity_bytes),
            loop_device: session.target.loop_device().is_some(),
            loop_cached_share: session.target.loop_cached_share(),
            several_devices: session.target.stack().whole_disks.len() > 1,
            warning_c: session.target.warning_c(),
            memory_bytes: session.memory_bytes(),
            memory_copy_mb_s: session.calibration.memory_copy_mb_s,
            memory_copy_again: calibrate::memory_copy_mb_s,
            generator_mb_s: session.calibration.generator_mb_s,
        }
    }

    fn key(&self, round: &Round) -> String {
        format!("{}.{}", self.test, round.cell)
    }
}

/// What is known before the first request: for the whole run.
pub fn of_target(target: &Target, power_save: Option<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut notice = |id, evidence: String| found.push(Finding::new(id, evidence));
    if let Some(evidence) = target.memory_backed() {
        notice(FindingId::MemoryBacked, evidence);
    }
    let info = target.info();
    if let Some(fs) = &info.file_system {
        let at = format!("{} of {}", fs.kind, fs.source);
        match FsClass::of(&fs.kind) {
            FsClass::Network => notice(FindingId::NetworkFs, at),
            FsClass::Fuse => notice(FindingId::FuseFs, at),
            FsClass::Overlay => notice(FindingId::SharedDrive, at),
            FsClass::Local | FsClass::Memory => {}
        }
    }
    if let Some(evidence) = target.compression() {
        notice(FindingId::Compression, evidence);
    }
    if info.system_disk {
        notice(
            FindingId::SystemDisk,
            format!("{} holds the running system", info.stack.join(" on ")),
        );
    }
    if let Some(name) =
        info.stack.iter().find(|name| name.starts_with("dm-") || name.starts_with("md"))
    {
        notice(FindingId::SharedDrive, format!("the data pass through {name}"));
    }
    if let Some(name) = target.loop_device() {
        notice(FindingId::VirtualDrive, format!("{name} is a file shown as a disk"));
    }
    if let Some(drive) = target.drive() {
        of_drive(drive, &info.stack, &mut notice);
    }
    if let Some(evidence) = power_save {
        notice(FindingId::PowerSave, evidence);
    }
    found
}

fn of_drive(drive: &Drive, stack: &[String], notice: &mut impl FnMut(FindingId, String)) {
    let what = match drive.kind {
        DriveKind::Virtual => Some("a disk of a virtual machine"),
        DriveKind::Composite => Some("made of other devices"),
        _ => None,
    };
    if let Some(what) = what {
        notice(FindingId::VirtualDrive, format!("{} is {what}", drive.name));
    }
    if let Some(link) = &drive.link
        && let Some(possible) = &link.possible
    {
        notice(FindingId::SlowLink, format!("{} where {possible} is possible", link.name));
    }
    let used = |name: &str| stack.iter().any(|s| s == name);
    for part in drive.partitions.iter().filter(|p| p.misaligned_bytes != 0 && used(&p.name)) {
        let evidence =
            format!("{} begins {} bytes past a physical sector", part.name, part.misaligned_bytes);
        notice(FindingId::Misaligned, evidence);
    }
}

/// What a failed test says about the drive.
pub fn of_error(error: &BenchError) -> Option<Finding> {
    match error {
        BenchError::Request { failure, .. }
            if !matches!(failure.errno, libc::ENOSPC | libc::EDQUOT) =>
        {
            Some(Finding::new(FindingId::IoError, error.to_string()))
        }
        BenchError::Mismatch { .. } => {
            Some(Finding::new(FindingId::DataMismatch, error.to_string()))
        }
        BenchError::Journal {
            error: JournalError::NotRestored { .. } | JournalError::Unreadable { .. },
            ..
        } => Some(Finding::new(FindingId::IoError, error.to_string())),
        _ => None,
    }
}

/// What a round reveals.
pub fn of_round(round: &Round, facts: &Facts) -> Vec<Finding> {
    if facts.memory_backed {
        return Vec::new(); // every number is memory's, and the run says so
    }
    let checks = [
        above_ceiling(round, facts),
        above_rotation(round, facts),
        bytes_missing(round, facts),
        other_io(round, facts),
        cpu_bound(round),
        stalled(round),
        small_working_set(round, facts),
        rate_missed(round),
        fall::too_hot(round, facts.warning_c),
    ];
    let about = facts.key(round);
    checks.into_iter().flatten().map(|finding| finding.about(about.clone())).collect()
}

fn found(id: FindingId, evidence: String) -> Option<Finding> {
    Some(Finding::new(id, evidence))
}

fn above_ceiling(round: &Round, facts: &Facts) -> Option<Finding> {
    if round.cached_on_purpose {
        return None;
    }
    let rate = round.measured.mb_s();
    if let Some(link) = facts.link_mb_s {
        let evidence = || format!("{}: {rate:.0} MB/s over a link of {link:.0} MB/s", round.cell);
        return (rate > link * CEILING_SLACK)
            .then(|| Finding::new(FindingId::AboveLink, evidence()));
    }
    let threads = round.load.as_ref().map_or(1, |load| load.shape.threads);
    let ceiling = |copy_mb_s: f64| copy_mb_s * f64::from(threads);
    if rate <= ceiling(facts.memory_copy_mb_s) * CEILING_SLACK {
        return None;
    }
    let memory = ceiling(facts.memory_copy_mb_s.max((facts.memory_copy_again)()));
    let evidence = || format!("{}: {rate:.0} MB/s; memory copies {memory:.0} MB/s", round.cell);
    (rate > memory * CEILING_SLACK).then(|| Finding::new(FindingId::AboveMemory, evidence()))
}

/// The rate of a closed loop of random requests at depth 1, if the round is one.
fn random_depth_one(round: &Round) -> Option<(&Load, f64)> {
    let load = round.load.as_ref()?;
    let shape = load.shape;
    let alone = shape.depth * shape.threads == 1 && load.pace == Pace::Closed;
    (alone && shape.order == Order::Rnd).then(|| (load, round.measured.iops()))
}

fn above_rotation(round: &Round, facts: &Facts) -> Option<Finding> {
    let rev_per_s = facts.rpm? / 60.0;
    let (load, iops) = random_depth_one(round)?;
    let whole = load.span.end - load.span.start >= facts.capacity_bytes / 2;
    let rpm = rev_per_s * 60.0;
    if load.mix.read_percent() == 100 && whole && iops > 2.0 * rev_per_s {
        let evidence = format!("{}: {iops:.0} reads/s at {rpm:.0} rpm", round.cell);
        return found(FindingId::AboveRotation, evidence);
    }
    if load.mix.read_percent() == 0 && iops > rev_per_s {
        let evidence = format!(
            "{}: {iops:.0} writes/s is more than {rpm:.0} rpm allows ({rev_per_s:.0}/s)",
            round.cell
        );
        return found(FindingId::WriteCached, evidence);
    }
    None
}

fn bytes_missing(round: &Round, facts: &Facts) -> Option<Finding> {
    let (read, written) = round.asked?;
    if facts.several_devices {
        return None; // counters of one member say nothing of the others
    }
    if let Some(share) = facts.loop_cached_share.filter(|&share| share > LOOP_CACHED_MAX) {
        let share = share * 100.0;
        let evidence =
            format!("{}: {share:.0} % of the loop device's file lies in memory", round.cell);
        return found(FindingId::PageCache, evidence);
    }
    if let Some(below) = round.below_loop {
        return answered_from_memory(round, (read, written), &below);
    }
    let top = round.top?;
    for (asked, seen, what) in
        [(read, top.read_bytes as f64, "read"), (written, top.written_bytes as f64, "written")]
    {
        if asked > COUNTED_MIN_BYTES && seen < asked * SEEN_SHARE_MIN {
            let id = if facts.direct { FindingId::BytesMissing } else { FindingId::PageCache };
            let (asked, seen) = (Bytes(asked as u64), Bytes(seen as u64));
            let evidence = format!("{}: {asked} {what}, but the device saw {seen}", round.cell);
            return found(id, evidence);
        }
    }
    None
}

/// A loop device without direct I/O answers from the page cache of its file.
fn answered_from_memory(
    round: &Round,
    (read, written): (f64, f64),
    below: &DeviceCounters,
) -> Option<Finding> {
    for (asked, seen, what) in
        [(read, below.read_bytes, "read"), (written, below.written_bytes, "written")]
    {
        if asked > COUNTED_MIN_BYTES && (seen as f64) < asked * SEEN_SHARE_MIN {
            let (asked, seen) = (Bytes(asked as u64), Bytes(seen));
            let evidence = format!(
                "{}: {asked} {what} through a loop device, but the drive below saw {seen}",
                round.cell
            );
            return found(FindingId::PageCache, evidence);
        }
    }
    None
}

fn other_io(round: &Round, facts: &Facts) -> Option<Finding> {
    let (read, written) = round.asked?;
    // Where layers change the number of bytes on their way down, the uppermost device must do.
    let disk = round.disk.or(round.top)?;
    if !facts.direct {
        return None; // read-ahead and write-back of our own file look the same
    }
    let ours = read + written;
    let others = disk.read_bytes as f64 + disk.written_bytes as f64 - ours;
    let share = others / ours.max(1.0);
    (share > OTHER_SHARE && others > OTHER_MIN_BYTES).then(|| {
        let others = Bytes(others as u64);
        let evidence = format!("{}: {others} more on the drive than drivescope moved", round.cell);
        Finding::new(FindingId::OtherIo, evidence)
    })
}

fn busiest_share(round: &Round) -> f64 {
    round.measured.busiest_cpu_ns as f64 / round.measured.wall_ns.max(1) as f64
}

fn cpu_bound(round: &Round) -> Option<Finding> {
    let share = busiest_share(round);
    (share >= CPU_BUSY_SHARE && !round.cached_on_purpose).then(|| {
        let evidence = format!("{}: one thread used {:.0} % of a core", round.cell, share * 100.0);
        Finding::new(FindingId::CpuBound, evidence)
    })
}

/// A lasting drop of the rate within the round.
pub fn drop_of(round: &Round) -> Option<Drop> {
    if round.cached_on_purpose { None } else { lasting_drop(&round.rates_mb_s()) }
}

fn stalled(round: &Round) -> Option<Finding> {
    let gap = round.measured.recorder.gap_max_ns;
    let evidence = || format!("{}: nothing completed for {:.1} s", round.cell, gap as f64 / 1e9);
    (gap > STALL_NS).then(|| Finding::new(FindingId::Stall, evidence()))
}

fn small_working_set(round: &Round, facts: &Facts) -> Option<Finding> {
    let load = round.load.as_ref()?;
    // Small spans are what `latency` shows; its whole span must still be larger than a cache.
    if facts.test == TestKind::Latency && !round.cell.starts_with("span100") {
        return None;
    }
    let span = load.span.end - load.span.start;
    let (cache, what) = if !facts.direct || facts.loop_device {
        (facts.memory_bytes, "memory, which caches this target")
    } else {
        (DRIVE_CACHE_BYTES, "assumed for the drive's cache")
    };
    let evidence =
        || format!("{}: a span of {} against {} {what}", round.cell, Bytes(span), Bytes(cache));
    (span < cache).then(|| Finding::new(FindingId::SmallWorkingSet, evidence()))
}

fn rate_missed(round: &Round) -> Option<Finding> {
    let Some(Load { pace: Pace::Open { rate, .. }, .. }) = round.load else { return None };
    let (got, recorder) = (round.measured.iops(), &round.measured.recorder);
    let late = recorder.due.saturating_sub(recorder.ops);
    let evidence = || format!("{}: {got:.0} of {rate:.0} requests per second", round.cell);
    (late as f64 > recorder.due as f64 * LATE_SHARE_MAX && late > LATE_MIN)
        .then(|| Finding::new(FindingId::RateMissed, evidence()))
}

/// What held a round back; throttling is told from all rounds of a cell, in [`crate::results`].
pub fn limiter(round: &Round, facts: &Facts) -> Limiter {
    let rate = round.measured.mb_s();
    let writes = round.load.as_ref().is_some_and(|load| load.mix.writes());
    let open = round.load.as_ref().is_some_and(|load| load.pace != Pace::Closed);
    if facts.memory_backed || round.cached_on_purpose {
        Limiter::Memory
    } else if facts.link_mb_s.is_some_and(|link| rate > link * LINK_FULL_SHARE) {
        Limiter::Link
    } else if busiest_share(round) >= CPU_BUSY_SHARE {
        let making_data = writes && rate > facts.generator_mb_s / 2.0;
        if making_data { Limiter::Generator } else { Limiter::Cpu }
    } else if open && rate_missed(round).is_none() {
        Limiter::Schedule
    } else if round.busy_pct().is_some_and(|busy| busy < DEVICE_IDLE_PCT) {
        Limiter::FileSystem
    } else {
        Limiter::Drive
    }
}

#[cfg(test)]
#[path = "validity_tests.rs"]
mod tests;
