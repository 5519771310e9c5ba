//! Every chart of the runs that tests know, drawn.

use super::plot::MarkOutline;
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

fn chart_named(name: &str) -> Chart {
    all_charts().into_iter().find(|chart| chart.name == name).expect("drawn")
}

#[test]
fn no_line_runs_through_numbers_in_fields() {
    for name in ["transfer-grid", "latency-span"] {
        let picture = svg(&chart_named(name), PictureSize::WIDE, Theme::Light);
        assert_eq!(picture.contains("rule grid"), name != "transfer-grid", "{name}");
    }
}

#[test]
fn median_p99_and_slowest_differ_in_shape() {
    let chart = chart_named("latency-span");
    let marks = chart.plot.layers.iter().filter_map(|layer| match layer {
        Layer::Marks { marks, .. } => marks.first(),
        _ => None,
    });
    let outlines: Vec<MarkOutline> = marks.take(3).map(|mark| mark.outline).collect();
    assert_eq!(outlines, [MarkOutline::Filled, MarkOutline::Open, MarkOutline::Stroke]);
}

#[test]
fn waits_below_a_millisecond_are_in_us() {
    let disk = hard_disk_surface();
    let mut ssd = disk.clone();
    for series in ssd.series.iter_mut().filter(|series| series.key.contains("access")) {
        series.y.iter_mut().for_each(|ms| *ms /= 150.0);
    }
    for (result, unit) in [(disk, "ms"), (ssd, "µs")] {
        for chart in every_chart(&result) {
            let axis = chart.plot.right.as_ref().unwrap_or(&chart.plot.y);
            assert_eq!(axis.title, unit, "{}", chart.name);
        }
    }
    assert_eq!(wait_unit([0.1, 0.2, 30.0]).0, "µs");
    assert_eq!(wait_unit([]).0, "ms");
}

#[test]
fn pages_draw_a_sample_of_many_dots() {
    let mut result = hard_disk_surface();
    for series in &mut result.series[1..] {
        series.x = (0..2_500).map(|i| f64::from(i) / 2_500.0).collect();
        series.y = (0..2_500).map(|i| 5.0 + f64::from(i * 7 % 2_500) / 100.0).collect();
    }
    let chart = every_chart(&result).into_iter().find(|chart| chart.name == "surface-distance");
    let chart = chart.expect("drawn");
    assert_eq!(chart.most_dots(), 2_500);
    let dots = |size, theme| svg(&chart, size, theme).matches("h0").count();
    assert!(dots(PictureSize::WIDE, Theme::Light) > PAGE_DOTS_MAX);
    assert!((PAGE_DOTS_MAX / 2..=PAGE_DOTS_MAX).contains(&dots(PictureSize::WIDE, Theme::Page)));
    assert!(dots(PictureSize::NARROW, Theme::Page) <= 300);
}
