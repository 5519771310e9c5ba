//! What `align` says of drive and partitions, beside what the drive says of itself.

use super::verdict::{Seen, conclude, misaligned};
use crate::results::TestRecord;
use crate::session::Session;
use drivescope_drive::Target;
use drivescope_model::drive::Drive;
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;

/// Largest sector for which a file tells of its drive: the block in which file systems place data.
const FILE_BLOCK: u64 = 4096;
/// Half width of a 95 % interval in standard errors.
const NORMAL_95: f64 = 1.96;

/// Adds metrics and findings of what was seen; `step` is the smallest unit of offsets.
pub fn report(session: &Session<'_>, record: &mut TestRecord, seen: &[Seen], step: u64) {
    seen.iter().for_each(|seen| of_size(record, seen));
    let conclusion = conclude(seen, step);
    if let Some(penalty) = conclusion.penalty {
        record.estimate("device.penalty_ratio", penalty.value, penalty.low, penalty.high);
    }
    let drive = session.target.drive();
    if let Some(drive) = drive {
        let reported = f64::from(drive.physical_sector_bytes);
        record.metric("device.reported_bytes", vec![reported]);
    }
    let (sector, shift) = match conclusion.sector {
        Ok(found) => found,
        Err(why) => return record.remark(format!("physical sector: {why}")),
    };
    record.metric("device.sector_bytes", vec![sector as f64]);
    record.metric("device.shift_bytes", vec![shift as f64]);
    if sector <= step {
        return; // everything is aligned
    }
    let Some(origin) = origin(session.target, sector) else {
        return notice_unknown_place(record, sector, shift);
    };
    if let Some(drive) = drive {
        of_drive(record, drive, sector, (origin + shift) % sector);
    }
}

/// Typical times of accesses of one size, and what those off the boundaries cost.
fn of_size(record: &mut TestRecord, seen: &Seen) {
    let block = Bytes(seen.block).short();
    for (offset, time) in &seen.times {
        let (us, half) = (time.mean / 1e3, NORMAL_95 * time.error / 1e3);
        let key = format!("write{block}_at_{offset}.lat_mean_us");
        record.estimate(&key, us, (us - half).max(0.0), us + half);
    }
    if let Some(penalty) = seen.penalty {
        let key = format!("blocks{block}.penalty_ratio");
        record.estimate(&key, penalty.value, penalty.low, penalty.high);
    }
}

/// Where the first byte of the target lies on its drive, as far as boundaries of `sector` bytes go: known
/// for a whole drive, a partition, and a file system right on one of them.
fn origin(target: &Target, sector: u64) -> Option<u64> {
    let info = target.info();
    match info.kind {
        TargetKind::Simulated => return Some(0),
        TargetKind::Directory | TargetKind::File if sector > FILE_BLOCK => return None,
        _ => {}
    }
    let drive = target.drive()?;
    let top = info.stack.first()?;
    if *top == drive.name {
        return Some(0);
    }
    drive.partitions.iter().find(|part| part.name == *top).map(|part| part.start_bytes)
}

fn notice_unknown_place(record: &mut TestRecord, sector: u64, shift: u64) {
    if shift > 0 {
        let evidence = format!(
            "sectors of {sector} bytes begin {shift} bytes behind the target's own boundaries; \
             some layer below it is misaligned"
        );
        record.notice(Finding::new(FindingId::Misaligned, evidence).about("align"));
    }
}

/// Judges the drive itself; `shift`: where its first sector begins.
fn of_drive(record: &mut TestRecord, drive: &Drive, sector: u64, shift: u64) {
    let reported = u64::from(drive.physical_sector_bytes);
    if sector > reported {
        let evidence = format!(
            "{} reports physical sectors of {reported} bytes; writes are fast in multiples of {sector}",
            drive.name
        );
        record.notice(Finding::new(FindingId::SectorLie, evidence).about("align"));
    }
    if shift > 0 {
        let evidence = format!("the first sector of {sector} bytes begins at byte {shift}");
        record.notice(Finding::new(FindingId::ShiftedSectors, evidence).about("align"));
    }
    let mut astray = Vec::new();
    for part in &drive.partitions {
        let behind = misaligned(part.start_bytes, sector, shift);
        record.metric(&format!("{}.start_bytes", part.name), vec![part.start_bytes as f64]);
        record.metric(&format!("{}.misaligned_bytes", part.name), vec![behind as f64]);
        if behind > 0 {
            astray.push(format!(
                "{} begins at sector {}, {behind} bytes past a boundary of {sector}",
                part.name,
                part.start_bytes / 512
            ));
        }
    }
    if !astray.is_empty() {
        record.notice(Finding::new(FindingId::Misaligned, astray.join("; ")).about("align"));
    }
}
