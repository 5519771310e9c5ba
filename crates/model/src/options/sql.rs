//! Options of the `sql` test.

use crate::units::{Bytes, Secs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A database.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseKind {
    /// SQLite, which is part of the program.
    Sqlite,
    /// PostgreSQL: a cluster of its own, made with the installed server.
    Postgres,
    /// MariaDB or MySQL: a server of its own, made with the installed programs.
    Mariadb,
    /// SQL Server: on a server of the user's only.
    Mssql,
}

impl DatabaseKind {
    pub const ALL: [Self; 4] = [Self::Sqlite, Self::Postgres, Self::Mariadb, Self::Mssql];

    /// In options and metric keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::Mssql => "mssql",
        }
    }

    /// As its makers write it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Mariadb => "MariaDB",
            Self::Mssql => "SQL Server",
        }
    }
}

impl fmt::Display for DatabaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What `sql` does with a table, besides loading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SqlPart {
    /// Counts the rows, from cold.
    Scan,
    /// Reads single rows by an index, from cold and again.
    Seek,
    /// Small durable transactions.
    Commit,
    /// Copies the database to one file.
    Backup,
    /// Makes a database of that file.
    Restore,
    /// Statements of the user's own, of `query`.
    Query,
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Until the drive has it: the default of servers.
    Full,
    /// For nothing: a power cut loses what was committed last.
    Off,
}

/// Options of the `sql` test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SqlOptions {
    /// Databases, one after the other.
    pub databases: Vec<DatabaseKind>,
    /// A server whose files lie on the target, instead of one of the test's own: `postgres://user@host/database`,
    /// `mysql://…`, `mssql://…`. No password: that is in the environment variable DRIVESCOPE_DB_PASSWORD.
    pub url: Option<String>,
    /// What is done with the table. A `restore` needs its `backup`.
    pub parts: Vec<SqlPart>,
    /// Bytes of the table; less where the space or `time` does not allow it. The rows have 8,000 bytes and lie one to
    /// a page of 8 KiB.
    pub table: Bytes,
    /// Longest expected time of writing the table once.
    pub time: Secs,
    /// Single rows that each thread reads in a round of `seek`; fewer, each once and a thirty-second of the rows at
    /// most, while caches are cold.
    pub iterations: u32,
    /// Threads that do so.
    pub threads: u32,
    /// Longest time of a round of `seek` or `query`.
    pub seek_time: Secs,
    /// Clients that commit at the same time, a cell each.
    pub clients: Vec<u32>,
    /// Time of a round of `commit`.
    pub commit_time: Secs,
    /// Commits of such a round at most, of all its clients together.
    pub commits: u32,
    /// What commits wait for.
    pub durability: Durability,
    /// Memory for the database's own buffers.
    pub buffer: Bytes,
    /// A directory of another drive for the backup; `null`: beside the database.
    pub backup_to: Option<String>,
    /// A file with one statement of one's own (`--query`); `?` stands for a parameter. `%t` is the table: `a` is 1, 2,
    /// 3 …, `b` has 8,000 bytes.
    pub query: Option<String>,
    /// A file with its parameters (`--params`): a line an iteration, fields apart by tabs.
    pub params: Option<String>,
    /// Rounds of everything but the load; those of the suite do not count here.
    pub rounds: u32,
}

impl Default for SqlOptions {
    fn default() -> Self {
        Self {
            databases: vec![DatabaseKind::Sqlite],
            url: None,
            parts: vec![
                SqlPart::Scan,
                SqlPart::Seek,
                SqlPart::Commit,
                SqlPart::Backup,
                SqlPart::Restore,
            ],
            table: Bytes(1_000_000_000),
            time: Secs(30.0),
            iterations: 10_000,
            threads: 4,
            seek_time: Secs(20.0),
            clients: vec![1, 4, 16],
            commit_time: Secs(2.0),
            commits: 10_000,
            durability: Durability::Full,
            buffer: Bytes::mib(128),
            backup_to: None,
            query: None,
            params: None,
            rounds: 3,
        }
    }
}
