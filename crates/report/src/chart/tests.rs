//! Every chart of the runs that tests know, drawn.

use super::*;
use crate::every_chart;
use crate::testing::{hard_disk, hard_disk_surface, nvme};
use drivescope_model::{Run, TestStatus};

fn all_charts() -> Vec<Chart> {
    let results = [hard_disk().tests, nvme().tests, vec![hard_disk_surface()]];
    results.iter().flatten().flat_map(every_chart).collect()
}

/// The numbers of an attribute wherever it stands.
fn numbers<'a>(svg: &'a str, attribute: &'a str) -> impl Iterator<Item = f64> + 'a {
    let values = svg.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
    values.map(|text| text.parse().expect("a number"))
}

#[test]
fn charts_are_reproducible_and_within_bounds() {
    for chart in all_charts() {
        for size in [PictureSize::WIDE, PictureSize::NARROW] {
            let picture = svg(&chart, size, Theme::Light);
            assert_eq!(picture, svg(&chart, size, Theme::Light));
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{}", chart.name);
            for x in numbers(&picture, " x=\"").chain(numbers(&picture, " x1=\"")) {
                assert!((0.0..=f64::from(size.width)).contains(&x), "{} at {x}", chart.name);
            }
            for y in numbers(&picture, " y=\"").chain(numbers(&picture, " y1=\"")) {
                assert!((0.0..=f64::from(size.height)).contains(&y), "{} at {y}", chart.name);
            }
        }
    }
}

#[test]
fn chart_describes_itself_in_words() {
    let charts = all_charts();
    let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    for name in [
        "latency-span",
        "latency-load",
        "surface-position",
        "surface-distance",
        "tiny-writes",
        "transfer-grid",
    ] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    for chart in &charts {
        let picture = svg(chart, PictureSize::WIDE, Theme::System);
        assert!(picture.contains("<title>") && picture.contains("<desc>"), "{}", chart.name);
        assert!(!chart.caption.is_empty() && !chart.description.is_empty(), "{}", chart.name);
        assert!(picture.contains("prefers-color-scheme"), "{}", chart.name);
    }
    let surface = charts.iter().find(|chart| chart.name == "surface-position").expect("drawn");
    assert_eq!(surface.title, "Rate and access time by position");
}

#[test]
fn odd_and_missing_figures_draw_nothing_odd() {
    let mut odd = hard_disk_surface();
    odd.series[0].y[3] = f64::NAN;
    odd.series[0].y[4] = f64::INFINITY;
    odd.series[1].x.clear();
    let position = every_chart(&odd).swap_remove(0);
    let picture = svg(&position, PictureSize::WIDE, Theme::Dark);
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
    let zero = hard_disk_surface().series.swap_remove(0);
    odd.series = vec![drivescope_model::Series { y: vec![0.0; zero.x.len()], ..zero }];
    odd.metrics.clear();
    for chart in every_chart(&odd) {
        assert!(!svg(&chart, PictureSize::NARROW, Theme::Light).contains("NaN"));
    }
    let empty = Run { tests: Vec::new(), status: TestStatus::Interrupted, ..hard_disk() };
    assert!(empty.tests.iter().flat_map(every_chart).next().is_none());
}
