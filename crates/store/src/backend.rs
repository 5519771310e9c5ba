//! What a store needs of its database: statements with values, rows of values, transactions.

use crate::error::StoreError;
use drivescope_model::document::Metric;
use std::fmt::Debug;

/// A value of a parameter or a column.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for SqlValue {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<bool> for SqlValue {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<f64> for SqlValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_string())
    }
}

impl From<&String> for SqlValue {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<String> for SqlValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<SqlValue>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A value of another type than the tables have: another program changed them.
#[derive(Debug)]
pub struct WrongType(&'static str);

impl WrongType {
    /// `expected`: what the column should hold.
    pub fn new(expected: &'static str) -> Self {
        Self(expected)
    }

    pub(crate) fn reason(&self) -> String {
        format!("a column holds no {}", self.0)
    }
}

/// The columns of a row, taken from left to right.
#[derive(Debug)]
pub struct SqlRow(std::vec::IntoIter<SqlValue>);

impl SqlRow {
    pub(crate) fn new(values: Vec<SqlValue>) -> Self {
        Self(values.into_iter())
    }

    fn next(&mut self) -> SqlValue {
        self.0.next().unwrap_or(SqlValue::Null)
    }

    pub fn optional_text(&mut self) -> Result<Option<String>, WrongType> {
        match self.next() {
            SqlValue::Null => Ok(None),
            SqlValue::Text(text) => Ok(Some(text)),
            _ => Err(WrongType("text")),
        }
    }

    pub fn text(&mut self) -> Result<String, WrongType> {
        self.optional_text()?.ok_or(WrongType("text"))
    }

    pub fn optional_int(&mut self) -> Result<Option<i64>, WrongType> {
        match self.next() {
            SqlValue::Null => Ok(None),
            SqlValue::Int(number) => Ok(Some(number)),
            _ => Err(WrongType("integer")),
        }
    }

    pub fn int(&mut self) -> Result<i64, WrongType> {
        self.optional_int()?.ok_or(WrongType("integer"))
    }

    pub fn optional_float(&mut self) -> Result<Option<f64>, WrongType> {
        match self.next() {
            SqlValue::Null => Ok(None),
            SqlValue::Float(number) => Ok(Some(number)),
            SqlValue::Int(number) => Ok(Some(number as f64)),
            SqlValue::Text(_) => Err(WrongType("number")),
        }
    }

    pub fn float(&mut self) -> Result<f64, WrongType> {
        self.optional_float()?.ok_or(WrongType("number"))
    }
}

/// The columns of a run in the order of [`sql::PUT_RUN`](crate::sql::PUT_RUN), and those that only a server has.
pub(crate) struct RunColumns {
    pub common: Vec<SqlValue>,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "for a server"))]
    pub of_server: [SqlValue; 3],
}

/// Statements within a transaction.
pub(crate) trait Statements {
    fn rows(&mut self, sql: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, StoreError>;

    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<(), StoreError>;

    fn put_run(&mut self, columns: RunColumns) -> Result<(), StoreError>;

    fn put_metrics(&mut self, run_id: &str, metrics: &[&Metric]) -> Result<(), StoreError>;

    /// Lets no other writer change the run of this id before the transaction ends.
    fn lock_run(&mut self, id: &str) -> Result<(), StoreError>;
}

/// Texts of queries that are not the same in a file and on a server.
#[derive(Debug)]
pub(crate) struct Searches {
    /// As [`sql::LIST`](crate::sql::LIST).
    pub list: &'static str,
    /// As [`sql::LIST_BARE`](crate::sql::LIST_BARE).
    pub list_bare: &'static str,
    /// As [`sql::COUNT`](crate::sql::COUNT).
    pub count: &'static str,
    /// As [`sql::NEWEST_OF_DRIVES`](crate::sql::NEWEST_OF_DRIVES).
    pub newest_of_drives: &'static str,
    /// As [`sql::NEWEST_RUNS`](crate::sql::NEWEST_RUNS).
    pub newest_runs: &'static str,
    /// As [`sql::NEWEST_FIGURES`](crate::sql::NEWEST_FIGURES).
    pub newest_figures: &'static str,
    /// As [`sql::FACTS_OF_RUNS`](crate::sql::FACTS_OF_RUNS).
    pub facts_of_runs: &'static str,
}

/// Work of a transaction; it may be called again after a lost connection.
pub(crate) type Work<'w> = dyn FnMut(&mut dyn Statements) -> Result<(), StoreError> + 'w;

/// A database with the tables of a store.
pub(crate) trait StoreTables: Debug + Send {
    fn read(&self, sql: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, StoreError>;

    /// Runs the work in one transaction, which is durable when this returns. Nothing is changed after an error.
    fn write(&mut self, work: &mut Work<'_>) -> Result<(), StoreError>;

    /// The queries that search runs.
    fn searches(&self) -> &'static Searches;

    /// The error for contents that this program never writes.
    fn damaged(&self, reason: &str) -> StoreError;
}
