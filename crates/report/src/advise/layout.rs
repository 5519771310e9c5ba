//! Which data go where: those that are waited for on the drive with the shortest accesses, and on a disk from the
//! outside in.

use super::drive_figures::PartFigures;
use super::{DataUse, DriveFigures, Need};
use drivescope_model::number::rounded;
use drivescope_model::units::Bytes;
use serde::Serialize;

/// Partitions begin and end at multiples of this: of every sector, page and erase block there is.
const ALIGNMENT: u64 = 1 << 20;
/// Behind the last partition lies the second partition table.
const TAIL: u64 = 1 << 20;
/// A last partition takes what is left of the drive if that is less than this share of it.
const REST_SHARE: f64 = 0.02;

/// A partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacedPartition {
    /// Index of the drive.
    pub drive: usize,
    /// What lies there.
    pub need: Need,
    /// First byte.
    pub start: u64,
    /// Byte behind the last.
    pub end: u64,
    /// What to expect there.
    pub expected: PartFigures,
}

/// All partitions, what found no room, and what must be said.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DataLayout {
    /// By drive and start.
    pub placements: Vec<PlacedPartition>,
    /// Needs without room, each with the reason.
    pub unplaced: Vec<(Need, String)>,
    /// What it buys, and what it does not.
    pub notes: Vec<String>,
}

/// Places all needs on the drives.
pub fn place(drives: &[DriveFigures], needs: &[Need]) -> DataLayout {
    let mut order: Vec<&Need> = needs.iter().collect();
    order.sort_by_key(|need| need.data_use);
    let mut cursors: Vec<u64> = vec![ALIGNMENT; drives.len()];
    let mut layout = DataLayout::default();
    for need in order {
        let rooms: Vec<usize> = (0..drives.len())
            .filter(|&i| {
                cursors[i] + rounded_up(need.bytes) + TAIL <= end_of(&drives[i], need.bytes)
            })
            .collect();
        let Some(drive) = best(drives, &cursors, need, &rooms, &layout) else {
            let left =
                (0..drives.len()).map(|i| drives[i].bytes.saturating_sub(cursors[i] + TAIL)).max();
            let why = format!(
                "needs {}, and at most {} are left on a drive",
                Bytes(need.bytes),
                Bytes(left.unwrap_or(0))
            );
            layout.unplaced.push((need.clone(), why));
            continue;
        };
        let start = cursors[drive];
        let whole = drives[drive].bytes.saturating_sub(TAIL) / ALIGNMENT * ALIGNMENT;
        let end = (start + rounded_up(need.bytes)).min(whole);
        cursors[drive] = end;
        let expected = drives[drive].part(start, end);
        layout.placements.push(PlacedPartition { drive, need: need.clone(), start, end, expected });
    }
    take_the_rest(drives, &mut layout);
    layout.placements.sort_by_key(|placement| (placement.drive, placement.start));
    layout.notes = notes(drives, &layout);
    layout
}

fn rounded_up(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT)
}

/// The byte up to which a need may reach: sizes as drives are sold (2 + 9 + 3 + 2 TB of 16) fit although tables
/// take room.
fn end_of(drive: &DriveFigures, bytes: u64) -> u64 {
    drive.bytes + (bytes / 1000).min(8 * ALIGNMENT)
}

/// The drive that suits a need best, of those with room.
fn best(
    drives: &[DriveFigures],
    cursors: &[u64],
    need: &Need,
    rooms: &[usize],
    layout: &DataLayout,
) -> Option<usize> {
    let part = |i: usize| drives[i].part(cursors[i], cursors[i] + need.bytes);
    let unsuited = |i: usize| {
        need.data_use == DataUse::Fast && (drives[i].is_shingled || drives[i].flush_lies)
    };
    // A backup beside what it saves is none.
    let shares = |i: usize| {
        need.data_use == DataUse::Cold && layout.placements.iter().any(|other| other.drive == i)
    };
    let cost = |i: usize| {
        let figures = part(i);
        match need.data_use {
            DataUse::Fast => figures.access_ms.unwrap_or(f64::MAX),
            // Room on flash is for those who wait for it.
            DataUse::Bulk if drives[i].rotates() => -figures.read_mean_mb_s,
            DataUse::Bulk => f64::MAX / 2.0,
            DataUse::Cold => figures.read_mean_mb_s,
        }
    };
    let rank = |&i: &usize| (unsuited(i), shares(i), cost(i));
    rooms.iter().copied().min_by(|a, b| {
        let ((a1, a2, a3), (b1, b2, b3)) = (rank(a), rank(b));
        (a1, a2).cmp(&(b1, b2)).then(a3.total_cmp(&b3))
    })
}

/// What little is left behind the last partition of a drive belongs to it.
fn take_the_rest(drives: &[DriveFigures], layout: &mut DataLayout) {
    for (i, drive) in drives.iter().enumerate() {
        let whole = drive.bytes.saturating_sub(TAIL) / ALIGNMENT * ALIGNMENT;
        let of_drive = layout.placements.iter_mut().filter(|placement| placement.drive == i);
        let Some(last) = of_drive.max_by_key(|placement| placement.end) else { continue };
        if last.end < whole && ((whole - last.end) as f64) < REST_SHARE * drive.bytes as f64 {
            last.end = whole;
            last.expected = drive.part(last.start, last.end);
        }
    }
}

fn notes(drives: &[DriveFigures], layout: &DataLayout) -> Vec<String> {
    let mut notes = Vec::new();
    for (i, drive) in drives.iter().enumerate() {
        let own: Vec<&PlacedPartition> =
            layout.placements.iter().filter(|it| it.drive == i).collect();
        if own.is_empty() {
            continue;
        }
        notes.extend(what_it_buys(drive, &own));
        if own.iter().any(|it| it.need.data_use == DataUse::Fast) {
            if drive.is_shingled {
                notes.push(format!(
                    "{} is shingled: long random writing becomes very slow; put nothing there that needs it",
                    drive.name
                ));
            }
            if drive.flush_lies {
                notes.push(format!(
                    "{} answers flushes before data are safe: no databases and systems on it, or hdparm -W0",
                    drive.name
                ));
            }
        }
        let is_backup = |it: &&&PlacedPartition| it.need.name.to_lowercase().contains("backup");
        if own.len() > 1 && own.iter().any(|it| is_backup(&it)) {
            notes.push(format!(
                "a backup on {} is lost together with the data beside it if the drive fails; it should save what \
                 lies on other drives",
                drive.name
            ));
        }
    }
    notes
}

/// Access time with and without the layout, or why there is no difference.
fn what_it_buys(drive: &DriveFigures, own: &[&PlacedPartition]) -> Vec<String> {
    if !drive.depends_on_position() {
        return vec![format!(
            "{}: partitioning buys no speed: it is as fast everywhere; several only keep data apart",
            drive.name
        )];
    }
    let whole = drive.part(0, drive.bytes);
    let has_fast = own.iter().any(|it| it.need.data_use == DataUse::Fast);
    let asked = own.iter().filter(|it| !has_fast || it.need.data_use == DataUse::Fast);
    let fastest = asked.filter_map(|it| Some((it, it.expected.access_ms?)));
    let fastest = fastest.min_by(|a, b| a.1.total_cmp(&b.1));
    let Some(((placement, within), all)) = fastest.zip(whole.access_ms) else { return Vec::new() };
    if within > 0.97 * all {
        return vec![format!(
            "{}: one partition over the whole drive is as good: parts of this size move the arm nearly as far",
            drive.name
        )];
    }
    vec![format!(
        "{}: random reads take {} ms within {} and {} ms over the whole drive, as long as only one partition is \
         used at a time",
        drive.name,
        rounded(within),
        placement.need.name,
        rounded(all)
    )]
}
