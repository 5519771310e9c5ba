//! A connection to MariaDB with its statements.

use super::{KIND, failed};
use crate::canceller::Registration;
use crate::queries::Placeholder;
use crate::{COMMITS, Client, SqlError, TABLE, UserQuery};
use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row, Statement, Value};

pub(super) struct MariadbClient {
    connection: Conn,
    seek: Option<Statement>,
    commit: Statement,
    query: Option<Statement>,
    _cancel: Option<Registration>,
}

impl MariadbClient {
    pub fn new(mut connection: Conn, cancel: Option<Registration>) -> Result<Self, SqlError> {
        let commit = format!("INSERT INTO {COMMITS} (a, b) VALUES (?, ?)");
        let commit = connection.prep(commit).map_err(failed)?;
        Ok(Self { connection, seek: None, commit, query: None, _cancel: cancel })
    }
}

impl Client for MariadbClient {
    fn seek(&mut self, id: i64) -> Result<usize, SqlError> {
        if self.seek.is_none() {
            let text = format!("SELECT a, b FROM {TABLE} WHERE a = ?");
            self.seek = Some(self.connection.prep(text).map_err(failed)?);
        }
        let statement = self.seek.as_ref().expect("just prepared");
        let found = self.connection.exec_first::<Row, _, _>(statement, (id,)).map_err(failed)?;
        match found.as_ref().and_then(|row| row.as_ref(1)) {
            Some(Value::Bytes(data)) => Ok(data.len()),
            _ => Err(SqlError::of_statement(KIND, format!("there is no row {id}"))),
        }
    }

    fn commit(&mut self, id: i64, data: &[u8]) -> Result<(), SqlError> {
        self.connection.exec_drop(&self.commit, (id, data)).map_err(failed)
    }

    fn prepare(&mut self, query: &UserQuery) -> Result<(), SqlError> {
        let text = query.text(Placeholder::Question);
        self.query = Some(self.connection.prep(text).map_err(failed)?);
        Ok(())
    }

    fn query(&mut self, parameters: &[String]) -> Result<usize, SqlError> {
        let Some(statement) = &self.query else { return Ok(0) };
        // Numbers as numbers: an index is not used for a number that is compared with a text.
        let value = |text: &String| match text.parse::<i64>() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Bytes(text.as_bytes().to_vec()),
        };
        let values = match parameters {
            [] => Params::Empty,
            some => Params::Positional(some.iter().map(value).collect()),
        };
        let rows = self.connection.exec_iter(statement, values).map_err(failed)?;
        let mut bytes = 0;
        for row in rows {
            bytes += bytes_of(&row.map_err(failed)?);
        }
        Ok(bytes)
    }
}

fn bytes_of(row: &Row) -> usize {
    let columns = (0..row.len()).filter_map(|column| row.as_ref(column));
    columns.map(|value| if let Value::Bytes(data) = value { data.len() } else { 8 }).sum()
}
