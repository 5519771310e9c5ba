//! PostgreSQL: a cluster of its own, made with the installed server's programs, or a database on the user's server.

mod client;
mod cluster;
mod line;
mod messages;
mod socket;
mod statements;

pub(crate) use cluster::PostgresPrograms;

use crate::url::PASSWORD;
use crate::{Canceller, Database, DatabaseSettings, ServerUrl, SqlError};
use drivescope_model::options::DatabaseKind;
use messages::ServerSaid;
use std::sync::Arc;

const KIND: DatabaseKind = DatabaseKind::Postgres;
/// How the codes (SQLSTATE) of "the server ends" begin; the last words of a process whose server was killed have one.
const SERVER_ENDS: &str = "57P";

fn failed(error: ::postgres::Error) -> SqlError {
    failed_of(&error)
}

fn failed_of(error: &::postgres::Error) -> SqlError {
    match error.as_db_error() {
        Some(it) => {
            let (code, message) = (it.code().code().to_string(), it.message().to_string());
            said(&ServerSaid { code, message })
        }
        None if error.is_closed() || is_of_connection(error) => {
            SqlError::ServerEnded { database: KIND, why: words(error) }
        }
        None => SqlError::of_statement(KIND, words(error)),
    }
}

fn said(said: &ServerSaid) -> SqlError {
    let why = said.message.clone();
    if said.code.starts_with(SERVER_ENDS) {
        return SqlError::ServerEnded { database: KIND, why };
    }
    SqlError::of_statement(KIND, why)
}

fn is_of_connection(error: &::postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::io::Error>())
}

/// An error with its source, which its own words leave out.
fn words(error: &::postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

pub(crate) fn connect(
    url: &ServerUrl,
    settings: DatabaseSettings,
    canceller: &Arc<Canceller>,
) -> Result<Box<dyn Database>, SqlError> {
    let mut config = tokio_postgres::Config::new();
    config.host(&url.host).user(url.user.as_deref().unwrap_or("postgres"));
    config.application_name("drivescope").connect_timeout(std::time::Duration::from_secs(15));
    if let Some(port) = url.port {
        config.port(port);
    }
    if let Some(name) = &url.name {
        config.dbname(name);
    }
    if let Ok(password) = std::env::var(PASSWORD) {
        config.password(password);
    }
    let session = statements::PostgresSession::open(config, settings, canceller);
    let session = session.map_err(|error| SqlError::Connect {
        database: KIND,
        place: url.place(),
        why: words(&error),
    })?;
    Ok(Box::new(session))
}
