//! Data of a picture for the page's script, so that it can show the values at the pointer: its axes and places, and
//! the values of its marks, rounded as everything that is printed.

use super::element::number;
use super::frame::Frame;
use crate::chart::axis::{AxisScale, AxisValues, PlotAxis};
use crate::chart::plot::{Ink, Plot, Point, YAxis};
use drivescope_model::number::{rounded, without_trailing_zeros};
use std::fmt::Write as _;

/// Digits of a value that only places a mark.
const PLACE_DIGITS: i32 = 4;

/// The axes as attributes: kind of scale, kind of values, both ends in units and in the picture, and the title; of
/// rows, their names.
pub fn axes(plot: &Plot, frame: &Frame) -> Vec<(&'static str, String)> {
    let area = frame.area;
    let upright = |axis: &PlotAxis| match axis.scale {
        AxisScale::Rows(_) => described(axis, (area.top, area.bottom)),
        _ => described(axis, (area.bottom, area.top)),
    };
    let mut found =
        vec![("data-x", described(&plot.x, (area.left, area.right))), ("data-y", upright(&plot.y))];
    found.extend(plot.right.as_ref().map(|axis| ("data-r", upright(axis))));
    found
}

fn described(axis: &PlotAxis, (begin, end): (f64, f64)) -> String {
    let (kind, from, to) = match axis.scale {
        AxisScale::Linear(from, to) => ("lin", from, to),
        AxisScale::Log(from, to) => ("log", from, to),
        AxisScale::Rows(rows) => ("rows", -0.5, rows as f64 - 0.5),
    };
    let values = match axis.values {
        AxisValues::Number => "n",
        AxisValues::LatencyUs => "us",
        AxisValues::Share => "share",
        AxisValues::Day => "day",
        AxisValues::Name => "name",
    };
    let title = match axis.values {
        AxisValues::Name => {
            axis.ticks.iter().map(|tick| tick.text.as_str()).collect::<Vec<_>>().join("|")
        }
        _ => axis.title.clone(),
    };
    format!("{kind} {values} {from} {to} {} {} {title}", number(begin), number(end))
}

/// The values of marks as attributes: what is drawn with their ink, the axis if it is the right one, and the points.
/// Nothing where none is a number.
pub fn values(plot: &Plot, points: &[Point], ink: Ink, axis: YAxis) -> Vec<(&'static str, String)> {
    let mut text = String::new();
    for (x, y) in points.iter().filter(|point| point.0.is_finite() && point.1.is_finite()) {
        let gap = if text.is_empty() { "" } else { "," };
        // Three digits after the point are too few for shares.
        let y = if plot.y.values == AxisValues::Share { place(*y) } else { value(*y) };
        let x = if plot.x.values == AxisValues::Day { day(*x) } else { place(*x) };
        let _ = write!(text, "{gap}{x} {y}");
    }
    described_values(plot, text, ink, axis)
}

/// The same of one mark, with both ends of its interval, which are values of the axis along which it goes.
pub fn mark_value(
    plot: &Plot,
    (x, y): Point,
    (low, high): (f64, f64),
    ink: Ink,
) -> Vec<(&'static str, String)> {
    let x = match x {
        x if plot.x.values == AxisValues::Day => day(x),
        // A whole number, such as a depth, is written as one.
        x if x.fract() == 0.0 => place(x),
        x => value(x),
    };
    let mut text = format!("{x} {}", value(y));
    if low < high {
        let _ = write!(text, " {} {}", value(low), value(high));
    }
    described_values(plot, text, ink, YAxis::Left)
}

fn described_values(
    plot: &Plot,
    text: String,
    ink: Ink,
    axis: YAxis,
) -> Vec<(&'static str, String)> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut found = vec![("data-p", text)];
    let name = plot.names.iter().find(|(named, _)| *named == ink);
    found.extend(name.map(|(_, name)| ("data-n", name.clone())));
    found.extend((axis == YAxis::Right).then(|| ("data-a", "r".to_string())));
    found
}

/// As [`rounded`] writes it, without separators.
fn value(value: f64) -> String {
    rounded(value).replace(',', "")
}

/// To some seconds.
fn day(value: f64) -> String {
    format!("{value:.4}")
}

/// A few digits more, none of them needless.
fn place(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let decimals = (PLACE_DIGITS - 1 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    without_trailing_zeros(&format!("{value:.decimals$}")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_match_the_printed_ones() {
        for (number, text) in [(1_234.5, "1230"), (83.84, "83.8"), (0.0, "0"), (0.6123, "0.612")] {
            assert_eq!(value(number), text);
        }
        for (number, text) in
            [(3.999_62, "4"), (0.031_496, "0.0315"), (1_234.56, "1235"), (50.0, "50")]
        {
            assert_eq!(place(number), text);
        }
    }

    #[test]
    fn nan_has_no_value() {
        fn axis() -> PlotAxis {
            PlotAxis::from_zero("MB/s", 10.0)
        }
        let plot = Plot::new(axis(), axis()).named(Ink::Series(1), "write");
        let points = [(1.0, 2.5), (2.0, f64::NAN), (3.0, 4.0)];
        let attributes = values(&plot, &points, Ink::Series(1), YAxis::Right);
        assert_eq!(attributes[0], ("data-p", "1 2.50,3 4.00".to_string()));
        assert_eq!(attributes[1..], [("data-n", "write".to_string()), ("data-a", "r".to_string())]);
        assert!(values(&plot, &points[1..2], Ink::Text, YAxis::Left).is_empty());
        let mark = mark_value(&plot, (32.0, 178.0), (177.0, 180.0), Ink::Text);
        assert_eq!(mark, [("data-p", "32 178 177 180".to_string())]);
    }
}
