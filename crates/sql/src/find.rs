//! The databases of this build.

use crate::url::ServerUrl;
use crate::{Canceller, Database, DatabaseSettings, Installed, SqlError, sqlite};
use drivescope_model::options::{DatabaseKind, SqlPart};
use std::sync::Arc;

/// Errors: the database is not installed, too old, or not in this build; no user can run its server.
pub fn find(database: DatabaseKind) -> Result<Box<dyn Installed>, SqlError> {
    match database {
        DatabaseKind::Sqlite => Ok(Box::new(sqlite::BuiltIn)),
        #[cfg(feature = "postgres")]
        DatabaseKind::Postgres => Ok(Box::new(crate::postgres::PostgresPrograms::find()?)),
        #[cfg(not(feature = "postgres"))]
        DatabaseKind::Postgres => Err(SqlError::NotBuilt { database, feature: "postgres" }),
        #[cfg(feature = "mysql")]
        DatabaseKind::Mariadb => Ok(Box::new(crate::mariadb::MariadbPrograms::find()?)),
        #[cfg(not(feature = "mysql"))]
        DatabaseKind::Mariadb => Err(SqlError::NotBuilt { database, feature: "mysql" }),
        #[cfg(feature = "mssql")]
        DatabaseKind::Mssql => Err(SqlError::OnlyByUrl { database, scheme: "mssql" }),
        #[cfg(not(feature = "mssql"))]
        DatabaseKind::Mssql => Err(SqlError::NotBuilt { database, feature: "mssql" }),
    }
}

pub fn at_url(
    url: &ServerUrl,
    settings: DatabaseSettings,
    canceller: &Arc<Canceller>,
) -> Result<Box<dyn Database>, SqlError> {
    let database = url.database;
    match database {
        #[cfg(feature = "postgres")]
        DatabaseKind::Postgres => crate::postgres::connect(url, settings, canceller),
        #[cfg(not(feature = "postgres"))]
        DatabaseKind::Postgres => Err(SqlError::NotBuilt { database, feature: "postgres" }),
        #[cfg(feature = "mysql")]
        DatabaseKind::Mariadb => crate::mariadb::connect(url, canceller),
        #[cfg(not(feature = "mysql"))]
        DatabaseKind::Mariadb => Err(SqlError::NotBuilt { database, feature: "mysql" }),
        #[cfg(feature = "mssql")]
        DatabaseKind::Mssql => crate::mssql::connect(url, canceller),
        #[cfg(not(feature = "mssql"))]
        DatabaseKind::Mssql => Err(SqlError::NotBuilt { database, feature: "mssql" }),
        DatabaseKind::Sqlite => Err(SqlError::Usage("SQLite has no server".to_string())),
    }
}

/// Why a part is not measured on the user's server, if it is not.
pub fn lacks_at_url(database: DatabaseKind, part: SqlPart) -> Option<&'static str> {
    match (database, part) {
        (DatabaseKind::Mssql, SqlPart::Restore) => Some("it would make a second database"),
        (DatabaseKind::Mssql, _) => None,
        (_, SqlPart::Backup | SqlPart::Restore) => Some("the server is not the test's own"),
        _ => None,
    }
}
