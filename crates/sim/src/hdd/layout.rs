//! Where each physical sector is, and how long a sequential transfer takes, in O(log zones).
//!
//! Sectors are numbered in order of transfer. The *drive's sequential clock* [`Layout::clock`] is the time
//! at which a transfer of the whole drive would reach a sector; the time of any sequential transfer is a
//! difference of two of its values, however many tracks and zones it crosses.

use crate::device::Nanos;
use crate::hdd::params::LayoutParams;
use crate::hdd::rotation::Rotation;
use crate::hdd::zones::ZoneFormat;

/// A zone with everything that is needed to find a sector in it.
#[derive(Debug, Clone, Copy)]
struct LayoutZone {
    first_sector: u64,
    sectors: u64,
    first_cylinder: u32,
    cylinders: u32,
    per_track: u32,
    /// Whether the first band runs through the heads backwards.
    reversed: bool,
    /// Angle at which the zone's first track starts.
    start_angle: Nanos,
    /// Time on the drive's sequential clock at which the zone's first sector comes.
    start_clock: Nanos,
    head_skew: Nanos,
    cylinder_skew: Nanos,
    /// Time lost at a head switch: the skew, and whole turns while the switch takes longer.
    head_step: Nanos,
}

/// A sector's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLocation {
    /// Cylinder from the outside.
    pub cylinder: u32,
    /// Head.
    pub head: u32,
    /// Angle at which the sector starts, below the period.
    pub angle: Nanos,
    /// The same from the start of its track.
    pub passed: Nanos,
    /// Sectors before this one on its track.
    pub along: u32,
    /// Sectors on its track.
    pub per_track: u32,
}

/// A track within its zone, and what was crossed on the way to it.
#[derive(Debug, Clone, Copy)]
struct Track {
    cylinder: u32,
    head: u32,
    head_switches: u64,
    cylinder_steps: u64,
}

/// A sector within its zone.
#[derive(Clone, Copy)]
struct Spot<'a> {
    zone: &'a LayoutZone,
    /// Tracks of the zone before this sector's.
    track_index: u64,
    /// Sectors before this one on its track.
    along: u32,
}

/// The formatted drive.
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

    /// Appends a zone behind those there are; one that lies beyond the capacity only adds cylinders.
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

    /// First sector, head direction, start angle and clock of a zone that follows `skew` behind the last.
    fn end_of_zones(&self, skew: Nanos) -> (u64, bool, Nanos, Nanos) {
        let Some(last) = self.zones.last() else {
            return (0, false, 0, 0);
        };
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

    /// Cylinder, head and crossings of the `index`-th track of `zone`.
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
        let Spot { zone, track_index, along } = self.spot(sector);
        let track = self.track(zone, track_index);
        let passed = self.rotation.sector_angle(along, zone.per_track);
        DiskLocation {
            cylinder: track.cylinder,
            head: track.head,
            angle: (self.track_angle(zone, track) + passed) % self.rotation.period(),
            passed,
            along,
            per_track: zone.per_track,
        }
    }

    /// The outermost cylinder of this sector and all behind it, and the innermost of it and all before it: a band in
    /// serpentine order runs to and fro.
    #[inline]
    pub fn cylinders_around(&self, sector: u64) -> (u32, u32) {
        let Spot { zone, track_index, .. } = self.spot(sector);
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

    /// First sector of the track after the one that holds `sector`.
    pub fn next_track(&self, sector: u64) -> u64 {
        let zone = self.zone_of(sector);
        let per_track = u64::from(zone.per_track);
        let offset = sector - zone.first_sector;
        zone.first_sector + (offset / per_track + 1) * per_track
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PERIOD: Nanos = 10_000_000;

    fn zone(cylinders: u32, sectors_per_track: u32) -> ZoneFormat {
        ZoneFormat { cylinders, sectors_per_track, head_skew_rev: 0.2, cylinder_skew_rev: 0.1 }
    }

    fn layout(order: LayoutParams, heads: u32) -> Layout {
        let formats = [zone(10, 100), zone(7, 80), zone(5, 50)];
        let sectors: u64 = formats
            .iter()
            .map(|z| u64::from(z.cylinders * heads) * u64::from(z.sectors_per_track))
            .sum();
        Layout::new(&formats, heads, order, Rotation::from_rpm(6000.0), 0, sectors)
    }

    fn orders() -> [LayoutParams; 3] {
        [
            LayoutParams::Cylinder,
            LayoutParams::Serpentine { band_cylinders: 4 },
            LayoutParams::Serpentine { band_cylinders: 1 },
        ]
    }

    #[test]
    fn a_band_goes_in_on_one_head_and_out_on_the_next() {
        let layout = layout(LayoutParams::Serpentine { band_cylinders: 4 }, 2);
        let at: Vec<(u32, u32)> = (0..12)
            .map(|track| layout.locate(track * 100))
            .map(|place| (place.cylinder, place.head))
            .collect();
        let expected = [
            (0, 0),
            (1, 0),
            (2, 0),
            (3, 0),
            (3, 1),
            (2, 1),
            (1, 1),
            (0, 1),
            (4, 1),
            (5, 1),
            (6, 1),
            (7, 1),
        ];
        assert_eq!(at, expected);
    }

    #[test]
    fn by_cylinder_the_heads_come_first() {
        let layout = layout(LayoutParams::Cylinder, 3);
        let place = layout.locate(400);
        assert_eq!((place.cylinder, place.head), (1, 1));
        // three head switches of 0.2 and one step of 0.1 turn
        assert_eq!(place.angle, 7_000_000);
    }

    #[test]
    fn every_track_is_used_once() {
        for order in orders() {
            for heads in [1, 2, 3, 4] {
                let layout = layout(order, heads);
                let mut seen = std::collections::BTreeSet::new();
                let mut sector = 0;
                while sector < layout.sectors() {
                    let place = layout.locate(sector);
                    assert!(seen.insert((place.cylinder, place.head)), "{order:?} at {sector}");
                    sector = layout.next_track(sector);
                }
                assert_eq!(seen.len(), 22 * heads as usize);
            }
        }
    }

    #[test]
    fn no_sector_behind_lies_further_out_and_none_before_further_in() {
        for order in orders() {
            let layout = layout(order, 3);
            let cylinder = |sector: u64| layout.locate(sector).cylinder;
            for sector in (0..layout.sectors()).step_by(37) {
                let (outermost, innermost) = layout.cylinders_around(sector);
                assert!((outermost..=innermost).contains(&cylinder(sector)), "{order:?} {sector}");
                let behind = (sector..layout.sectors()).step_by(10).map(cylinder).min();
                let before = (0..=sector).step_by(10).map(cylinder).max();
                assert!(
                    behind >= Some(outermost) && before <= Some(innermost),
                    "{order:?} {sector}"
                );
            }
        }
    }

    #[test]
    fn a_sequential_transfer_loses_exactly_the_skew_at_each_crossing() {
        let layout = layout(LayoutParams::Serpentine { band_cylinders: 4 }, 2);
        assert_eq!(layout.transfer_time(0, 100), PERIOD);
        assert_eq!(layout.transfer_time(0, 200), 2 * PERIOD + PERIOD / 10);
        // the fourth crossing is a head switch
        assert_eq!(layout.transfer_time(0, 500), 5 * PERIOD + 3 * PERIOD / 10 + PERIOD / 5);
        assert_eq!(layout.transfer_time(99, 2), 2 * PERIOD / 100 + PERIOD / 10);
    }

    #[test]
    fn zones_join_on_the_same_head_and_with_the_skew_of_a_cylinder() {
        for (heads, band_cylinders) in [(1, 4), (2, 4), (3, 4), (2, 1), (3, 2), (4, 3)] {
            let layout = layout(LayoutParams::Serpentine { band_cylinders }, heads);
            let zones: Vec<_> = layout.zones().collect();
            for pair in zones.windows(2) {
                let ((.., before), (first, _, behind)) = (pair[0], pair[1]);
                assert_eq!(layout.locate(first - 1).head, layout.locate(first).head, "{first}");
                let sectors = PERIOD / u64::from(before) + PERIOD / u64::from(behind);
                assert_eq!(layout.transfer_time(first - 1, 2), sectors + PERIOD / 10);
            }
        }
    }

    #[test]
    fn a_switch_slower_than_its_skew_costs_a_turn() {
        let formats = [zone(10, 100)];
        let order = LayoutParams::Cylinder;
        let slow = Layout::new(&formats, 2, order, Rotation::from_rpm(6000.0), 2_500_000, 2000);
        assert_eq!(slow.transfer_time(0, 200), 2 * PERIOD + PERIOD / 5 + PERIOD);
    }

    proptest! {
        #[test]
        fn angles_and_the_sequential_clock_agree(order in 0usize..3, heads in 1u32..5, part in 0.0..1.0f64, count in 1u64..900) {
            let layout = layout(orders()[order], heads);
            let sector = (part * (layout.sectors() - 1) as f64) as u64;
            let count = count.min(layout.sectors() - sector);
            let time = layout.transfer_time(sector, count);
            // the end of the transfer stands at the end angle of its last sector
            let last = sector + count - 1;
            let end = layout.locate(last).angle + layout.transfer_time(last, 1);
            prop_assert_eq!((layout.locate(sector).angle + time) % PERIOD, end % PERIOD);
            prop_assert_eq!(layout.clock_at_end(sector + count) - layout.clock(sector), time);
        }

        #[test]
        fn a_transfer_is_the_sum_of_its_parts(heads in 1u32..5, part in 0.0..1.0f64, first in 1u64..300, second in 1u64..300) {
            let layout = layout(orders()[1], heads);
            let sector = (part * (layout.sectors() - 601) as f64) as u64;
            let crossing = layout.clock(sector + first) - layout.clock_at_end(sector + first);
            prop_assert_eq!(
                layout.transfer_time(sector, first + second),
                layout.transfer_time(sector, first) + crossing + layout.transfer_time(sector + first, second)
            );
        }

        #[test]
        fn elapsed_time_finds_the_sector_again(part in 0.0..1.0f64, count in 0u64..700) {
            let layout = layout(orders()[1], 2);
            let from = 1 + (part * (layout.sectors() - 702) as f64) as u64;
            let between_ends = |to| layout.clock_at_end(to) - layout.clock_at_end(from);
            let elapsed = between_ends(from + count);
            prop_assert_eq!(layout.sectors_within(from, elapsed, 1000), count);
        }

        #[test]
        fn the_sectors_within_a_time_end_in_it_and_the_next_does_not(order in 0usize..3, part in 0.0..1.0f64, elapsed in 0..7 * PERIOD, limit in 1u64..600) {
            let layout = layout(orders()[order], 2);
            let from = 1 + (part * (layout.sectors() - 602) as f64) as u64;
            let count = layout.sectors_within(from, elapsed, limit);
            let between_ends = |to| layout.clock_at_end(to) - layout.clock_at_end(from);
            prop_assert!(count <= limit && between_ends(from + count) <= elapsed);
            prop_assert!(count == limit || between_ends(from + count + 1) > elapsed);
        }
    }
}
