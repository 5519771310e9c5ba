//! A database on the user's SQL Server.

use super::client::MssqlClient;
use super::connection::MssqlConnection;
use super::{KIND, failed, texts};
use crate::canceller::Canceller;
use crate::{Client, Database, FillRow, ROW_BYTES, ServerCounters, SqlError};
use drivescope_model::options::DatabaseKind;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use tiberius::Config;

/// A larger share of the table that is still in the server's buffers makes a phase no cold one.
const WARM_SHARE_MAX: f64 = 0.02;

pub(super) struct MssqlDatabase {
    config: Config,
    name: String,
    connection: MssqlConnection,
    canceller: Arc<Canceller>,
    version: String,
    backup: Option<String>,
    counted: [i64; 3],
}

impl MssqlDatabase {
    pub fn new(
        config: Config,
        name: &str,
        mut connection: MssqlConnection,
        canceller: &Arc<Canceller>,
    ) -> Result<Self, SqlError> {
        // Backups and emptied buffers cover the whole database: it may hold no other tables.
        if connection.number(&texts::foreign_tables())? > 0 {
            let why = format!("SQL Server: {name} has tables of others: name an empty database");
            return Err(SqlError::Usage(why));
        }
        let version = connection.text(texts::VERSION)?.unwrap_or_default();
        let (name, canceller) = (name.to_string(), Arc::clone(canceller));
        Ok(Self { config, name, connection, canceller, version, backup: None, counted: [0; 3] })
    }

    fn run(&mut self, text: &str) -> Result<(), SqlError> {
        self.connection.batch(text).map(|_| ())
    }

    fn counters(&mut self) -> Result<[i64; 3], SqlError> {
        let rows = self.connection.batch(texts::COUNTERS)?;
        let Some(row) = rows.first() else { return Ok([0; 3]) };
        let mut counters = [0; 3];
        for (column, counter) in counters.iter_mut().enumerate() {
            *counter = row.try_get::<i64, _>(column).map_err(failed)?.unwrap_or(0);
        }
        Ok(counters)
    }
}

impl Database for MssqlDatabase {
    fn kind(&self) -> DatabaseKind {
        KIND
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        let rows = self.connection.batch(texts::SETTINGS)?;
        let cell = |row: &tiberius::Row, column| {
            Ok(row.try_get::<&str, usize>(column).map_err(failed)?.unwrap_or("").to_string())
        };
        rows.iter().map(|row| Ok((cell(row, 0)?, cell(row, 1)?))).collect()
    }

    /// The server makes the data, as in "A Hard Drive Retrospective"; `fill` counts the progress.
    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError> {
        self.run(&texts::drop_tables())?;
        self.run(&texts::make_tables())?;
        let mut data = vec![0; ROW_BYTES];
        let mut next = 1;
        while next <= rows {
            let count = texts::ROWS_EACH.min(rows - next + 1);
            self.run(&texts::insert_rows(count))?;
            for row in next..next + count {
                if !fill(row, &mut data) {
                    return Err(SqlError::Interrupted);
                }
            }
            next += count;
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), SqlError> {
        self.run("CHECKPOINT")
    }

    fn table_bytes(&mut self) -> Result<u64, SqlError> {
        Ok(self.connection.number(&texts::table_bytes())?.max(0) as u64)
    }

    fn scan(&mut self) -> Result<u64, SqlError> {
        Ok(self.connection.number(&texts::scan())?.max(0) as u64)
    }

    fn make_index(&mut self) -> Result<(), SqlError> {
        self.run(&texts::make_index())
    }

    fn still_warm(&mut self) -> Result<Option<String>, SqlError> {
        let buffered = self.connection.number(texts::BUFFERED_BYTES)? as f64;
        let share = buffered / (self.table_bytes()? as f64).max(1.0);
        Ok((share > WARM_SHARE_MAX)
            .then(|| format!("{:.0} % of the table was still in its buffers", share * 100.0)))
    }

    /// It continues, with empty buffers.
    fn stop(&mut self) -> Result<(), SqlError> {
        self.run(texts::MAKE_COLD)
    }

    fn client(&self) -> Result<Box<dyn Client>, SqlError> {
        let connection = MssqlConnection::open(&self.config, Some(&self.canceller))?;
        Ok(Box::new(MssqlClient::new(connection)))
    }

    /// To a file of the server's folder for backups: it may see no other.
    fn backup(&mut self, _folder: &Path) -> Result<(), SqlError> {
        // A name that no other file has.
        let fresh = || format!("drivescope_{:016x}.bak", RandomState::new().hash_one(0));
        let file = self.backup.get_or_insert_with(fresh).clone();
        self.run(&texts::backup(&self.name, &file))
    }

    fn restore(&mut self, _backup: &Path, _folder: &Path) -> Result<u64, SqlError> {
        Err(SqlError::Usage("restoring is not measured with SQL Server".to_string()))
    }

    fn begin_counting(&mut self) -> Result<(), SqlError> {
        self.counted = self.counters()?;
        Ok(())
    }

    fn counted(&mut self) -> Result<ServerCounters, SqlError> {
        let now = self.counters()?;
        let since = |counter: usize| (now[counter] - self.counted[counter]).max(0) as u64;
        let statements = since(0);
        let (server_us, logical_reads) = match statements {
            0 => (None, None),
            _ => (Some(since(1) as f64), Some(since(2))),
        };
        Ok(ServerCounters { statements, server_us, logical_reads })
    }

    /// On a new connection: the other one may have stopped in the middle of an answer.
    fn clear(&mut self) -> Result<(), SqlError> {
        let mut connection = MssqlConnection::open(&self.config, None)?;
        connection.batch(&texts::drop_tables())?;
        let Some(file) = self.backup.take() else { return Ok(()) };
        // One that was interrupted leaves none.
        let Some(path) = connection.text(&texts::backup_path(&file))? else { return Ok(()) };
        connection.batch(&texts::remove_backup(&path)).map(|_| ()).map_err(|error| {
            SqlError::Usage(format!("delete the backup {path} on the server yourself: {error}"))
        })
    }
}

#[cfg(test)]
mod tests;
