//! What of the test can be done with a database here.

use drivescope_model::options::{DatabaseKind, SqlOptions, SqlPart};
use drivescope_sql::{Installed, lacks_at_url};

/// The options with the parts that can be measured of a database, and in words why others cannot. `installed` is what
/// would run, if that is a server of the test's own.
pub(super) fn possible(
    options: &SqlOptions,
    database: DatabaseKind,
    installed: Option<&dyn Installed>,
) -> (SqlOptions, Vec<String>) {
    let lacks = |part| match (installed, &options.url) {
        (Some(installed), _) => installed.lacks(part),
        (None, Some(_)) => lacks_at_url(database, part),
        (None, None) => None,
    };
    let (mut possible, mut remarks) = (options.clone(), Vec::new());
    possible.databases = vec![database];
    possible.parts.retain(|part| lacks(*part).is_none());
    for (part, name) in [(SqlPart::Backup, "backup and restore"), (SqlPart::Restore, "restore")] {
        let is_asked = options.parts.contains(&part);
        if let Some(why) = lacks(part).filter(|_| is_asked && remarks.is_empty()) {
            remarks.push(format!("{}: no {name}: {why}", database.title()));
        }
    }
    (possible, remarks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_impossible_on_a_foreign_server_are_reported() {
        fn of(database: DatabaseKind, url: &str) -> (SqlOptions, Vec<String>) {
            let options = SqlOptions { url: Some(url.to_string()), ..SqlOptions::default() };
            possible(&options, database, None)
        }
        let (options, remarks) = of(DatabaseKind::Mariadb, "mysql://h/d");
        assert!(!options.parts.contains(&SqlPart::Backup) && options.parts.len() == 3);
        assert_eq!(remarks, ["MariaDB: no backup and restore: the server is not the test's own"]);
        let (options, remarks) = of(DatabaseKind::Mssql, "mssql://h/d");
        assert!(options.parts.contains(&SqlPart::Backup) && options.parts.len() == 4);
        assert_eq!(remarks, ["SQL Server: no restore: it would make a second database"]);
        let own = SqlOptions::default();
        assert_eq!(possible(&own, DatabaseKind::Sqlite, None).0.parts, own.parts);
    }
}
