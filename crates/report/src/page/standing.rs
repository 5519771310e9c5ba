//! Where a drive stands among known classes: all strips in one picture.

use crate::chart::{Strip, StripRange, strips_svg};
use crate::drive_class::known_drives::{DriveClass, KnownDrive};
use crate::drive_class::strips::{Standing, standings};
use drivescope_model::Run;
use drivescope_model::number::rounded;
use maud::{Markup, PreEscaped, html};

/// Widths of the picture on pages and on phones.
const WIDE: f64 = 560.0;
const NARROW: f64 = 332.0;

pub fn standing(run: &Run, known: &[KnownDrive]) -> Markup {
    let strips: Vec<Strip> = standings(run, known).iter().map(strip).collect();
    let picture = |width| PreEscaped(strips_svg(&strips, width));
    html! {
        @if !strips.is_empty() {
            section.first {
                h2 { "Where it stands" span.small { " logarithmic; grey: from the least to the most of known drives" } }
                figure {
                    div.wide { (picture(WIDE)) }
                    div.narrow { (picture(NARROW)) }
                }
            }
        }
    }
}

fn strip(standing: &Standing<'_>) -> Strip {
    let metric = standing.metric;
    let ranges = standing.ranges.iter().map(|range| StripRange {
        name: short_name(range.class).to_string(),
        ends: (range.low, range.high),
    });
    Strip {
        title: standing.what.to_string(),
        value: rounded(metric.value),
        unit: standing.unit().to_string(),
        at: metric.value,
        interval: (metric.low, metric.high),
        ranges: ranges.collect(),
        sentence: standing.sentence(),
    }
}

/// Short enough for four beside each other on a phone.
const fn short_name(class: DriveClass) -> &'static str {
    match class {
        DriveClass::SlowDisk => "5,400 rpm",
        DriveClass::FastDisk => "7,200 rpm",
        DriveClass::SataSsd => "SATA SSD",
        DriveClass::NvmeSsd => "NVMe SSD",
    }
}
