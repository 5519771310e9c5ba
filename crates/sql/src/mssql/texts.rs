//! Statements for SQL Server, as text.

use crate::{COMMITS, ROW_BYTES, TABLE};

/// Rows of a statement of the load: 10 MB, so that the run can be interrupted between.
pub(super) const ROWS_EACH: u64 = 1_280;

pub(super) const VERSION: &str = "SELECT CONVERT(nvarchar(64), SERVERPROPERTY('ProductVersion'))";

/// Tables of others, or 1 for a database of the server's own.
pub(super) fn foreign_tables() -> String {
    format!(
        "SELECT CASE WHEN DB_ID() <= 4 THEN 1 ELSE (SELECT COUNT_BIG(*) FROM sys.tables \
         WHERE name NOT IN (N'{TABLE}', N'{COMMITS}')) END"
    )
}

/// Settings that matter for the drive.
pub(super) const SETTINGS: &str = "SELECT name, CONVERT(nvarchar(64), value_in_use) \
    FROM sys.configurations WHERE name IN (N'backup compression default', \
    N'cost threshold for parallelism', N'max degree of parallelism', N'max server memory (MB)') \
    UNION ALL SELECT N'recovery model', recovery_model_desc FROM sys.databases \
    WHERE database_id = DB_ID() \
    UNION ALL SELECT N'delayed durability', delayed_durability_desc FROM sys.databases \
    WHERE database_id = DB_ID()";

pub(super) fn drop_tables() -> String {
    format!("{} {}", drop_if_there(TABLE), drop_if_there(COMMITS))
}

fn drop_if_there(table: &str) -> String {
    format!("IF OBJECT_ID(N'{table}', N'U') IS NOT NULL DROP TABLE {table};")
}

/// As in "A Hard Drive Retrospective": a heap, with one row to a page.
pub(super) fn make_tables() -> String {
    format!(
        "CREATE TABLE {TABLE} (a BIGINT IDENTITY(1,1) NOT NULL, b CHAR({ROW_BYTES}) NOT NULL); \
         CREATE TABLE {COMMITS} (a BIGINT NOT NULL, b VARBINARY(100) NOT NULL)"
    )
}

/// Adds `count` rows of characters that are not all the same: random bytes as digits.
pub(super) fn insert_rows(count: u64) -> String {
    let half = ROW_BYTES / 2;
    format!(
        "INSERT INTO {TABLE} WITH (TABLOCK) (b) \
         SELECT TOP ({count}) CONVERT(char({ROW_BYTES}), CRYPT_GEN_RANDOM({half}), 2) \
         FROM sys.all_objects AS x CROSS JOIN sys.all_objects AS y"
    )
}

pub(super) fn table_bytes() -> String {
    format!(
        "SELECT CONVERT(bigint, SUM(used_page_count)) * 8192 FROM sys.dm_db_partition_stats \
         WHERE object_id = OBJECT_ID(N'{TABLE}') AND index_id = 0"
    )
}

/// The heap itself, whatever indexes there are.
pub(super) fn scan() -> String {
    format!("SELECT COUNT_BIG(*) FROM {TABLE} WITH (INDEX(0))")
}

pub(super) fn make_index() -> String {
    format!("CREATE INDEX {TABLE}_a ON {TABLE} (a)")
}

/// Empties the buffers of the whole server; a page that is not written yet would stay.
pub(super) const MAKE_COLD: &str = "CHECKPOINT; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS";

/// Bytes of the database that are in the server's buffers.
pub(super) const BUFFERED_BYTES: &str = "SELECT COUNT_BIG(*) * 8192 \
    FROM sys.dm_os_buffer_descriptors WHERE database_id = DB_ID()";

pub(super) fn seek() -> String {
    format!("SELECT a, b FROM {TABLE} WHERE a = @P1")
}

pub(super) fn commit() -> String {
    format!("INSERT INTO {COMMITS} (a, b) VALUES (@P1, @P2)")
}

/// How often statements on the tables ran, how long that took the server, µs, and how many pages they read.
pub(super) const COUNTERS: &str = "SELECT COALESCE(SUM(s.execution_count), 0), \
    COALESCE(SUM(s.total_elapsed_time), 0), COALESCE(SUM(s.total_logical_reads), 0) \
    FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t \
    WHERE t.text LIKE N'%drivescope[_]%@P1%' AND t.text NOT LIKE N'%dm_exec_query_stats%'";

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn text(value: &str) -> String {
    format!("N'{}'", value.replace('\'', "''"))
}

/// To the folder that the server has for backups.
pub(super) fn backup(database: &str, file: &str) -> String {
    let (database, file) = (quoted(database), text(file));
    format!("BACKUP DATABASE {database} TO DISK = {file} WITH INIT, COPY_ONLY, NO_COMPRESSION")
}

pub(super) fn backup_path(file: &str) -> String {
    let pattern = text(&format!("%{}", file.replace('_', "[_]")));
    format!(
        "SELECT TOP (1) physical_device_name FROM msdb.dbo.backupmediafamily \
         WHERE physical_device_name LIKE {pattern}"
    )
}

/// Removes a backup; the server refuses any other file.
pub(super) fn remove_backup(path: &str) -> String {
    format!("EXECUTE master.dbo.xp_delete_file 0, {}", text(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_cannot_end_their_quotes() {
        let statement = backup("my]db", "it's.bak");
        assert!(statement.starts_with("BACKUP DATABASE [my]]db] TO DISK = N'it''s.bak' WITH INIT"));
        assert!(backup_path("drivescope_1.bak").ends_with("LIKE N'%drivescope[_]1.bak'"));
        assert!(remove_backup(r"C:\b\x.bak").ends_with(r"0, N'C:\b\x.bak'"));
    }
}
