//! A connection to PostgreSQL with its statements.

use super::failed;
use super::line::Line;
use crate::canceller::{Canceller, Registration};
use crate::queries::Placeholder;
use crate::{COMMITS, Client, SqlError, TABLE, UserQuery};
use std::error::Error;
use std::sync::Arc;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type};
use tokio_postgres::{Config, Row, Statement};

/// A connection.
pub(super) struct PostgresClient {
    client: tokio_postgres::Client,
    line: Line,
    seek: Option<Statement>,
    commit: Statement,
    query: Option<Statement>,
    _cancel: Registration,
}

impl PostgresClient {
    pub fn open(config: &Config, canceller: &Arc<Canceller>) -> Result<Self, SqlError> {
        let (client, mut line) = Line::open(config)?;
        let (token, place) = (client.cancel_token(), config.clone());
        let cancel = canceller.on_cancel(move || {
            // It may have ended already.
            let _ = Line::cancel(&place, &token);
        });
        let commit = format!("INSERT INTO {COMMITS} VALUES ($1, $2)");
        let commit = line.wait(client.prepare(&commit)).map_err(failed)?;
        Ok(Self { client, line, seek: None, commit, query: None, _cancel: cancel })
    }
}

impl Client for PostgresClient {
    fn seek(&mut self, id: i64) -> Result<usize, SqlError> {
        if self.seek.is_none() {
            let text = format!("SELECT * FROM {TABLE} WHERE a = $1");
            self.seek = Some(self.line.wait(self.client.prepare(&text)).map_err(failed)?);
        }
        let statement = self.seek.as_ref().expect("just prepared");
        let row = self.line.wait(self.client.query_one(statement, &[&id])).map_err(failed)?;
        Ok(row.get::<_, &[u8]>(1).len())
    }

    fn commit(&mut self, id: i64, data: &[u8]) -> Result<(), SqlError> {
        let added = self.line.wait(self.client.execute(&self.commit, &[&id, &data]));
        added.map(|_| ()).map_err(failed)
    }

    fn prepare(&mut self, query: &UserQuery) -> Result<(), SqlError> {
        let text = query.text(Placeholder::Dollar);
        self.query = Some(self.line.wait(self.client.prepare(&text)).map_err(failed)?);
        Ok(())
    }

    fn query(&mut self, parameters: &[String]) -> Result<usize, SqlError> {
        let Some(statement) = &self.query else { return Ok(0) };
        let values: Vec<AsText<'_>> = parameters.iter().map(|text| AsText(text)).collect();
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = self.line.wait(self.client.query(statement, &values)).map_err(failed)?;
        Ok(rows.iter().map(Row::raw_size_bytes).sum())
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

    tokio_postgres::types::to_sql_checked!();
}
