//! Seek curves that no arm has: those that fall.

use crate::hdd::limits::MOVE_MAX_MS;
use crate::hdd::params::SeekParams;
use crate::hdd::seek::SeekCurve;
use crate::numbers::plain;
use crate::param_problem::Problems;

/// Measured times scatter; none may be under this share of a shorter way's time. In Western Digital's published
/// table of a 4 TB drive the times of up to 128 cylinders lie between 1.4 and 1.9 ms without order.
const SCATTER: f64 = 0.5;

/// Largest share of a measured table's points that may be outliers; these only cause a warning.
const OUTLIERS_MAX: f64 = 0.1;

/// At its knee a fitted curve may fall to this share: the published ones fall by less than 1 %.
const KNEE: f64 = 0.95;

/// Checks what the fields of the table `table` mean to each other. Each must be within its bounds.
pub(super) fn check_seek(table: &str, seek: &SeekParams, p: &mut Problems) {
    let at = |name: &str| format!("{table}.{name}");
    match seek {
        SeekParams::TwoPiece { .. } | SeekParams::TwoPieceCylinders { .. } => {}
        SeekParams::ThreePoint { min_ms, average_ms, full_ms } => {
            p.unless(
                min_ms < full_ms,
                &at("full_ms"),
                format!("is {full_ms}, not longer than min_ms {min_ms}"),
            );
            // Lee's curve rises from the first cylinder to the last: root >= 0, and no fall at the end
            let (least, most) =
                ((2.0 * min_ms + full_ms) / 3.0, (4.0 * min_ms + 11.0 * full_ms) / 15.0);
            p.unless(
                (least..=most).contains(average_ms),
                &at("average_ms"),
                format!(
                    "is {average_ms}; from min_ms {min_ms} to full_ms {full_ms} the curve only rises with an \
                     average of {least:.2} to {most:.2}"
                ),
            );
        }
        SeekParams::SquareRoot { min_ms, full_ms } => p.unless(
            min_ms <= full_ms,
            &at("full_ms"),
            format!("is {full_ms}, shorter than min_ms {min_ms}"),
        ),
        SeekParams::Table { points_cylinders_ms } => {
            check_points(&at("points_cylinders_ms"), points_cylinders_ms, p);
        }
    }
}

fn check_points(field: &str, points: &[(u32, f64)], p: &mut Problems) {
    p.unless(!points.is_empty(), field, "is empty; give at least one point");
    p.unless(
        points.windows(2).all(|pair| pair[0].0 < pair[1].0),
        field,
        "must have ascending distances, each once",
    );
    let outliers = outliers(points);
    let few = outliers.len() as f64 <= points.len() as f64 * OUTLIERS_MAX;
    let mut longest = (0, 0.0);
    for &(cylinders, ms) in points.iter().filter(|point| !(few && outliers.contains(point))) {
        p.unless(
            ms >= longest.1 * SCATTER,
            field,
            format!(
                "falls from {} ms at {} cylinders to {ms} at {cylinders}; measured times scatter, but not by half",
                longest.1, longest.0
            ),
        );
        if ms > longest.1 {
            longest = (cylinders, ms);
        }
    }
}

/// Points of a measured table that are far from both neighbours, where those agree with each other.
fn outliers(points: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let is_far = |three: &&[(u32, f64)]| {
        let (before, ms, behind) = (three[0].1, three[1].1, three[2].1);
        ms < before.min(behind) * SCATTER || ms * SCATTER > before.max(behind)
    };
    points.windows(3).filter(is_far).map(|three| three[1]).collect()
}

/// A warning about a strange but accepted curve, in one line.
pub(super) fn strange_points(table: &str, seek: &SeekParams) -> Option<String> {
    let SeekParams::Table { points_cylinders_ms: points } = seek else { return None };
    let outliers = outliers(points);
    let (cylinders, ms) = outliers.first()?;
    let others = match outliers.len() - 1 {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    };
    Some(format!(
        "{table}.points_cylinders_ms: {ms} ms at {cylinders} cylinders{others} is far from the points beside it; if \
         it is a slip of the measurement, leave it out"
    ))
}

/// Checks the curve of a drive whose longest seek is `stroke` cylinders: its second piece must continue where the
/// first ends, and no movement may take longer than [`MOVE_MAX_MS`].
pub(super) fn check_curve(table: &str, seek: &SeekParams, stroke: u32, p: &mut Problems) {
    let curve = SeekCurve::new(seek, stroke);
    let ms = |cylinders: u32| curve.time(cylinders) as f64 / 1e6;
    let knee = match *seek {
        SeekParams::TwoPiece { knee_fraction, .. } => {
            (knee_fraction * f64::from(stroke.max(1))).round() as u32
        }
        SeekParams::TwoPieceCylinders { knee_cylinders, .. } => knee_cylinders,
        _ => return,
    };
    let full_ms = ms(stroke).max(ms(knee.min(stroke).saturating_sub(1)));
    p.unless(
        full_ms <= MOVE_MAX_MS,
        &format!("{table}.far_slope_ms"),
        format!("makes movements of {} ms; {MOVE_MAX_MS} is the limit", plain(full_ms)),
    );
    if stroke < 3 {
        return;
    }
    p.unless(
        ms(2) >= ms(1) * SCATTER,
        &format!("{table}.single_ms"),
        format!("is {}, more than twice the {:.3} ms of two cylinders by the curve", ms(1), ms(2)),
    );
    if (3..=stroke).contains(&knee) {
        let (before, after) = (ms(knee - 1), ms(knee));
        p.unless(
            after >= before * KNEE,
            &format!("{table}.far_base_ms"),
            format!("makes the curve fall at the knee, from {before:.3} to {after:.3} ms; it must continue there"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(seek: &SeekParams, stroke: u32) -> Vec<String> {
        let mut problems = Problems::default();
        check_seek("seek", seek, &mut problems);
        check_curve("seek", seek, stroke, &mut problems);
        problems.0.into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn a_measured_table_may_scatter_but_not_fall() {
        fn table(points: &[(u32, f64)]) -> Vec<String> {
            fields(&SeekParams::Table { points_cylinders_ms: points.to_vec() }, 100_000)
        }
        assert_eq!(table(&[(1, 1.9), (2, 1.4), (9, 1.7), (600, 2.1)]), [""; 0]);
        assert_eq!(table(&[(1, 1.9), (100, 15.0), (100_000, 2.0)]), ["seek.points_cylinders_ms"]);
        assert_eq!(table(&[]), ["seek.points_cylinders_ms"]);
    }

    #[test]
    fn measured_table_outlier_warns_and_is_accepted() {
        fn table(points: &[(u32, f64)]) -> SeekParams {
            SeekParams::Table { points_cylinders_ms: points.to_vec() }
        }
        let mut points: Vec<(u32, f64)> = (1..40).map(|n| (n * 100, 2.0 + f64::from(n))).collect();
        assert_eq!(strange_points("seek", &table(&points)), None);
        for ms in [0.6, 90.0] {
            points[20].1 = ms;
            let seek = table(&points);
            assert_eq!(fields(&seek, 4000), [""; 0]);
            let warning = strange_points("seek", &seek).unwrap();
            assert!(warning.contains(&format!("{ms} ms at 2100 cylinders")), "{warning}");
        }
        // with too many of them it is not a measurement
        points.iter_mut().step_by(3).for_each(|point| point.1 = 90.0);
        assert_eq!(fields(&table(&points), 4000)[0], "seek.points_cylinders_ms");
    }

    #[test]
    fn overshooting_or_falling_three_point_curve_is_refused() {
        fn three(min_ms: f64, average_ms: f64, full_ms: f64) -> Vec<String> {
            fields(&SeekParams::ThreePoint { min_ms, average_ms, full_ms }, 100_000)
        }
        assert_eq!(three(1.0, 8.9, 18.0), [""; 0]);
        assert_eq!(three(1.0, 19.0, 20.0), ["seek.average_ms"]);
        assert_eq!(three(1.0, 5.0, 20.0), ["seek.average_ms"]);
        // an accepted curve only rises
        for average_ms in [7.4, 14.9] {
            let params = SeekParams::ThreePoint { min_ms: 1.0, average_ms, full_ms: 20.0 };
            assert_eq!(fields(&params, 100_000), [""; 0]);
            let curve = SeekCurve::new(&params, 100_000);
            let times: Vec<u64> = (1..=1000).map(|step| curve.time(step * 100)).collect();
            assert!(times.is_sorted(), "average {average_ms}");
        }
    }

    #[test]
    fn published_two_piece_curves_are_accepted() {
        let hp =
            |single_ms, near_base_ms, near_root_ms, knee_cylinders, far_base_ms, far_slope_ms| {
                let curve = SeekParams::TwoPieceCylinders {
                    single_ms,
                    near_base_ms,
                    near_root_ms,
                    knee_cylinders,
                    far_base_ms,
                    far_slope_ms,
                };
                fields(&curve, 1961)
            };
        assert_eq!(hp(3.64, 3.24, 0.4, 383, 8.0, 0.008), [""; 0]);
        assert_eq!(hp(3.45, 3.45, 0.597, 616, 10.8, 0.012), [""; 0]);
        assert_eq!(hp(3.64, 3.24, 0.4, 383, 4.0, 0.008), ["seek.far_base_ms"]);
        assert_eq!(hp(3.64, 3.24, 0.4, 383, 8.0, 9.0), ["seek.far_slope_ms"]);
    }
}
