//! `runs`: one line per stored run.

use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable};
use drivescope_model::TestStatus;

#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    pub id: String,
    /// RFC 3339; shown to the minute in the run's own time zone.
    pub started_at: String,
    pub label: Option<String>,
    pub suite: String,
    pub drive: Option<String>,
    pub target: String,
    pub status: TestStatus,
    pub headline: String,
}

/// Rows in the order given. Where the table is too wide, this year is omitted first, then the suite, then the drive:
/// never a digit of a figure, nor the time of day, which alone distinguishes the runs of a day.
pub fn runs(rows: &[RunRow], this_year: i16, style: Style) -> String {
    if rows.is_empty() {
        let text = "no runs stored yet; drivescope run . creates one";
        return Paragraph::new().text(Role::Dim, text).lines(0, style);
    }
    let columns = [
        Columns { year: true, suite: true, drive: true },
        Columns { year: false, suite: true, drive: true },
        Columns { year: false, suite: false, drive: true },
        Columns { year: false, suite: false, drive: false },
    ];
    if style.is_whole {
        return table(rows, this_year, columns[0]).render(style);
    }
    TextTable::first_fitting(
        columns.into_iter().map(|columns| table(rows, this_year, columns)),
        style,
    )
}

#[derive(Clone, Copy)]
struct Columns {
    /// For starts in this year; another year is always shown.
    year: bool,
    suite: bool,
    drive: bool,
}

fn table(rows: &[RunRow], this_year: i16, columns: Columns) -> TextTable {
    let layout = vec![
        Column::left(),
        Column::left(),
        Column::left(),
        Column::left().flexible(8),
        Column::left().flexible(12),
        Column::left().flexible(14),
        Column::left(),
    ];
    let labelled = rows.iter().any(|row| row.label.is_some());
    let heads = [
        "started",
        if_wanted(columns.suite, "suite"),
        if_wanted(labelled, "label"),
        if_wanted(columns.drive, "drive"),
        "target",
        "result",
    ];
    let mut table = TextTable::with_heads(layout, "run", &heads);
    for row in rows {
        let result = match row.status {
            TestStatus::Done => TextCell::plain(&row.headline),
            TestStatus::Skipped => TextCell::dim("skipped"),
            TestStatus::Failed => TextCell::new(Role::Bad, "failed"),
            TestStatus::Interrupted => TextCell::new(Role::Warn, "interrupted"),
        };
        let started = minute(&row.started_at);
        let of_year = of_year(&started, this_year);
        table.row(vec![
            TextCell::title(&row.id),
            TextCell::dim(if columns.year { &started } else { of_year }),
            TextCell::plain(if_wanted(columns.suite, &row.suite)),
            TextCell::plain(row.label.as_deref().unwrap_or_default()),
            TextCell::plain(if_wanted(columns.drive, row.drive.as_deref().unwrap_or("-"))),
            TextCell::plain(&row.target),
            result,
        ]);
    }
    table
}

fn if_wanted(wanted: bool, text: &str) -> &str {
    if wanted { text } else { "" }
}

/// `2026-08-01T14:02:11+02:00` as `2026-08-01 14:02`; other forms are unchanged.
pub(crate) fn minute(rfc3339: &str) -> String {
    match rfc3339.get(..16) {
        Some(start) if start.as_bytes()[10] == b'T' => start.replacen('T', " ", 1),
        _ => rfc3339.to_string(),
    }
}

/// `2026-08-01 14:02` as `08-01 14:02` in 2026; other years and forms are unchanged.
fn of_year(minute: &str, this_year: i16) -> &str {
    match minute.split_once('-') {
        Some((year, rest)) if year.parse() == Ok(this_year) && rest.len() == 11 => rest,
        _ => minute,
    }
}

#[cfg(test)]
mod tests {
    use super::{minute, of_year};

    #[test]
    fn times_are_shown_to_the_minute() {
        assert_eq!(minute("2026-08-01T14:02:11+02:00"), "2026-08-01 14:02");
        assert_eq!(minute("yesterday"), "yesterday");
        assert_eq!(of_year("2026-08-01 14:02", 2026), "08-01 14:02");
        for other in ["2026-08-01 14:02", "1970-01-01 00:02", "long-ago"] {
            assert_eq!(of_year(other, 2027), other);
        }
        assert_eq!(minute("2026-08-01ä14:02:11"), "2026-08-01ä14:02:11");
    }
}
