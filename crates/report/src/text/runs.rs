//! `runs`: one line per stored run.

use crate::flow::Flow;
use crate::style::{Role, Style};
use crate::table::{Cell, Column, Table};
use drivescope_model::TestStatus;

/// What the list shows of a stored run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Id, or a beginning of it that names the run.
    pub id: String,
    /// When it began, RFC 3339; shown to the minute in the run's own time zone.
    pub started_at: String,
    /// The user's label.
    pub label: Option<String>,
    /// Name of the suite.
    pub suite: String,
    /// Model or name of the drive, when one was known.
    pub drive: Option<String>,
    /// The target's path.
    pub target: String,
    /// How it ended.
    pub status: TestStatus,
    /// Its main figures: `178 MB/s · 149 IOPS`.
    pub headline: String,
}

/// A table of runs, in the order given.
pub fn runs(rows: &[RunRow], style: Style) -> String {
    if rows.is_empty() {
        let text = "no runs stored yet; drivescope run . makes one";
        return Flow::new().text(Role::Dim, text).lines(0, style);
    }
    let mut table = Table::new(
        0,
        vec![
            Column::left(),
            Column::left(),
            Column::left().flexible(8),
            Column::left().flexible(8),
            Column::left().flexible(10),
            Column::left().flexible(6),
            Column::left().flexible(20),
        ],
    );
    let labelled = rows.iter().any(|row| row.label.is_some());
    let heads =
        ["started", "suite", if labelled { "label" } else { "" }, "drive", "target", "result"];
    table.row([vec![Cell::title("run")], heads.map(Cell::dim).to_vec()].concat());
    for row in rows {
        let result = match row.status {
            TestStatus::Done => Cell::plain(&row.headline),
            TestStatus::Skipped => Cell::dim("skipped"),
            TestStatus::Failed => Cell::new(Role::Bad, "failed"),
            TestStatus::Interrupted => Cell::new(Role::Warn, "interrupted"),
        };
        table.row(vec![
            Cell::title(&row.id),
            Cell::dim(minute(&row.started_at)),
            Cell::plain(&row.suite),
            Cell::plain(row.label.as_deref().unwrap_or_default()),
            Cell::plain(row.drive.as_deref().unwrap_or("-")),
            Cell::plain(&row.target),
            result,
        ]);
    }
    table.render(style)
}

/// `2026-08-01T14:02:11+02:00` as `2026-08-01 14:02`; another form stays as it is.
pub(super) fn minute(rfc3339: &str) -> String {
    match rfc3339.get(..16) {
        Some(start) if start.as_bytes()[10] == b'T' => start.replacen('T', " ", 1),
        _ => rfc3339.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::minute;

    #[test]
    fn times_are_shown_to_the_minute() {
        assert_eq!(minute("2026-08-01T14:02:11+02:00"), "2026-08-01 14:02");
        assert_eq!(minute("yesterday"), "yesterday");
        assert_eq!(minute("2026-08-01ä14:02:11"), "2026-08-01ä14:02:11");
    }
}
