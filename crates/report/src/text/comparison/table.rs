//! The figures of a comparison: a row for each metric, or from four runs on a row for each drive.

use crate::comparison::{ComparedMetric, MetricRatio, RunComparison};
use crate::terminal::{Column, Role, Style, TextCell, TextTable, sections, shorten_apart, width};
use drivescope_model::number::rounded;
use drivescope_stats::ratio::RatioOutcome;

/// Narrowest name of a drive; names that would look alike are wider.
const NAME_MIN: usize = 14;
/// Most drives that stand side by side.
const COLUMNS_MAX: usize = 3;

/// The widest of the tables that fits. No number is cut.
pub(super) fn table(comparison: &RunComparison, style: Style) -> String {
    if comparison.rows.is_empty() {
        return String::new();
    }
    if comparison.names.len() <= COLUMNS_MAX {
        for has_intervals in [true, false] {
            let table = row_per_metric(comparison, has_intervals, style);
            if table.fits(style) {
                return table.render(style);
            }
        }
    }
    let rows: Vec<Vec<TextCell>> = comparison.rows.iter().map(metric_column).collect();
    blocks(&names(comparison, style), &rows, style)
}

/// Prices and verdicts of each.
pub(super) fn besides(comparison: &RunComparison, style: Style) -> String {
    let column = |head: &str, values: &[String]| {
        let mut cells = vec![TextCell::dim(head)];
        cells.extend(values.iter().map(TextCell::plain));
        cells
    };
    if comparison.names.len() <= COLUMNS_MAX {
        let mut layout = vec![Column::left()];
        layout.extend(vec![Column::right(); comparison.names.len()]);
        let mut table = TextTable::new(0, layout).whole();
        let mut head = vec![TextCell::blank()];
        head.extend(names(comparison, style).iter().map(TextCell::title));
        table.row(head);
        for row in &comparison.besides {
            let mut cells = vec![TextCell::plain(&row.what)];
            cells.extend(row.values.iter().map(TextCell::plain));
            table.row(cells);
        }
        if table.fits(style) {
            return if comparison.besides.is_empty() { String::new() } else { table.render(style) };
        }
    }
    let columns: Vec<Vec<TextCell>> =
        comparison.besides.iter().map(|row| column(&row.what, &row.values)).collect();
    blocks(&names(comparison, style), &columns, style)
}

/// Names of the drives, shortened as far as they stay distinct.
fn names(comparison: &RunComparison, style: Style) -> Vec<String> {
    if style.is_whole {
        comparison.names.clone()
    } else {
        shorten_apart(&comparison.names, NAME_MIN.max(style.columns / 4))
    }
}

fn row_per_metric(comparison: &RunComparison, has_intervals: bool, style: Style) -> TextTable {
    let runs = comparison.names.len();
    let per_run = if has_intervals { 3 } else { 2 };
    let mut layout = vec![Column::left(), Column::left()];
    layout.extend(vec![Column::right(); runs]);
    let of_ratio = [Column::left().gap(3), Column::right().gap(1), Column::left()];
    layout.extend((1..runs).flat_map(|_| of_ratio.into_iter().take(per_run)));
    let mut table = TextTable::new(0, layout).whole();
    let mut head = vec![TextCell::blank(), TextCell::blank()];
    head.extend(names(comparison, style).iter().map(TextCell::title));
    let of_ratio = || [TextCell::blank(), TextCell::dim("times"), TextCell::dim("95 %")];
    head.extend((1..runs).flat_map(|_| of_ratio().into_iter().take(per_run)));
    table.row(head);
    for row in &comparison.rows {
        let (unit, divisor) = metric_unit(row);
        let mut cells = vec![TextCell::plain(&row.what), TextCell::dim(unit)];
        cells.extend(row.values.iter().map(|value| TextCell::plain(rounded(value / divisor))));
        let ratios = row.against_first.iter();
        cells.extend(ratios.flat_map(|ratio| fields(ratio).into_iter().take(per_run)));
        table.row(cells);
    }
    table
}

/// A metric of all drives, from its head down: values, and beside them how many times as fast as the first.
fn metric_column(row: &ComparedMetric) -> Vec<TextCell> {
    fn ratio(ratio: &MetricRatio) -> String {
        if ratio.is_shown() {
            format!("{} {}", ratio.sign(), rounded(ratio.times))
        } else {
            ratio.sign().to_string()
        }
    }
    let (unit, divisor) = metric_unit(row);
    let values: Vec<String> = row.values.iter().map(|value| rounded(value / divisor)).collect();
    let ratios: Vec<String> = row.against_first.iter().map(ratio).collect();
    let widest = ratios.iter().map(|text| width(text)).max().unwrap_or(0);
    let beside = |text: &str| format!("  {text}{}", " ".repeat(widest - width(text)));
    let mut cells = vec![TextCell::dim(&row.what), TextCell::dim(format!("{unit}{}", beside("")))];
    let ratios = std::iter::once(String::new()).chain(ratios);
    cells.extend(
        values
            .iter()
            .zip(ratios)
            .map(|(value, r)| TextCell::plain(format!("{value}{}", beside(&r)))),
    );
    cells
}

/// Drives as rows, and as many of the columns side by side as fit, then the others below.
fn blocks(names: &[String], columns: &[Vec<TextCell>], style: Style) -> String {
    let Some(first) = columns.first() else { return String::new() };
    let heads = first.len() - names.len();
    let mut name_column = vec![TextCell::blank(); heads];
    name_column.extend(names.iter().map(TextCell::title));
    let table = |columns: &[Vec<TextCell>]| {
        let mut layout = vec![Column::left()];
        layout.extend(vec![Column::right(); columns.len()]);
        TextTable::of_columns(layout, [&[name_column.clone()], columns].concat()).whole()
    };
    let (mut rest, mut parts) = (columns, Vec::new());
    while !rest.is_empty() {
        let count =
            (1..=rest.len()).rev().find(|count| table(&rest[..*count]).fits(style)).unwrap_or(1);
        parts.push(table(&rest[..count]).render(style));
        rest = &rest[count..];
    }
    sections(parts)
}

/// The unit of a row as people write it, and what a value is divided by.
pub(crate) fn metric_unit(row: &ComparedMetric) -> (&str, f64) {
    match row.unit.as_str() {
        "us" if row.values.iter().all(|us| *us >= 1e3) => ("ms", 1e3),
        "us" => ("µs", 1.0),
        "1/s" => ("/s", 1.0),
        unit => (unit, 1.0),
    }
}

/// Sign, ratio and interval.
fn fields(ratio: &MetricRatio) -> [TextCell; 3] {
    let role = match ratio.outcome {
        RatioOutcome::Larger => Role::Good,
        RatioOutcome::Smaller => Role::Bad,
        RatioOutcome::WithinBand | RatioOutcome::NotShown => Role::Dim,
    };
    let interval = match ratio.interval {
        Some((low, high)) if high.is_infinite() => format!("at least {}", rounded(low)),
        Some((0.0, high)) => format!("at most {}", rounded(high)),
        Some((low, high)) => format!("{}–{}", rounded(low), rounded(high)),
        None => "not enough rounds".to_string(),
    };
    let times = match (ratio.is_shown(), ratio.interval) {
        (true, _) => rounded(ratio.times),
        (false, Some(_)) => "not shown".to_string(),
        (false, None) => "–".to_string(),
    };
    [TextCell::new(role, ratio.sign()), TextCell::new(role, times), TextCell::dim(interval)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use crate::testing::hard_disk;
    use drivescope_model::Run;

    fn run(i: usize) -> Run {
        let mut run = hard_disk();
        run.label = Some(format!("a drive of a long name in slot {i} of the rack"));
        for metric in run.tests.iter_mut().flat_map(|test| &mut test.metrics) {
            let factor = if i.is_multiple_of(2) { 1.0 } else { 1_500.0 };
            metric.value *= factor;
            metric.rounds.iter_mut().for_each(|value| *value *= factor);
        }
        run
    }

    #[test]
    fn no_number_and_no_distinct_name_is_cut() {
        for count in [1, 2, 3, 4, 5, 8, 10, 20] {
            let runs: Vec<Run> = (0..count).map(run).collect();
            let comparison = compare(&runs, 0.03, false);
            for columns in [40, 60, 80, 97, 120, 160] {
                let style = Style::PLAIN.within(columns);
                let out = table(&comparison, style);
                let words: Vec<&str> = out.split_whitespace().collect();
                for row in &comparison.rows {
                    let (unit, divisor) = metric_unit(row);
                    assert!(words.contains(&unit), "{out}");
                    for value in &row.values {
                        assert!(
                            words.contains(&rounded(value / divisor).as_str()),
                            "{count} {columns}\n{out}"
                        );
                    }
                }
                let names = names(&comparison, style);
                assert!(names.iter().all(|name| out.contains(name)), "{out}");
                assert!(!names[1..].contains(&names[0]), "{names:?}");
                if columns >= 60 {
                    assert!(
                        out.lines().all(|line| width(line) <= columns),
                        "{count} {columns}\n{out}"
                    );
                }
            }
        }
    }
}
