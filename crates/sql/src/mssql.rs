//! SQL Server: a database on the user's server. It never ran against a real one, only against a fake of its protocol.

mod client;
mod connection;
#[cfg(test)]
mod fake_server;
mod remote;
mod texts;

use crate::url::PASSWORD;
use crate::{Canceller, Database, ServerUrl, SqlError};
use connection::MssqlConnection;
use drivescope_model::options::DatabaseKind;
use std::sync::Arc;
use tiberius::{AuthMethod, Config, EncryptionLevel};

const KIND: DatabaseKind = DatabaseKind::Mssql;
/// The port of a default instance, and the user whom every server has.
const PORT: u16 = 1433;
const USER: &str = "sa";

fn failed(error: tiberius::error::Error) -> SqlError {
    match error {
        tiberius::error::Error::Server(said) => SqlError::of_statement(KIND, said.message()),
        tiberius::error::Error::Io { message, .. } => SqlError::of_end(KIND, message),
        other => SqlError::of_statement(KIND, other.to_string()),
    }
}

/// A database on the user's server. Errors: the server does not answer, or the database holds anything else.
pub(crate) fn connect(
    url: &ServerUrl,
    canceller: &Arc<Canceller>,
) -> Result<Box<dyn Database>, SqlError> {
    let name = url.needed_name()?;
    let password = std::env::var(PASSWORD).unwrap_or_default();
    let mut config = Config::new();
    config.host(&url.host);
    config.port(url.port.unwrap_or(PORT));
    config.database(name);
    config.application_name("drivescope");
    config.authentication(AuthMethod::sql_server(url.user.as_deref().unwrap_or(USER), password));
    // This build has no TLS; a server that insists on it ends the connection.
    config.encryption(EncryptionLevel::NotSupported);
    let connection = MssqlConnection::open(&config, Some(canceller)).map_err(|error| {
        let why = match error {
            SqlError::Statement { why, .. } | SqlError::ServerEnded { why, .. } => why,
            other => other.to_string(),
        };
        SqlError::Connect { database: KIND, place: url.place(), why }
    })?;
    Ok(Box::new(remote::MssqlDatabase::new(config, name, connection, canceller)?))
}
