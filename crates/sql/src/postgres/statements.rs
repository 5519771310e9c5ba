//! Statements for PostgreSQL, on a server of its own or the user's.

use super::client::PostgresClient;
use super::{KIND, failed, failed_of};
use crate::canceller::{Canceller, Registration};
use crate::own_server::{STAYS_WARM, ServerSession};
use crate::{
    COMMITS, Client, Database, DatabaseSettings, FillRow, ROW_BYTES, ServerCounters, SqlError,
    TABLE,
};
use drivescope_model::options::DatabaseKind;
use postgres::{Error, NoTls};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use tokio_postgres::Config;

/// Settings that matter for the drive.
const SETTINGS: &str = "SELECT name, setting || coalesce(' ' || unit, '') FROM pg_settings WHERE name IN (
    'fsync', 'full_page_writes', 'synchronous_commit', 'wal_level', 'wal_sync_method', 'shared_buffers',
    'data_checksums', 'effective_io_concurrency', 'max_parallel_workers_per_gather', 'max_wal_size',
    'block_size') ORDER BY name";
const SEND_BYTES: usize = 1 << 20;
/// The signature of the binary form of COPY, with no flags and no extension.
const COPY_HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// A connection for everything that one client does.
pub(crate) struct PostgresSession {
    config: Config,
    settings: DatabaseSettings,
    canceller: Arc<Canceller>,
    client: postgres::Client,
    _cancel: Registration,
    version: String,
    counts: bool,
}

/// Ends a connection's statement when the run is cancelled.
fn cancels(client: &postgres::Client, canceller: &Arc<Canceller>) -> Registration {
    let token = client.cancel_token();
    canceller.on_cancel(move || {
        // It may have ended already.
        let _ = token.cancel_query(NoTls);
    })
}

impl PostgresSession {
    pub fn open(
        config: Config,
        settings: DatabaseSettings,
        canceller: &Arc<Canceller>,
    ) -> Result<Self, Error> {
        let mut client = postgres::Config::from(config.clone()).connect(NoTls)?;
        let version = client.query_one("SHOW server_version", &[])?.get::<_, String>(0);
        let cancel = cancels(&client, canceller);
        let canceller = Arc::clone(canceller);
        Ok(Self { config, settings, canceller, client, _cancel: cancel, version, counts: false })
    }

    fn run(&mut self, statement: &str) -> Result<(), SqlError> {
        self.client.batch_execute(statement).map_err(failed)
    }

    fn number(&mut self, query: &str) -> Result<i64, SqlError> {
        Ok(self.client.query_one(query, &[]).map_err(failed)?.get(0))
    }

    /// How many processes the scan would use besides the first.
    fn workers_planned(&mut self) -> Option<String> {
        self.prefer_parallel().ok()?;
        let plan = self.client.query(&format!("EXPLAIN SELECT count(*) FROM {TABLE}"), &[]).ok()?;
        let lines: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let workers = lines.iter().find_map(|line| line.trim().strip_prefix("Workers Planned: "));
        Some(workers.unwrap_or("0").to_string())
    }

    pub fn count_statements(&mut self) {
        self.counts = self.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").is_ok();
    }

    /// The planner weighs the drive so high that it would not use several processes for a count.
    fn prefer_parallel(&mut self) -> Result<(), SqlError> {
        let workers = self.settings.cpus.saturating_sub(1);
        self.run(&format!(
            "SET max_parallel_workers_per_gather = {workers}; SET parallel_setup_cost = 0;
             SET parallel_tuple_cost = 0; SET seq_page_cost = 0.1; SET enable_indexonlyscan = off;
             SET enable_indexscan = off; SET enable_bitmapscan = off"
        ))
    }
}

impl Database for PostgresSession {
    fn kind(&self) -> DatabaseKind {
        KIND
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn settings(&mut self) -> Result<BTreeMap<String, String>, SqlError> {
        let rows = self.client.query(SETTINGS, &[]).map_err(failed)?;
        let mut settings: BTreeMap<String, String> =
            rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        if let Some(workers) = self.workers_planned() {
            settings.insert("scan: workers planned".to_string(), workers);
        }
        Ok(settings)
    }

    fn load(&mut self, rows: u64, fill: &mut FillRow<'_>) -> Result<(), SqlError> {
        fn sent(error: std::io::Error) -> SqlError {
            match error.get_ref().and_then(|it| it.downcast_ref::<Error>()) {
                Some(said) => failed_of(said),
                // The connection broke: the server reports why, if it can.
                None => SqlError::of_end(KIND, error.to_string()),
            }
        }
        // In the transaction that makes the table COPY may freeze rows, so that no later scan writes hint bits.
        let mut transaction = self.client.transaction().map_err(failed)?;
        let tables = format!(
            "DROP TABLE IF EXISTS {TABLE}, {COMMITS};
             CREATE TABLE {COMMITS} (a bigint NOT NULL, b bytea NOT NULL);
             CREATE TABLE {TABLE} (a bigint NOT NULL, b bytea NOT NULL);
             ALTER TABLE {TABLE} ALTER COLUMN b SET STORAGE PLAIN"
        );
        transaction.batch_execute(&tables).map_err(failed)?;
        let copy = format!("COPY {TABLE} FROM STDIN (FORMAT binary, FREEZE)");
        let mut writer = transaction.copy_in(&copy).map_err(failed)?;
        let mut batch = Vec::with_capacity(SEND_BYTES + ROW_BYTES + 64);
        batch.extend_from_slice(COPY_HEAD);
        for row in 1..=rows {
            batch.extend_from_slice(&2i16.to_be_bytes());
            batch.extend_from_slice(&8i32.to_be_bytes());
            batch.extend_from_slice(&(row as i64).to_be_bytes());
            batch.extend_from_slice(&(ROW_BYTES as i32).to_be_bytes());
            let from = batch.len();
            batch.resize(from + ROW_BYTES, 0);
            if !fill(row, &mut batch[from..]) {
                return Err(SqlError::Interrupted);
            }
            if batch.len() >= SEND_BYTES {
                writer.write_all(&batch).map_err(sent)?;
                batch.clear();
            }
        }
        batch.extend_from_slice(&(-1i16).to_be_bytes());
        writer.write_all(&batch).map_err(sent)?;
        writer.finish().map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.run(&format!("VACUUM (FREEZE, ANALYZE) {TABLE}"))
    }

    fn checkpoint(&mut self) -> Result<(), SqlError> {
        self.run("CHECKPOINT")
    }

    fn table_bytes(&mut self) -> Result<u64, SqlError> {
        Ok(self.number(&format!("SELECT pg_table_size('{TABLE}')"))? as u64)
    }

    fn scan(&mut self) -> Result<u64, SqlError> {
        self.prefer_parallel()?;
        Ok(self.number(&format!("SELECT count(*) FROM {TABLE}"))? as u64)
    }

    fn make_index(&mut self) -> Result<(), SqlError> {
        self.run(&format!("CREATE INDEX {TABLE}_a ON {TABLE} (a)"))
    }

    fn still_warm(&mut self) -> Result<Option<String>, SqlError> {
        Ok(Some(STAYS_WARM.to_string()))
    }

    fn client(&self) -> Result<Box<dyn Client>, SqlError> {
        Ok(Box::new(PostgresClient::open(&self.config, &self.canceller)?))
    }

    fn begin_counting(&mut self) -> Result<(), SqlError> {
        if self.counts {
            self.client.execute("SELECT pg_stat_statements_reset()", &[]).map_err(failed)?;
        }
        Ok(())
    }

    fn counted(&mut self) -> Result<ServerCounters, SqlError> {
        if !self.counts {
            return Ok(ServerCounters::default());
        }
        let query = "SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(total_exec_time), 0)::float8 * 1000,
            coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint
            FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'";
        let row = self.client.query_one(query, &[]).map_err(failed)?;
        Ok(ServerCounters {
            statements: row.get::<_, i64>(0) as u64,
            server_us: Some(row.get(1)),
            logical_reads: Some(row.get::<_, i64>(2) as u64),
        })
    }

    fn clear(&mut self) -> Result<(), SqlError> {
        self.run(&format!("DROP TABLE IF EXISTS {TABLE}, {COMMITS}"))
    }
}

impl ServerSession for PostgresSession {
    const KIND: DatabaseKind = KIND;

    fn restored_rows(&mut self) -> Result<u64, SqlError> {
        self.run(&format!("SELECT 1 FROM {TABLE} LIMIT 1"))?;
        // By its statistics: it is enough that the table is there.
        let query =
            format!("SELECT reltuples::bigint FROM pg_class WHERE oid = '{TABLE}'::regclass");
        Ok(self.number(&query)?.max(0) as u64)
    }
}
