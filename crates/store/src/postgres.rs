//! A store on a PostgreSQL server: finding it, logging in, and whether it can be used.

mod address;
mod fleet_tables;
mod password_file;
mod schema;
mod server_errors;
mod sql_of_server;
mod statements;
mod tls;
mod url;

pub(crate) use address::{ServerAddress, Surroundings};
pub(crate) use schema::{apply, sql_text};
pub(crate) use statements::PostgresTables;
pub(crate) use url::{after_scheme, has_password};

use crate::error::{StoreError, StoreFault};
use crate::sql;
use address::{ServerHost, TlsMode};
use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use server_errors::{missing_grants, of_login, of_statement, read_only};
use std::time::Duration;
use tls::StoreTls;

/// The oldest server that has what is used here: `pg_trgm` for every owner of a database.
const VERSION_MIN: u32 = 13;
/// Idle connections are kept open through firewalls.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Opens tables that are there and of this version. `writes`: the server must take them.
pub(crate) fn open_any(
    address: &ServerAddress,
    writes: bool,
) -> Result<PostgresTables, StoreError> {
    let mut client = connect(address, writes)?;
    schema::check(&mut client, address)?;
    Ok(PostgresTables::new(address.clone(), client, writes))
}

/// Opens a store whose tables are there and of this version. `writes`: it must take runs, too.
pub(crate) fn open(address: &ServerAddress, writes: bool) -> Result<PostgresTables, StoreError> {
    let mut client = connect(address, writes)?;
    schema::check(&mut client, address)?;
    // Found now, not when a long run saves its first results.
    let mut missing = if writes { missing_rights(&mut client, address)? } else { Vec::new() };
    missing.retain(|(right, table)| (right.as_str(), table.as_str()) != ("DELETE", "runs"));
    if !missing.is_empty() {
        return Err(missing_grants(&missing, address));
    }
    Ok(PostgresTables::new(address.clone(), client, writes))
}

/// Rights that this user lacks, each with its table.
fn missing_rights(
    client: &mut Client,
    address: &ServerAddress,
) -> Result<Vec<(String, String)>, StoreError> {
    let rows = client.query_typed(sql_of_server::MISSING_RIGHTS, &[]);
    let rows = rows.map_err(|error| of_statement(&error, address))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// The first of the hosts that answers; for writing, the first that takes writes.
fn connect(address: &ServerAddress, writes: bool) -> Result<Client, StoreError> {
    let mut first_error = None;
    for host in &address.hosts {
        let connected = login(address, host).and_then(|mut client| {
            check_server(&mut client, address, writes)?;
            Ok(client)
        });
        match connected {
            Ok(client) => return Ok(client),
            Err(error) => {
                // A server that answers says more than one that does not.
                let known = first_error.as_ref().map(|error: &StoreError| error.fault);
                if matches!(known, None | Some(StoreFault::Unreachable)) {
                    first_error = Some(error);
                }
            }
        }
    }
    Err(first_error.expect("an address has a host"))
}

fn login(address: &ServerAddress, host: &ServerHost) -> Result<Client, StoreError> {
    let mut config = Config::new();
    config.host(&host.host).port(host.port).user(&address.user).dbname(&address.database);
    config.application_name(&address.application).connect_timeout(address.patience);
    config.tcp_user_timeout(address.patience).keepalives_idle(KEEPALIVE);
    if let Some(password) = &host.password {
        config.password(password.expose());
    }
    let mode = host.tls_mode(&address.tls);
    let connected = match mode {
        TlsMode::Disable => config.ssl_mode(SslMode::Disable).connect(NoTls),
        _ => {
            let tls = StoreTls::new(mode, &address.tls)
                .map_err(|why| StoreError::new(StoreFault::Location, format!("TLS: {why}")))?;
            let is_optional = mode == TlsMode::Prefer;
            config.ssl_mode(if is_optional { SslMode::Prefer } else { SslMode::Require });
            config.connect(tls)
        }
    };
    connected.map_err(|error| of_login(&error, address))
}

fn check_server(
    client: &mut Client,
    address: &ServerAddress,
    writes: bool,
) -> Result<(), StoreError> {
    let about = client.query_typed_one(sql_of_server::ABOUT, &[]);
    let about = about.map_err(|error| of_statement(&error, address))?;
    check_version(about.get(0), address)?;
    if writes && about.get::<_, &str>(1) == "on" { Err(read_only(address)) } else { Ok(()) }
}

/// `150018` is 15.18.
fn check_version(number: &str, address: &ServerAddress) -> Result<(), StoreError> {
    let major = number.parse::<u32>().unwrap_or(0) / 10_000;
    if major >= VERSION_MIN {
        return Ok(());
    }
    let message = format!(
        "the server of {} is PostgreSQL {major}, which is too old: version {VERSION_MIN} or later is needed",
        address.shown()
    );
    Err(StoreError::new(StoreFault::TooOld, message))
}

/// The version of the tables; `None` if there are none of this program.
fn schema_of(client: &mut Client, address: &ServerAddress) -> Result<Option<u32>, StoreError> {
    let foreign = || {
        let message = format!(
            "the database {} has tables of another program; make one for drivescope alone: createdb drivescope",
            address.shown()
        );
        StoreError::new(StoreFault::Foreign, message)
    };
    match client.query_typed(sql::GET_SCHEMA, &[]) {
        Ok(rows) => match rows.first().map(|row| row.try_get::<_, String>(0)) {
            Some(Ok(text)) => text.parse().map(Some).map_err(|_| foreign()),
            _ => Err(foreign()),
        },
        Err(error) => match error.code() {
            Some(code) if *code == SqlState::UNDEFINED_TABLE => Ok(None),
            Some(code) if *code == SqlState::UNDEFINED_COLUMN => Err(foreign()),
            Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                let missing =
                    ["meta", "runs", "metrics"].map(|table| ("SELECT".into(), table.into()));
                Err(missing_grants(&missing, address))
            }
            _ => Err(of_statement(&error, address)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused_with_the_version_needed() {
        let around = Surroundings { variable: &|_| None, user: Some("me".to_string()) };
        let address = ServerAddress::parse("db/runs", &around).unwrap();
        for number in ["130000", "150018", "180001"] {
            check_version(number, &address).unwrap();
        }
        for (number, found) in [("120020", "12"), ("90624", "9")] {
            let error = check_version(number, &address).unwrap_err();
            assert_eq!(error.fault, StoreFault::TooOld);
            let words = format!("is PostgreSQL {found}, which is too old: version 13 or later");
            assert!(error.to_string().contains(&words), "{error}");
        }
    }
}
