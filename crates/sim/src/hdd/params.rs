//! The physical parameters of a hard disk, as they stand in a model file.
//!
//! Rates are decimal (1 MB = 10^6 bytes), caches binary (1 KiB = 1024 bytes), times milliseconds, angles
//! revolutions. Each curve can be given as a formula or as a measured table.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HddParams {
    /// Bytes the host can address.
    pub capacity_bytes: u64,
    /// Spindle speed, revolutions per minute. One revolution takes 60000 / rpm ms.
    pub rpm: f64,
    /// Data surfaces, each with a head.
    pub heads: u32,
    /// Unit in which the host addresses, 512 or 4096.
    pub logical_sector_bytes: u32,
    /// Unit in which the medium is written, 512 or 4096. With 512-byte logical sectors on 4096-byte physical
    /// ones (512e) a write of part of a sector costs a read first.
    pub physical_sector_bytes: u32,
    /// Logical sectors by which the firmware shifts every address (1 with the jumper 7-8 of early 4096-byte
    /// drives, for systems that start partitions at sector 63).
    #[serde(default)]
    pub alignment_shift_sectors: u32,
    /// How many sectors the tracks hold, from the outside in.
    pub zones: ZoneParams,
    /// In which order tracks follow one another.
    pub layout: LayoutParams,
    /// Angle between the end of a track and the start of the next.
    pub skew: SkewParams,
    /// Time of an arm movement, settling for a read included.
    pub seek: SeekParams,
    /// Time of a movement before a write, settling included, where it was measured by itself; absent: `seek` and
    /// `write_settle_ms`. With it that settling is only paid for a switch of heads on one cylinder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_seek: Option<SeekParams>,
    /// Time to switch to another head on the same cylinder, ms.
    pub head_switch_ms: f64,
    /// Settling that a write needs beyond a read's, after any movement, ms (data sheets: 0.2 to 1).
    pub write_settle_ms: f64,
    /// Time the electronics take for a read that the cache answers, before the transfer, ms.
    pub read_hit_overhead_ms: f64,
    /// Time of the electronics for a read that needs the medium, before the arm moves, ms.
    pub read_miss_overhead_ms: f64,
    /// Time of the electronics for a write into the cache, ms.
    pub write_overhead_ms: f64,
    /// Time of the electronics for a write that is answered when the medium has it (cache off, force unit access),
    /// ms; absent: `write_overhead_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_miss_overhead_ms: Option<f64>,
    /// The overheads of a command that follows a write, where they differ from those above, which then are those
    /// after a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_write: Option<AfterWriteParams>,
    /// Rate at which the drive's own port moves data to and from its buffer, MB/s (on SATA 6 Gb/s about 550).
    /// This is the only time that data take on the link: in a model the port runs no faster than the payload
    /// of its `[link]`.
    pub interface_mb_s: f64,
    /// Segmented read cache with read-ahead.
    pub read_cache: ReadCacheParams,
    /// Write cache and how it is emptied.
    pub write_cache: WriteCacheParams,
    /// Cost of writing part of a physical sector; needed when logical and physical sectors differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_modify_write: Option<RmwParams>,
    /// Command queueing (NCQ).
    pub queue: QueueParams,
    /// Drive-managed shingled recording; absent on conventional drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smr: Option<SmrParams>,
}

/// Overheads of a command whose predecessor was a write, as DiskSim's parameter files have them ("over. after
/// write"). Each that is absent is as after a read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterWriteParams {
    /// A read that the cache answers, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_hit_overhead_ms: Option<f64>,
    /// A read that needs the medium, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_miss_overhead_ms: Option<f64>,
    /// A write into the cache, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_overhead_ms: Option<f64>,
    /// A write that is answered when the medium has it, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_miss_overhead_ms: Option<f64>,
}

/// Zoned recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "profile", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ZoneParams {
    /// Constant linear density: the media rate falls in proportion to the radius,
    /// v = min(clamp, outer − (outer − inner)·r), which over addresses is the square-root law
    /// v(x) = min(clamp, outer·√(1 − x·(1 − ρ²))), ρ = inner/outer. Quantised into `count` zones of
    /// equal width, the first at the outer and the last at the inner rate.
    SquareRoot {
        /// Media rate of the outermost zone without the clamp, MB/s while data passes the head.
        outer_media_mb_s: f64,
        /// Media rate of the innermost zone, MB/s.
        inner_media_mb_s: f64,
        /// Highest rate the read channel follows, MB/s; flattens the outer zones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clamp_media_mb_s: Option<f64>,
        /// Number of zones (15 to 60 on real drives).
        count: u32,
    },
    /// A measured list, from the outside in.
    Table {
        /// Zones in order of address.
        list: Vec<ZoneEntry>,
    },
}

/// One zone of a measured list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneEntry {
    /// Width in cylinders.
    pub cylinders: u32,
    /// Physical sectors on each track.
    pub sectors_per_track: u32,
    /// This zone's head skew, revolutions; the drive's where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_skew_rev: Option<f64>,
    /// This zone's cylinder skew, revolutions; the drive's where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cylinder_skew_rev: Option<f64>,
}

/// Order of tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayoutParams {
    /// All heads of a cylinder, then the next cylinder.
    Cylinder,
    /// A band of cylinders inward on the first head, outward on the second, and so on; the next band with
    /// the heads in reverse order.
    Serpentine {
        /// Cylinders of a band (128 on a published 4 TB drive).
        band_cylinders: u32,
    },
}

/// Angle left between consecutive tracks so that a sequential transfer just makes the switch. A
/// sequential transfer runs at the media rate / (1 + skew).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkewParams {
    /// At a head switch, revolutions.
    pub head_rev: f64,
    /// At a step to the neighbouring cylinder, revolutions.
    pub cylinder_rev: f64,
}

/// Seek time over distance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "curve", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SeekParams {
    /// Ruemmler and Wilkes (1994), with the distance as fraction f of the full stroke:
    /// near_base + near_root·√f below the knee, far_base + far_slope·f from it on.
    TwoPiece {
        /// Step to the next cylinder, ms.
        single_ms: f64,
        /// Start of the near piece, ms.
        near_base_ms: f64,
        /// Factor of √f, ms.
        near_root_ms: f64,
        /// Where the pieces meet, fraction of the full stroke.
        knee_fraction: f64,
        /// Start of the far piece, ms.
        far_base_ms: f64,
        /// Factor of f, ms.
        far_slope_ms: f64,
    },
    /// Two pieces with the distance d in cylinders, as the literature prints them.
    TwoPieceCylinders {
        /// Step to the next cylinder, ms.
        single_ms: f64,
        /// Start of the near piece, ms.
        near_base_ms: f64,
        /// Factor of √d, ms.
        near_root_ms: f64,
        /// First distance of the far piece, cylinders.
        knee_cylinders: u32,
        /// Start of the far piece, ms.
        far_base_ms: f64,
        /// Factor of d, ms.
        far_slope_ms: f64,
    },
    /// Lee's curve through the three figures of a data sheet:
    /// min + root·√(d − 1) + slope·(d − 1).
    ThreePoint {
        /// Step to the next cylinder, ms.
        min_ms: f64,
        /// Average over random pairs, ms.
        average_ms: f64,
        /// Full stroke, ms.
        full_ms: f64,
    },
    /// min + (full − min)·√f; fits 2.5-inch drives.
    SquareRoot {
        /// Shortest seek, ms.
        min_ms: f64,
        /// Full stroke, ms.
        full_ms: f64,
    },
    /// A measured table, straight lines between its points.
    Table {
        /// Pairs of distance in cylinders and time in ms, distances ascending.
        points_cylinders_ms: Vec<(u32, f64)>,
    },
}

/// Read cache. Each segment holds one stretch of addresses: the requested data and the read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCacheParams {
    /// Number of segments; the least recently used is given up. 0 turns the cache off.
    pub segments: u32,
    /// Size of a segment, KiB; older data is overwritten while reading continues.
    pub segment_kib: u32,
    /// Whether the borders of segments move: a stretch that outgrows its segment takes over the least recently
    /// used one, so that a single stream can use the whole cache.
    #[serde(default)]
    pub adaptive: bool,
    /// How far beyond the last request the drive reads on by itself while idle, KiB (DiskSim: "Maximum
    /// read-ahead"). 0 turns it off. What exceeds the segment overwrites the oldest of it.
    pub read_ahead_kib: u32,
    /// Whether reading on ends with the track of the request (DiskSim: "Buffer continuous read" 1 instead of 3).
    #[serde(default)]
    pub stop_at_track_end: bool,
    /// Whether requested data give way to read-ahead, once the host has them (DiskSim: "Read-ahead over
    /// requested").
    #[serde(default)]
    pub read_ahead_over_requested: bool,
    /// Whether the head reads from the moment it is on the track, so that sectors before the request are kept too
    /// (DiskSim: "Read any free blocks"; DIXtrac: read-on-arrival).
    #[serde(default)]
    pub read_on_arrival: bool,
    /// Whether a segment takes over data written into it (DiskSim: "Allow read hits on write data"). Without, a
    /// write drops each segment that it overlaps.
    #[serde(default)]
    pub read_hits_on_write_data: bool,
    /// Whether reading on ends when the data of a write are in the buffer (DiskSim: a command may "preempt"
    /// read-ahead). Without, only where the write is of sectors that are still to be read.
    #[serde(default)]
    pub read_ahead_ends_at_write: bool,
    /// Whether only a read of the medium starts reading on (DiskSim: "Read-ahead on idle hit" 0): a hit that finds
    /// it ended leaves it so. Without, a stream of hits carries it on.
    #[serde(default)]
    pub read_ahead_after_misses_only: bool,
    /// Share of a request that must be in the buffer before it begins to cross the interface (DiskSim: "High (read)
    /// water mark"). A sector crosses after it has been read, also with 0.
    #[serde(default)]
    pub water_mark: f64,
}

/// Write cache and its emptying onto the medium (destaging).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteCacheParams {
    /// Whether a write is reported done once its data is in the buffer; without, once it is on the medium.
    pub enabled: bool,
    /// Unwritten data the buffer may hold, KiB.
    pub dirty_limit_kib: u32,
    /// Separate stretches of unwritten data it may hold (write segments).
    pub dirty_extents: u32,
    /// Share of either limit above which destaging competes with the host's reads, percent.
    pub high_water_pct: f64,
    /// Share below which it ends, percent: until then no command comes between. Absent: it takes turns with the
    /// host's commands while above the high-water mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_water_pct: Option<f64>,
    /// Time without commands after which destaging starts by itself, ms.
    pub idle_ms: f64,
    /// Time after which a stretch is written next, at any cost, ms.
    pub age_limit_ms: f64,
    /// Stretches among which the next one is chosen by shortest positioning time.
    pub window: u32,
    /// Shortest time from the end of one media write to the start of the next that does not continue it, ms.
    pub gap_ms: f64,
    /// Random addition to the gap, uniform from 0 to this, ms.
    #[serde(default)]
    pub gap_jitter_ms: f64,
}

/// Writing part of a physical sector: read, merge, wait for the sector to come round, write. Only sectors that a
/// write covers in part are read, one at its beginning and one at its end; what lies between is replaced whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RmwParams {
    /// Partial sectors that are read before their stretches are written. 1 handles each by itself; more read
    /// the beginnings of several stretches in one sweep, their ends, where these are sectors apart, in the
    /// next, and then write all.
    pub batch_sectors: u32,
    /// As the write cache's `gap_ms`, between the steps of a read-modify-write, ms.
    pub gap_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueParams {
    /// Commands the drive accepts at once (32 with NCQ); more wait outside in order of arrival.
    pub depth: u32,
    /// Oldest commands among which the next is chosen by shortest positioning time; 1 is first come, first
    /// served.
    pub window: u32,
    /// Waiting time after which a command is taken next, at any cost, ms.
    pub starvation_ms: f64,
}

/// Drive-managed shingled recording after Skylight (FAST 2015): bands that can only be rewritten whole, a
/// persistent cache on disk written as a log, and cleaning that merges it back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmrParams {
    /// Size of a band, MiB (15 to 40 on published archive drives).
    pub band_mib: u32,
    /// Size of the persistent cache at the outer diameter, GiB, beyond the host's capacity.
    pub cache_gib: f64,
    /// Extents the cache's map can hold.
    pub map_extents: u32,
    /// Time without commands after which cleaning starts, ms.
    pub clean_idle_ms: f64,
    /// Largest amount appended to the log in one go, KiB. After each append the next one waits for the
    /// write cache's `gap_ms`, and so for about a revolution.
    pub append_kib: u32,
    /// Separate stretches that one append carries at most.
    pub append_extents: u32,
}
