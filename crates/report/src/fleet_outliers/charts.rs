//! A picture of each group: the speed of every drive beside the median, the odd ones marked and named.

use super::FleetOutliers;
use super::groups::DriveGroup;
use crate::chart::axis::PlotAxis;
use crate::chart::plain_words::capitalized;
use crate::chart::plot::{Beside, Ink, Layer, MarkOutline, Plot, PlotMark, YAxis};
use crate::chart::{Chart, extent};
use crate::text::figure_words;
use drivescope_model::MeasuredDrive;
use drivescope_model::number::{one_decimal, whole};

const HEALTHY: Ink = Ink::Series(0);
const ODD: Ink = Ink::Series(1);
/// Faster drives would push the others together.
const PERCENT_MAX: f64 = 150.0;
/// Dots of a row lie within this part of its height, so that equal ones do not hide each other.
const ROW_HEIGHT: f64 = 0.6;
/// More names of a row would cover its dots.
const NAMED_MAX: usize = 4;

/// A chart for each group that has figures: a row for each of them.
pub(crate) fn group_charts(outliers: &FleetOutliers, drives: &[MeasuredDrive]) -> Vec<Chart> {
    let charts = outliers.groups.iter().enumerate();
    charts.filter_map(|(number, group)| chart(number, group, outliers, drives)).collect()
}

fn chart(
    number: usize,
    group: &DriveGroup,
    outliers: &FleetOutliers,
    drives: &[MeasuredDrive],
) -> Option<Chart> {
    if group.figures.is_empty() {
        return None;
    }
    let name = |figure: &super::GroupFigure| {
        format!("{}, {}", capitalized(figure.what), figure_words(figure.median, &figure.unit))
    };
    let names: Vec<String> = group.figures.iter().map(name).collect();
    let ratios = group.figures.iter().flat_map(|figure| &figure.ratios).map(|(_, ratio)| *ratio);
    let (_, most) = extent(ratios);
    let x = PlotAxis::from_zero(
        "% of the group's median speed",
        (most * 100.0).clamp(100.0, PERCENT_MAX),
    );
    let mut plot =
        Plot::new(x, PlotAxis::rows("", &names)).named(HEALTHY, "drives").named(ODD, "odd drives");
    let mut odd_names = Vec::new();
    for (row, figure) in group.figures.iter().enumerate() {
        let (mut dots, mut marks) = (Vec::new(), Vec::new());
        for (i, (place, ratio)) in figure.ratios.iter().enumerate() {
            let drive = &drives[*place];
            let percent = (ratio * 100.0).min(PERCENT_MAX);
            if outliers.is_odd_in(drive, &figure.key) {
                let at = (percent, row as f64);
                let outline = MarkOutline::Filled;
                marks.push(PlotMark { outline, ..PlotMark::point(at) });
                let name = drive.shown_name();
                let name = if drive.host.is_empty() {
                    name.to_string()
                } else {
                    format!("{} {name}", drive.host)
                };
                if marks.len() <= NAMED_MAX {
                    plot = plot.with_text(at, name.as_str(), ODD, Beside::Above);
                }
                odd_names.push((drive.run.clone(), name));
            } else {
                dots.push((percent, row as f64 + offset(i)));
            }
        }
        plot = plot.with(Layer::Dots { points: dots, ink: HEALTHY, axis: YAxis::Left });
        plot = plot.with(Layer::Marks { marks, ink: ODD });
    }
    odd_names.sort();
    odd_names.dedup();
    let odd_names: Vec<String> = odd_names.into_iter().map(|(_, name)| name).collect();
    Some(Chart {
        name: format!("fleet-group-{}", number + 1),
        title: format!("{}: {} drives", group.name(), whole(group.drives as u64)),
        caption: caption(group, &odd_names),
        description: format!(
            "{} of {} drives are odd: {}.",
            odd_names.len(),
            group.drives,
            if odd_names.is_empty() { "none".to_string() } else { odd_names.join(", ") }
        ),
        plot,
    })
}

fn caption(group: &DriveGroup, odd: &[String]) -> String {
    let (least, most) = extent(group.figures.iter().map(|figure| figure.spread_pct));
    let spread = if most - least < 0.1 {
        format!("{} %", one_decimal(most))
    } else {
        format!("{} to {} %", one_decimal(least), one_decimal(most))
    };
    let odd = match odd.len() {
        0 => "None is odd.".to_string(),
        1 => "1 is odd.".to_string(),
        odd => format!("{odd} are odd."),
    };
    format!(
        "{odd} A dot is a drive; healthy ones differ by {spread} (standard deviation below the median)."
    )
}

/// Even over the height of a row, and the same each time.
fn offset(i: usize) -> f64 {
    /// Multiples of the golden ratio leave no gaps.
    const GOLDEN: f64 = 0.618_033_988_749_895;
    ((i as f64 * GOLDEN).fract() - 0.5) * ROW_HEIGHT
}
