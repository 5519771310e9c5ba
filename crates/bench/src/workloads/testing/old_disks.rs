//! Random disks of the 1990s, whose tracks hold 60 to 250 KB, with everything known of them.

use super::random_disks::{between, one_of, seek_curve, zone_list};
use crate::io::draw::Draw;

const SECTOR: u32 = 512;

/// An old disk: its model as a file has it, and what is true of it.
pub struct OldDisk {
    pub toml: String,
    pub rpm: f64,
    pub average_seek_ms: f64,
    /// Number of zones that differ by half a percent.
    pub zones: usize,
    pub track_bytes: f64,
    pub overhead_us: f64,
    pub hit_us: f64,
}

impl OldDisk {
    pub fn new(seed: u64) -> Self {
        let draw = &mut Draw::new(seed ^ 0x01D);
        let rpm = one_of(draw, &[4500.0, 5400.0, 7200.0, 10_000.0]) * between(draw, 0.997, 1.003);
        let heads = 4 + draw.below(9);
        let count = 6 + draw.below(10);
        let (outer, ratio) = (between(draw, 200.0, 480.0), between(draw, 0.55, 0.7));
        let zone = |i: u64, draw: &mut Draw| {
            let radius = 1.0 - (1.0 - ratio) * i as f64 / (count - 1) as f64;
            let width = 6_000.0 / count as f64 * between(draw, 0.85, 1.15);
            (width as u64, (outer * radius) as u64)
        };
        let zones: Vec<(u64, u64)> = (0..count).map(|i| zone(i, draw)).collect();
        let sectors: u64 = zones.iter().map(|(width, sectors)| width * heads * sectors).sum();
        let capacity = sectors * u64::from(SECTOR);
        let (seek, average_seek_ms, _) = seek_curve(draw);
        let [overhead_ms, hit_ms, write_ms] =
            [(0.2, 0.7), (0.2, 1.4), (0.3, 0.6)].map(|(low, high)| between(draw, low, high));
        let segment_kib = one_of(draw, &[128, 256]);
        let [head_skew, cylinder_skew] =
            [(0.1, 0.2), (0.2, 0.35)].map(|(low, high)| between(draw, low, high));
        let toml = format!(
            "name = \"old-{seed}\"\nsummary = \"random\"\nkind = \"hdd\"\n[identity]\nmodel = \"OLD {seed}\"\n\
             serial = \"O{seed}\"\nfirmware = \"1\"\nreported_logical_sector_bytes = {SECTOR}\n\
             reported_physical_sector_bytes = {SECTOR}\nrotation_rpm = {rpm:.0}\n[link]\npreset = \"sata-3g\"\n\
             [hdd]\ncapacity_bytes = {capacity}\nrpm = {rpm}\nheads = {heads}\n\
             logical_sector_bytes = {SECTOR}\nphysical_sector_bytes = {SECTOR}\nhead_switch_ms = 0.5\n\
             write_settle_ms = 0.5\nread_hit_overhead_ms = {hit_ms}\nread_miss_overhead_ms = {overhead_ms}\n\
             write_overhead_ms = {write_ms}\ninterface_mb_s = 80\n[hdd.layout]\norder = \"cylinder\"\n[hdd.skew]\n\
             head_rev = {head_skew}\ncylinder_rev = {cylinder_skew}\n[hdd.seek]\n{seek}[hdd.queue]\ndepth = 8\n\
             window = 1\nstarvation_ms = 500\n[hdd.read_modify_write]\nbatch_sectors = 20\ngap_ms = 0.28\n\
             [hdd.read_cache]\nsegments = 8\nsegment_kib = {segment_kib}\nread_ahead_kib = {segment_kib}\n\
             [hdd.write_cache]\nenabled = false\ndirty_limit_kib = 256\ndirty_extents = 8\nhigh_water_pct = 75\n\
             idle_ms = 50\nage_limit_ms = 30000\nwindow = 4\ngap_ms = 0.28\n{}",
            zone_list(&zones, 1)
        );
        Self {
            toml,
            rpm,
            average_seek_ms,
            zones: zones.len(),
            track_bytes: (zones[0].1 * u64::from(SECTOR)) as f64,
            overhead_us: overhead_ms * 1e3,
            hit_us: hit_ms * 1e3,
        }
    }
}
