//! A connection to PostgreSQL with its statements.

use super::KIND;
use super::line::Line;
use super::messages::ValueForm;
use crate::canceller::{Canceller, Registration};
use crate::queries::Placeholder;
use crate::{COMMITS, Client, SqlError, TABLE, UserQuery};
use std::sync::Arc;
use tokio_postgres::Config;

const SEEK: &str = "seek";
const COMMIT: &str = "commit";
const QUERY: &str = "query";
const NUMBER_BYTES: usize = 8;

pub(super) struct PostgresClient {
    line: Line,
    seeks: bool,
    queries: bool,
    _cancel: Registration,
}

impl PostgresClient {
    pub fn open(config: &Config, canceller: &Arc<Canceller>) -> Result<Self, SqlError> {
        let (mut line, token) = Line::open(config)?;
        let place = config.clone();
        let cancel = canceller.on_cancel(move || {
            // It may have ended already.
            let _ = Line::cancel(&place, &token);
        });
        line.prepare(COMMIT, &format!("INSERT INTO {COMMITS} VALUES ($1, $2)"))?;
        Ok(Self { line, seeks: false, queries: false, _cancel: cancel })
    }
}

impl Client for PostgresClient {
    fn seek(&mut self, id: i64) -> Result<usize, SqlError> {
        if !self.seeks {
            self.line.prepare(SEEK, &format!("SELECT * FROM {TABLE} WHERE a = $1"))?;
            self.seeks = true;
        }
        let values = [&id.to_be_bytes()[..]];
        let answer = self.line.run(SEEK, ValueForm::Binary, values.into_iter())?;
        match answer.rows {
            1 => Ok(answer.bytes.saturating_sub(NUMBER_BYTES)),
            rows => {
                Err(SqlError::of_statement(KIND, format!("row {id} came {rows} times, not once")))
            }
        }
    }

    fn commit(&mut self, id: i64, data: &[u8]) -> Result<(), SqlError> {
        let number = id.to_be_bytes();
        let values = [&number[..], data];
        self.line.run(COMMIT, ValueForm::Binary, values.into_iter()).map(|_| ())
    }

    fn prepare(&mut self, query: &UserQuery) -> Result<(), SqlError> {
        self.line.prepare(QUERY, &query.text(Placeholder::Dollar))?;
        self.queries = true;
        Ok(())
    }

    fn query(&mut self, parameters: &[String]) -> Result<usize, SqlError> {
        if !self.queries {
            return Ok(0);
        }
        // As text, so that they may be of any type.
        let values = parameters.iter().map(String::as_bytes);
        Ok(self.line.run(QUERY, ValueForm::Text, values)?.bytes)
    }
}
