//! What `fill-files` and `read-files` have in common: rates of files by the order of writing, and by where they lie.

use super::rates::rate_table;
use crate::chart::axis::PlotAxis;
use crate::chart::plot::{Ink, Layer, Plot, YAxis};
use crate::chart::{Chart, end_rates, highest, points_of, scaled, unit_of};
use crate::terminal::{Paragraph, Role, Style, block_chart, sections, value};
use drivescope_model::number::{one_decimal, rounded, whole};
use drivescope_model::{Bytes, Secs, TestResult};

const FILES: Ink = Ink::Series(0);
const SCATTERED: Ink = Ink::Series(1);
/// A file that spans a larger share of the files' places has no single position.
const SPAN_MAX: f64 = 0.01;

pub(super) fn table(result: &TestResult, cell: &str, head: &str, style: Style) -> String {
    let points = points_of(result, &key(result, cell, "mb_s"));
    let rates: Vec<f64> = points.iter().map(|(_, rate)| *rate).collect();
    if rates.is_empty() {
        return String::new();
    }
    let end = Bytes(points.last().map_or(0.0, |(x, _)| *x) as u64).to_string();
    // One file is not a course.
    let drawing =
        if rates.len() > 1 { block_chart(&rates, ["0 B", &end], style) } else { String::new() };
    sections([rate_table(result, &[(cell, head)], style), drawing + &remarks(result, cell, style)])
}

fn key(result: &TestResult, cell: &str, quantity: &str) -> String {
    format!("{}.{cell}.{quantity}", result.test)
}

fn remarks(result: &TestResult, cell: &str, style: Style) -> String {
    let count = value(result, cell, "files").zip(value(result, cell, "time_s"));
    let count = count.map(|(files, s)| format!("{} files in {}", whole(files as u64), Secs(s)));
    let decline = value(result, &format!("{cell}_decline"), "at_pct").map(one_decimal);
    let recovery = |quantity| value(result, &format!("{cell}_recovery"), quantity);
    let recovery = recovery("at_pct").zip(recovery("mb_s")).map(|(percent, rate)| {
        format!("from {} % full on {} MB/s again", one_decimal(percent), rounded(rate))
    });
    Paragraph::new()
        .lead(Role::Dim, "  ")
        .items(Role::Plain, count)
        .items(Role::Dim, decline.map(|pct| format!("a tenth slower from {pct} % full on")))
        .items(Role::Plain, recovery)
        .lines(2, style)
}

/// `Files written at 178 MB/s at first, at 83.1 at the end`.
pub(super) fn headline(result: &TestResult, cell: &str, verb: &str) -> Option<String> {
    let points = points_of(result, &key(result, cell, "mb_s"));
    let [first, last] = end_rates(result, cell, &points)?.map(rounded);
    Some(format!("Files {verb} at {first} MB/s at first, at {last} MB/s at the end"))
}

/// Rate over the fill level, and over the position on the drive.
pub(super) fn charts(
    result: &TestResult,
    cell: &str,
    names: [&'static str; 2],
    verb: &str,
) -> Vec<Chart> {
    over_level(result, cell, names[0], verb)
        .into_iter()
        .chain(over_position(result, cell, names[1], verb))
        .collect()
}

fn over_level(result: &TestResult, cell: &str, name: &'static str, verb: &str) -> Option<Chart> {
    let points = points_of(result, &key(result, cell, "mb_s"));
    let rates = end_rates(result, cell, &points)?;
    let [first, last] = rates.map(rounded);
    let end = points.last()?.0;
    let (unit, bytes) = unit_of(end);
    let scaled = scaled(&points, bytes);
    if scaled.len() < 2 {
        return None;
    }
    let ends = [scaled[0], scaled[scaled.len() - 1]];
    let x = PlotAxis::until(&format!("bytes written before the file, {unit}"), end / bytes);
    let plot = Plot::new(x, PlotAxis::from_zero("MB/s", highest(&points)))
        .with_line(scaled, FILES)
        .with_rates_at(ends, rates, ["MB/s at first", "at the end"], FILES);
    Some(Chart {
        name: name.to_string(),
        title: format!("Files {verb}, by the order of writing"),
        caption: format!("Rate of each of {} files.", points.len()),
        description: format!("From {first} MB/s at first to {last} MB/s at the end."),
        plot,
    })
}

fn over_position(result: &TestResult, cell: &str, name: &'static str, verb: &str) -> Option<Chart> {
    let rates = points_of(result, &key(result, cell, "mb_s"));
    let places = points_of(result, &key(result, cell, "position_bytes"));
    let spans = points_of(result, &key(result, cell, "span_bytes"));
    let end = highest(&places);
    if places.len() < 2 || end <= 0.0 {
        return None;
    }
    let (unit, bytes) = unit_of(end);
    let (mut whole, mut scattered) = (Vec::new(), Vec::new());
    let mut rates_left = rates.iter().peekable();
    for ((at, place), (_, span)) in places.iter().zip(&spans) {
        // Both are in the order of writing; a file whose place is not known has a rate only.
        while rates_left.next_if(|(x, _)| x < at).is_some() {}
        let Some((x, rate)) = rates_left.peek() else { break };
        if x > at {
            continue;
        }
        let point = (place / bytes, *rate);
        if *span > end * SPAN_MAX { scattered.push(point) } else { whole.push(point) }
    }
    let x =
        PlotAxis::until(&format!("mean position of the file on the drive, {unit}"), end / bytes);
    let many = scattered.len();
    let dots = |points, ink| Layer::Dots { points, ink, axis: YAxis::Left };
    let plot = Plot::new(x, PlotAxis::from_zero("MB/s", highest(&rates)))
        .with(dots(whole, FILES))
        .with(dots(scattered, SCATTERED));
    let scattered = match many {
        0 => String::new(),
        1 => {
            " One file, in the second colour, lies in pieces over more than 1 % of it.".to_string()
        }
        many => {
            format!(" {many} files in the second colour lie in pieces over more than 1 % of it.")
        }
    };
    Some(Chart {
        name: name.to_string(),
        title: format!("Files {verb}, by where they lie"),
        caption: format!(
            "Rate of each file at the byte-weighted mean of its extents (FIEMAP).{scattered}"
        ),
        description: format!("{} files between 0 and {}.", places.len(), Bytes(end as u64)),
        plot,
    })
}
