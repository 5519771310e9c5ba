//! Where a drive stands among those of known classes: a strip for each figure.

use crate::chart::axis::{AxisValues, PlotAxis};
use crate::chart::plot::{Ink, Layer, Plot, PlotMark};
use crate::chart::{Chart, extent};
use crate::drive_class::known_drives::{
    ClassRange, DriveClass, FIGURES, KnownDrive, class_ranges, figure_of, models,
};
use drivescope_model::number::rounded;
use drivescope_model::{Metric, Run};

const DRIVE: Ink = Ink::Series(0);
const RANGE: Ink = Ink::Muted;

/// A strip for each figure of the run: its value with its interval above the ranges of the classes. `known`: drives
/// other than the built-in models.
pub fn class_strips(run: &Run, known: &[KnownDrive]) -> Vec<Chart> {
    standings(run, known).iter().map(strip).collect()
}

/// A figure of a run among those of known classes.
pub(crate) struct Standing<'r> {
    figure: usize,
    pub(crate) what: &'static str,
    pub(crate) metric: &'r Metric,
    pub(crate) ranges: Vec<ClassRange>,
    class: Option<DriveClass>,
}

impl Standing<'_> {
    pub(crate) fn unit(&self) -> &str {
        if self.metric.unit == "1/s" { "per second" } else { &self.metric.unit }
    }

    pub(crate) fn sentence(&self) -> String {
        sentence(self.metric.value, &self.ranges, self.class)
    }
}

/// Each of [`FIGURES`] that the run has.
pub(crate) fn standings<'r>(run: &'r Run, known: &[KnownDrive]) -> Vec<Standing<'r>> {
    let mut all = models();
    all.extend(known.iter().cloned());
    let class = run.drive.as_ref().and_then(DriveClass::of);
    let standing = |(figure, (criterion, what)): (usize, &(_, &'static str))| {
        let metric = figure_of(run, *criterion)?;
        Some(Standing { figure, what, metric, ranges: class_ranges(&all, figure), class })
    };
    FIGURES.iter().enumerate().filter_map(standing).collect()
}

fn strip(standing: &Standing<'_>) -> Chart {
    let Standing { figure, what, metric, ranges, .. } = standing;
    let unit = standing.unit();
    let mut names = vec!["this drive".to_string()];
    names.extend(ranges.iter().map(|range| range.class.name().to_string()));
    let ends = ranges.iter().flat_map(|range| [range.low, range.high]);
    let (low, high) = extent(ends.chain([metric.value]));
    let x = PlotAxis::log(unit, low, high, AxisValues::Number);
    let mut plot = Plot { is_compact: true, ..Plot::new(x, PlotAxis::rows("", &names)) }
        .named(RANGE, "lowest and highest");
    for (i, range) in ranges.iter().enumerate() {
        let row = (i + 1) as f64;
        plot = plot.with(Layer::Span { from_to: (range.low, range.high), y: row, ink: RANGE });
    }
    let value = format!("{} {unit}", rounded(metric.value));
    let marks = vec![PlotMark::in_row(metric, 0)];
    let plot = plot.with(Layer::Marks { marks, ink: DRIVE });
    let range_words = |range: &ClassRange| {
        let (low, high) = (rounded(range.low), rounded(range.high));
        format!("{} {low} to {high}", range.class.name())
    };
    let known: Vec<String> = ranges.iter().map(range_words).collect();
    Chart {
        name: format!("class-{}", ["reads", "writes", "small-reads", "safe-writes"][*figure]),
        title: format!("{what}: {value}"),
        caption: standing.sentence(),
        description: format!("{value}. {}.", known.join(", ")),
        plot,
    }
}

/// Where the value lies within its own class; without a class, in which class it would be usual.
fn sentence(value: f64, ranges: &[ClassRange], class: Option<DriveClass>) -> String {
    let own = ranges.iter().find(|range| Some(range.class) == class);
    let Some(own) = own else {
        return match ranges.iter().find(|range| (range.low..=range.high).contains(&value)) {
            Some(range) => format!("As usual for {}.", range.class.name()),
            None => "As in none of the known classes.".to_string(),
        };
    };
    let (known, name) = (own.drives, own.class.name());
    match value {
        value if value > own.high => format!("More than all {known} known {name}."),
        value if value < own.low => format!("Less than all {known} known {name}."),
        // On a logarithmic scale, as it is drawn.
        value => match (value / own.low).ln() / (own.high / own.low).ln() {
            share if share > 2.0 / 3.0 => format!("Among the faster of {known} known {name}."),
            share if share < 1.0 / 3.0 => format!("Among the slower of {known} known {name}."),
            _ => format!("As usual for {known} known {name}."),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{PictureSize, Theme, svg};
    use crate::testing::{hard_disk, must_have, with_metrics};

    #[test]
    fn a_sentence_follows_from_where_the_value_lies() {
        fn range(class: DriveClass, low: f64, high: f64) -> ClassRange {
            ClassRange { class, low, high, drives: 4 }
        }
        let ranges =
            [range(DriveClass::SlowDisk, 60.0, 80.0), range(DriveClass::SataSsd, 4e3, 1.6e4)];
        for (value, class, said) in [
            (90.0, Some(DriveClass::SlowDisk), "More than all 4 known 5,400 rpm disks."),
            (50.0, Some(DriveClass::SlowDisk), "Less than all 4 known 5,400 rpm disks."),
            (61.0, Some(DriveClass::SlowDisk), "Among the slower of 4 known 5,400 rpm disks."),
            (79.0, Some(DriveClass::SlowDisk), "Among the faster of 4 known 5,400 rpm disks."),
            (8e3, Some(DriveClass::SataSsd), "As usual for 4 known SATA SSDs."),
            (8e3, None, "As usual for SATA SSDs."),
            (500.0, None, "As in none of the known classes."),
        ] {
            assert_eq!(sentence(value, &ranges, class), said);
        }
    }

    #[test]
    fn stored_drives_widen_the_ranges_of_strips() {
        let run = hard_disk();
        let strips = class_strips(&run, &[]);
        assert!(!strips.is_empty());
        for strip in &strips {
            let picture = svg(strip, PictureSize::WIDE.fitting(strip), Theme::Light);
            must_have(&picture, &["this drive", "5,400 rpm disks", "NVMe SSDs"]);
        }
        let filled = with_metrics(&[("fill.write.mean_mb_s", &[130.0])]);
        assert!(class_strips(&filled, &[]).is_empty());
        let slow = with_metrics(&[("transfer.rnd4k_q1t1.read.iops", &[3.0])]);
        let known = KnownDrive::of(&slow).unwrap();
        let reads = |known: &[KnownDrive]| {
            let strips = class_strips(&run, known);
            strips.into_iter().find(|strip| strip.name == "class-small-reads").unwrap().description
        };
        assert!(reads(&[known]).contains("5,400 rpm disks 3.00 to "));
        assert!(!reads(&[]).contains("5,400 rpm disks 3.00 to "));
    }
}
