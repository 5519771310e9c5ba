//! Unreadable and slow stretches, marked in the picture of the surface.

use crate::chart::plot::{Layer, Plot, Point};
use crate::chart::points_of;
use drivescope_model::number::whole;
use drivescope_model::{Bytes, TestResult};

/// More of them would hide the curve; the document has all.
const MARKED_MAX: usize = 100;
/// A narrower stretch is drawn as a line, so that it can be seen.
const BAND_SHARE_MIN: f64 = 0.005;

/// `plot`, over `end` bytes in units of `unit` bytes, with marks; and the words for its caption.
pub(super) fn marked(mut plot: Plot, result: &TestResult, end: f64, unit: f64) -> (Plot, String) {
    let mut words = Vec::new();
    for kind in ["unreadable", "slow"] {
        let stretches = points_of(result, &format!("surface.{kind}.end_bytes"));
        for (index, (first, after)) in stretches.iter().take(MARKED_MAX).enumerate() {
            let text = if index == 0 { kind.to_string() } else { String::new() };
            let from_to = (first / unit, after / unit);
            plot = plot.with(if after - first >= BAND_SHARE_MIN * end {
                Layer::Band { from_to, text }
            } else {
                Layer::Rule { x: (from_to.0 + from_to.1) / 2.0, text }
            });
        }
        words.extend(said(kind, &stretches));
    }
    let all =
        if words.is_empty() { String::new() } else { format!(" Marked: {}.", words.join("; ")) };
    (plot, all)
}

/// `1 unreadable place at 2.00 TB`, `140 slow places, 100 of them marked, the first at 1.00 GB`.
fn said(kind: &str, stretches: &[Point]) -> Option<String> {
    let first = Bytes(stretches.first()?.0 as u64);
    Some(match stretches.len() {
        1 => format!("1 {kind} place at {first}"),
        count if count > MARKED_MAX => format!(
            "{} {kind} places, {MARKED_MAX} of them marked, the first at {first}",
            whole(count as u64)
        ),
        count => format!("{count} {kind} places, the first at {first}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::axis::PlotAxis;
    use crate::testing::hard_disk_surface;
    use drivescope_model::Series;

    fn marks(stretches: &[(f64, f64)]) -> (Vec<Layer>, String) {
        let series = Series {
            key: "surface.unreadable.end_bytes".to_string(),
            x_unit: "bytes".to_string(),
            y_unit: "bytes".to_string(),
            x: stretches.iter().map(|(first, _)| *first).collect(),
            y: stretches.iter().map(|(_, after)| *after).collect(),
        };
        let result = TestResult { series: vec![series], ..hard_disk_surface() };
        let empty =
            Plot::new(PlotAxis::until("position, TB", 4.0), PlotAxis::from_zero("MB/s", 200.0));
        let (plot, words) = marked(empty, &result, 4e12, 1e12);
        (plot.layers, words)
    }

    #[test]
    fn wide_stretches_are_bands_narrow_ones_lines() {
        let (layers, words) = marks(&[(1e12, 2e12), (3e12, 3.001e12)]);
        assert!(
            matches!(&layers[0], Layer::Band { from_to: (1.0, 2.0), text } if text == "unreadable")
        );
        assert!(matches!(&layers[1], Layer::Rule { text, .. } if text.is_empty()));
        assert_eq!(layers.len(), 2);
        assert_eq!(words, " Marked: 2 unreadable places, the first at 1.00 TB.");
    }

    #[test]
    fn many_places_leave_the_curve_visible() {
        let many: Vec<(f64, f64)> =
            (0..140).map(|i| (f64::from(i) * 1e10, f64::from(i) * 1e10 + 4096.0)).collect();
        let (layers, words) = marks(&many);
        assert_eq!(layers.len(), MARKED_MAX);
        assert_eq!(words, " Marked: 140 unreadable places, 100 of them marked, the first at 0 B.");
        assert_eq!(marks(&[]).1, "");
    }
}
