//! The turning platter. Angles are times: nanoseconds of rotation since the index mark passed the head.
//!
//! The spindle starts at angle 0 when the drive's clock starts and turns without drift, so the angle at
//! any moment follows from the time alone and is never drawn at random. Strides, read-modify-write and
//! skew behave as they do on a drive only because of that.

use crate::device::{Nanos, whole_ns};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    period: Nanos,
    /// Angle at time 0, below the period.
    start: Nanos,
}

impl Rotation {
    /// A spindle that turns `rpm` times a minute: one turn takes 60 s / rpm, to the nanosecond.
    pub fn from_rpm(rpm: f64) -> Self {
        Self { period: (60e9 / rpm).round().max(1.0) as Nanos, start: 0 }
    }

    pub fn starting_at(self, start: Nanos) -> Self {
        Self { start, ..self }
    }

    pub fn period(self) -> Nanos {
        self.period
    }

    /// How long after `at` the platter next stands at `angle` (below the period); 0 if it does now.
    #[inline]
    pub fn wait(self, at: Nanos, angle: Nanos) -> Nanos {
        let phase = (at + self.start) % self.period;
        if angle >= phase { angle - phase } else { angle + self.period - phase }
    }

    /// Angle from the start of a track to the boundary before `sector`, with `per_track` sectors in a turn.
    /// Boundaries are rounded down, so adjacent sectors share theirs exactly.
    #[inline]
    pub fn sector_angle(self, sector: u32, per_track: u32) -> Nanos {
        self.period * Nanos::from(sector) / Nanos::from(per_track)
    }

    /// How many of a track's `per_track` sectors end at `angle` (below the period) or before: the inverse
    /// of [`Rotation::sector_angle`].
    #[inline]
    pub fn sectors_passed(self, angle: Nanos, per_track: u32) -> u32 {
        (((angle + 1) * Nanos::from(per_track) - 1) / self.period) as u32
    }

    pub fn turns(self, revolutions: f64) -> Nanos {
        whole_ns(revolutions * self.period as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_periods_of_real_spindles() {
        for (rpm, period) in [(5400.0, 11_111_111), (7200.0, 8_333_333), (15_000.0, 4_000_000)] {
            assert_eq!(Rotation::from_rpm(rpm).period(), period);
        }
    }

    #[test]
    fn an_angle_just_missed_costs_almost_a_turn() {
        let spindle = Rotation::from_rpm(6000.0);
        assert_eq!(spindle.wait(3_000_000, 3_000_000), 0);
        assert_eq!(spindle.wait(3_000_001, 3_000_000), 9_999_999);
        assert_eq!(spindle.wait(12_000_000, 3_000_000), 1_000_000);
        assert_eq!(spindle.starting_at(2_000_000).wait(12_000_000, 3_000_000), 9_000_000);
    }

    proptest! {
        #[test]
        fn waiting_ends_at_the_angle(rpm in 3000.0..16_000.0f64, at in 0u64..1 << 50, part in 0.0..1.0f64) {
            let spindle = Rotation::from_rpm(rpm);
            let angle = (part * spindle.period() as f64) as Nanos % spindle.period();
            let wait = spindle.wait(at, angle);
            prop_assert!(wait < spindle.period());
            prop_assert_eq!((at + wait) % spindle.period(), angle);
        }

        #[test]
        fn a_sector_has_passed_when_its_end_has(rpm in 3000.0..16_000.0f64, per_track in 1u32..5000, part in 0.0..1.0f64) {
            let spindle = Rotation::from_rpm(rpm);
            let sectors = (part * f64::from(per_track)) as u32;
            let angle = spindle.sector_angle(sectors, per_track);
            prop_assert_eq!(spindle.sectors_passed(angle, per_track), sectors);
            prop_assert!(sectors == 0 || spindle.sectors_passed(angle - 1, per_track) == sectors - 1);
        }

        #[test]
        fn a_track_is_one_turn(per_track in 1u32..5000) {
            let spindle = Rotation::from_rpm(5400.0);
            prop_assert_eq!(spindle.sector_angle(0, per_track), 0);
            prop_assert_eq!(spindle.sector_angle(per_track, per_track), spindle.period());
        }
    }
}
