//! Statements on an SQLite file.

use crate::backend::{RunColumns, Searches, SqlRow, SqlValue, Statements, StoreTables, Work};
use crate::error::StoreError;
use crate::sql;
use drivescope_model::document::Metric;
use rusqlite::types::{Null, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, TransactionBehavior, params_from_iter};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct SqliteTables {
    pub connection: Connection,
    pub path: PathBuf,
    pub patience: Duration,
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Null.to_sql(),
            Self::Int(number) => Ok((*number).into()),
            Self::Float(number) => Ok((*number).into()),
            Self::Text(text) => text.to_sql(),
        }
    }
}

fn value_of(value: ValueRef<'_>) -> rusqlite::Result<SqlValue> {
    Ok(match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Int(number),
        ValueRef::Real(number) => SqlValue::Float(number),
        ValueRef::Text(text) => SqlValue::Text(std::str::from_utf8(text)?.to_string()),
        ValueRef::Blob(_) => {
            let kind = rusqlite::types::Type::Blob;
            return Err(rusqlite::Error::InvalidColumnType(0, "bytes".to_string(), kind));
        }
    })
}

fn rows(connection: &Connection, sql: &str, values: &[SqlValue]) -> rusqlite::Result<Vec<SqlRow>> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let values = (0..columns).map(|column| value_of(row.get_ref(column)?));
        Ok(SqlRow::new(values.collect::<rusqlite::Result<_>>()?))
    };
    statement.query_map(params_from_iter(values), row)?.collect()
}

impl StoreTables for SqliteTables {
    fn read(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, StoreError> {
        rows(&self.connection, sql, values).map_err(|error| self.fail(&error))
    }

    fn write(&mut self, work: &mut Work<'_>) -> Result<(), StoreError> {
        let fail =
            |error: rusqlite::Error| StoreError::from_sqlite(&error, &self.path, self.patience);
        // Takes the write lock at once, with the wait for it: a transaction that reads first and writes later is
        // refused without a wait.
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(fail)?;
        work(&mut SqliteStatements { connection: &transaction, fail: &fail })?;
        transaction.commit().map_err(fail)
    }

    fn searches(&self) -> &'static Searches {
        &Searches {
            list: sql::LIST,
            list_bare: sql::LIST_BARE,
            count: sql::COUNT,
            newest_of_drives: sql::NEWEST_OF_DRIVES,
            newest_runs: sql::NEWEST_RUNS,
            newest_figures: sql::NEWEST_FIGURES,
            facts_of_runs: sql::FACTS_OF_RUNS,
        }
    }

    fn damaged(&self, reason: &str) -> StoreError {
        StoreError::corrupt(&self.path, reason)
    }
}

impl SqliteTables {
    fn fail(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(error, &self.path, self.patience)
    }
}

struct SqliteStatements<'c> {
    connection: &'c Connection,
    fail: &'c dyn Fn(rusqlite::Error) -> StoreError,
}

impl Statements for SqliteStatements<'_> {
    fn rows(&mut self, sql: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, StoreError> {
        rows(self.connection, sql, values).map_err(self.fail)
    }

    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<(), StoreError> {
        let run = || self.connection.prepare_cached(sql)?.execute(params_from_iter(values));
        run().map(drop).map_err(self.fail)
    }

    fn put_run(&mut self, columns: RunColumns) -> Result<(), StoreError> {
        self.execute(sql::PUT_RUN, &columns.common)
    }

    fn put_metrics(&mut self, run_id: &str, metrics: &[&Metric]) -> Result<(), StoreError> {
        for (ordinal, m) in (0_i64..).zip(metrics) {
            let (key, unit) = ((&m.key).into(), (&m.unit).into());
            let [value, low, high] = [m.value, m.low, m.high].map(SqlValue::from);
            let row = [run_id.into(), ordinal.into(), key, value, unit, low, high, m.valid.into()];
            self.execute(sql::PUT_METRIC, &row)?;
        }
        Ok(())
    }

    /// The transaction has the whole file.
    fn lock_run(&mut self, _id: &str) -> Result<(), StoreError> {
        Ok(())
    }
}
