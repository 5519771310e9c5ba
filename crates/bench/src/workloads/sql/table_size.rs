//! How large the table is: as asked, or what space and time allow.

use drivescope_model::options::{DatabaseKind, SqlOptions, SqlPart};
use drivescope_model::units::Bytes;
use drivescope_sql::PAGE_BYTES;

/// Space for the rest of a database: an empty cluster, its log, indexes.
const FIXED_BYTES: u64 = 256 << 20;
/// What a log keeps of a load at most.
const LOG_MAX: u64 = 4 << 30;
/// Logs of MariaDB that have their size from the beginning: the server's, and that of its restored copy.
const MARIADB_LOGS_MIN: u64 = 2 * (96 << 20);
/// Part of the rows that are read while caches are cold: hardly ever one page twice.
const COLD_SHARE: u64 = 32;
const ROWS_MIN: u64 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableSize {
    pub rows: u64,
}

impl TableSize {
    /// The largest requested one that fits; `None` if none that is useful does.
    pub fn fitting(options: &SqlOptions, room: u64, mb_s: f64) -> Option<Self> {
        let in_time = (mb_s * 1e6 * options.time.0) as u64;
        let fixed = fixed_bytes(options);
        let room = room.saturating_sub(fixed);
        let fits = (room as f64 / copies(options)) as u64;
        let rows = options.table.0.min(in_time).min(fits) / PAGE_BYTES;
        (rows >= ROWS_MIN).then_some(Self { rows })
    }

    pub fn bytes(self) -> u64 {
        self.rows * PAGE_BYTES
    }

    /// Space that everything takes at a time.
    pub fn needed_bytes(self, options: &SqlOptions) -> u64 {
        (self.bytes() as f64 * copies(options)) as u64 + fixed_bytes(options)
    }

    pub fn cold_seeks(self, options: &SqlOptions) -> u64 {
        let share = self.rows / COLD_SHARE / u64::from(options.threads);
        u64::from(options.iterations).min(share.max(1))
    }

    pub fn smaller_than_asked(self, options: &SqlOptions) -> Option<String> {
        let asked = options.table.0 / PAGE_BYTES;
        (self.rows < asked).then(|| {
            let (asked, got) = (Bytes(asked * PAGE_BYTES), Bytes(self.bytes()));
            format!("a table of {got} instead of {asked}: by the free space, or by sql.time")
        })
    }
}

fn fixed_bytes(options: &SqlOptions) -> u64 {
    let of = |database: &DatabaseKind| match database {
        DatabaseKind::Sqlite => 16 << 20,
        DatabaseKind::Mariadb => FIXED_BYTES + LOG_MAX.min(options.table.0).max(MARIADB_LOGS_MIN),
        DatabaseKind::Postgres | DatabaseKind::Mssql => FIXED_BYTES + LOG_MAX.min(options.table.0),
    };
    options.databases.iter().map(of).max().unwrap_or(FIXED_BYTES)
}

/// Copies of the table that exist at a time.
fn copies(options: &SqlOptions) -> f64 {
    let more = [SqlPart::Backup, SqlPart::Restore].map(|part| options.parts.contains(&part));
    // Pages have heads, and backups what a log has changed meanwhile.
    1.05 + more.into_iter().filter(|is_there| *is_there).count() as f64 * 1.05
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_made_to_fit_space_and_time() {
        let options = SqlOptions::default();
        let rows = |room, mb_s| TableSize::fitting(&options, room, mb_s).map(|size| size.rows);
        assert_eq!(rows(1 << 40, 500.0), Some(1_000_000_000 / 8_192));
        assert_eq!(rows(1 << 40, 10.0), Some(300_000_000 / 8_192));
        let some = TableSize::fitting(&options, 1 << 30, 500.0).unwrap();
        assert!(some.needed_bytes(&options) <= 1 << 30 && some.rows > 35_000, "{some:?}");
        assert!(some.smaller_than_asked(&options).unwrap().contains("instead of"));
        assert_eq!(rows(16 << 20, 500.0), None);
        let postgres = SqlOptions { databases: vec![DatabaseKind::Postgres], ..options.clone() };
        assert!(TableSize::fitting(&postgres, 1 << 30, 500.0).is_none(), "its log takes room too");
    }

    #[test]
    fn cold_seeks_hardly_ever_meet_a_page_twice() {
        let options = SqlOptions::default();
        assert_eq!(TableSize { rows: 1_280_000 }.cold_seeks(&options), 10_000);
        assert_eq!(TableSize { rows: 122_070 }.cold_seeks(&options), 953);
        assert_eq!(TableSize { rows: 128 }.cold_seeks(&options), 1);
    }
}
