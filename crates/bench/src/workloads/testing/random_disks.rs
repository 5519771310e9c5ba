//! Random disks of which everything is known: conventional and shingled, honest and not, on SATA and behind
//! bridges. Their models are written as files, so that the test sees nothing of them but their answers.

use crate::io::draw::Draw;
use crate::testing::{model_file, run_at, run_target};
use drivescope_drive::Target;
use drivescope_model::document::TestResult;
use drivescope_model::options::Suite;
use drivescope_sim::link::LinkParams;
use std::fmt::Write;
use tempfile::NamedTempFile;

#[derive(Debug, Clone)]
pub struct DiskTruth {
    pub rpm: f64,
    pub average_seek_ms: f64,
    /// Fractions of the capacity at which zones begin, and the sequential rate of each, MB/s.
    pub zones: Vec<(f64, f64)>,
    pub capacity: u64,
    pub read_cache_bytes: f64,
    pub places: u32,
    pub read_ahead_bytes: f64,
    /// `None`: writes wait for the medium.
    pub write_cache_bytes: Option<f64>,
    pub is_shingled: bool,
    pub flush_lies: bool,
    /// Whether it chooses among queued requests.
    pub queues: bool,
    pub heads: u64,
    /// Tracks of a pass over one head in serpentine order.
    pub pass_tracks: Option<u64>,
    /// Bytes of a band and of the log of shingled ones.
    pub shingles: Option<[f64; 2]>,
    pub movements: MovementTruth,
    /// Pauses at ends of tracks, shares of a turn: to the next cylinder, and to another head.
    pub skews: [f64; 2],
    /// Time of a track with the mean pause after it.
    pub track_s: f64,
    pub link: LinkTruth,
    /// Times of the drive's electronics for a read of the medium, one from its cache, and a write.
    pub electronics_ms: [f64; 3],
}

#[derive(Debug, Clone)]
pub struct MovementTruth {
    /// Over what the host sees of the stroke.
    pub full_stroke_ms: f64,
    pub next_track_ms: f64,
    pub random_ms: f64,
}

#[derive(Debug, Clone)]
pub struct LinkTruth {
    /// What it adds to every command.
    pub command_us: f64,
    pub mb_s: f64,
    pub queue_depth: u32,
}

impl LinkTruth {
    /// The link of a model's table, with a drive's port of such a rate.
    fn of(table: &str, port_mb_s: f64) -> Self {
        let link: LinkParams = toml::from_str(&format!("preset = \"{table}\"")).unwrap();
        Self {
            command_us: link.command_us + link.latency_us + link.status_us,
            mb_s: port_mb_s.min(link.payload_mb_s()),
            queue_depth: link.queue_depth,
        }
    }
}

/// A disk: its model as a file has it, its state, and the truth.
pub struct RandomDisk {
    pub toml: String,
    pub options: &'static str,
    pub truth: DiskTruth,
}

/// Sectors of a disk, and what stands before it.
#[derive(Debug, Clone)]
pub struct DiskSectors {
    pub logical: u32,
    pub physical: u32,
    pub reported: u32,
    /// The link's preset, and what follows it in its table.
    pub link: String,
}

/// Of disks that are sold, and how often.
const SPEEDS_RPM: [f64; 8] = [4200.0, 5400.0, 5700.0, 5900.0, 7200.0, 7200.0, 10_000.0, 15_000.0];

pub fn between(draw: &mut Draw, low: f64, high: f64) -> f64 {
    low + (high - low) * draw.share()
}

pub fn one_of<T: Copy>(draw: &mut Draw, all: &[T]) -> T {
    all[draw.below(all.len() as u64) as usize]
}

/// Zones as cylinders and sectors of 4 KiB per track, from the outside in.
fn zone_table(draw: &mut Draw, cylinders: f64, turn_s: f64) -> Vec<(u64, u64)> {
    // No disk reads faster than this.
    let fastest = 300e6 * turn_s / 4096.0;
    let outer = between(draw, 180.0, 600.0).min(fastest);
    let ratio = between(draw, 0.42, 0.62);
    // Neighbours differ by one per cent or more.
    let most = (-f64::ln(ratio) / 0.014) as u64;
    let count = 10 + draw.below(most.min(48) - 10);
    let limit = (draw.below(3) == 0).then(|| outer * between(draw, 0.85, 0.95));
    let mut zones: Vec<(u64, u64)> = Vec::new();
    for i in 0..count {
        let radius = 1.0 - (1.0 - ratio) * i as f64 / (count - 1) as f64;
        let sectors = limit.map_or(outer * radius, |limit| limit.min(outer * radius)) as u64;
        let width = (cylinders / count as f64 * between(draw, 0.85, 1.15)) as u64;
        match zones.last_mut() {
            // What the channel limits is one zone, and so are tracks that round to the same.
            Some(last) if (last.1 as f64 / sectors as f64) < 1.007 => last.0 += width,
            _ => zones.push((width, sectors)),
        }
    }
    zones
}

/// ms of a movement over a share d of the stroke: base, and factors of √d and d, before and after the knee.
#[derive(Debug, Clone, Copy)]
pub struct SeekTruth {
    knee: f64,
    near: [f64; 3],
    far: [f64; 3],
}

impl SeekTruth {
    fn smooth(base: f64, root: f64, slope: f64) -> Self {
        Self { knee: 2.0, near: [base, root, slope], far: [0.0; 3] }
    }

    fn ms(&self, share: f64) -> f64 {
        let [base, root, slope] = if share < self.knee { self.near } else { self.far };
        base + root * share.sqrt() + slope * share
    }

    /// `hidden`: sectors of each surface in the outermost zone. The track before is a switch away, or serpentine.
    fn movements(
        &self,
        zones: &[(u64, u64)],
        hidden: u64,
        serpentine: bool,
        switch_ms: f64,
    ) -> MovementTruth {
        let cylinders: f64 = zones.iter().map(|zone| zone.0 as f64).sum();
        MovementTruth {
            full_stroke_ms: self.ms(1.0 - hidden as f64 / zones[0].1 as f64 / cylinders),
            next_track_ms: if serpentine { self.ms(0.0) } else { switch_ms },
            random_ms: self.between_bytes(zones),
        }
    }

    /// Mean over two random bytes. `zones`: cylinders and the bytes of each, from the outside in.
    fn between_bytes(&self, zones: &[(u64, u64)]) -> f64 {
        const STEPS: usize = 400;
        let cylinders: f64 = zones.iter().map(|zone| zone.0 as f64).sum();
        let bytes: f64 = zones.iter().map(|zone| (zone.0 * zone.1) as f64).sum();
        let place = |i: usize| {
            let (mut left, mut at) = ((i as f64 + 0.5) / STEPS as f64 * bytes, 0.0);
            for &(width, sectors) in zones {
                let of_zone = (width * sectors) as f64;
                if left <= of_zone {
                    return (at + left / sectors as f64) / cylinders;
                }
                left -= of_zone;
                at += width as f64;
            }
            1.0
        };
        let places: Vec<f64> = (0..STEPS).map(place).collect();
        let from = |a: &f64| places.iter().map(|b| self.ms((a - b).abs())).sum::<f64>();
        places.iter().map(from).sum::<f64>() / (STEPS * STEPS) as f64
    }
}

/// A seek curve as a model has it, its average over random cylinders, and itself.
pub fn seek_curve(draw: &mut Draw) -> (String, f64, SeekTruth) {
    let min = between(draw, 0.6, 2.5);
    let full = min + between(draw, 9.0, 22.0);
    match draw.below(3) {
        0 => (
            format!("curve = \"square-root\"\nmin_ms = {min}\nfull_ms = {full}\n"),
            min + (full - min) * 8.0 / 15.0,
            SeekTruth::smooth(min, full - min, 0.0),
        ),
        1 => {
            let average = min + (full - min) * between(draw, 0.4, 0.52);
            let table = format!(
                "curve = \"three-point\"\nmin_ms = {min}\naverage_ms = {average}\nfull_ms = {full}\n"
            );
            let root = (15.0 * average - 10.0 * min - 5.0 * full) / 3.0;
            let slope = (7.0 * min - 15.0 * average + 8.0 * full) / 3.0;
            (table, average, SeekTruth::smooth(min, root, slope))
        }
        _ => {
            fn at(i: u32) -> f64 {
                (f64::from(i) + 0.5) / 20_000.0
            }
            let (knee, root) = (between(draw, 0.2, 0.4), between(draw, 8.0, 14.0));
            let slope = between(draw, 6.0, 12.0);
            let at_knee = min + root * knee.sqrt();
            let far = at_knee - slope * knee;
            let table = format!(
                "curve = \"two-piece\"\nsingle_ms = {min}\nnear_base_ms = {min}\nnear_root_ms = {root}\n\
                 knee_fraction = {knee}\nfar_base_ms = {far}\nfar_slope_ms = {slope}\n"
            );
            let truth = SeekTruth { knee, near: [min, root, 0.0], far: [far, 0.0, slope] };
            let average =
                (0..20_000).map(|i| 2.0 * (1.0 - at(i)) * truth.ms(at(i))).sum::<f64>() / 20_000.0;
            (table, average, truth)
        }
    }
}

fn order(pass_tracks: Option<u64>) -> String {
    match pass_tracks {
        Some(tracks) => format!("order = \"serpentine\"\nband_cylinders = {tracks}\n"),
        None => "order = \"cylinder\"\n".to_string(),
    }
}

fn shingling(band_mib: u64, cache_gib: u64) -> String {
    format!(
        "[hdd.smr]\nband_mib = {band_mib}\ncache_gib = {cache_gib}\nmap_extents = 200000\n\
         clean_idle_ms = 1500\nappend_kib = 8192\nappend_extents = 6\n"
    )
}

/// Zones of tracks as a model has them, in units of `sectors` sectors.
pub fn zone_list(zones: &[(u64, u64)], sectors: u64) -> String {
    let mut toml = "[hdd.zones]\nprofile = \"table\"\n".to_string();
    for (width, per_track) in zones {
        let per_track = per_track * sectors;
        let _ = write!(
            toml,
            "[[hdd.zones.list]]\ncylinders = {width}\nsectors_per_track = {per_track}\n"
        );
    }
    toml
}

/// Where each zone begins for the host, as a share of what the log leaves, and its rate in MB/s.
fn zone_starts(zones: &[(u64, u64)], heads: u64, log: u64, track_s: f64) -> Vec<(f64, f64)> {
    let sectors: u64 = zones.iter().map(|(width, sectors)| width * heads * sectors).sum();
    let mut start = 0;
    let of_one = |&(width, per_track): &(u64, u64)| {
        let at = (start as f64 - log as f64) / (sectors - log) as f64;
        start += width * heads * per_track;
        (at.max(0.0), per_track as f64 * 4096.0 / track_s / 1e6)
    };
    let starts: Vec<(f64, f64)> = zones.iter().map(of_one).collect();
    // What the log hides of the outermost zones is none of the host's.
    let hidden = starts.iter().filter(|(at, _)| *at == 0.0).count() - 1;
    starts[hidden..].to_vec()
}

impl DiskTruth {
    /// Sequential rate at a share of the capacity, MB/s.
    pub fn mb_s(&self, share: f64) -> f64 {
        let zone = self.zones.iter().rev().find(|(start, _)| *start <= share);
        zone.unwrap_or(&self.zones[0]).1
    }
}

impl RandomDisk {
    pub fn new(seed: u64) -> Self {
        Self::with_sectors(seed, None)
    }

    /// The disk of a seed, with other sectors than it would have.
    pub fn with_sectors(seed: u64, chosen: Option<&DiskSectors>) -> Self {
        let draw = &mut Draw::new(seed);
        let rpm = one_of(draw, &SPEEDS_RPM) * between(draw, 0.997, 1.003);
        let heads = 2 + draw.below(17);
        let cylinders = between(draw, 100_000.0, 250_000.0);
        let zones = zone_table(draw, cylinders, 60.0 / rpm);
        let is_shingled = draw.below(4) == 0;
        let (cache_gib, band_mib) = (1 + draw.below(20), 15 + draw.below(26));
        let sectors: u64 = zones.iter().map(|(width, sectors)| width * heads * sectors).sum();
        let log = if is_shingled { cache_gib << 18 } else { 0 };
        let capacity = (sectors - log) * 4096;
        let (cylinder_skew, head_skew) = (between(draw, 0.06, 0.22), between(draw, 0.08, 0.25));
        let serpentine = draw.below(3) > 0;
        let turn_s = 60.0 / rpm;
        let head_share = if serpentine { 0.0 } else { (heads - 1) as f64 / heads as f64 };
        let track_s = turn_s * (1.0 + cylinder_skew + (head_skew - cylinder_skew) * head_share);
        let (seek, average_seek_ms, seek_truth) = seek_curve(draw);
        let caches = Caches::new(draw);
        let link = one_of(draw, &["sata-6g", "sata-6g", "usb3-uas", "usb3-bulk-only"]);
        let window = if draw.below(4) == 0 { 1 } else { 32 };
        let logical = one_of(draw, &[512, 4096]);
        let flush_lies = caches.dirty_mib.is_some() && draw.below(4) == 0;
        let pass_tracks = serpentine.then(|| 64 << draw.below(3));
        let order = order(pass_tracks);
        let own = DiskSectors { logical, physical: 4096, reported: 4096, link: link.to_string() };
        let DiskSectors { logical, physical, reported, link: link_table } =
            chosen.cloned().unwrap_or(own);
        let overhead_ms = between(draw, 0.08, 0.6);
        let head_switch_ms = head_skew * turn_s * 1e3 * between(draw, 0.0, 0.9);
        let [settle_ms, hit_ms, write_ms, link_mb_s] =
            [(0.2, 0.9), (0.03, 0.2), (0.05, 0.3), (400.0, 550.0)]
                .map(|(low, high)| between(draw, low, high));
        let mut toml = format!(
            "name = \"random-{seed}\"\nsummary = \"random\"\nkind = \"hdd\"\n[identity]\n\
             model = \"RANDOM {seed}\"\nserial = \"R{seed}\"\nfirmware = \"1\"\n\
             reported_logical_sector_bytes = {logical}\nreported_physical_sector_bytes = {reported}\n\
             rotation_rpm = {rpm:.0}\n[link]\npreset = \"{link_table}\"\n[hdd]\n\
             capacity_bytes = {capacity}\nrpm = {rpm}\nheads = {heads}\nlogical_sector_bytes = {logical}\n\
             physical_sector_bytes = {physical}\nhead_switch_ms = {head_switch_ms}\nwrite_settle_ms = {settle_ms}\n\
             read_hit_overhead_ms = {hit_ms}\nread_miss_overhead_ms = {overhead_ms}\nwrite_overhead_ms = {write_ms}\n\
             interface_mb_s = {link_mb_s}\n[hdd.layout]\n{order}[hdd.skew]\nhead_rev = {head_skew}\n\
             cylinder_rev = {cylinder_skew}\n[hdd.seek]\n{seek}[hdd.queue]\ndepth = 32\nwindow = {window}\n\
             starvation_ms = 500\n[hdd.read_modify_write]\nbatch_sectors = 20\ngap_ms = 0.28\n"
        );
        let bands = if is_shingled { shingling(band_mib, cache_gib) } else { String::new() };
        toml += &(caches.toml() + &bands + &zone_list(&zones, u64::from(4096 / physical)));
        let link = LinkTruth::of(&link_table, link_mb_s);
        let truth = DiskTruth {
            rpm,
            average_seek_ms,
            zones: zone_starts(&zones, heads, log, track_s),
            capacity,
            read_cache_bytes: f64::from(caches.segments * caches.segment_kib) * 1024.0,
            places: caches.segments,
            read_ahead_bytes: f64::from(caches.read_ahead_kib) * 1024.0,
            write_cache_bytes: caches.dirty_mib.map(|mib| f64::from(mib << 20)),
            is_shingled,
            flush_lies,
            queues: window > 1 && link.queue_depth > 1,
            heads,
            pass_tracks,
            shingles: is_shingled.then_some([band_mib << 20, cache_gib << 30].map(|it| it as f64)),
            movements: seek_truth.movements(&zones, log / heads, serpentine, head_switch_ms),
            skews: [cylinder_skew, head_skew],
            track_s,
            link,
            electronics_ms: [overhead_ms, hit_ms, write_ms],
        };
        Self { toml, options: if flush_lies { "&fault=flush-lies" } else { "" }, truth }
    }
}

struct Caches {
    segments: u32,
    segment_kib: u32,
    read_ahead_kib: u32,
    is_adaptive: bool,
    /// `None`: the write cache is off.
    dirty_mib: Option<u32>,
}

impl Caches {
    fn new(draw: &mut Draw) -> Self {
        let segment_kib = one_of(draw, &[512, 1024, 1536, 2048]);
        Self {
            segments: 4 + draw.below(60) as u32,
            segment_kib,
            read_ahead_kib: segment_kib / one_of(draw, &[1, 1, 2, 4]),
            is_adaptive: draw.below(2) == 0,
            dirty_mib: (draw.below(6) > 0).then(|| one_of(draw, &[2, 4, 8, 16, 32, 64])),
        }
    }

    fn toml(&self) -> String {
        let Self { segments, segment_kib, read_ahead_kib, is_adaptive, dirty_mib } = self;
        format!(
            "[hdd.read_cache]\nsegments = {segments}\nsegment_kib = {segment_kib}\nadaptive = {is_adaptive}\n\
             read_ahead_kib = {read_ahead_kib}\n[hdd.write_cache]\nenabled = {}\ndirty_limit_kib = {}\n\
             dirty_extents = 2048\nhigh_water_pct = 75\nidle_ms = 50\nage_limit_ms = 30000\nwindow = 64\n\
             gap_ms = 0.28\n",
            dirty_mib.is_some(),
            dirty_mib.unwrap_or(16) << 10,
        )
    }
}

/// One test on the drive of a model's file, in the state that the options say.
pub fn measured(toml: &str, options: &str, suite: Suite, seed: u64) -> TestResult {
    let (_file, target) = drive_of(toml, options, seed);
    run_at(&target, suite, seed, false)
}

/// The drive of a model, and its file.
pub fn drive_of(toml: &str, options: &str, seed: u64) -> (NamedTempFile, Target) {
    let (file, name) = model_file(toml);
    let target = run_target(format!("{name}?seed={seed}{options}"));
    (file, target)
}
