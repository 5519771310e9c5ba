//! Where `surface` reads: GNOME Disks' and zcav's places, and our own.

use super::PAGE;
use crate::io::draw::Draw;
use crate::io::offsets::derive_seed;
use crate::loops::scan::ScanRegion;
use drivescope_model::options::{SurfaceOptions, SurfacePreset};
use drivescope_model::patterns::gnome_disks;

pub(super) fn places(
    options: &SurfaceOptions,
    size: u64,
    seed: u64,
    round: u32,
) -> Vec<ScanRegion> {
    let sample = options.sample.0;
    match options.preset {
        SurfacePreset::Zcav => {
            let blocks = size.div_ceil(sample);
            let block = |i: u64| {
                let offset = i * sample;
                // The end of a device need not be a multiple of its direct I/O unit; whole pages are.
                let len = sample.min((size - offset) / PAGE * PAGE);
                ScanRegion::new(offset, len)
            };
            (0..blocks).map(block).filter(|place| place.len > 0).collect()
        }
        SurfacePreset::GnomeDisks => gnome_disks::samples(size, options.samples, sample)
            .into_iter()
            .filter(|&(_, len)| len > 0)
            .map(|(offset, len)| ScanRegion {
                offset,
                len,
                lead_in_from: offset,
                lead_in_len: PAGE,
            })
            .collect(),
        // The other two have places of their own.
        SurfacePreset::Sampled | SurfacePreset::Full | SurfacePreset::Spread => {
            sampled(options, size, seed, round)
        }
    }
}

/// Evenly spread positions from the first byte to the last, shuffled; even rounds go the other way, so that a drift is
/// not a slope. The first bytes are the lead-in of the first position.
fn sampled(options: &SurfaceOptions, size: u64, seed: u64, round: u32) -> Vec<ScanRegion> {
    let (sample, lead_in) = (options.sample.0, options.lead_in.0);
    let last = (size - sample) / PAGE;
    let count = u64::from(options.samples.max(2));
    let mut places: Vec<ScanRegion> = (0..count)
        .map(|i| {
            let page = |i: u64| (u128::from(last) * u128::from(i) / u128::from(count - 1)) as u64;
            let first = page(1).min(lead_in / PAGE);
            let offset = page(i).max(first) * PAGE;
            let lead_in_from = offset.saturating_sub(lead_in);
            ScanRegion { offset, len: sample, lead_in_from, lead_in_len: offset - lead_in_from }
        })
        .collect();
    // Rounds 1 and 2, 3 and 4 … share an order.
    Draw::new(derive_seed(seed, "surface", round.div_ceil(2), 0)).shuffle(&mut places);
    if round.is_multiple_of(2) {
        places.reverse();
    }
    places
}

pub(super) fn access_places(
    options: &SurfaceOptions,
    size: u64,
    seed: u64,
    round: u32,
) -> Vec<ScanRegion> {
    let block = options.access_block.0;
    let offsets = if options.preset == SurfacePreset::GnomeDisks {
        gnome_disks::accesses(size, options.accesses)
    } else {
        let mut draw = Draw::new(derive_seed(seed, "access", round, 0));
        (0..options.accesses).map(|_| draw.place(size, block)).collect()
    };
    offsets
        .into_iter()
        .filter(|offset| offset + block <= size)
        .map(|offset| ScanRegion::new(offset, block))
        .collect()
}
