//! What a server or the way to it answers, as errors with their remedies.

use super::address::ServerAddress;
use crate::error::{StoreError, StoreFault};
use postgres::Error;
use postgres::error::{DbError, SqlState};
use rustls::CertificateError;
use std::error::Error as _;
use std::io;

/// The message of the server, or the cause below the words of the library, in one line.
pub(super) fn words(error: &Error) -> String {
    let text = match (error.as_db_error(), error.source()) {
        (Some(db), _) => db.message().to_string(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    // Of a server that may be anyone's.
    line.chars().filter(|letter| !letter.is_control()).collect()
}

/// Whether the connection is gone, so that another one may succeed.
pub(super) fn is_of_connection(error: &Error) -> bool {
    match error.as_db_error().map(DbError::code) {
        Some(code) => is_away(code),
        None => error.is_closed() || io_cause(error).is_some(),
    }
}

/// The server ends, begins, or takes no more connections.
fn is_away(code: &SqlState) -> bool {
    code.code().starts_with("08")
        || code.code().starts_with("57P")
        || *code == SqlState::TOO_MANY_CONNECTIONS
}

fn io_cause(error: &Error) -> Option<&io::Error> {
    error.source().and_then(|cause| cause.downcast_ref())
}

fn unreachable(why: &str, address: &ServerAddress) -> StoreError {
    let message = format!(
        "the store {} cannot be reached: {why}; check that the server runs, host and port, and the network",
        address.shown()
    );
    StoreError::new(StoreFault::Unreachable, message)
}

/// Of a login.
pub(super) fn of_login(error: &Error, address: &ServerAddress) -> StoreError {
    let shown = address.shown();
    let denied = |why: &str, remedy: &str| {
        let message = format!("the store {shown} refuses the connection: {why}; {remedy}");
        StoreError::new(StoreFault::Denied, message)
    };
    let why = words(error);
    let remedy = match &address.remark {
        Some(remark) => remark.clone(),
        None => {
            "put the password into ~/.pgpass (mode 0600) or PGPASSWORD, or check pg_hba.conf there"
                .to_string()
        }
    };
    let Some(db) = error.as_db_error() else {
        if let Some((why, remedy)) = of_tls(error) {
            return denied(&why, remedy);
        }
        // The library's word for a server that wants a password.
        let wants_password = why.contains("password missing");
        return if wants_password { denied(&why, &remedy) } else { unreachable(&why, address) };
    };
    match db.code() {
        code if code.code().starts_with("28") => denied(&why, &remedy),
        code if *code == SqlState::INVALID_CATALOG_NAME => {
            let message = format!(
                "the store {shown} does not exist: {why}; its administrator types: createdb {}",
                address.database
            );
            StoreError::new(StoreFault::Missing, message)
        }
        code if is_away(code) => unreachable(&why, address),
        _ => denied(&why, "ask its administrator"),
    }
}

/// Cause and remedy of a handshake that failed.
fn of_tls(error: &Error) -> Option<(String, &'static str)> {
    let cause = error.source()?;
    if cause.to_string().contains("does not support TLS") {
        let remedy = "set ssl = on there, or add ?sslmode=disable for a network that you trust";
        return Some(("the server offers no TLS".to_string(), remedy));
    }
    let inner = cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref::<rustls::Error>()?;
    let rustls::Error::InvalidCertificate(fault) = inner else {
        return Some((inner.to_string(), "check the server's TLS, and sslmode"));
    };
    let (why, remedy) = match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("its certificate has expired", "renew it on the server")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("its certificate is not valid yet", "check the clocks of both machines")
        }
        CertificateError::UnknownIssuer => (
            "its certificate is of an authority that is not known here",
            "name the authority's file with sslrootcert=FILE or PGSSLROOTCERT",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            "its certificate is for another name (subjectAltName)",
            "use that name, or sslmode=verify-ca to trust the authority alone",
        ),
        other => {
            let why = format!("its certificate is not accepted: {other}");
            return Some((why, "name its authority with sslrootcert=FILE, or make a new one"));
        }
    };
    Some((why.to_string(), remedy))
}

/// Of a statement; see [`missing_grants`] for missing rights.
pub(super) fn of_statement(error: &Error, address: &ServerAddress) -> StoreError {
    let (shown, why) = (address.shown(), words(error));
    let new = |fault, message: String| StoreError::new(fault, message);
    let Some(db) = error.as_db_error() else {
        // Not of the connection: a row has other types than the tables.
        return if is_of_connection(error) {
            unreachable(&why, address)
        } else {
            damaged(&why, address)
        };
    };
    match db.code() {
        code if is_away(code) => unreachable(&why, address),
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => read_only(address),
        code if code.code().starts_with("53") => new(
            StoreFault::Full,
            format!("the store {shown} is full: {why}; make room on the server"),
        ),
        code if code.code().starts_with("40")
            || code.code().starts_with("55")
            || *code == SqlState::QUERY_CANCELED =>
        {
            let remedy = "try again, or see pg_stat_activity there";
            new(StoreFault::Locked, format!("the store {shown} was busy: {why}; {remedy}"))
        }
        code if code.code().starts_with("42") => damaged(&why, address),
        // Data, constraints and limits of the program: of this row, and not of the server.
        code if ["22", "23", "54"].iter().any(|class| code.code().starts_with(class)) => {
            let remedy = "ask its administrator about that rule or limit";
            new(
                StoreFault::NotTaken,
                format!("the store {shown} does not take it: {why}; {remedy}"),
            )
        }
        _ => {
            let remedy = "see the server's log";
            new(StoreFault::Io, format!("the store {shown} cannot be used: {why}; {remedy}"))
        }
    }
}

pub(super) fn read_only(address: &ServerAddress) -> StoreError {
    let message = format!(
        "the store {} takes no writes: it is a replica, or read-only; name the primary server, or several \
         (HOST1,HOST2), of which the first that takes writes is used",
        address.shown()
    );
    StoreError::new(StoreFault::ReadOnly, message)
}

pub(super) fn damaged(why: &str, address: &ServerAddress) -> StoreError {
    let message = format!(
        "the store {} has other tables than drivescope makes ({why}); restore a backup, or use another database",
        address.shown()
    );
    StoreError::new(StoreFault::Corrupt, message)
}

/// Row security refused: the row is of another login, and this one is an agent's.
pub(super) fn of_another_login(is_of_fleet: bool, address: &ServerAddress) -> StoreError {
    let shown = address.shown();
    let message = if is_of_fleet {
        format!(
            "the store {shown} has this host from another login than {}; use that login again, or let a submitter \
             type: drivescope fleet hosts --forget ID (the file id in the agent's state folder has it; runs stay)",
            address.user
        )
    } else {
        format!(
            "the store {shown} has this run from another user: an agent changes its own runs only; a member of \
             drivescope_submitter may change all"
        )
    };
    StoreError::new(StoreFault::NotTaken, message)
}

/// `missing`: rights with their tables.
pub(super) fn missing_grants(missing: &[(String, String)], address: &ServerAddress) -> StoreError {
    let (shown, user) = (address.shown(), &address.user);
    let Some((_, table)) = missing.first() else {
        let message = format!(
            "no permission for this on {shown}; its owner types: drivescope store upgrade, and grants \"{user}\" \
             drivescope_reader, drivescope_submitter or drivescope_agent"
        );
        return StoreError::new(StoreFault::Denied, message);
    };
    let rights: Vec<&str> =
        missing.iter().filter(|(_, of)| of == table).map(|(right, _)| right.as_str()).collect();
    let rights = rights.join(", ");
    let quoted = format!("\"{}\"", user.replace('"', "\"\""));
    let more = match missing.iter().filter(|(_, of)| of != table).count() {
        0 => String::new(),
        _ => " (and others: GRANT drivescope_reader, drivescope_submitter or drivescope_agent)"
            .into(),
    };
    let message = format!(
        "no permission for {rights} on table {table} of {shown}; its owner types: GRANT {rights} ON {table} TO \
         {quoted}{more}"
    );
    StoreError::new(StoreFault::Denied, message)
}
