//! Arm, heads and platter together: where the head is, and when it could reach a sector.

use crate::device::Nanos;
use crate::hdd::layout::{DiskLocation, Layout, TrackSpan};
use crate::hdd::rotation::Rotation;
use crate::hdd::seek::SeekCurve;

#[derive(Debug, Clone)]
pub struct Mechanism {
    layout: Layout,
    rotation: Rotation,
    seek: SeekCurve,
    /// Movements before a write, if they have a curve of their own.
    write_seek: Option<SeekCurve>,
    head_switch: Nanos,
    write_settle: Nanos,
    cylinder: u32,
    head: u32,
    /// Sectors of the head's track, and how many of them lie up to the last one transferred.
    per_track: u32,
    along: u32,
    /// The sector that follows the last one transferred; the head is already on its way to it.
    next_sector: u64,
}

impl Mechanism {
    /// The parts at rest over the outermost track.
    pub fn new(
        layout: Layout,
        rotation: Rotation,
        seek: SeekCurve,
        head_switch: Nanos,
        write_settle: Nanos,
    ) -> Self {
        let DiskLocation { cylinder, head, along, per_track, .. } = layout.locate(0);
        Self {
            layout,
            rotation,
            seek,
            write_seek: None,
            head_switch,
            write_settle,
            cylinder,
            head,
            per_track,
            along,
            next_sector: 0,
        }
    }

    /// Gives movements before a write a curve of their own, settling included.
    pub fn with_write_seek(self, write_seek: Option<SeekCurve>) -> Self {
        Self { write_seek, ..self }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn rotation(&self) -> Rotation {
        self.rotation
    }

    pub fn seek(&self) -> &SeekCurve {
        &self.seek
    }

    pub fn next_sector(&self) -> u64 {
        self.next_sector
    }

    /// When the transfer of `sector` at `place` can start, if the head sets out at `at`:
    /// max(seek, head switch), settling for a write, and the wait for the sector's angle. A transfer that
    /// continues the last one does not move, since the format's skew makes room for that crossing, or for most of
    /// a switch to another head.
    #[inline]
    pub fn reach(&self, at: Nanos, sector: u64, place: &DiskLocation, write: bool) -> Nanos {
        let there = at + self.way_to(sector, place, write);
        there + self.rotation.wait(there, place.angle)
    }

    /// Like [`reach`](Self::reach), but the transfer must not start before `not_before`; the head may move earlier.
    pub fn reach_not_before(
        &self,
        at: Nanos,
        not_before: Nanos,
        sector: u64,
        place: &DiskLocation,
        write: bool,
    ) -> Nanos {
        let there = (at + self.way_to(sector, place, write)).max(not_before);
        there + self.rotation.wait(there, place.angle)
    }

    /// How many sectors before `sector` at `place` pass the head on their track, if it sets out at `at` to read from
    /// there on.
    pub fn passed_before(&self, at: Nanos, sector: u64, place: &DiskLocation) -> u64 {
        let there = at + self.way_to(sector, place, false);
        let wait = self.rotation.wait(there, place.angle);
        u64::from(self.rotation.sectors_passed(wait, place.per_track).min(place.along))
    }

    /// How long the head is on the way to a sector. Of crossings in a stream only head switches can be late, as
    /// the sequential clock has it.
    #[inline]
    fn way_to(&self, sector: u64, place: &DiskLocation, write: bool) -> Nanos {
        if sector != self.next_sector {
            self.move_time(place, write)
        } else if place.cylinder == self.cylinder && place.head != self.head {
            self.head_switch
        } else {
            0
        }
    }

    #[inline]
    fn move_time(&self, place: &DiskLocation, write: bool) -> Nanos {
        let distance = self.cylinder.abs_diff(place.cylinder);
        let switch = if place.head == self.head { 0 } else { self.head_switch };
        if write
            && distance > 0
            && let Some(curve) = &self.write_seek
        {
            return curve.time(distance).max(switch);
        }
        let moving = self.seek.time(distance).max(switch);
        if write && (distance > 0 || place.head != self.head) {
            moving + self.write_settle
        } else {
            moving
        }
    }

    pub fn shortest_move(&self) -> Nanos {
        match &self.write_seek {
            None => self.seek.time(1).min(self.head_switch) + self.write_settle,
            Some(curve) => curve.time(1).min(self.head_switch + self.write_settle),
        }
    }

    /// No movement for a write to this track or to a later one takes less.
    pub fn shortest_move_behind(&self, track: &TrackSpan) -> Nanos {
        self.shortest_over(track.outermost.saturating_sub(self.cylinder))
    }

    /// No movement for a write to this track or to any before it takes less.
    pub fn shortest_move_before(&self, track: &TrackSpan) -> Nanos {
        self.shortest_over(self.cylinder.saturating_sub(track.innermost))
    }

    fn shortest_over(&self, cylinders: u32) -> Nanos {
        match &self.write_seek {
            _ if cylinders == 0 => 0,
            None => self.seek.shortest_from(cylinders) + self.write_settle,
            Some(curve) => curve.shortest_from(cylinders),
        }
    }

    /// Transfers `count` sectors that start under the head at `start`; returns when the last one ends.
    #[inline]
    pub fn transfer(
        &mut self,
        start: Nanos,
        sector: u64,
        place: &DiskLocation,
        count: u64,
    ) -> Nanos {
        self.next_sector = sector + count;
        if u64::from(place.along) + count <= u64::from(place.per_track) {
            self.stand(place, count as u32);
            return start + self.rotation.sector_angle(self.along, self.per_track) - place.passed;
        }
        self.stand(&self.layout.locate(sector + count - 1), 1);
        start + self.layout.transfer_time(sector, count)
    }

    /// Moves to `sector` and transfers `count` sectors; returns when the last one ends.
    pub fn access(&mut self, at: Nanos, sector: u64, count: u64, write: bool) -> Nanos {
        self.access_not_before(at, at, sector, count, write)
    }

    /// Like [`access`](Self::access), with the transfer not before `not_before`.
    pub fn access_not_before(
        &mut self,
        at: Nanos,
        not_before: Nanos,
        sector: u64,
        count: u64,
        write: bool,
    ) -> Nanos {
        let place = self.layout.locate(sector);
        let start = self.reach_not_before(at, not_before, sector, &place, write);
        self.transfer(start, sector, &place, count)
    }

    /// Lets the platter stand at `angle` (below the period) at time 0.
    pub fn start_at(&mut self, angle: Nanos) {
        self.rotation = self.rotation.starting_at(angle);
    }

    /// Puts the head just after sector `end - 1`, as after a transfer that ended there.
    #[inline]
    pub fn place_behind(&mut self, end: u64) {
        let further = end.checked_sub(self.next_sector);
        self.next_sector = end;
        match further.map(|further| further + u64::from(self.along)) {
            // mostly it only moves on along its track
            Some(along) if along <= u64::from(self.per_track) => self.along = along as u32,
            _ => self.stand(&self.layout.locate(end.max(1) - 1), u32::from(end > 0)),
        }
    }

    /// The head has passed `count` sectors from `place` on, on one track.
    #[inline]
    fn stand(&mut self, place: &DiskLocation, count: u32) {
        (self.cylinder, self.head) = (place.cylinder, place.head);
        (self.per_track, self.along) = (place.per_track, place.along + count);
    }

    /// How many whole sectors have passed the head `elapsed` after the end of sector `from - 1`, at most `limit`:
    /// [`Layout::sectors_within`], which mostly follows from where the head is.
    #[inline]
    pub fn sectors_within(&self, from: u64, elapsed: Nanos, limit: u64) -> u64 {
        if from == self.next_sector {
            let angle = self.rotation.sector_angle(self.along, self.per_track) + elapsed;
            if angle < self.rotation.period() {
                let passed = self.rotation.sectors_passed(angle, self.per_track) - self.along;
                return u64::from(passed).min(limit);
            }
        }
        self.layout.sectors_within(from, elapsed, limit)
    }
}

#[cfg(test)]
mod tests {
    use crate::hdd::params::LayoutParams;
    use crate::hdd::tests::{mechanism_of, small_drive};
    use proptest::prelude::*;

    #[test]
    fn continuing_costs_nothing_and_going_back_a_turn() {
        let mut parts = mechanism_of(&small_drive());
        let end = parts.access(0, 1000, 8, false);
        assert_eq!(parts.access(end, 1008, 8, false), end + parts.layout().transfer_time(1008, 8));
        let mut again = mechanism_of(&small_drive());
        let end = again.access(0, 1000, 8, false);
        assert_eq!(again.access(end, 1000, 8, false), end + again.rotation().period());
    }

    #[test]
    fn split_transfer_takes_as_long_as_whole() {
        let mut parts = mechanism_of(&small_drive());
        let mut at = 0;
        for piece in 0..2000 {
            at = parts.access(at, piece * 7, 7, true);
        }
        let whole = parts.layout().transfer_time(0, 14_000);
        assert_eq!(at, whole);
    }

    #[test]
    fn head_change_takes_longer_of_switch_and_seek() {
        let mut params = small_drive();
        params.layout = LayoutParams::Cylinder;
        params.head_switch_ms = 3.0;
        let parts = mechanism_of(&params);
        let beside = parts.layout().locate(parts.layout().next_track(0));
        assert_eq!((beside.cylinder, beside.head), (0, 1));
        assert_eq!(parts.move_time(&beside, false), 3_000_000);
        assert_eq!(parts.move_time(&beside, true), 3_500_000);
        let mut far = parts.layout().locate(parts.layout().sectors() - 1);
        far.head = 1;
        assert_eq!(parts.move_time(&far, false), parts.seek().time(far.cylinder));
        far.cylinder = 1;
        assert_eq!(parts.move_time(&far, false), 3_000_000);
    }

    #[test]
    fn write_settles_after_seek_not_on_track() {
        let params = small_drive();
        let parts = mechanism_of(&params);
        let far = parts.layout().locate(400_000);
        let settle = (params.write_settle_ms * 1e6) as u64;
        let read = parts.move_time(&far, false);
        assert_eq!(parts.move_time(&far, true), read + settle);
        let near = parts.layout().locate(3);
        assert_eq!(parts.move_time(&near, true), 0);
    }

    proptest! {
        #[test]
        fn the_head_knows_its_track_as_the_layout_does(
            steps in proptest::collection::vec((0u64..400_000, 1u64..3000, 0u64..4000, 0.0..1.5f64), 1..20),
        ) {
            let mut parts = mechanism_of(&small_drive());
            let mut at = 0;
            for (sector, count, further, turns) in steps {
                at = parts.access(at, sector, count, false);
                parts.place_behind(sector + count + further);
                let end = parts.next_sector();
                prop_assert_eq!(end, sector + count + further);
                let mut far = mechanism_of(&small_drive());
                far.place_behind(1);
                far.place_behind(end);
                let stands = |m: &super::Mechanism| (m.cylinder, m.head, m.per_track, m.along);
                prop_assert_eq!(stands(&parts), stands(&far));
                let last = parts.layout().locate(end - 1);
                let place = (last.cylinder, last.head, last.per_track, last.along + 1);
                prop_assert_eq!(stands(&parts), place);
                let elapsed = parts.rotation().turns(turns);
                let passed = parts.sectors_within(end, elapsed, 900);
                prop_assert_eq!(passed, parts.layout().sectors_within(end, elapsed, 900));
            }
        }
    }
}
