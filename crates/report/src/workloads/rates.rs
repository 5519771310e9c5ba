//! The table of rates over the position, for workloads that go over the whole drive.

use crate::terminal::{Column, Figure, Style, TextCell, TextTable, find, headed, texts};
use drivescope_model::TestResult;

/// A table with names at the left and wide gaps; columns from `apart` on have a wider gap.
pub(super) fn wide_table(
    columns: Vec<Vec<TextCell>>,
    apart: Option<usize>,
    style: Style,
) -> String {
    let mut layout = vec![Column::right().gap(3); columns.len()];
    layout[0] = Column::left();
    if let Some(column) = apart.and_then(|column| layout.get_mut(column)) {
        *column = Column::right().gap(5);
    }
    TextTable::of_columns(layout, columns).render(style)
}

/// Rates at the start, at the end and over all: `rows` are cells with names.
pub(super) fn rate_table(result: &TestResult, rows: &[(&str, &str)], style: Style) -> String {
    let title = TextCell::title(result.test.name());
    let mut columns = vec![texts(title, rows.iter().map(|(_, name)| name))];
    for head in ["start", "end", "min", "mean", "max"] {
        let figure = |(cell, _): &(&str, &str)| {
            let metric = find(result, cell, &format!("{head}_mb_s"));
            // The mean is the headline; the others are single places, where a spread says little.
            match head {
                "mean" => Figure::with_interval(metric),
                _ => Figure::plain(metric),
            }
        };
        columns.push(headed(head, rows.iter().map(figure)));
    }
    wide_table(columns, None, style)
}
