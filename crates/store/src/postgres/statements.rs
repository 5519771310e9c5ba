//! Statements on a server. Every one is unnamed and complete in itself, and nothing is set for a session: a pooler may
//! give each transaction another connection.

use super::address::ServerAddress;
use super::server_errors::{
    damaged, is_of_connection, missing_grants, of_another_login, of_statement,
};
use super::{connect, fleet_tables, missing_rights, sql_of_server};
use crate::backend::{RunColumns, Searches, SqlRow, SqlValue, Statements, StoreTables, Work};
use crate::error::StoreError;
use crate::sql;
use drivescope_model::document::Metric;
use postgres::error::{DbError, SqlState};
use postgres::types::{FromSql, ToSql, Type};
use postgres::{Client, Error, Row, Transaction};
use std::cell::RefCell;

/// An index takes no longer ones. The document has the whole key.
const KEY_LETTERS_MAX: usize = 500;

pub(crate) struct PostgresTables {
    address: ServerAddress,
    /// `None` after a lost connection.
    client: RefCell<Option<Client>>,
    writes: bool,
}

impl std::fmt::Debug for PostgresTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresTables").field(&self.address).finish()
    }
}

impl SqlValue {
    fn typed(&self) -> (Box<dyn ToSql + Sync + '_>, Type) {
        match self {
            // Of the type that the statement needs.
            Self::Null => (Box::new(None::<&str>), Type::UNKNOWN),
            Self::Int(number) => (Box::new(*number), Type::INT8),
            Self::Float(number) => (Box::new(*number), Type::FLOAT8),
            // PostgreSQL has no letter NUL. Documents have it as an escape.
            Self::Text(text) if text.contains('\0') => {
                (Box::new(text.replace('\0', "\u{fffd}")), Type::TEXT)
            }
            Self::Text(text) => (Box::new(text.as_str()), Type::TEXT),
        }
    }
}

type TypedValues<'v> = Vec<(Box<dyn ToSql + Sync + 'v>, Type)>;

/// The values by reference, as the client takes them.
fn references<'t>(typed: &'t TypedValues<'_>) -> Vec<(&'t (dyn ToSql + Sync), Type)> {
    typed.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
}

fn typed(values: &[SqlValue]) -> TypedValues<'_> {
    values.iter().map(SqlValue::typed).collect()
}

fn cell<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<Option<T>, Error> {
    row.try_get(column)
}

fn sql_row(row: &Row) -> Result<SqlRow, Error> {
    let kinds = row.columns().iter().map(|column| column.type_());
    let values = kinds.enumerate().map(|(column, kind)| {
        Ok(match *kind {
            Type::INT8 => cell::<i64>(row, column)?.into(),
            Type::FLOAT8 => cell::<f64>(row, column)?.into(),
            _ => cell::<String>(row, column)?.into(),
        })
    });
    Ok(SqlRow::new(values.collect::<Result<_, Error>>()?))
}

impl PostgresTables {
    pub fn new(address: ServerAddress, client: Client, writes: bool) -> Self {
        Self { address, client: RefCell::new(Some(client)), writes }
    }

    /// Calls `work` with the connection, and once more with a new one if the first was lost.
    fn with_client<T>(
        &self,
        is_write: bool,
        mut work: impl FnMut(&mut Client) -> Result<T, ServerFailure>,
    ) -> Result<T, StoreError> {
        let mut kept = self.client.borrow_mut();
        for is_last in [false, true] {
            let client = match kept.as_mut() {
                Some(client) => client,
                None => kept.insert(connect(&self.address, self.writes)?),
            };
            match work(client) {
                Ok(done) => return Ok(done),
                Err(ServerFailure::Known(error)) => return Err(error),
                Err(ServerFailure::Lost(_)) if !is_last => *kept = None,
                Err(ServerFailure::Lost(error)) => {
                    *kept = None;
                    return Err(of_statement(&error, &self.address));
                }
                Err(ServerFailure::Statement(error)) => {
                    return Err(self.explained(&error, client, is_write));
                }
            }
        }
        unreachable!("the second attempt returns")
    }

    /// One statement by itself: a transaction without the trips to the server that begin and end one.
    pub fn change_at_once(
        &mut self,
        sql: &str,
        values: &[SqlValue],
    ) -> Result<Vec<SqlRow>, StoreError> {
        self.begin_to_write();
        self.with_client(true, |client| {
            let rows = client.query_typed(sql, &references(&typed(values)))?;
            Ok(rows.iter().map(sql_row).collect::<Result<Vec<_>, Error>>()?)
        })
    }

    fn begin_to_write(&mut self) {
        if !self.writes && self.address.hosts.len() > 1 {
            // It may have been opened on a replica.
            *self.client.get_mut() = None;
            self.writes = true;
        }
    }

    /// An error, with the rights that are missing.
    fn explained(&self, error: &Error, client: &mut Client, is_write: bool) -> StoreError {
        if error.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
            return of_statement(error, &self.address);
        }
        let table = fleet_tables::named_in(&super::server_errors::words(error));
        // Of row security; the server's words may be in any language.
        if error.as_db_error().and_then(DbError::routine) == Some("ExecWithCheckOptions") {
            return of_another_login(table.is_some(), &self.address);
        }
        if let Some(table) = table {
            let values: [(&(dyn ToSql + Sync), Type); 1] = [(&table, Type::TEXT)];
            let rows = client.query_typed(sql_of_server::MISSING_RIGHTS_OF_FLEET, &values);
            let missing = rows.map(|rows| rows.iter().map(|it| (it.get(0), it.get(1))).collect());
            let mut missing: Vec<(String, String)> = missing.unwrap_or_default();
            missing.retain(|(right, _)| is_write || right == "SELECT");
            return missing_grants(&missing, &self.address);
        }
        match missing_rights(client, &self.address) {
            Ok(mut missing) => {
                missing.retain(|(right, _)| is_write || right == "SELECT");
                missing_grants(&missing, &self.address)
            }
            Err(error) => error,
        }
    }
}

/// How work on a connection fails.
enum ServerFailure {
    /// The connection was gone before anything was sent that changes something.
    Lost(Error),
    Statement(Error),
    Known(StoreError),
}

impl From<Error> for ServerFailure {
    fn from(error: Error) -> Self {
        if is_of_connection(&error) { Self::Lost(error) } else { Self::Statement(error) }
    }
}

impl StoreTables for PostgresTables {
    fn read(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, StoreError> {
        self.with_client(false, |client| {
            client.batch_execute(sql_of_server::BEGIN_READING)?;
            let rows = client.query_typed(sql, &references(&typed(values)));
            // Also after an error, which matters more than that of this.
            let ended = client.batch_execute("COMMIT");
            let rows = rows?;
            ended?;
            Ok(rows.iter().map(sql_row).collect::<Result<Vec<_>, Error>>()?)
        })
    }

    /// What a lost connection interrupted is done again: all of it replaces a run by itself.
    fn write(&mut self, work: &mut Work<'_>) -> Result<(), StoreError> {
        self.begin_to_write();
        self.with_client(true, |client| {
            let mut transaction = client.transaction()?;
            transaction.batch_execute(sql_of_server::LIMITS)?;
            let mut statements = PostgresStatements { transaction: &mut transaction, failed: None };
            if let Err(error) = work(&mut statements) {
                return Err(statements.failed.map_or(ServerFailure::Known(error), Into::into));
            }
            transaction.commit()?;
            Ok(())
        })
    }

    fn searches(&self) -> &'static Searches {
        &Searches {
            list: sql::LIST_BY_PLACE,
            list_bare: sql::LIST_BARE_BY_PLACE,
            count: sql::COUNT_BY_PLACE,
            newest_of_drives: sql_of_server::NEWEST_OF_DRIVES,
            newest_runs: sql_of_server::NEWEST_RUNS,
            newest_figures: sql_of_server::NEWEST_FIGURES,
            facts_of_runs: sql_of_server::FACTS_OF_RUNS,
        }
    }

    fn damaged(&self, reason: &str) -> StoreError {
        damaged(reason, &self.address)
    }
}

struct PostgresStatements<'c, 't> {
    transaction: &'c mut Transaction<'t>,
    /// The first error, which is explained when the transaction has ended.
    failed: Option<Error>,
}

impl PostgresStatements<'_, '_> {
    fn keep<T>(&mut self, result: Result<T, Error>) -> Result<T, StoreError> {
        result.map_err(|error| {
            let message = super::server_errors::words(&error);
            self.failed.get_or_insert(error);
            StoreError::new(crate::error::StoreFault::Io, message)
        })
    }
}

impl Statements for PostgresStatements<'_, '_> {
    fn rows(&mut self, sql: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, StoreError> {
        let rows = self.transaction.query_typed(sql, &references(&typed(values)));
        let rows = rows.and_then(|rows| rows.iter().map(sql_row).collect());
        self.keep(rows)
    }

    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<(), StoreError> {
        let done = self.transaction.execute_typed(sql, &references(&typed(values)));
        self.keep(done).map(drop)
    }

    fn put_run(&mut self, columns: RunColumns) -> Result<(), StoreError> {
        let mut values = columns.common;
        values.extend(columns.of_server);
        self.execute(sql::PUT_RUN_OF_HOST, &values)
    }

    /// All in one statement: each takes a trip to the server.
    fn put_metrics(&mut self, run_id: &str, metrics: &[&Metric]) -> Result<(), StoreError> {
        let ordinals: Vec<i64> = (0..).take(metrics.len()).collect();
        let texts = |of: fn(&Metric) -> &str| -> Vec<String> {
            metrics.iter().map(|m| of(m).replace('\0', "\u{fffd}")).collect()
        };
        let numbers =
            |of: fn(&Metric) -> f64| -> Vec<f64> { metrics.iter().map(|m| of(m)).collect() };
        let cut = |key: String| key.chars().take(KEY_LETTERS_MAX).collect();
        let keys: Vec<String> = texts(|m| &m.key).into_iter().map(cut).collect();
        let units = texts(|m| &m.unit);
        let [values, lows, highs] = [numbers(|m| m.value), numbers(|m| m.low), numbers(|m| m.high)];
        let valid: Vec<i64> = metrics.iter().map(|m| m.valid.into()).collect();
        let done = self.transaction.execute_typed(
            sql_of_server::PUT_METRICS,
            &[
                (&run_id, Type::TEXT),
                (&ordinals, Type::INT8_ARRAY),
                (&keys, Type::TEXT_ARRAY),
                (&values, Type::FLOAT8_ARRAY),
                (&units, Type::TEXT_ARRAY),
                (&lows, Type::FLOAT8_ARRAY),
                (&highs, Type::FLOAT8_ARRAY),
                (&valid, Type::INT8_ARRAY),
            ],
        );
        self.keep(done).map(drop)
    }

    fn lock_run(&mut self, id: &str) -> Result<(), StoreError> {
        self.rows(sql_of_server::LOCK_RUN, &[id.into()]).map(drop)
    }
}
