//! Sectors of random disks behind random bridges, compared with the exact truth.

use crate::io::draw::Draw;
use crate::testing::{is_thorough, suite_of, value};
use crate::workloads::testing::random_disks::{DiskSectors, RandomDisk, measured};
use drivescope_model::options::TestKind;

/// Disks of `cargo test`, and of a full run.
const FEW: usize = 36;
const ALL: usize = 72;

/// The reason given where times are too scattered, and the number of disks of which one may have it.
const VARY: &str = "vary so much";
const UNKNOWN_EACH: usize = 12;

/// A disk's sectors, and what `align` must find: sector and shift.
struct SectorTruth {
    sectors: DiskSectors,
    found: Option<(u64, u64)>,
}

/// Sectors of 512 and 4096 bytes, reported truly or not; on SATA, behind bridges that keep the first bytes for
/// themselves, and behind those that show larger sectors.
///
/// A bridge that does both lets no access begin at a boundary: there is nothing to compare with, and it is left out.
fn random_sectors(draw: &mut Draw) -> SectorTruth {
    let physical = [512, 4096][draw.below(2) as usize];
    let is_native = physical == 4096 && draw.below(4) == 0;
    let logical: u32 = if is_native { 4096 } else { 512 };
    let reported = logical.max([512, 4096][draw.below(2) as usize]);
    let usb = ["usb3-uas", "usb3-bulk-only"][draw.below(2) as usize];
    let head = if is_native { 4096 * draw.below(3) } else { 512 * draw.below(24) };
    let (link, shown, head) = match draw.below(4) {
        0 => ("sata-6g".to_string(), logical, 0),
        1 | 2 => (format!("{usb}\"\nbridge = {{ hidden_head_bytes = {head} }} #\""), logical, head),
        _ => (format!("{usb}\"\nbridge = {{ logical_sector_bytes = 4096 }} #\""), 4096, 0),
    };
    let sector = physical.max(shown);
    let shift = (u64::from(sector) - head % u64::from(sector)) % u64::from(sector);
    // Where no offset is slower, only a report of the smallest sector there can be says that it is the sector.
    let shows = sector > shown || reported.max(shown) == shown;
    let sectors = DiskSectors { logical, physical, reported, link };
    SectorTruth { sectors, found: shows.then_some((u64::from(sector), shift)) }
}

#[test]
fn sectors_and_shift_are_exact_behind_bridges() {
    let count = if is_thorough() { ALL } else { FEW };
    // A log takes what is misaligned as well as what is not.
    let conventional = (1..).filter(|&seed| !RandomDisk::new(seed).truth.is_shingled);
    let (mut wrong, mut shifted, mut unknown) = (Vec::new(), 0, 0);
    for seed in conventional.take(count) {
        let SectorTruth { sectors, found: truth } = random_sectors(&mut Draw::new(seed ^ 0xA11));
        let disk = RandomDisk::with_sectors(seed, Some(&sectors));
        let result = measured(&disk.toml, "", suite_of(TestKind::Align), seed);
        let bytes = |quantity: &str| {
            value(&result, &format!("align.device.{quantity}_bytes")).map(|bytes| bytes as u64)
        };
        let found = bytes("sector").zip(bytes("shift"));
        shifted += usize::from(truth.is_some_and(|(_, shift)| shift > 0));
        let reason = result.reason.clone().unwrap_or_default();
        if found.is_none() && truth.is_some() && reason.contains(VARY) {
            unknown += 1;
        } else if found != truth {
            wrong.push(format!("{seed}: {found:?} of {truth:?}, {sectors:?}: {:?}", result.reason));
        }
    }
    println!("align: {count} disks, {shifted} shifted, {unknown} unknown, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(shifted > 0 && unknown * UNKNOWN_EACH <= count);
}
