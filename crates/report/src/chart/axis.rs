//! Axes: which values they span, and where their ticks stand.

use drivescope_model::number::{rounded, with_decimals};

const INTERVALS_MIN: usize = 3;
const INTERVALS_MAX: usize = 6;
/// Round steps between ticks, times a power of ten.
const STEPS: [f64; 6] = [1.0, 2.0, 2.5, 3.0, 4.0, 5.0];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AxisScale {
    /// Equal distances for equal differences, from the first to the second value.
    Linear(f64, f64),
    Log(f64, f64),
    /// Rows or columns: each one wide, numbered from 0.
    Rows(usize),
}

impl AxisScale {
    /// Position of a value: 0 at the start of the axis, 1 at its end, beyond for values outside.
    pub fn share(self, value: f64) -> f64 {
        match self {
            Self::Linear(from, to) => (value - from) / (to - from),
            Self::Log(from, to) => (value / from).ln() / (to / from).ln(),
            Self::Rows(rows) => (value + 0.5) / rows.max(1) as f64,
        }
    }

    pub fn clamp(self, value: f64) -> f64 {
        match self {
            Self::Linear(from, to) | Self::Log(from, to) => value.clamp(from, to),
            Self::Rows(rows) => value.clamp(-0.5, rows as f64 - 0.5),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub at: f64,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisValues {
    /// `300`, `10,000`, `0.1`.
    Number,
    /// Microseconds in a suitable unit: `30 µs`, `1 ms`, `3 s`.
    LatencyUs,
    /// Shares of all requests: `1 in 100`.
    Share,
    /// Days since 1970, on the calendar of the runs.
    Day,
    Name,
}

impl AxisValues {
    pub fn tick(self, value: f64) -> String {
        match self {
            Self::Number | Self::Day | Self::Name => tick_number(value),
            Self::LatencyUs => tick_latency_us(value),
            Self::Share if value >= 1.0 => "all".to_string(),
            Self::Share => format!("1 in {}", tick_number(1.0 / value)),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlotAxis {
    /// Quantity and unit: `position, TB`, or the unit alone.
    pub title: String,
    pub values: AxisValues,
    pub scale: AxisScale,
    /// Smallest first; drawing omits those that would touch.
    pub ticks: Vec<Tick>,
}

impl PlotAxis {
    pub fn from_zero(title: &str, largest: f64) -> Self {
        let (step, intervals) = best_steps(largest);
        Self::of_steps(title, step, intervals)
    }

    /// From 0 to exactly `end`, with ticks at round numbers.
    pub fn until(title: &str, end: f64) -> Self {
        let (step, intervals) = best_steps(end);
        let mut axis = Self::of_steps(title, step, intervals);
        axis.ticks.retain(|tick| tick.at <= end * 1.000_001);
        axis.scale = AxisScale::Linear(0.0, end);
        axis
    }

    pub fn twins(left: (&str, f64), right: (&str, f64)) -> (Self, Self) {
        let waste = |intervals: usize| {
            let unused = |largest: f64| step_of(largest, intervals) * intervals as f64 / largest;
            unused(left.1) * unused(right.1)
        };
        let intervals = (INTERVALS_MIN..=INTERVALS_MAX)
            .min_by(|a, b| waste(*a).total_cmp(&waste(*b)))
            .unwrap_or(INTERVALS_MIN);
        let axis = |(title, largest)| Self::of_steps(title, step_of(largest, intervals), intervals);
        (axis(left), axis(right))
    }

    /// Equal distances for equal ratios, from `smallest` to `largest` or the next round numbers.
    pub fn log(title: &str, smallest: f64, largest: f64, values: AxisValues) -> Self {
        let (from, to) = (log_floor(smallest * 0.98), log_ceiling(largest * 1.02));
        let ticks =
            log_ticks(from, to).into_iter().map(|at| Tick { at, text: values.tick(at) }).collect();
        Self { title: title.to_string(), values, scale: AxisScale::Log(from, to), ticks }
    }

    pub fn rows(title: &str, names: &[String]) -> Self {
        let tick = |(i, name): (usize, &String)| Tick { at: i as f64, text: name.clone() };
        let ticks = names.iter().enumerate().map(tick).collect();
        let scale = AxisScale::Rows(names.len());
        Self { title: title.to_string(), values: AxisValues::Name, scale, ticks }
    }

    fn of_steps(title: &str, step: f64, intervals: usize) -> Self {
        let decimals = decimals_of(step);
        let tick = |i: usize| {
            let at = step * i as f64;
            let decimals = if i == 0 { 0 } else { decimals };
            Tick { at, text: with_decimals(at, decimals) }
        };
        let ticks = (0..=intervals).map(tick).collect();
        let scale = AxisScale::Linear(0.0, step * intervals as f64);
        Self { title: title.to_string(), values: AxisValues::Number, scale, ticks }
    }
}

/// `300`, `10,000`, `0.1`.
pub fn tick_number(value: f64) -> String {
    let text = rounded(value);
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole.to_string(),
        Some(_) => text.trim_end_matches('0').to_string(),
        None => text,
    }
}

/// `30 µs`, `1 ms`, `3 s`.
fn tick_latency_us(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 999.5 => (us, "µs"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    format!("{} {unit}", tick_number(value))
}

/// The step and number of intervals that waste least above `largest`; fewer ticks where two waste the same.
fn best_steps(largest: f64) -> (f64, usize) {
    let ends = |intervals: usize| step_of(largest, intervals) * intervals as f64;
    let intervals = (INTERVALS_MIN..=INTERVALS_MAX)
        .min_by(|a, b| ends(*a).total_cmp(&ends(*b)))
        .unwrap_or(INTERVALS_MIN);
    (step_of(largest, intervals), intervals)
}

fn step_of(largest: f64, intervals: usize) -> f64 {
    let least = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 } / intervals as f64;
    let power = 10f64.powf(least.log10().floor());
    let fits = |step: &&f64| **step * power >= least * 0.999_999;
    STEPS.iter().find(fits).map_or(10.0 * power, |step| step * power)
}

fn decimals_of(step: f64) -> usize {
    let is_exact = |decimals: &usize| {
        let scaled = step * 10f64.powi(*decimals as i32);
        (scaled - scaled.round()).abs() < 1e-6 * scaled
    };
    (0..6).find(is_exact).unwrap_or(6)
}

const LOG_STEPS: [f64; 2] = [1.0, 3.0];

fn log_floor(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    LOG_STEPS.iter().rev().map(|step| step * power).find(|at| *at <= value).unwrap_or(power)
}

fn log_ceiling(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    LOG_STEPS.iter().map(|step| step * power).find(|at| *at >= value).unwrap_or(10.0 * power)
}

/// Round numbers from `from` to `to`, both included: every decade, and three times it where there are few.
fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let decades = (to / from).log10();
    let steps: &[f64] = if decades > 5.0 { &LOG_STEPS[..1] } else { &LOG_STEPS };
    let first = from.log10().floor() as i32;
    let last = to.log10().ceil() as i32;
    let all =
        (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    all.filter(|at| *at >= from * 0.999 && *at <= to * 1.001).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(axis: &PlotAxis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    #[test]
    fn ticks_are_numbers_that_people_count_in() {
        assert_eq!(texts(&PlotAxis::from_zero("MB/s", 266.0)), ["0", "100", "200", "300"]);
        assert_eq!(texts(&PlotAxis::from_zero("s", 0.93)), ["0", "0.25", "0.50", "0.75", "1.00"]);
        assert_eq!(texts(&PlotAxis::until("TB", 16.0)), ["0", "4", "8", "12", "16"]);
        let log = PlotAxis::log("", 95.0, 560_000.0, AxisValues::Number);
        assert_eq!(texts(&log)[..3], ["30", "100", "300"]);
        let log = PlotAxis::log("", 90.0, 23_000.0, AxisValues::LatencyUs);
        assert_eq!(texts(&log), ["30 µs", "100 µs", "300 µs", "1 ms", "3 ms", "10 ms", "30 ms"]);
    }

    #[test]
    fn twins_share_their_grid() {
        let (rate, access) = PlotAxis::twins(("MB/s", 264.0), ("ms", 23.7));
        assert_eq!(rate.ticks.len(), access.ticks.len());
        assert_eq!(
            (rate.scale, access.scale),
            (AxisScale::Linear(0.0, 300.0), AxisScale::Linear(0.0, 24.0))
        );
    }

    proptest! {
        #[test]
        fn every_axis_reaches_its_values(largest in 1e-6..1e12f64, other in 1e-6..1e12f64) {
            let axis = PlotAxis::from_zero("", largest);
            prop_assert!(axis.scale.share(largest) <= 1.000_01);
            prop_assert!(axis.scale.share(largest) >= 0.5);
            prop_assert!(axis.ticks.len() <= INTERVALS_MAX + 1);
            let (low, high) = (largest.min(other), largest.max(other));
            let log = PlotAxis::log("", low, high, AxisValues::Number);
            prop_assert!(log.scale.share(low) >= 0.0 && log.scale.share(high) <= 1.0);
            prop_assert!(!log.ticks.is_empty());
        }
    }
}
