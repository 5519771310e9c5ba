//! Drives of one model and firmware, as a row.

use super::percent;
use drivescope_model::Bytes;
use drivescope_model::fleet::{DriveRate, HostDrive};
use drivescope_model::number::rounded;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

pub struct ModelGroup<'d> {
    pub model: Option<&'d str>,
    pub firmware: Option<&'d str>,
    pub drives: Vec<&'d HostDrive>,
    /// MB/s, ascending.
    rates: Vec<f64>,
}

/// A name without blanks around it; `None` of an empty one.
pub fn name(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// The largest first.
pub fn groups<'d>(drives: &[&'d HostDrive], rates: &'d [DriveRate]) -> Vec<ModelGroup<'d>> {
    let mut found: BTreeMap<(Option<&str>, Option<&str>), ModelGroup<'d>> = BTreeMap::new();
    for it in drives {
        let (model, firmware) = (name(it.drive.model.as_ref()), name(it.drive.firmware.as_ref()));
        let new = || ModelGroup { model, firmware, drives: Vec::new(), rates: Vec::new() };
        found.entry((model, firmware)).or_insert_with(new).drives.push(it);
    }
    for rate in rates {
        let key = (name(rate.model.as_ref()), name(rate.firmware.as_ref()));
        if let Some(group) = found.get_mut(&key) {
            group.rates.push(rate.read_mb_s);
        }
    }
    let mut groups: Vec<ModelGroup<'d>> = found.into_values().collect();
    for group in &mut groups {
        group.rates.sort_by(f64::total_cmp);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.drives.len()));
    groups
}

impl ModelGroup<'_> {
    pub fn hosts(&self) -> usize {
        self.drives.iter().map(|it| &it.host_id).collect::<BTreeSet<_>>().len()
    }

    pub fn missing(&self) -> usize {
        self.drives.iter().filter(|it| !it.is_there).count()
    }

    /// The smallest and, if it differs on the screen, the largest.
    pub fn sizes(&self) -> String {
        let bytes = || self.drives.iter().map(|it| it.drive.capacity_bytes);
        let [least, most] =
            [bytes().min(), bytes().max()].map(|size| Bytes(size.unwrap_or(0)).to_string());
        if least == most { least } else { format!("{least} to {most}") }
    }

    /// Median and largest part in use.
    pub fn fill(&self) -> Markup {
        spread(self.drives.iter().filter_map(|it| it.drive.fill).collect(), percent)
    }

    pub fn temperature(&self) -> Markup {
        let known = self.drives.iter().filter_map(|it| it.drive.temperature_c);
        spread(known.collect(), |celsius| format!("{celsius:.0} °C"))
    }

    /// The median of the newest rates.
    pub fn rate(&self) -> Markup {
        let of = match self.rates.len() {
            1 => "of 1 drive".to_string(),
            count => format!("median of {count} drives"),
        };
        html! {
            @match median(&self.rates) {
                Some(rate) => { (rounded(rate)) " MB/s" span.small { (of) } }
                None => "–",
            }
        }
    }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { *upper } else { f64::midpoint(sorted[middle - 1], *upper) })
}

/// Median, and the largest if it differs.
fn spread(mut values: Vec<f64>, shown: impl Fn(f64) -> String) -> Markup {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let largest = values.last().map(|value| shown(*value));
    let middle = median(&values).map(&shown);
    html! {
        @match (&middle, &largest) {
            (Some(middle), Some(largest)) => {
                (middle)
                @if middle != largest { span.small { "up to " (largest) } }
            }
            _ => "–",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{drive_rate, host_drive};

    #[test]
    fn drives_are_grouped_by_model_and_firmware() {
        let mut drives = [
            host_drive("a", "WD40", "81.0"),
            host_drive("b", "WD40", "82.0"),
            host_drive("a", "WD40 ", "81.0"),
            host_drive("c", "WD40", "81.0"),
        ];
        drives[3].drive.fill = Some(0.99);
        drives[2].is_there = false;
        let rates = [178.0, 100.0, 182.0, 5.0].map(|mb_s| drive_rate("WD40", "81.0", mb_s));
        let all: Vec<&HostDrive> = drives.iter().collect();
        let found = groups(&all, &rates);
        let [of_81, of_82] = found.as_slice() else { panic!("{} groups", found.len()) };
        assert_eq!((of_81.drives.len(), of_81.hosts(), of_81.missing()), (3, 2, 1));
        assert_eq!(of_81.sizes(), "4.00 TB");
        assert_eq!(
            of_81.rate().into_string(),
            "139 MB/s<span class=\"small\">median of 4 drives</span>"
        );
        assert_eq!(of_81.fill().into_string(), "40 %<span class=\"small\">up to 99 %</span>");
        assert_eq!(of_81.temperature().into_string(), "38 °C");
        assert_eq!((of_82.firmware, of_82.rate().into_string()), (Some("82.0"), "–".to_string()));
    }
}
