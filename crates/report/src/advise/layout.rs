//! Which data go where: those that are waited for on the drive with the shortest accesses, and on a disk from the
//! outside in.

use super::drive_figures::PartFigures;
use super::{DataUse, DriveFigures, Need};
use drivescope_model::number::rounded;
use drivescope_model::units::Bytes;
use serde::Serialize;

/// Alignment of partitions: a multiple of every sector, page and erase block size.
const ALIGNMENT: u64 = 1 << 20;
/// Space for the second partition table, at the end of the drive.
const TAIL: u64 = 1 << 20;
/// The last partition takes the rest of the drive if that is less than this share.
const REST_SHARE: f64 = 0.02;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacedPartition {
    pub drive: usize,
    pub need: Need,
    pub start: u64,
    /// First byte after it.
    pub end: u64,
    pub expected: PartFigures,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DataLayout {
    /// Sorted by drive and start.
    pub placements: Vec<PlacedPartition>,
    pub unplaced: Vec<(Need, String)>,
    pub notes: Vec<String>,
}

/// With more drives than this, only the first are tried as backup drives.
const TRIED_MAX: usize = 10;
/// Accesses to frequently used data may take up to this many times as long, so that a backup gets its own drive.
const SLOWER_MAX: f64 = 2.0;

/// Places all needs: backups on other drives than the data they save, wherever all needs fit, and no drive left empty
/// that a backup fits on.
pub fn place(drives: &[DriveFigures], needs: &[Need]) -> DataLayout {
    let plain = placed(drives, needs, 0);
    let has_backup = drives.len() > 1 && needs.iter().any(is_backup);
    let sets = if has_backup { 1_u32 << drives.len().min(TRIED_MAX) } else { 1 };
    let ranked = (0..sets).map(|kept| {
        let layout = placed(drives, needs, kept);
        (LayoutRank::of(drives, &layout, &plain, kept), layout)
    });
    let better = |a: (LayoutRank, DataLayout), b: (LayoutRank, DataLayout)| {
        if b.0.is_before(&a.0) { b } else { a }
    };
    let mut layout = ranked.reduce(better).map_or(plain.clone(), |(_, layout)| layout);
    take_the_rest(drives, &mut layout);
    layout.placements.sort_by_key(|placement| (placement.drive, placement.start));
    layout.notes = notes(drives, &layout);
    layout
}

/// Cold data that are not for exchange, and whatever has backup in its name.
fn is_backup(need: &Need) -> bool {
    let name = need.name.to_lowercase();
    let is_for_others = ["exchange", "transfer", "share"].iter().any(|part| name.contains(part));
    name.contains("backup") || (need.data_use == DataUse::Cold && !is_for_others)
}

/// Rank of a layout: the lowest wins, compared field by field.
struct LayoutRank {
    unplaced_bytes: u64,
    /// Fast needs on an unsuitable drive, or with much longer access times than without a place for backups.
    slowed: usize,
    /// Backups on the same drive as data.
    beside: usize,
    /// Sum over the fast needs.
    access_ms: f64,
    /// Sum of the rates of drives kept for backups: slow ones are good enough.
    kept_mb_s: f64,
}

impl LayoutRank {
    fn of(drives: &[DriveFigures], layout: &DataLayout, plain: &DataLayout, kept: u32) -> Self {
        let access_ms = |layout: &DataLayout, name: &str| {
            let placed = layout.placements.iter().find(|it| it.need.name == name);
            placed.and_then(|it| it.expected.access_ms).unwrap_or(0.0)
        };
        let fast = || layout.placements.iter().filter(|it| it.need.data_use == DataUse::Fast);
        let is_slowed = |it: &&PlacedPartition| {
            let without = access_ms(plain, &it.need.name);
            let is_slow =
                it.expected.access_ms.unwrap_or(0.0) > SLOWER_MAX * without && without > 0.0;
            is_slow || is_unsuited(&drives[it.drive])
        };
        let is_beside = |it: &&PlacedPartition| is_backup(&it.need) && has_data(layout, it.drive);
        let is_kept = |i: &usize| kept >> (*i).min(31) & 1 == 1;
        Self {
            unplaced_bytes: layout
                .unplaced
                .iter()
                .fold(0, |sum, (need, _)| sum.saturating_add(need.bytes)),
            slowed: fast().filter(is_slowed).count(),
            beside: layout.placements.iter().filter(is_beside).count(),
            access_ms: fast().filter_map(|it| it.expected.access_ms).sum(),
            kept_mb_s: (0..drives.len().min(TRIED_MAX))
                .filter(is_kept)
                .map(|i| drives[i].part(0, drives[i].bytes).read_mean_mb_s)
                .sum(),
        }
    }

    fn is_before(&self, other: &Self) -> bool {
        let counts = |it: &Self| (it.unplaced_bytes, it.slowed, it.beside);
        counts(self)
            .cmp(&counts(other))
            .then(self.access_ms.total_cmp(&other.access_ms))
            .then(self.kept_mb_s.total_cmp(&other.kept_mb_s))
            .is_lt()
    }
}

fn is_unsuited(drive: &DriveFigures) -> bool {
    drive.is_shingled || drive.flush_lies
}

fn has_data(layout: &DataLayout, drive: usize) -> bool {
    let is_data = |it: &PlacedPartition| it.drive == drive && it.need.data_use != DataUse::Cold;
    layout.placements.iter().any(|it| is_data(it) && !is_backup(&it.need))
}

/// Places needs in order: backups only on the drives of the set `kept`, data on the others; an empty set puts no
/// limits.
fn placed(drives: &[DriveFigures], needs: &[Need], kept: u32) -> DataLayout {
    let mut order: Vec<&Need> = needs.iter().collect();
    order.sort_by_key(|need| (need.data_use, !is_backup(need)));
    let mut cursors: Vec<u64> = vec![ALIGNMENT; drives.len()];
    let mut layout = DataLayout::default();
    for need in order {
        let has_room = |i: usize| {
            let end = cursors[i].saturating_add(rounded_up(need.bytes)).saturating_add(TAIL);
            end <= end_of(&drives[i], need.bytes)
        };
        let is_for_it = |i: usize| match (kept, is_backup(need), need.data_use) {
            (0, ..) | (_, false, DataUse::Cold) => true,
            (kept, is_backup, _) => (kept >> i.min(31) & 1 == 1) == is_backup,
        };
        let rooms: Vec<usize> =
            (0..drives.len()).filter(|&i| is_for_it(i) && has_room(i)).collect();
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
    layout
}

fn rounded_up(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX)
}

/// The byte up to which a need may reach: sizes as drives are sold (2 + 9 + 3 + 2 TB of 16) fit although tables
/// take room.
fn end_of(drive: &DriveFigures, bytes: u64) -> u64 {
    drive.bytes + (bytes / 1000).min(8 * ALIGNMENT)
}

fn best(
    drives: &[DriveFigures],
    cursors: &[u64],
    need: &Need,
    rooms: &[usize],
    layout: &DataLayout,
) -> Option<usize> {
    let part = |i: usize| drives[i].part(cursors[i], cursors[i].saturating_add(need.bytes));
    let unsuited = |i: usize| need.data_use == DataUse::Fast && is_unsuited(&drives[i]);
    // A backup beside what it saves is none.
    let shares = |i: usize| match (is_backup(need), need.data_use) {
        (true, _) => has_data(layout, i),
        (false, DataUse::Cold) => layout.placements.iter().any(|other| other.drive == i),
        (false, _) => false,
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

/// Extends the last partition of a drive over the small rest after it.
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
        if has_data(layout, i) && own.iter().any(|it| is_backup(&it.need)) {
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
            "{}: one partition over the whole drive is as good: accesses within parts of this size take nearly as long",
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

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn needs(texts: &[&str]) -> Vec<Need> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn drive_of(layout: &DataLayout, name: &str) -> Option<usize> {
        layout.placements.iter().find(|it| it.need.name == name).map(|it| it.drive)
    }

    #[test]
    fn backup_goes_to_another_drive_than_its_data() {
        let disk = |bytes, mb_s| DriveFigures::disk("disk", bytes, mb_s);
        let ssd = |bytes| DriveFigures::ssd("ssd", bytes);
        for (drives, wanted, of_backup) in [
            // The large disk is the faster one: data first would leave the backup no other place.
            (
                vec![disk(4_000 * GB, 200.0), disk(1_000 * GB, 100.0)],
                &["photos:900GB", "backup:3TB"][..],
                0,
            ),
            (
                vec![disk(1_000 * GB, 100.0), disk(4_000 * GB, 200.0)],
                &["photos:900GB", "backup:3TB"],
                1,
            ),
            // What is for exchange does not take its drive.
            (
                vec![disk(4_000 * GB, 200.0), disk(2_000 * GB, 100.0)],
                &["exchange:1500GB", "photos:2TB", "backup:1500GB"],
                1,
            ),
            // Bulk data make room on the disk.
            (
                vec![ssd(2_000 * GB), disk(4_000 * GB, 200.0)],
                &["vms:500GB", "photos:1TB", "backup:1500GB"],
                1,
            ),
            // One that is called bulk is a backup as well.
            (
                vec![disk(2_000 * GB, 200.0), disk(2_000 * GB, 100.0)],
                &["photos:1TB", "backup:900GB,bulk"],
                1,
            ),
            (
                vec![disk(2_000 * GB, 200.0), disk(2_000 * GB, 200.0)],
                &["mail:1TB", "Sicherung:900GB,cold"],
                1,
            ),
        ] {
            let layout = place(&drives, &needs(wanted));
            assert_eq!(layout.unplaced, [], "{wanted:?}");
            let backup = wanted.last().unwrap().split(':').next().unwrap();
            assert_eq!(drive_of(&layout, backup), Some(of_backup), "{wanted:?}");
            assert!(!has_data(&layout, of_backup), "{wanted:?}: {layout:?}");
            assert!(
                layout.notes.iter().all(|note| !note.contains("is lost together")),
                "{layout:?}"
            );
        }
    }

    #[test]
    fn backup_drives_nothing_fast_onto_a_shingled_disk() {
        let good = DriveFigures::disk("good", 4_000 * GB, 200.0);
        let mut shingled = DriveFigures::disk("shingled", 8_000 * GB, 210.0);
        shingled.is_shingled = true;
        let layout = place(&[shingled, good], &needs(&["vms:1TB", "backup:1TB"]));
        assert_eq!((drive_of(&layout, "vms"), drive_of(&layout, "backup")), (Some(1), Some(0)));
    }

    #[test]
    fn backup_without_another_drive_is_placed_with_warning() {
        let drives =
            [DriveFigures::ssd("ssd", 500 * GB), DriveFigures::disk("disk", 4_000 * GB, 200.0)];
        // Machines on the disk would wait a hundred times as long so that the backup lay on the SSD.
        let layout = place(&drives, &needs(&["vms:400GB", "photos:300GB", "backup:300GB"]));
        let found = ["vms", "photos", "backup"].map(|name| drive_of(&layout, name));
        assert_eq!(found, [Some(0), Some(1), Some(1)]);
        assert!(layout.notes.iter().any(|note| note.contains("is lost together")), "{layout:?}");
        let none = place(&drives, &needs(&["photos:9TB", "backup:9000000TB", "archive:9000000TB"]));
        assert_eq!(none.unplaced.len(), 3);
        assert_eq!(place(&[], &needs(&["backup:1TB"])).unplaced.len(), 1);
    }
}
