//! A connection to PostgreSQL with its statements.

use super::failed;
use super::statements::cancels;
use crate::canceller::{Canceller, Registration};
use crate::queries::Placeholder;
use crate::{COMMITS, Client, SqlError, TABLE, UserQuery};
use postgres::Statement;
use postgres::types::private::BytesMut;
use postgres::types::{Format, IsNull, ToSql, Type};
use std::error::Error;
use std::sync::Arc;

/// A connection.
pub(super) struct PostgresClient {
    client: postgres::Client,
    seek: Option<Statement>,
    commit: Statement,
    query: Option<Statement>,
    _cancel: Registration,
}

impl PostgresClient {
    pub fn new(mut client: postgres::Client, canceller: &Arc<Canceller>) -> Result<Self, SqlError> {
        let cancel = cancels(&client, canceller);
        let commit = format!("INSERT INTO {COMMITS} VALUES ($1, $2)");
        let commit = client.prepare(&commit).map_err(failed)?;
        Ok(Self { client, seek: None, commit, query: None, _cancel: cancel })
    }
}

impl Client for PostgresClient {
    fn seek(&mut self, id: i64) -> Result<usize, SqlError> {
        if self.seek.is_none() {
            let text = format!("SELECT * FROM {TABLE} WHERE a = $1");
            self.seek = Some(self.client.prepare(&text).map_err(failed)?);
        }
        let statement = self.seek.as_ref().expect("just prepared");
        let row = self.client.query_one(statement, &[&id]).map_err(failed)?;
        Ok(row.get::<_, &[u8]>(1).len())
    }

    fn commit(&mut self, id: i64, data: &[u8]) -> Result<(), SqlError> {
        self.client.execute(&self.commit, &[&id, &data]).map(|_| ()).map_err(failed)
    }

    fn prepare(&mut self, query: &UserQuery) -> Result<(), SqlError> {
        let text = query.text(Placeholder::Dollar);
        self.query = Some(self.client.prepare(&text).map_err(failed)?);
        Ok(())
    }

    fn query(&mut self, parameters: &[String]) -> Result<usize, SqlError> {
        let Some(statement) = &self.query else { return Ok(0) };
        let values: Vec<AsText<'_>> = parameters.iter().map(|text| AsText(text)).collect();
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(statement, &values).map_err(failed)?;
        Ok(rows.iter().map(postgres::Row::raw_size_bytes).sum())
    }
}

/// A parameter of any type, as the server reads it from text.
#[derive(Debug)]
struct AsText<'t>(&'t str);

impl ToSql for AsText<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    postgres::types::to_sql_checked!();
}
