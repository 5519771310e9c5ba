//! `sql`: what a database did, beside what the drive did meanwhile.

mod charts;

use super::WorkloadReport;
use crate::terminal::{
    CellRows, Column, Figure, Paragraph, Role, Style, TextCell, TextTable, cells, common_limiter,
    find, find_usable, headed, sections, texts,
};
use crate::verdict::criteria::{Criterion, Evidence};
use drivescope_model::document::DatabaseRecord;
use drivescope_model::number::{one_decimal, rounded, whole};
use drivescope_model::options::{DatabaseKind, Durability};
use drivescope_model::{Bytes, TestKind, TestResult};

// What a transaction waits for, the database and the file system included.
const EVIDENCE: &[Evidence] = &[
    Evidence::of_writes(Criterion::SyncedWrites, "sql.postgres.commit_c1.commits_s"),
    Evidence::of_writes(Criterion::SyncedWrites, "sql.mariadb.commit_c1.commits_s"),
    Evidence::of_writes(Criterion::SyncedWrites, "sql.sqlite.commit_c1.commits_s"),
];

pub(super) const REPORT: WorkloadReport = WorkloadReport {
    title: "Databases",
    extremes: "max",
    writes_for_a_time: true,
    evidence: EVIDENCE,
    charts: charts::charts,
    phases: |result| {
        let drawn = statements(result).into_iter().filter(|cell| !cell.ends_with(".flush"));
        drawn.map(|cell| (cell.to_string(), name_of(cell))).collect()
    },
    headline,
    name_of: |_, cell| name_of(cell),
    suits: Some(&["database"]),
    measures: |suite, _| suite.sql.durability == Durability::Full,
    ..WorkloadReport::new(TestKind::Sql, table)
};

/// `PostgreSQL: scan`.
fn name_of(cell: &str) -> String {
    let (database, part) = cell.split_once('.').unwrap_or(("", cell));
    let title = DatabaseKind::ALL.into_iter().find(|kind| kind.name() == database);
    let title = title.map_or(database, |kind| kind.title());
    let words = match part.split_once("commit_c") {
        Some((_, "1")) => "commit, 1 client".to_string(),
        Some((_, clients)) => format!("commit, {clients} clients"),
        None => match part {
            "seek_cold" => "seek, cold".to_string(),
            "seek_warm" => "seek, warm".to_string(),
            "flush" => "8 KiB and a flush".to_string(),
            "query" => "own statement".to_string(),
            other => other.to_string(),
        },
    };
    format!("{title}: {words}")
}

/// Cells with one action per round.
fn actions(result: &TestResult) -> Vec<&str> {
    cells(result).into_iter().filter(|cell| find(result, cell, "time_s").is_some()).collect()
}

/// Quantity of the rate of a statement cell.
fn rate_of(cell: &str) -> &'static str {
    match cell.rsplit('.').next().unwrap_or(cell) {
        "flush" => "iops",
        part if part.starts_with("commit") => "commits_s",
        _ => "statements_s",
    }
}

/// Cells with many statements per round.
fn statements(result: &TestResult) -> Vec<&str> {
    cells(result).into_iter().filter(|cell| find(result, cell, rate_of(cell)).is_some()).collect()
}

/// The limiter of most rounds.
fn held_by(result: &TestResult, cell: &str) -> &'static str {
    let phases = result.phases.iter().filter(|phase| phase.cell == cell);
    common_limiter(phases).map_or("", |limiter| limiter.name())
}

fn table(result: &TestResult, style: Style) -> String {
    sections([
        action_table(result, style),
        statement_table(result, style) + &databases(result, style),
    ])
}

/// The first table that fits, omitting the least important columns first.
fn fitting(style: Style, columns: Vec<(Vec<TextCell>, u8)>) -> String {
    let table = |least: u8| {
        let kept = columns.iter().filter(|(_, weight)| *weight >= least);
        let kept: Vec<Vec<TextCell>> = kept.map(|(column, _)| column.clone()).collect();
        let mut layout = vec![Column::right(); kept.len()];
        layout[0] = Column::left();
        TextTable::of_columns(layout, kept)
    };
    TextTable::first_fitting((0..=3).map(table), style)
}

fn names(title: &str, rows: &CellRows<'_>) -> Vec<TextCell> {
    texts(TextCell::title(title), rows.cells.iter().map(|cell| name_of(cell)))
}

fn limits(rows: &CellRows<'_>) -> Vec<TextCell> {
    texts(TextCell::dim("limit"), rows.cells.iter().map(|cell| held_by(rows.result, cell)))
}

fn bytes(value: f64) -> String {
    Bytes(value as u64).to_string()
}

fn request(value: f64) -> String {
    Bytes(value as u64 / 512 * 512).binary()
}

fn percent(value: f64) -> String {
    format!("{value:.0} %")
}

fn action_table(result: &TestResult, style: Style) -> String {
    let rows = CellRows { result, cells: actions(result) };
    if rows.cells.is_empty() {
        return String::new();
    }
    fitting(
        style,
        vec![
            (names("sql", &rows), 3),
            (rows.column("MB/s", "mb_s", Figure::if_any), 3),
            (rows.column("time", "time_s", Figure::time), 3),
            (rows.printed("read", "device_read_bytes", bytes), 2),
            (rows.printed("written", "device_written_bytes", bytes), 2),
            (rows.printed("IOPS", "device_iops", rounded), 0),
            (rows.printed("request", "request_bytes", request), 1),
            (rows.printed("depth", "depth_mean", one_decimal), 0),
            (rows.printed("busy", "device_busy_pct", percent), 3),
            (limits(&rows), 2),
        ],
    )
}

fn statement_table(result: &TestResult, style: Style) -> String {
    let rows = CellRows { result, cells: statements(result) };
    if rows.cells.is_empty() {
        return String::new();
    }
    let rates = rows.cells.iter().map(|cell| find(result, cell, rate_of(cell)));
    let mut columns = vec![
        (names("statements", &rows), 3),
        (headed("per second", rates.map(Figure::with_interval)), 3),
        (rows.column("p50", "lat_p50_us", Figure::latency), 3),
        (rows.column("p99", "lat_p99_us", Figure::latency), 3),
        (rows.column("max", "lat_max_us", Figure::latency), 0),
        (rows.printed("IOPS", "device_iops", rounded), 1),
        (rows.printed("busy", "device_busy_pct", percent), 2),
    ];
    if rows.have("logical_reads") {
        columns.push((rows.printed("pages", "logical_reads", one_decimal), 0));
    }
    if rows.have("flushes_per_commit") {
        columns.push((rows.printed("flushes", "flushes_per_commit", one_decimal), 1));
    }
    columns.push((limits(&rows), 2));
    fitting(style, columns)
}

fn databases(result: &TestResult, style: Style) -> String {
    let mut text = String::new();
    for database in &result.databases {
        let DatabaseRecord { table_bytes, rows, buffer_bytes, is_prediction, .. } = database;
        let title = database.database.title();
        // No SQL Server was there to be recorded.
        let is_estimated = database.database == DatabaseKind::Mssql;
        let pattern = if is_estimated { "an estimated pattern" } else { "a recorded pattern" };
        let (role, what) = if *is_prediction {
            let how = format!("predicted, no database ran; its requests follow {pattern}");
            (Role::Plain, format!("{title}: {how}"))
        } else {
            (Role::Dim, format!("{title} {}", database.version))
        };
        text += &Paragraph::new()
            .lead(Role::Dim, "  ")
            .item(role, what)
            .item(Role::Dim, format!("{} rows, {}", whole(*rows), Bytes(*table_bytes)))
            .item(Role::Dim, format!("buffers {}", Bytes(*buffer_bytes).binary()))
            .lines(2, style);
    }
    text
}

/// `PostgreSQL: scan at 480 MB/s, 6,800 commits/s`, of the first database.
fn headline(result: &TestResult) -> Option<String> {
    let database = result.databases.first()?.database;
    let usable = |part: &str, quantity: &str| {
        find_usable(result, &format!("{database}.{part}"), quantity).map(|it| rounded(it.value))
    };
    let scan = usable("scan", "mb_s").map(|rate| format!("scan at {rate} MB/s"));
    let seek = usable("seek_cold", "statements_s").map(|rate| format!("{rate} cold seeks/s"));
    let commit = usable("commit_c1", "commits_s").map(|rate| format!("{rate} commits/s"));
    let parts: Vec<String> = [scan, seek, commit].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{}: {}", database.title(), parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{must_fit, must_have, result};

    fn measured(is_prediction: bool) -> TestResult {
        let metrics = [
            ("postgres.load.mb_s", 190.0),
            ("postgres.load.time_s", 5.4),
            ("postgres.load.device_written_bytes", 2.1e9),
            ("postgres.scan.mb_s", 812.5),
            ("postgres.scan.time_s", 1.24),
            ("postgres.scan.device_read_bytes", 1.0e9),
            ("postgres.scan.request_bytes", 131_072.0),
            ("postgres.scan.device_busy_pct", 88.0),
            ("postgres.index.time_s", 0.4),
            ("postgres.seek_cold.statements_s", 18_342.0),
            ("postgres.seek_cold.lat_p50_us", 210.0),
            ("postgres.flush.iops", 9_800.0),
            ("postgres.commit_c16.commits_s", 21_000.0),
            ("postgres.commit_c16.flushes_per_commit", 0.19),
        ];
        let mut result = crate::testing::measured(TestKind::Sql, &metrics);
        result.databases.push(DatabaseRecord {
            database: DatabaseKind::Postgres,
            version: "15.18".to_string(),
            table_bytes: 1_000_000_000,
            rows: 122_070,
            buffer_bytes: 128 << 20,
            is_prediction,
            settings: Vec::new(),
        });
        result
    }

    #[test]
    fn databases_stand_beside_the_drive() {
        let text = table(&measured(false), Style::default());
        must_have(
            &text,
            &[
                "PostgreSQL: scan",
                "PostgreSQL: seek, cold",
                "PostgreSQL: commit, 16 clients",
                "812 ",
                "18,300",
                "88 %",
                "PostgreSQL 15.18",
                "122,070 rows, 1.00 GB",
            ],
        );
        must_fit(&text);
        assert!(!charts::charts(&measured(false)).is_empty());
        assert_eq!(table(&result(TestKind::Sql, Vec::new()), Style::default()), "");
    }

    #[test]
    fn prediction_is_marked_and_headline_names_database() {
        assert!(table(&measured(true), Style::default()).contains("predicted, no database ran"));
        assert_eq!(
            headline(&measured(false)).unwrap(),
            "PostgreSQL: scan at 812 MB/s, 18,300 cold seeks/s"
        );
    }
}
