//! The place of each physical sector, and the time of a sequential transfer, in O(log zones).
//!
//! Sectors are numbered in order of transfer. The *drive's sequential clock* [`Layout::clock`] is the time
//! at which a transfer of the whole drive would reach a sector; the time of any sequential transfer is a
//! difference of two of its values, however many tracks and zones it crosses.

use crate::device::Nanos;
use crate::hdd::params::LayoutParams;
use crate::hdd::rotation::Rotation;
use crate::hdd::zones::ZoneFormat;

#[derive(Debug, Clone, Copy)]
struct LayoutZone {
    first_sector: u64,
    sectors: u64,
    first_cylinder: u32,
    cylinders: u32,
    per_track: u32,
    /// Whether the first band runs through the heads backwards.
    reversed: bool,
    start_angle: Nanos,
    /// Time on the drive's sequential clock at which the zone's first sector comes.
    start_clock: Nanos,
    head_skew: Nanos,
    cylinder_skew: Nanos,
    /// Time lost at a head switch: the skew, and whole turns while the switch takes longer.
    head_step: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLocation {
    /// Cylinder from the outside.
    pub cylinder: u32,
    pub head: u32,
    /// Angle at which the sector starts, below the period.
    pub angle: Nanos,
    /// The same from the start of its track.
    pub passed: Nanos,
    /// Sectors before this one on its track.
    pub along: u32,
    pub per_track: u32,
}

/// A track within its zone, and the crossings on the way to it.
#[derive(Debug, Clone, Copy)]
struct Track {
    cylinder: u32,
    head: u32,
    head_switches: u64,
    cylinder_steps: u64,
}

/// The sectors of a track, and their common figures: looked up once for several sectors of it.
#[derive(Debug, Clone, Copy)]
pub struct TrackSpan {
    first: u64,
    end: u64,
    cylinder: u32,
    head: u32,
    per_track: u32,
    /// Angle at which the track starts, below the period.
    angle: Nanos,
    /// The outermost cylinder of the track and all after it: a band in serpentine order runs to and fro.
    pub outermost: u32,
    /// The innermost cylinder of the track and all before it.
    pub innermost: u32,
}

impl TrackSpan {
    #[inline]
    pub fn holds(&self, sector: u64) -> bool {
        (self.first..self.end).contains(&sector)
    }
}

#[derive(Clone, Copy)]
struct Spot<'a> {
    zone: &'a LayoutZone,
    /// Tracks of the zone before this sector's.
    track_index: u64,
    along: u32,
}

#[derive(Debug, Clone)]
pub struct Layout {
    rotation: Rotation,
    heads: u64,
    order: LayoutParams,
    /// First sector of each zone, beside `zones` so that the search stays in few cache lines.
    first_sectors: Vec<u64>,
    zones: Vec<LayoutZone>,
    sectors: u64,
    cylinders: u32,
}

impl Layout {
    /// Formats a drive of `sectors` physical sectors; `formats` must hold them. A head switch that takes
    /// longer than its skew costs a whole turn at each crossing.
    pub fn new(
        formats: &[ZoneFormat],
        heads: u32,
        order: LayoutParams,
        rotation: Rotation,
        head_switch: Nanos,
        sectors: u64,
    ) -> Self {
        let mut layout = Self {
            rotation,
            heads: u64::from(heads),
            order,
            first_sectors: Vec::with_capacity(formats.len()),
            zones: Vec::with_capacity(formats.len()),
            sectors,
            cylinders: 0,
        };
        for format in formats {
            layout.push_zone(format, head_switch);
        }
        layout
    }

    /// Appends a zone after the existing ones; one that lies beyond the capacity only adds cylinders.
    fn push_zone(&mut self, format: &ZoneFormat, head_switch: Nanos) {
        let period = self.rotation.period();
        let head_skew = self.rotation.turns(format.head_skew_rev);
        let late = head_switch.saturating_sub(head_skew).div_ceil(period) * period;
        let (first_sector, reversed, start_angle, start_clock) =
            self.end_of_zones(self.rotation.turns(format.cylinder_skew_rev));
        let room = u64::from(format.cylinders) * self.heads * u64::from(format.sectors_per_track);
        let zone = LayoutZone {
            first_sector,
            sectors: room.min(self.sectors - first_sector),
            first_cylinder: self.cylinders,
            cylinders: format.cylinders,
            per_track: format.sectors_per_track,
            reversed,
            start_angle,
            start_clock,
            head_skew,
            cylinder_skew: self.rotation.turns(format.cylinder_skew_rev),
            head_step: head_skew + late,
        };
        self.cylinders += format.cylinders;
        if zone.sectors > 0 {
            self.first_sectors.push(first_sector);
            self.zones.push(zone);
        }
    }

    /// First sector, head direction, start angle and clock of a zone that follows the last by `skew`.
    fn end_of_zones(&self, skew: Nanos) -> (u64, bool, Nanos, Nanos) {
        let Some(last) = self.zones.last() else { return (0, false, 0, 0) };
        let end = last.first_sector + last.sectors;
        let reversed = match self.order {
            LayoutParams::Cylinder => false,
            LayoutParams::Serpentine { band_cylinders } => {
                last.reversed != (last.cylinders.div_ceil(band_cylinders) % 2 == 1)
            }
        };
        let track = self.track(last, (last.sectors - 1) / u64::from(last.per_track));
        let angle = (self.track_angle(last, track) + skew) % self.rotation.period();
        (end, reversed, angle, self.clock_at_end(end) + skew)
    }

    /// Physical sectors of the drive.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Longest seek, in cylinders.
    pub fn stroke(&self) -> u32 {
        self.cylinders - 1
    }

    /// Zones as first sector, number of sectors, sectors per track.
    pub fn zones(&self) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
        self.zones.iter().map(|z| (z.first_sector, z.sectors, z.per_track))
    }

    #[inline]
    fn zone_of(&self, sector: u64) -> &LayoutZone {
        &self.zones[self.first_sectors.partition_point(|&first| first <= sector) - 1]
    }

    #[inline]
    fn spot(&self, sector: u64) -> Spot<'_> {
        let zone = self.zone_of(sector);
        let (offset, per_track) = (sector - zone.first_sector, u64::from(zone.per_track));
        let track_index = offset / per_track;
        Spot { zone, track_index, along: (offset - track_index * per_track) as u32 }
    }

    #[inline]
    fn track(&self, zone: &LayoutZone, index: u64) -> Track {
        let (cylinder, head, head_switches) = match self.order {
            LayoutParams::Cylinder => {
                let cylinder = index / self.heads;
                (cylinder, index % self.heads, index - cylinder)
            }
            LayoutParams::Serpentine { band_cylinders } => {
                let width = u64::from(band_cylinders);
                let band = index / (width * self.heads);
                let in_band = index - band * width * self.heads;
                let width_here = width.min(u64::from(zone.cylinders) - band * width);
                let pass = in_band / width_here;
                let along = in_band - pass * width_here;
                let across = if pass.is_multiple_of(2) { along } else { width_here - 1 - along };
                let backwards = zone.reversed == band.is_multiple_of(2);
                let head = if backwards { self.heads - 1 - pass } else { pass };
                (band * width + across, head, band * (self.heads - 1) + pass)
            }
        };
        Track {
            cylinder: zone.first_cylinder + cylinder as u32,
            head: head as u32,
            head_switches,
            cylinder_steps: index - head_switches,
        }
    }

    /// Angle at which `track` starts, not reduced to one turn.
    #[inline]
    fn track_angle(&self, zone: &LayoutZone, track: Track) -> Nanos {
        zone.start_angle
            + track.head_switches * zone.head_skew
            + track.cylinder_steps * zone.cylinder_skew
    }

    /// Position of `sector`, which must be on the drive.
    #[inline]
    pub fn locate(&self, sector: u64) -> DiskLocation {
        self.locate_on(&self.track_of(sector), sector)
    }

    #[inline]
    pub fn locate_on(&self, track: &TrackSpan, sector: u64) -> DiskLocation {
        let along = (sector - track.first) as u32;
        let passed = self.rotation.sector_angle(along, track.per_track);
        DiskLocation {
            cylinder: track.cylinder,
            head: track.head,
            angle: (track.angle + passed) % self.rotation.period(),
            passed,
            along,
            per_track: track.per_track,
        }
    }

    #[inline]
    pub fn track_of(&self, sector: u64) -> TrackSpan {
        let Spot { zone, track_index, along } = self.spot(sector);
        let track = self.track(zone, track_index);
        let first = sector - u64::from(along);
        let (outermost, innermost) = self.cylinders_around(zone, track_index);
        TrackSpan {
            first,
            end: first + u64::from(zone.per_track),
            cylinder: track.cylinder,
            head: track.head,
            per_track: zone.per_track,
            angle: self.track_angle(zone, track) % self.rotation.period(),
            outermost,
            innermost,
        }
    }

    /// [`TrackSpan::outermost`] and [`TrackSpan::innermost`] of a track.
    #[inline]
    fn cylinders_around(&self, zone: &LayoutZone, track_index: u64) -> (u32, u32) {
        let (first, width) = match self.order {
            LayoutParams::Cylinder => (track_index / self.heads, 1),
            LayoutParams::Serpentine { band_cylinders } => {
                let width = u64::from(band_cylinders);
                let first = track_index / (width * self.heads) * width;
                (first, width.min(u64::from(zone.cylinders) - first))
            }
        };
        let outermost = zone.first_cylinder + first as u32;
        (outermost, outermost + width as u32 - 1)
    }

    /// When a transfer of the whole drive would reach the start of `sector`.
    #[inline]
    pub fn clock(&self, sector: u64) -> Nanos {
        let spot = self.spot(sector);
        self.track_clock(spot) + self.rotation.sector_angle(spot.along, spot.zone.per_track)
    }

    /// When it would reach the end of the sector before `end`: like [`Layout::clock`] but without the
    /// crossing to the next track where `end` is the start of one.
    #[inline]
    pub fn clock_at_end(&self, end: u64) -> Nanos {
        let last = self.spot(end - 1);
        self.track_clock(last) + self.rotation.sector_angle(last.along + 1, last.zone.per_track)
    }

    /// The sequential clock at the start of a track.
    #[inline]
    fn track_clock(&self, Spot { zone, track_index, .. }: Spot<'_>) -> Nanos {
        let track = self.track(zone, track_index);
        zone.start_clock
            + track_index * self.rotation.period()
            + track.head_switches * zone.head_step
            + track.cylinder_steps * zone.cylinder_skew
    }

    /// Time from the start of `sector` under the head to the end of the last of `count` sectors.
    #[inline]
    pub fn transfer_time(&self, sector: u64, count: u64) -> Nanos {
        if count == 0 {
            return 0;
        }
        self.clock_at_end(sector + count) - self.clock(sector)
    }

    /// How many whole sectors have passed the head `elapsed` after the end of sector `from - 1`, at most
    /// `limit`.
    pub fn sectors_within(&self, from: u64, elapsed: Nanos, limit: u64) -> u64 {
        let passed = self.passed_by(self.clock_at_end(from) + elapsed);
        (passed - from).min(limit)
    }

    /// How many sectors from the drive's start on a transfer of the whole drive has passed by `clock`.
    fn passed_by(&self, clock: Nanos) -> u64 {
        let zone = &self.zones[self.zones.partition_point(|zone| zone.start_clock <= clock) - 1];
        let begins = |track_index| self.track_clock(Spot { zone, track_index, along: 0 });
        let last = (zone.sectors - 1) / u64::from(zone.per_track);
        // Tracks of a zone take nearly the same time, so one near by is known at once.
        let share =
            (clock - zone.start_clock) as f64 / (begins(last) - zone.start_clock).max(1) as f64;
        let mut track = ((share * last as f64) as u64).min(last);
        while begins(track) > clock {
            track -= 1;
        }
        while track < last && begins(track + 1) <= clock {
            track += 1;
        }
        let passed = self.rotation.sectors_passed(clock - begins(track), zone.per_track);
        let in_zone = track * u64::from(zone.per_track) + u64::from(passed.min(zone.per_track));
        zone.first_sector + in_zone.min(zone.sectors)
    }

    pub fn next_track(&self, sector: u64) -> u64 {
        let zone = self.zone_of(sector);
        let per_track = u64::from(zone.per_track);
        let offset = sector - zone.first_sector;
        zone.first_sector + (offset / per_track + 1) * per_track
    }
}

#[cfg(test)]
mod tests;
