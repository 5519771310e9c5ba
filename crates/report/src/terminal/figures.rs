//! Reading metrics out of a result, and setting figures in columns.

use crate::first_seen::{distinct, grouped};
use crate::terminal::table::TextCell;
use crate::terminal::width::width;
use drivescope_model::document::Limiter;
use drivescope_model::number::{MISSING, latency_us, rounded, with_half_width};
use drivescope_model::{Metric, PhaseRecord, Secs, TestResult};

/// The cells of a test in the order of its metrics: `rnd4k_q1t1.read`, `span100`, …
pub(crate) fn cells(result: &TestResult) -> Vec<&str> {
    distinct(result.metrics.iter().filter_map(|metric| cell_of(&metric.key)))
}

fn cell_of(key: &str) -> Option<&str> {
    Some(key.split_once('.')?.1.rsplit_once('.')?.0)
}

pub(crate) fn find<'a>(result: &'a TestResult, cell: &str, quantity: &str) -> Option<&'a Metric> {
    result.metrics.iter().find(|metric| {
        metric.key.strip_suffix(quantity).and_then(|key| key.strip_suffix('.')).is_some_and(|key| {
            key.strip_prefix(result.test.name()).and_then(|key| key.strip_prefix('.')) == Some(cell)
        })
    })
}

pub(crate) fn value(result: &TestResult, cell: &str, quantity: &str) -> Option<f64> {
    find(result, cell, quantity).map(|metric| metric.value)
}

/// The metric, if it is valid and above 0.
pub(crate) fn find_usable<'a>(
    result: &'a TestResult,
    cell: &str,
    quantity: &str,
) -> Option<&'a Metric> {
    find(result, cell, quantity).filter(|metric| metric.valid && metric.value > 0.0)
}

/// Half width of a metric's 95 % interval: the larger distance of its ends from the median. `None` for a single round,
/// which says nothing about the spread, and where only rounding errors are left.
pub(crate) fn half_width(metric: &Metric) -> Option<f64> {
    /// A smaller half width, as a share of the value, is a rounding error.
    const ROUNDING: f64 = 1e-9;
    let half = (metric.high - metric.value).max(metric.value - metric.low);
    let half = if half < metric.value.abs() * ROUNDING { 0.0 } else { half };
    (metric.rounds.len() >= 2 && half.is_finite() && half >= 0.0).then_some(half)
}

/// The most frequent limiter; of several, the first one.
pub(crate) fn common_limiter<'p>(phases: impl Iterator<Item = &'p PhaseRecord>) -> Option<Limiter> {
    let rounds = grouped(phases.map(|phase| (phase.limiter, ())));
    // Of equals, the last one is taken: from the end, that is the first.
    rounds.iter().rev().max_by_key(|(_, rounds)| rounds.len()).map(|(limiter, _)| *limiter)
}

fn range(rounds: &[f64]) -> String {
    let [least, most] = rounds
        .iter()
        .fold([f64::INFINITY, 0.0], |[least, most], &round| [round.min(least), round.max(most)])
        .map(rounded);
    format!("{least}–{most}")
}

#[derive(Debug, Clone)]
pub(crate) enum Figure {
    /// Does not apply.
    Blank,
    Missing,
    /// `half`: half its interval.
    Value {
        text: String,
        half: Option<String>,
        valid: bool,
    },
}

impl Figure {
    pub(crate) fn with_interval(metric: Option<&Metric>) -> Self {
        match metric {
            Some(metric) if metric.value.is_finite() => {
                let (text, half) = match half_width(metric) {
                    // As ± it would reach below nothing; what was seen says more.
                    Some(half) if half >= metric.value => (range(&metric.rounds), None),
                    Some(half) => {
                        let (text, half) = with_half_width(metric.value, half);
                        (text, Some(half))
                    }
                    None => (rounded(metric.value), None),
                };
                Self::Value { text, half, valid: metric.valid }
            }
            _ => Self::Missing,
        }
    }

    pub(crate) fn of(metric: Option<&Metric>, print: impl Fn(f64) -> String) -> Self {
        match metric {
            Some(metric) if metric.value.is_finite() => {
                Self::Value { text: print(metric.value), half: None, valid: metric.valid }
            }
            _ => Self::Missing,
        }
    }

    /// With its interval; blank where there is no metric, because it does not apply.
    pub(crate) fn if_any(metric: Option<&Metric>) -> Self {
        metric.map_or(Self::Blank, |metric| Self::with_interval(Some(metric)))
    }

    pub(crate) fn plain(metric: Option<&Metric>) -> Self {
        Self::of(metric, rounded)
    }

    /// From microseconds.
    pub(crate) fn latency(metric: Option<&Metric>) -> Self {
        Self::of(metric, latency_us)
    }

    /// From seconds.
    pub(crate) fn time(metric: Option<&Metric>) -> Self {
        Self::of(metric, |seconds| Secs(seconds).to_string())
    }
}

/// Table fields of one column, with numbers, `±` and marks aligned. An invalid figure is dim and followed by `!`, so
/// that it shows without colour too.
pub(crate) fn column(figures: &[Figure]) -> Vec<TextCell> {
    let mut text_width = 0;
    let mut half_width = 0;
    let mut marked = false;
    for figure in figures {
        match figure {
            Figure::Blank => {}
            Figure::Missing => text_width = text_width.max(MISSING.len()),
            Figure::Value { text, half, valid } => {
                text_width = text_width.max(width(text));
                half_width = half_width.max(half.as_deref().map_or(0, width));
                marked |= !valid;
            }
        }
    }
    let field = |text: &str, half: Option<&str>, mark: &str| {
        let pad = |n: usize| " ".repeat(n);
        let mut out = pad(text_width - width(text)) + text;
        if half_width > 0 {
            match half {
                Some(half) => out += &format!(" ± {half}{}", pad(half_width - width(half))),
                None => out += &pad(half_width + 3),
            }
        }
        if marked {
            out += &format!(" {mark}");
        }
        out
    };
    figures
        .iter()
        .map(|figure| match figure {
            Figure::Blank => TextCell::blank(),
            Figure::Missing => TextCell::dim(field(MISSING, None, " ")),
            Figure::Value { text, half, valid: true } => {
                TextCell::plain(field(text, half.as_deref(), " "))
            }
            Figure::Value { text, half, valid: false } => {
                TextCell::dim(field(text, half.as_deref(), "!"))
            }
        })
        .collect()
}

pub(crate) fn headed(head: &str, figures: impl IntoIterator<Item = Figure>) -> Vec<TextCell> {
    let figures: Vec<Figure> = figures.into_iter().collect();
    std::iter::once(TextCell::dim(head)).chain(column(&figures)).collect()
}

pub(crate) fn texts<T: AsRef<str>>(
    head: TextCell,
    texts: impl IntoIterator<Item = T>,
) -> Vec<TextCell> {
    std::iter::once(head).chain(texts.into_iter().map(TextCell::plain)).collect()
}

pub(crate) struct CellRows<'r> {
    pub(crate) result: &'r TestResult,
    pub(crate) cells: Vec<&'r str>,
}

impl CellRows<'_> {
    pub(crate) fn have(&self, quantity: &str) -> bool {
        self.cells.iter().any(|cell| find(self.result, cell, quantity).is_some())
    }

    pub(crate) fn names(&self, title: &str) -> Vec<TextCell> {
        texts(TextCell::title(title), &self.cells)
    }

    pub(crate) fn column(
        &self,
        head: &str,
        quantity: &str,
        figure: impl Fn(Option<&Metric>) -> Figure,
    ) -> Vec<TextCell> {
        headed(head, self.cells.iter().map(|cell| figure(find(self.result, cell, quantity))))
    }

    pub(crate) fn printed(
        &self,
        head: &str,
        quantity: &str,
        print: fn(f64) -> String,
    ) -> Vec<TextCell> {
        self.column(head, quantity, |metric| Figure::of(metric, print))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{metric, result};
    use drivescope_model::TestKind;

    #[test]
    fn interval_needs_two_rounds_and_longer_arm() {
        assert_eq!(half_width(&metric("a.b.iops", &[100.0])), None);
        assert_eq!(half_width(&metric("a.b.iops", &[100.0, 90.0, 104.0])), Some(10.0));
    }

    #[test]
    fn cells_and_quantities_are_found_by_whole_names() {
        let result = result(
            TestKind::TinyWrites,
            vec![
                metric("tiny-writes.rnd16_sync.flushed_iops", &[1.0]),
                metric("tiny-writes.rnd16_sync.iops", &[2.0]),
                metric("tiny-writes.seq512_write.mb_s", &[3.0]),
                metric("odd", &[4.0]),
            ],
        );
        assert_eq!(cells(&result), ["rnd16_sync", "seq512_write"]);
        assert_eq!(find(&result, "rnd16_sync", "iops").unwrap().value, 2.0);
        assert!(find(&result, "rnd16", "iops").is_none());
        assert!(find(&result, "seq512_write", "drive_mb_s").is_none());
    }
}
