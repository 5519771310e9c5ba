//! The arm's movement times: one for each distance in cylinders, settling for a read included.

use crate::device::Nanos;
use crate::hdd::params::SeekParams;

/// A seek curve bound to a number of cylinders.
#[derive(Debug, Clone, PartialEq)]
pub struct SeekCurve {
    single: Nanos,
    shape: CurveShape,
}

/// Coefficients in nanoseconds and cylinders.
#[derive(Debug, Clone, PartialEq)]
enum CurveShape {
    /// `near_base + near_root·√d` below the knee, `far_base + far_slope·d` from it on.
    TwoPiece { near_base: f64, near_root: f64, knee: u32, far_base: f64, far_slope: f64 },
    /// `base + root·√(d − 1) + slope·(d − 1)`.
    ThreePoint { base: f64, root: f64, slope: f64 },
    /// Straight lines between points `(distance, time)` in ascending order.
    Table(Vec<(u32, f64)>),
}

const NS_PER_MS: f64 = 1e6;

impl SeekCurve {
    pub fn new(params: &SeekParams, stroke_cylinders: u32) -> Self {
        let stroke = f64::from(stroke_cylinders.max(1));
        let (single_ms, shape) = match params {
            SeekParams::TwoPiece {
                single_ms,
                near_base_ms,
                near_root_ms,
                knee_fraction,
                far_base_ms,
                far_slope_ms,
            } => {
                let knee = (knee_fraction * stroke).round() as u32;
                let pieces = [*near_base_ms, *near_root_ms, *far_base_ms, *far_slope_ms];
                (Some(*single_ms), two_piece(pieces, knee, stroke))
            }
            SeekParams::TwoPieceCylinders {
                single_ms,
                near_base_ms,
                near_root_ms,
                knee_cylinders,
                far_base_ms,
                far_slope_ms,
            } => {
                let pieces = [*near_base_ms, *near_root_ms, *far_base_ms, *far_slope_ms];
                (Some(*single_ms), two_piece(pieces, *knee_cylinders, 1.0))
            }
            SeekParams::ThreePoint { min_ms, average_ms, full_ms } => {
                (None, three_point(*min_ms, *average_ms, *full_ms, stroke))
            }
            SeekParams::SquareRoot { min_ms, full_ms } => {
                (None, two_piece([*min_ms, full_ms - min_ms, 0.0, 0.0], u32::MAX, stroke))
            }
            SeekParams::Table { points_cylinders_ms } => {
                let points = points_cylinders_ms.iter().map(|&(d, ms)| (d, ms * NS_PER_MS));
                (None, CurveShape::Table(points.collect()))
            }
        };
        let single = single_ms.map_or_else(|| shape.time(1), |ms| ms * NS_PER_MS);
        Self { single: single as Nanos, shape }
    }

    /// Time to move the arm by `cylinders`; 0 for none.
    #[inline]
    pub fn time(&self, cylinders: u32) -> Nanos {
        match cylinders {
            0 => 0,
            1 => self.single,
            distance => self.shape.time(distance) as Nanos,
        }
    }

    /// No movement over `cylinders` or more takes less than this: measured times scatter, and a fitted curve may
    /// fall at its knee.
    #[inline]
    pub fn shortest_from(&self, cylinders: u32) -> Nanos {
        match cylinders {
            0 => 0,
            1 => self.single.min(self.shape.shortest_from(2) as Nanos),
            distance => self.shape.shortest_from(distance) as Nanos,
        }
    }
}

/// The pieces' base and factor, in ms and in distances of `unit` cylinders.
fn two_piece(pieces: [f64; 4], knee: u32, unit: f64) -> CurveShape {
    let [near_base, near_root, far_base, far_slope] = pieces.map(|ms| ms * NS_PER_MS);
    let (near_root, far_slope) = (near_root / unit.sqrt(), far_slope / unit);
    CurveShape::TwoPiece { near_base, near_root, knee, far_base, far_slope }
}

/// Lee's curve through the three figures of a data sheet, so that the mean over random pairs is the
/// average: root = (15·avg − 10·min − 5·max) / (3·√N), slope = (7·min − 15·avg + 8·max) / (3·N).
fn three_point(min_ms: f64, average_ms: f64, full_ms: f64, stroke: f64) -> CurveShape {
    let root = (15.0 * average_ms - 10.0 * min_ms - 5.0 * full_ms) / (3.0 * stroke.sqrt());
    let slope = (7.0 * min_ms - 15.0 * average_ms + 8.0 * full_ms) / (3.0 * stroke);
    CurveShape::ThreePoint {
        base: min_ms * NS_PER_MS,
        root: root * NS_PER_MS,
        slope: slope * NS_PER_MS,
    }
}

impl CurveShape {
    #[inline]
    fn time(&self, distance: u32) -> f64 {
        let d = f64::from(distance);
        match self {
            CurveShape::TwoPiece { near_base, near_root, knee, far_base, far_slope } => {
                if distance < *knee {
                    near_base + near_root * d.sqrt()
                } else {
                    far_base + far_slope * d
                }
            }
            CurveShape::ThreePoint { base, root, slope } => {
                base + root * (d - 1.0).sqrt() + slope * (d - 1.0)
            }
            CurveShape::Table(points) => interpolate(points, distance),
        }
    }

    /// The least of this distance and all longer ones; each piece of a curve rises.
    #[inline]
    fn shortest_from(&self, distance: u32) -> f64 {
        let here = self.time(distance);
        match self {
            CurveShape::TwoPiece { knee: u32::MAX, .. } | CurveShape::ThreePoint { .. } => here,
            CurveShape::TwoPiece { knee, .. } => here.min(self.time(distance.max(*knee))),
            CurveShape::Table(points) => {
                points.iter().filter(|(d, _)| *d > distance).fold(here, |least, p| least.min(p.1))
            }
        }
    }
}

/// Value at `distance` on the lines between `points`; the first and last values hold beyond the ends.
fn interpolate(points: &[(u32, f64)], distance: u32) -> f64 {
    let above = points.partition_point(|&(d, _)| d < distance);
    let Some(&(right, right_time)) = points.get(above) else {
        return points.last().map_or(0.0, |p| p.1);
    };
    let Some(&(left, left_time)) = above.checked_sub(1).and_then(|i| points.get(i)) else {
        return right_time;
    };
    let part = f64::from(distance - left) / f64::from(right - left);
    left_time + part * (right_time - left_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(curve: &SeekCurve, cylinders: u32) -> f64 {
        curve.time(cylinders) as f64 / NS_PER_MS
    }

    fn mean_over_random_pairs(curve: &SeekCurve, stroke: u32) -> f64 {
        // the density of the distance between two uniform points is 2(1 − f)
        let steps = 20_000u32;
        let part = |i: u32| (f64::from(i) + 0.5) / f64::from(steps);
        (0..steps)
            .map(|i| 2.0 * (1.0 - part(i)) * ms(curve, (part(i) * f64::from(stroke)) as u32))
            .sum::<f64>()
            / f64::from(steps)
    }

    #[test]
    fn published_two_piece_curve_of_4_tb_drive() {
        let stroke = 353_181;
        let curve = SeekCurve::new(
            &SeekParams::TwoPiece {
                single_ms: 1.4,
                near_base_ms: 1.386,
                near_root_ms: 11.78,
                knee_fraction: 0.312,
                far_base_ms: 4.51,
                far_slope_ms: 11.10,
            },
            stroke,
        );
        assert_eq!(ms(&curve, 0), 0.0);
        assert_eq!(ms(&curve, 1), 1.4);
        assert!((ms(&curve, stroke) - 15.61).abs() < 0.01);
        assert!((ms(&curve, stroke / 3) - 8.21).abs() < 0.01);
        assert!((mean_over_random_pairs(&curve, stroke) - 7.93).abs() < 0.05);
    }

    #[test]
    fn longer_movements_take_the_least_time_or_more() {
        fn two_piece(single_ms: f64, far_base_ms: f64) -> SeekParams {
            SeekParams::TwoPieceCylinders {
                single_ms,
                near_base_ms: 1.386,
                near_root_ms: 0.2,
                knee_cylinders: 300,
                far_base_ms,
                far_slope_ms: 0.002,
            }
        }
        let points_cylinders_ms =
            vec![(1, 1.4), (2, 1.9), (40, 1.5), (200, 6.0), (300, 5.2), (900, 9.0)];
        for params in [
            two_piece(1.4, 4.0),
            two_piece(2.5, 4.5),
            SeekParams::SquareRoot { min_ms: 1.0, full_ms: 16.0 },
            SeekParams::ThreePoint { min_ms: 1.0, average_ms: 7.0, full_ms: 14.0 },
            SeekParams::Table { points_cylinders_ms },
        ] {
            let curve = SeekCurve::new(&params, 1_000);
            let mut least = Nanos::MAX;
            for cylinders in (1..=1_000).rev() {
                least = least.min(curve.time(cylinders));
                let bound = curve.shortest_from(cylinders);
                assert!(bound <= least, "{params:?} {cylinders}: {bound} {least}");
                assert!(bound * 2 > least, "{params:?} {cylinders}: {bound} is no use, {least}");
            }
            assert_eq!(curve.shortest_from(0), 0);
        }
    }

    #[test]
    fn two_pieces_in_cylinders_as_published_for_the_hp97560() {
        let curve = SeekCurve::new(
            &SeekParams::TwoPieceCylinders {
                single_ms: 3.64,
                near_base_ms: 3.24,
                near_root_ms: 0.4,
                knee_cylinders: 383,
                far_base_ms: 8.0,
                far_slope_ms: 0.008,
            },
            1961,
        );
        assert!((ms(&curve, 100) - 7.24).abs() < 1e-3);
        assert!((ms(&curve, 1000) - 16.0).abs() < 1e-3);
    }

    #[test]
    fn three_points_give_back_their_average() {
        let params = SeekParams::ThreePoint { min_ms: 1.0, average_ms: 8.9, full_ms: 18.0 };
        let curve = SeekCurve::new(&params, 100_000);
        assert!((ms(&curve, 1) - 1.0).abs() < 1e-6);
        assert!((ms(&curve, 100_000) - 18.0).abs() < 0.01);
        assert!((mean_over_random_pairs(&curve, 100_000) - 8.9).abs() < 0.05);
    }

    #[test]
    fn a_square_root_averages_eight_fifteenths() {
        let curve = SeekCurve::new(&SeekParams::SquareRoot { min_ms: 1.0, full_ms: 21.6 }, 100_000);
        let expected = 1.0 + 8.0 / 15.0 * 20.6;
        assert!((mean_over_random_pairs(&curve, 100_000) - expected).abs() < 0.02);
    }

    #[test]
    fn a_table_is_kept_point_for_point() {
        let params = SeekParams::Table {
            points_cylinders_ms: vec![(1, 0.7), (10, 1.6), (1000, 7.0), (5000, 15.0)],
        };
        let curve = SeekCurve::new(&params, 5000);
        for (distance, expected) in
            [(1, 0.7), (10, 1.6), (505, 4.3), (1000, 7.0), (3000, 11.0), (9000, 15.0)]
        {
            assert!((ms(&curve, distance) - expected).abs() < 1e-6, "{distance}");
        }
    }
}
