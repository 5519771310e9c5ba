//! Addresses of the user's servers.

use crate::SqlError;
use drivescope_model::options::DatabaseKind;

/// Variable with the password of a server: not in the URL, which is kept in the run document.
pub(crate) const PASSWORD: &str = "DRIVESCOPE_DB_PASSWORD";

const SCHEMES: [(&str, DatabaseKind); 6] = [
    ("postgres", DatabaseKind::Postgres),
    ("postgresql", DatabaseKind::Postgres),
    ("mysql", DatabaseKind::Mariadb),
    ("mariadb", DatabaseKind::Mariadb),
    ("mssql", DatabaseKind::Mssql),
    ("sqlserver", DatabaseKind::Mssql),
];

/// The address of a server: `postgres://user@host:port/database`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    pub database: DatabaseKind,
    pub user: Option<String>,
    /// Host, or a socket: PostgreSQL's by its directory, MariaDB's by its file.
    pub host: String,
    pub port: Option<u16>,
    pub name: Option<String>,
}

impl ServerUrl {
    pub fn parse(text: &str) -> Result<Self, SqlError> {
        let wrong = |why: &str| SqlError::Usage(format!("{text}: {why}"));
        let form = "a URL is postgres://USER@HOST:PORT/DATABASE, or mysql://…, mssql://…";
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong(form))?;
        let known = SCHEMES.iter().find(|(name, _)| *name == scheme);
        let database = known.ok_or_else(|| wrong(form))?.1;
        let (place, name) = match rest.split_once('/') {
            Some((place, name)) => (place, Some(name).filter(|name| !name.is_empty())),
            None => (rest, None),
        };
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, place),
        };
        if user.is_some_and(|user| user.contains(':')) {
            let hidden = "a stored URL has no password";
            return Err(SqlError::Usage(format!("{hidden}: put it into {PASSWORD}")));
        }
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => {
                (host, Some(port.parse().map_err(|_| wrong("its port is not a number"))?))
            }
            None => (place, None),
        };
        if host.is_empty() {
            return Err(wrong(form));
        }
        // %2F is a slash: the place of a socket.
        let host = host.replace("%2F", "/").replace("%2f", "/");
        let [user, name] = [user, name].map(|part| part.map(str::to_string));
        Ok(Self { database, user, host, port, name })
    }

    /// The server, for people.
    #[cfg(any(feature = "mssql", feature = "mysql", feature = "postgres"))]
    pub(crate) fn place(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }

    /// Its database, where one must be named.
    #[cfg(any(feature = "mssql", feature = "mysql"))]
    pub(crate) fn needed_name(&self) -> Result<&str, SqlError> {
        let missing = || {
            let title = self.database.title();
            SqlError::Usage(format!(
                "{title}: the URL needs a database: …@{}/DATABASE",
                self.place()
            ))
        };
        self.name.as_deref().ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_mistakes_named() {
        fn of(text: &str) -> DatabaseKind {
            ServerUrl::parse(text).unwrap().database
        }
        let url = ServerUrl::parse("postgres://me@db.example:5433/shop").unwrap();
        assert_eq!((url.database, url.host.as_str()), (DatabaseKind::Postgres, "db.example"));
        assert_eq!((url.user.as_deref(), url.port), (Some("me"), Some(5433)));
        assert_eq!(url.name.as_deref(), Some("shop"));
        let socket = ServerUrl::parse("postgresql://%2Frun%2Fpostgresql").unwrap();
        assert_eq!((socket.host.as_str(), socket.name), ("/run/postgresql", None));
        let file = ServerUrl::parse("mysql://me@%2Frun%2Fmysqld%2Fmysqld.sock/shop").unwrap();
        assert_eq!((file.database, file.port), (DatabaseKind::Mariadb, None));
        assert_eq!(file.host, "/run/mysqld/mysqld.sock");
        assert_eq!(of("mariadb://h/d"), DatabaseKind::Mariadb);
        assert_eq!([of("mssql://h/d"), of("sqlserver://h/d")], [DatabaseKind::Mssql; 2]);
        for (text, words) in [
            ("oracle://x", "a URL is"),
            ("postgres", "a URL is"),
            ("postgres:///x", "a URL is"),
            ("postgres://h:x/d", "port"),
            ("postgres://me:secret@h/d", PASSWORD),
        ] {
            let why = ServerUrl::parse(text).unwrap_err().to_string();
            assert!(why.contains(words) && !why.contains("secret"), "{why}");
        }
    }
}
