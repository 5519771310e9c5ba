//! What databases ask of a drive: sizes, order, and what they compute between. Estimates, no recordings.
//!
//! SQLite, PostgreSQL and MariaDB: from their documentation and single runs on Linux with ext4. SQL Server was not run:
//! its requests are those of its makers' documentation ("Reading pages": read-ahead of up to 64 pages; backup and
//! restore: transfers of 1 MB).

use super::simulated_clients::LogPattern;
use drivescope_model::options::DatabaseKind;
use drivescope_model::target::IoMode;

/// What a database asks of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RequestPattern {
    /// Through the page cache, or past it.
    pub mode: IoMode,
    /// Bytes of a request of a scan, and how many are under way.
    pub scan_bytes: u32,
    pub scan_depth: u32,
    /// Processor time of a scan for each page of 8 KiB.
    pub scan_page_ns: u64,
    /// Bytes of a page that a seek reads.
    pub page_bytes: u32,
    /// Processor time of a seek, with the way to the server and back.
    pub seek_ns: u64,
    /// Bytes of a request of a backup or restore, how many are under way, and processor time for each.
    pub copy_bytes: u32,
    pub copy_depth: u32,
    pub copy_ns: u64,
    /// Processor time of a row that is loaded, and whether a log is written besides.
    pub load_row_ns: u64,
    pub logs_load: bool,
    pub log: LogPattern,
}

const SQLITE: RequestPattern = RequestPattern {
    mode: IoMode::Buffered,
    scan_bytes: 8 << 10,
    scan_depth: 1,
    scan_page_ns: 2_300,
    page_bytes: 8 << 10,
    seek_ns: 7_600,
    copy_bytes: 8 << 10,
    copy_depth: 1,
    copy_ns: 4_000,
    load_row_ns: 12_000,
    logs_load: false,
    log: LogPattern { think_ns: 12_000, writes: 3, write_bytes: 8 << 10, is_shared: false },
};

const POSTGRES: RequestPattern = RequestPattern {
    mode: IoMode::Buffered,
    scan_bytes: 8 << 10,
    scan_depth: 1,
    scan_page_ns: 2_600,
    page_bytes: 8 << 10,
    seek_ns: 65_000,
    copy_bytes: 32 << 10,
    copy_depth: 1,
    copy_ns: 30_000,
    load_row_ns: 16_000,
    logs_load: true,
    log: LogPattern { think_ns: 45_000, writes: 1, write_bytes: 8 << 10, is_shared: true },
};

const MARIADB: RequestPattern = RequestPattern {
    mode: IoMode::Direct,
    scan_bytes: 16 << 10,
    scan_depth: 4,
    scan_page_ns: 9_000,
    page_bytes: 16 << 10,
    seek_ns: 52_000,
    copy_bytes: 1 << 20,
    copy_depth: 1,
    copy_ns: 400_000,
    load_row_ns: 45_000,
    logs_load: true,
    log: LogPattern { think_ns: 45_000, writes: 2, write_bytes: 2 << 10, is_shared: true },
};

const MSSQL: RequestPattern = RequestPattern {
    mode: IoMode::Direct,
    scan_bytes: 512 << 10,
    scan_depth: 16,
    scan_page_ns: 500,
    page_bytes: 8 << 10,
    seek_ns: 60_000,
    copy_bytes: 1 << 20,
    copy_depth: 4,
    copy_ns: 50_000,
    load_row_ns: 12_000,
    logs_load: true,
    log: LogPattern { think_ns: 60_000, writes: 1, write_bytes: 4 << 10, is_shared: true },
};

/// Rows of an index on one of its pages.
pub(super) const ENTRIES_PER_PAGE: u64 = 366;

impl RequestPattern {
    /// That of a database.
    pub const fn of(database: DatabaseKind) -> Self {
        match database {
            DatabaseKind::Sqlite => SQLITE,
            DatabaseKind::Postgres => POSTGRES,
            DatabaseKind::Mariadb => MARIADB,
            DatabaseKind::Mssql => MSSQL,
        }
    }
}
