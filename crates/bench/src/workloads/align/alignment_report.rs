//! What `align` says of drive and partitions, beside what the drive says of itself.

use super::physical_sector::{BlockSizeResult, Boundaries, Sector, conclude, misaligned};
use crate::judging::test_record::TestRecord;
use crate::session::Session;
use drivescope_drive::Target;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::findings::{Finding, FindingId};
use drivescope_model::target::TargetKind;
use drivescope_model::units::Bytes;

/// Largest sector that a file can show of its drive: the block in which file systems place data.
pub const FILE_BLOCK: u64 = 4096;
/// No flash maps smaller units.
const FLASH_UNIT: u64 = 4096;
/// A page of flash is hardly read in less: what the fast kinds (SLC, XL) need, with the transfer.
const PAGE_READ_NS: f64 = 20e3;
/// Half width of a 95 % interval in standard errors.
const NORMAL_95: f64 = 1.96;

/// Adds metrics and findings of what was seen; `step` is the smallest unit of offsets.
///
/// A sector is a metric only if the times show one, or if the drive reports the smallest there can be and no time
/// speaks against it. Partitions are judged in any case, by the larger of what was found and what the drive reports.
pub fn report(session: &Session<'_>, record: &mut TestRecord, seen: &[BlockSizeResult], step: u64) {
    seen.iter().for_each(|seen| of_size(record, seen));
    let conclusion = conclude(seen);
    if let Some(penalty) = conclusion.penalty {
        record.estimate("device.penalty_ratio", penalty.value, penalty.low, penalty.high);
    }
    let drive = session.target.drive();
    let reported = drive.map(|drive| u64::from(drive.physical_sector_bytes));
    if let Some(reported) = reported {
        record.metric("device.reported_bytes", vec![reported as f64]);
    }
    let hides = drive.is_some_and(is_flash) && smallest_extra_ns(seen) > PAGE_READ_NS;
    let found = match conclusion.sector {
        Sector::Found { bytes, shift } => Some((bytes, shift)),
        Sector::Costless if hides => {
            record.remark(HIDDEN_BY_FLASH.to_string());
            None
        }
        Sector::Costless => reported.filter(|&reported| reported <= step).map(|_| (step, 0)),
        Sector::Unknown(why) => {
            record.remark(format!("physical sector: {why}"));
            None
        }
    };
    if let Some((sector, shift)) = found {
        record.metric("device.sector_bytes", vec![sector as f64]);
        record.metric("device.shift_bytes", vec![shift as f64]);
    }
    let on_drive = found.and_then(|(sector, shift)| {
        let origin = origin(session.target, sector)?;
        Some((sector, (origin + shift) % sector))
    });
    match (found, on_drive) {
        (Some((sector, shift)), None) => notice_unknown_place(record, sector, shift),
        (_, Some((sector, shift))) => of_sector(record, drive, sector, shift),
        (None, None) => {}
    }
    if let Some(drive) = drive {
        of_partitions(record, drive, on_drive);
    }
    if let Some(named) = session.target.own_table() {
        of_partitions(record, &named, found);
    }
}

const HIDDEN_BY_FLASH: &str = "physical sector: no offset is slower, but a synced write takes so long here that one \
                               more flash page read would not show";

fn is_flash(drive: &Drive) -> bool {
    use DriveKind::{Card, Nvme, Simulated, Ssd};
    !drive.rotational_hint && matches!(drive.kind, Ssd | Nvme | Card | Simulated)
}

/// The smallest extra time at an offset that would have been seen with each size, ns.
fn smallest_extra_ns(seen: &[BlockSizeResult]) -> f64 {
    seen.iter().map(extra_ns).fold(0.0, f64::max)
}

fn extra_ns(seen: &BlockSizeResult) -> f64 {
    match seen.boundaries {
        Boundaries::Alike { resolution } => {
            let fastest =
                seen.times.iter().map(|(_, time)| time.mean).fold(f64::INFINITY, f64::min);
            resolution * fastest
        }
        _ => f64::INFINITY,
    }
}

/// Typical times of accesses of one size, and what those off the boundaries cost.
fn of_size(record: &mut TestRecord, seen: &BlockSizeResult) {
    let block = Bytes(seen.block).short();
    for (offset, time) in &seen.times {
        let key = format!("write{block}_at_{offset}.lat_mean_us");
        record.estimate_within(&key, time.mean / 1e3, NORMAL_95 * time.error / 1e3);
    }
    if let Some(penalty) = seen.penalty {
        let key = format!("blocks{block}.penalty_ratio");
        record.estimate(&key, penalty.value, penalty.low, penalty.high);
    }
}

/// Where the first byte of the target lies on its drive, as far as boundaries of `sector` bytes go: known
/// for a whole drive, a partition, and a file system right on one of them.
pub fn origin(target: &Target, sector: u64) -> Option<u64> {
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
            "sectors of {sector} bytes are shifted by {shift} bytes from the target's start; a layer below is \
             misaligned"
        );
        record.notice(Finding::new(FindingId::Misaligned, evidence).about("align"));
    }
}

/// Judges the drive itself; `shift`: where its first sector begins.
fn of_sector(record: &mut TestRecord, drive: Option<&Drive>, sector: u64, shift: u64) {
    if let Some(drive) = drive
        && sector > u64::from(drive.physical_sector_bytes)
        && !is_flash(drive)
    {
        let evidence = format!(
            "{} reports physical sectors of {} bytes; writes are fast in multiples of {sector}",
            drive.name, drive.physical_sector_bytes
        );
        record.notice(Finding::new(FindingId::SectorLie, evidence).about("align"));
    }
    if shift > 0 {
        let evidence = format!("the first sector of {sector} bytes begins at byte {shift}");
        record.notice(Finding::new(FindingId::ShiftedSectors, evidence).about("align"));
    }
}

/// Judges the partitions by the sector that was found and its shift, or, as `drivescope list` does, by what the
/// drive reports, its first boundary too, if that is larger or nothing was found: writes may hide what a sector
/// costs, but not where it ends. Flash is taken to have pages of 4 KiB at least.
fn of_partitions(record: &mut TestRecord, drive: &Drive, found: Option<(u64, u64)>) {
    let reported = u64::from(drive.physical_sector_bytes);
    let found = found.filter(|&(sector, _)| sector >= reported);
    // Flash that reports less than it can map, and hides what that costs.
    let found = found.or((is_flash(drive) && reported < FLASH_UNIT).then_some((FLASH_UNIT, 0)));
    let sector = found.map_or(reported, |(sector, _)| sector);
    let mut astray = Vec::new();
    for part in &drive.partitions {
        let behind = match found {
            _ if part.is_extended() => 0,
            Some((sector, shift)) => misaligned(part.start_bytes, sector.max(1), shift),
            None => part.misaligned_bytes,
        };
        record.metric(&format!("{}.start_bytes", part.name), vec![part.start_bytes as f64]);
        record.metric(&format!("{}.misaligned_bytes", part.name), vec![behind as f64]);
        if behind > 0 {
            astray.push(format!(
                "{} starts at sector {}, {behind} bytes past a {sector}-byte boundary",
                part.name,
                part.start_bytes / 512
            ));
        }
    }
    if !astray.is_empty() {
        record.notice(Finding::new(FindingId::Misaligned, astray.join("; ")).about("align"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_target;
    use drivescope_model::options::TestKind;

    /// The container of logical partitions is wherever its table has room.
    #[test]
    fn an_extended_partition_is_not_called_misaligned() {
        fn findings(drive: &Drive) -> usize {
            let mut record = TestRecord::new(TestKind::Align);
            of_partitions(&mut record, drive, Some((4096, 0)));
            record.finish(3).findings.len()
        }
        let target = run_target("sim:wd20ears?partition=63,2048");
        let mut drive = target.drive().unwrap().clone();
        assert_eq!(findings(&drive), 1);
        drive.partitions[0].size_bytes = 1024;
        assert_eq!(findings(&drive), 0);
    }

    /// Some drives report that their first sector begins at byte 3584, so that sector 63 lies on a boundary.
    #[test]
    fn reported_alignment_counts_from_reported_offset() {
        let target = run_target("sim:wd40efrx?partition=63,2048");
        let mut drive = target.drive().unwrap().clone();
        assert_eq!(drive.physical_sector_bytes, 4096);
        for (behind, expected) in
            [([0, 512], "2 starts at sector 2048, 512 "), ([3584, 0], "1 starts")]
        {
            for (part, behind) in drive.partitions.iter_mut().zip(behind) {
                part.misaligned_bytes = behind;
            }
            for found in [None, Some((512, 0))] {
                let mut record = TestRecord::new(TestKind::Align);
                of_partitions(&mut record, &drive, found);
                let result = record.finish(3);
                assert_eq!(result.findings.len(), 1, "{:?}", result.findings);
                let evidence = &result.findings[0].evidence;
                assert!(evidence.contains(expected) && !evidence.contains(';'), "{evidence}");
            }
        }
    }
}
