//! A comparison: the answer in words, then a row for each metric.

use crate::comparison::{ComparedMetric, MetricRatio, RunComparison};
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections, shorten};
use drivescope_model::number::{one_decimal, rounded};
use drivescope_stats::ratio::RatioOutcome;

const NAME_MAX: usize = 14;
const NAMED_MAX: usize = 3;

pub fn comparison(comparison: &RunComparison, style: Style) -> String {
    sections([
        answer(comparison, style),
        warnings(comparison, style),
        table(comparison, style),
        left_out(comparison, style),
        besides(comparison, style),
        notes(comparison, style),
    ])
}

fn answer(comparison: &RunComparison, style: Style) -> String {
    let lines = sentences(comparison).into_iter();
    lines.map(|text| Paragraph::new().text(Role::Title, &text).lines(2, style)).collect()
}

/// A sentence for each run but the first.
pub(crate) fn sentences(comparison: &RunComparison) -> Vec<String> {
    if comparison.rows.is_empty() {
        return vec!["These runs have no valid metric in common.".to_string()];
    }
    let others = comparison.names.iter().enumerate().skip(1);
    others.map(|(i, name)| sentence(comparison, i - 1, name)).collect()
}

/// `B against A: better in random reads, Q1 (1.46 times, 1.40 to 1.52); the same within 3 % in 4 others.`
fn sentence(comparison: &RunComparison, i: usize, name: &str) -> String {
    let of = |wanted: RatioOutcome| -> Vec<(&ComparedMetric, MetricRatio)> {
        let rows = comparison.rows.iter().map(|row| (row, row.against_first[i]));
        rows.filter(|(_, ratio)| ratio.outcome == wanted).collect()
    };
    let band = one_decimal(comparison.band * 100.0);
    let count = comparison.rows.len();
    let parts = [
        (of(RatioOutcome::Larger), "better".to_string()),
        (of(RatioOutcome::Smaller), "worse".to_string()),
        (of(RatioOutcome::WithinBand), format!("the same within {band} %")),
        (of(RatioOutcome::NotShown), "no difference shown".to_string()),
    ];
    let groups: Vec<String> =
        parts.iter().filter_map(|(rows, word)| group(rows, word, count)).collect();
    format!("{name} against {}: {}.", comparison.names[0], groups.join("; "))
}

/// Rows with the same outcome: named if they are few, else their number and the farthest.
fn group(rows: &[(&ComparedMetric, MetricRatio)], word: &str, count: usize) -> Option<String> {
    let is_difference =
        matches!(rows.first()?.1.outcome, RatioOutcome::Larger | RatioOutcome::Smaller);
    let row_words = |(row, ratio): &(&ComparedMetric, MetricRatio)| {
        let range = ratio.interval.map_or(String::new(), |(low, high)| range(low, high));
        let factor = format!(" ({} times{range})", rounded(ratio.times));
        format!("{}{}", row.what, if is_difference { factor } else { String::new() })
    };
    if rows.len() <= NAMED_MAX {
        return Some(format!(
            "{word} in {}",
            rows.iter().map(row_words).collect::<Vec<_>>().join(", ")
        ));
    }
    let how_many = match rows.len() {
        all if all == count => "everything compared".to_string(),
        some => format!("{some} of {count}"),
    };
    let distance = |ratio: &MetricRatio| ratio.times.ln().abs();
    let farthest = rows.iter().max_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1)))?;
    let most =
        if is_difference { format!(", most in {}", row_words(farthest)) } else { String::new() };
    Some(format!("{word} in {how_many}{most}"))
}

fn range(low: f64, high: f64) -> String {
    let (low, high) = (rounded(low), rounded(high));
    if low == high { String::new() } else { format!(", {low} to {high}") }
}

fn warnings(comparison: &RunComparison, style: Style) -> String {
    let texts = comparison.differences.iter().map(|it| format!("! not the same {it}"));
    texts.map(|text| Paragraph::new().text(Role::Warn, &text).lines(2, style)).collect()
}

/// The widest table that fits; intervals are omitted for many runs.
fn table(comparison: &RunComparison, style: Style) -> String {
    if comparison.rows.is_empty() {
        return String::new();
    }
    let tables = [true, false].into_iter().map(|has_intervals| table_of(comparison, has_intervals));
    TextTable::first_fitting(tables, style)
}

fn table_of(comparison: &RunComparison, has_intervals: bool) -> TextTable {
    let runs = comparison.names.len();
    let per_run = if has_intervals { 3 } else { 2 };
    let mut layout = vec![Column::left().flexible(20), Column::left()];
    layout.extend(vec![Column::right().flexible(8); runs]);
    let of_ratio = [Column::left().gap(3), Column::right().gap(1), Column::left()];
    layout.extend((1..runs).flat_map(|_| of_ratio.into_iter().take(per_run)));
    let mut table = TextTable::new(0, layout);
    let mut head = vec![TextCell::blank(), TextCell::blank()];
    head.extend(comparison.names.iter().map(|name| TextCell::title(shorten(name, NAME_MAX))));
    let of_ratio = || [TextCell::blank(), TextCell::dim("times"), TextCell::dim("95 %")];
    head.extend((1..runs).flat_map(|_| of_ratio().into_iter().take(per_run)));
    table.row(head);
    for row in &comparison.rows {
        let mut cells = vec![TextCell::plain(&row.what), TextCell::dim(&row.unit)];
        cells.extend(row.values.iter().map(|value| TextCell::plain(rounded(*value))));
        let ratios = row.against_first.iter();
        cells.extend(ratios.flat_map(|ratio| fields(ratio).into_iter().take(per_run)));
        table.row(cells);
    }
    table
}

fn left_out(comparison: &RunComparison, style: Style) -> String {
    let texts = comparison.left_out.iter().map(|it| format!("left out: {it}"));
    texts.map(|text| Paragraph::new().text(Role::Warn, &text).lines(2, style)).collect()
}

fn besides(comparison: &RunComparison, style: Style) -> String {
    if comparison.besides.is_empty() {
        return String::new();
    }
    let mut layout = vec![Column::left().flexible(20)];
    layout.extend(vec![Column::right().flexible(8); comparison.names.len()]);
    let mut table = TextTable::new(0, layout);
    let mut head = vec![TextCell::blank()];
    head.extend(comparison.names.iter().map(|name| TextCell::title(shorten(name, NAME_MAX))));
    table.row(head);
    for row in &comparison.besides {
        let mut cells = vec![TextCell::plain(&row.what)];
        cells.extend(row.values.iter().map(TextCell::plain));
        table.row(cells);
    }
    table.render(style)
}

fn fields(ratio: &MetricRatio) -> [TextCell; 3] {
    let role = match ratio.outcome {
        RatioOutcome::Larger => Role::Good,
        RatioOutcome::Smaller => Role::Bad,
        RatioOutcome::WithinBand | RatioOutcome::NotShown => Role::Dim,
    };
    let interval = ratio.interval.map_or("too few rounds".to_string(), |(low, high)| {
        format!("{}–{}", rounded(low), rounded(high))
    });
    let times = if ratio.is_shown() { rounded(ratio.times) } else { "not shown".to_string() };
    [TextCell::new(role, ratio.sign()), TextCell::new(role, times), TextCell::dim(interval)]
}

fn notes(comparison: &RunComparison, style: Style) -> String {
    let held = match comparison.interleaved_rounds {
        Some(rounds) => format!(
            "{rounds} rounds of each, in random order. The interval holds for all rows together and after every \
             round, so that measuring may stop when it tells enough"
        ),
        None => "The interval holds for all rows together, within these runs".to_string(),
    };
    let text = format!(
        "times: how many times as fast as the first, above 1 is better, for latencies too. {held}; what changes from \
         day to day is not in it. \"not shown\" is not \"equal\": more rounds may decide."
    );
    let rows = comparison.rows.len();
    if rows == 0 { String::new() } else { Paragraph::new().text(Role::Dim, &text).lines(0, style) }
}
