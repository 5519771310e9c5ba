//! A connection to SQL Server with its statements.

use super::connection::MssqlConnection;
use super::{KIND, failed, texts};
use crate::queries::Placeholder;
use crate::{Client, SqlError, UserQuery};
use tiberius::{ColumnData, Row, ToSql};

pub(super) struct MssqlClient {
    connection: MssqlConnection,
    seek: String,
    commit: String,
    query: Option<String>,
}

impl MssqlClient {
    pub fn new(connection: MssqlConnection) -> Self {
        Self { connection, seek: texts::seek(), commit: texts::commit(), query: None }
    }
}

impl Client for MssqlClient {
    fn seek(&mut self, id: i64) -> Result<usize, SqlError> {
        let rows = self.connection.rows(&self.seek, &[&id])?;
        let row = rows.first();
        let row =
            row.ok_or_else(|| SqlError::of_statement(KIND, format!("there is no row {id}")))?;
        Ok(row.try_get::<&str, _>(1).map_err(failed)?.map_or(0, str::len))
    }

    fn commit(&mut self, id: i64, data: &[u8]) -> Result<(), SqlError> {
        self.connection.execute(&self.commit, &[&id, &data])
    }

    /// The server prepares it when it runs first.
    fn prepare(&mut self, query: &UserQuery) -> Result<(), SqlError> {
        self.query = Some(query.text(Placeholder::AtNumber));
        Ok(())
    }

    fn query(&mut self, parameters: &[String]) -> Result<usize, SqlError> {
        let Some(text) = &self.query else { return Ok(0) };
        let values: Vec<AsTyped<'_>> = parameters.iter().map(|text| AsTyped(text)).collect();
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        let rows = self.connection.rows(text, &values)?;
        Ok(rows.iter().map(bytes_of).sum())
    }
}

/// A parameter: numbers as numbers, else an index on a column of numbers would not be used.
#[derive(Debug)]
struct AsTyped<'t>(&'t str);

impl ToSql for AsTyped<'_> {
    fn to_sql(&self) -> ColumnData<'_> {
        match self.0.parse::<i64>() {
            Ok(number) => ColumnData::I64(Some(number)),
            Err(_) => ColumnData::String(Some(self.0.into())),
        }
    }
}

fn bytes_of(row: &Row) -> usize {
    let of = |(_, data): (_, &ColumnData<'static>)| match data {
        ColumnData::String(text) => text.as_ref().map_or(0, |text| text.len()),
        ColumnData::Binary(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len()),
        _ => 8,
    };
    row.cells().map(of).sum()
}
