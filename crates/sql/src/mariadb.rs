//! MariaDB and MySQL: a server of its own, made with the installed programs, or a database on the user's server.

mod client;
mod programs;
mod statements;

pub(crate) use programs::MariadbPrograms;

use crate::url::PASSWORD;
use crate::{Canceller, Database, ServerUrl, SqlError};
use drivescope_model::options::DatabaseKind;
use std::sync::Arc;
use std::time::Duration;

const KIND: DatabaseKind = DatabaseKind::Mariadb;
const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);
/// Errors of a server that is being stopped, or that ended a connection: ER_SERVER_SHUTDOWN, ER_CONNECTION_KILLED.
const ENDS: [u16; 2] = [1053, 1927];

fn failed(error: mysql::Error) -> SqlError {
    let why = words(&error);
    let is_of_server = match &error {
        mysql::Error::MySqlError(said) => ENDS.contains(&said.code),
        // Neither a statement nor its parameters are wrong.
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) => true,
        _ => false,
    };
    if is_of_server { SqlError::of_end(KIND, why) } else { SqlError::of_statement(KIND, why) }
}

/// An error without the names of the types that carry it.
fn words(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(said) => said.message.clone(),
        mysql::Error::IoError(error) => error.to_string(),
        mysql::Error::CodecError(error) => error.to_string(),
        mysql::Error::DriverError(mysql::DriverError::CouldNotConnect(Some((_, why, _)))) => {
            why.clone()
        }
        mysql::Error::DriverError(error) => error.to_string(),
        other => other.to_string(),
    }
}

pub(crate) fn connect(
    url: &ServerUrl,
    canceller: &Arc<Canceller>,
) -> Result<Box<dyn Database>, SqlError> {
    let options = mysql::OptsBuilder::new()
        .user(Some(url.user.as_deref().unwrap_or("root")))
        .pass(std::env::var(PASSWORD).ok())
        .db_name(Some(url.needed_name()?));
    let options = if url.host.starts_with('/') {
        options.socket(Some(url.host.as_str()))
    } else {
        options
            .ip_or_hostname(Some(url.host.as_str()))
            .tcp_port(url.port.unwrap_or(3306))
            .tcp_connect_timeout(Some(CONNECT_TIME_MAX))
            // The way that was named, not another one.
            .prefer_socket(false)
    };
    let session = statements::MariadbSession::open(options.into());
    let session = session.map_err(|error| SqlError::Connect {
        database: KIND,
        place: url.place(),
        why: words(&error),
    })?;
    Ok(Box::new(session.on_user_server(canceller)))
}

#[cfg(test)]
mod tests;
