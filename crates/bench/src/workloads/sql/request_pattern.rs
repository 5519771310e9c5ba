//! What databases ask of a drive: sizes, order, and what they compute between.
//!
//! SQLite 3.54, PostgreSQL 15.18 and MariaDB 10.11 were recorded on 26 November 2026 by
//! `xtask/recipes/sql-requests.sh` (two cores, Debian 12, Linux 6.18, ext4, a virtual disk): requests are their system
//! calls, or where those are asynchronous the kernel's counters; times are processor time in user mode, of statements
//! the median of warm ones, of commits that of one client less a flush. Rows of an index page are SQLite's `dbstat`,
//! else the page formats'.
//!
//! SQL Server was not run: its requests are those of its makers' documentation ("Reading pages": read-ahead of up to
//! 64 pages; backup and restore: transfers of 1 MB), its times estimates.

use super::simulated_clients::LogPattern;
use drivescope_model::options::DatabaseKind;
use drivescope_model::target::IoMode;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RequestPattern {
    pub mode: IoMode,
    pub scan: ScanPattern,
    pub seek: SeekPattern,
    /// A backup or restore.
    pub copy: CopyPattern,
    /// Processor time of a row that is loaded, and whether a log is written besides.
    pub load_row_ns: u64,
    pub logs_load: bool,
    pub log: LogPattern,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScanPattern {
    /// Bytes of a request, and how many are under way.
    pub bytes: u32,
    pub depth: u32,
    /// Processes that scan together, each a chunk of the table at a time with one request under way.
    pub processes: u32,
    /// Processor time for each page of 8 KiB.
    pub page_ns: u64,
    /// Leaves of the table's tree below one inner page, where a scan reads those: before its leaves, behind which it
    /// lies.
    pub leaves: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SeekPattern {
    /// Bytes of a page, and rows of which a leaf of the index has the places.
    pub page_bytes: u32,
    pub index_entries: u64,
    /// Processor time, with the way to the server and back.
    pub ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CopyPattern {
    /// Bytes of a request, how many are under way, and processor time for each.
    pub bytes: u32,
    pub depth: u32,
    pub ns: u64,
}

/// A commit adds a frame of 8,216 bytes to the log, which lies on three pages of memory: 13.0 kB at the drive.
const SQLITE: RequestPattern = RequestPattern {
    mode: IoMode::Buffered,
    scan: ScanPattern { bytes: 8 << 10, depth: 1, processes: 1, page_ns: 380, leaves: Some(900) },
    seek: SeekPattern { page_bytes: 8 << 10, index_entries: 800, ns: 4_000 },
    copy: CopyPattern { bytes: 8 << 10, depth: 1, ns: 2_400 },
    load_row_ns: 4_500,
    logs_load: false,
    log: LogPattern { think_ns: 17_000, write_bytes: 12 << 10, is_shared: false },
};

/// Two processes scan, as they were recorded: one and one that helps it.
const POSTGRES: RequestPattern = RequestPattern {
    mode: IoMode::Buffered,
    scan: ScanPattern { bytes: 8 << 10, depth: 1, processes: 2, page_ns: 2_600, leaves: None },
    seek: SeekPattern { page_bytes: 8 << 10, index_entries: 366, ns: 43_000 },
    copy: CopyPattern { bytes: 32 << 10, depth: 1, ns: 9_900 },
    load_row_ns: 18_000,
    logs_load: true,
    log: LogPattern { think_ns: 28_000, write_bytes: 8 << 10, is_shared: true },
};

/// Its scan asks for an extent of 64 pages ahead, so that 26 requests of 20.7 kB were under way on average; four of a
/// page come to the rate that a served disk gave.
const MARIADB: RequestPattern = RequestPattern {
    mode: IoMode::Direct,
    scan: ScanPattern { bytes: 16 << 10, depth: 4, processes: 1, page_ns: 5_600, leaves: None },
    seek: SeekPattern { page_bytes: 16 << 10, index_entries: 717, ns: 56_000 },
    copy: CopyPattern { bytes: 1 << 20, depth: 1, ns: 530_000 },
    load_row_ns: 22_000,
    logs_load: true,
    log: LogPattern { think_ns: 35_000, write_bytes: 4 << 10, is_shared: true },
};

const MSSQL: RequestPattern = RequestPattern {
    mode: IoMode::Direct,
    scan: ScanPattern { bytes: 512 << 10, depth: 16, processes: 1, page_ns: 500, leaves: None },
    seek: SeekPattern { page_bytes: 8 << 10, index_entries: 500, ns: 60_000 },
    copy: CopyPattern { bytes: 1 << 20, depth: 4, ns: 50_000 },
    load_row_ns: 12_000,
    logs_load: true,
    log: LogPattern { think_ns: 60_000, write_bytes: 4 << 10, is_shared: true },
};

impl RequestPattern {
    pub const fn of(database: DatabaseKind) -> Self {
        match database {
            DatabaseKind::Sqlite => SQLITE,
            DatabaseKind::Postgres => POSTGRES,
            DatabaseKind::Mariadb => MARIADB,
            DatabaseKind::Mssql => MSSQL,
        }
    }
}
