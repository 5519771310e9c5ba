//! Statements for MariaDB, on a server of its own or the user's.

use super::client::MariadbClient;
use super::{KIND, failed};
use crate::canceller::{Canceller, Registration};
use crate::own_server::{STAYS_WARM, ServerSession};
use crate::{
    COMMIT_BYTES, COMMITS, Client, Database, FillRow, ROW_BYTES, ServerCounters, SqlError, TABLE,
};
use drivescope_model::options::DatabaseKind;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, Params, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Settings that matter for the drive; not every server has all of them.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_doublewrite', 'innodb_page_size',
    'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_redo_log_capacity', 'innodb_io_capacity',
    'innodb_data_file_buffering', 'innodb_log_file_buffering', 'log_bin', 'sync_binlog')";
/// The counters: prepared statements that ran, and pages that they requested from the buffers.
const COUNTERS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN
    ('Com_stmt_execute', 'Innodb_buffer_pool_read_requests')";
/// Rows that one statement adds: 512 KB, a small part of a server's largest packet.
const ROWS_EACH: u64 = 64;

/// A connection for everything that one client does.
pub(crate) struct MariadbSession {
    options: Opts,
    connection: Conn,
    version: String,
    /// Ends statements when the run is cancelled; a server of the test's own ends itself then.
    canceller: Option<Arc<Canceller>>,
    _cancel: Option<Registration>,
    counted: BTreeMap<String, u64>,
}

/// Ends a connection's statement when the run is cancelled.
fn cancels(options: &Opts, connection: &Conn, canceller: &Arc<Canceller>) -> Registration {
    let (options, id) = (options.clone(), connection.connection_id());
    canceller.on_cancel(move || {
        // It may have ended already.
        let killer = Conn::new(options.clone());
        let _ = killer.and_then(|mut killer| killer.query_drop(format!("KILL QUERY {id}")));
    })
}

impl MariadbSession {
    pub fn open(options: Opts) -> Result<Self, mysql::Error> {
        let mut connection = Conn::new(options.clone())?;
        let version = connection.query_first::<String, _>("SELECT VERSION()")?;
        let version = plain_version(&version.unwrap_or_default());
        Ok(Self {
            options,
            connection,
            version,
            canceller: None,
            _cancel: None,
            counted: BTreeMap::new(),
        })
    }

    /// The user's server continues when the run is cancelled, so its statements are ended.
    pub fn on_user_server(mut self, canceller: &Arc<Canceller>) -> Self {
        self._cancel = Some(cancels(&self.options, &self.connection, canceller));
        self.canceller = Some(Arc::clone(canceller));
        self
    }

    fn run(&mut self, statement: &str) -> Result<(), SqlError> {
        self.connection.query_drop(statement).map_err(failed)
    }

    fn number(&mut self, query: &str) -> Result<u64, SqlError> {
        let found = self.connection.query_first::<Option<u64>, _>(query).map_err(failed)?;
        Ok(found.flatten().unwrap_or(0))
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, SqlError> {
        let rows = self.connection.query::<(String, u64), _>(COUNTERS).map_err(failed)?;
        Ok(rows.into_iter().collect())
    }

    /// Adds rows by as few statements as there can be.
    fn insert(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError> {
        let mut prepared = None;
        let mut next = 1;
        while next <= rows {
            let count = ROWS_EACH.min(rows - next + 1);
            let mut values = Vec::with_capacity(2 * count as usize);
            for row in next..next + count {
                let mut data = vec![0; ROW_BYTES];
                if !fill(row, &mut data) {
                    return Err(SqlError::Interrupted);
                }
                values.extend([Value::Int(row as i64), Value::Bytes(data)]);
            }
            if prepared.as_ref().is_none_or(|(of, _)| *of != count) {
                let marks = vec!["(?,?)"; count as usize].join(",");
                let text = format!("INSERT INTO {TABLE} (a, b) VALUES {marks}");
                prepared = Some((count, self.connection.prep(text).map_err(failed)?));
            }
            let (_, statement) = prepared.as_ref().expect("just prepared");
            self.connection.exec_drop(statement, Params::Positional(values)).map_err(failed)?;
            next += count;
        }
        Ok(())
    }
}

/// `10.11.19-MariaDB-0+deb12u1`, and `8.0.36` of MySQL, which does not name itself.
fn plain_version(said: &str) -> String {
    match said.split_once("-MariaDB") {
        Some((number, _)) => number.rsplit('-').next().unwrap_or(number).to_string(),
        None => format!("MySQL {said}"),
    }
}

impl Database for MariadbSession {
    fn kind(&self) -> DatabaseKind {
        KIND
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        let rows = self.connection.query::<(String, String), _>(SETTINGS).map_err(failed)?;
        Ok(rows.into_iter().collect())
    }

    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError> {
        // Rows lie in the order of a key of their own, as they come: the index on `a` is one more, as elsewhere.
        let columns = "n BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, a BIGINT NOT NULL";
        self.clear()?;
        for (table, bytes) in [(TABLE, ROW_BYTES), (COMMITS, COMMIT_BYTES)] {
            self.run(&format!(
                "CREATE TABLE {table} ({columns}, b VARBINARY({bytes}) NOT NULL)
                 ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
            ))?;
        }
        // Else the server looks at each byte of a row as a letter, which takes longer than all the rest.
        self.run("SET NAMES binary")?;
        self.run("START TRANSACTION")?;
        self.insert(rows, fill)?;
        self.run("COMMIT")
    }

    /// Writes the buffers of the tables; not every version has a statement for all of them.
    fn checkpoint(&mut self) -> Result<(), SqlError> {
        self.run(&format!("FLUSH TABLES {TABLE}, {COMMITS} FOR EXPORT"))?;
        self.run("UNLOCK TABLES")
    }

    fn table_bytes(&mut self) -> Result<u64, SqlError> {
        let name =
            "SELECT DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
        self.run(&format!("ANALYZE TABLE {TABLE}"))?;
        self.number(&format!("{name} AND TABLE_NAME = '{TABLE}'"))
    }

    fn scan(&mut self) -> Result<u64, SqlError> {
        self.number(&format!("SELECT count(*) FROM {TABLE} FORCE INDEX (PRIMARY)"))
    }

    fn make_index(&mut self) -> Result<(), SqlError> {
        self.run(&format!("CREATE INDEX {TABLE}_a ON {TABLE} (a)"))
    }

    fn still_warm(&mut self) -> Result<Option<String>, SqlError> {
        Ok(Some(STAYS_WARM.to_string()))
    }

    fn client(&self) -> Result<Box<dyn Client>, SqlError> {
        let connection = Conn::new(self.options.clone()).map_err(failed)?;
        let cancel = self.canceller.as_ref();
        let cancel = cancel.map(|canceller| cancels(&self.options, &connection, canceller));
        Ok(Box::new(MariadbClient::new(connection, cancel)?))
    }

    fn begin_counting(&mut self) -> Result<(), SqlError> {
        self.counted = self.counters()?;
        Ok(())
    }

    fn counted(&mut self) -> Result<ServerCounters, SqlError> {
        let now = self.counters()?;
        let since = |name: &str| {
            let before = self.counted.get(name).copied().unwrap_or(0);
            now.get(name).map(|now| now.saturating_sub(before))
        };
        Ok(ServerCounters {
            statements: since("Com_stmt_execute").unwrap_or(0),
            server_us: None,
            logical_reads: since("Innodb_buffer_pool_read_requests"),
        })
    }

    fn clear(&mut self) -> Result<(), SqlError> {
        self.run(&format!("DROP TABLE IF EXISTS {TABLE}, {COMMITS}"))
    }
}

impl ServerSession for MariadbSession {
    const KIND: DatabaseKind = KIND;

    fn restored_rows(&mut self) -> Result<u64, SqlError> {
        // The last number of the key: found at the right edge of its tree.
        self.number(&format!("SELECT max(n) FROM {TABLE}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_shown_without_packaging() {
        assert_eq!(plain_version("10.11.19-MariaDB-0+deb12u1"), "10.11.19");
        // Servers before 11 put this before their version for old replicas.
        assert_eq!(plain_version("5.5.5-10.5.29-MariaDB-log"), "10.5.29");
        assert_eq!(plain_version("8.0.36"), "MySQL 8.0.36");
    }
}
