#![expect(clippy::disallowed_methods, reason = "tests make files of their own")]

#[path = "../../../../tests/support/skip.rs"]
mod skip;

use crate::{
    Canceller, Client, Database, DatabaseSettings, ServerUrl, SqlError, UserQuery, at_url, find,
};
use drivescope_model::options::DatabaseKind;
use skip::skip_loudly;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

const ROWS: u64 = 300;
const SETTINGS: DatabaseSettings = DatabaseSettings {
    buffer_bytes: 8 << 20,
    is_durable: true,
    clients: 4,
    cpus: 1,
    table_bytes: 0,
};

/// A server of the test's own, which a connection by URL takes for the user's; `None` where none is installed.
fn user_server(folder: &Path) -> Option<Box<dyn Database>> {
    let installed = match find(DatabaseKind::Mariadb) {
        Ok(installed) => installed,
        Err(why) => {
            skip_loudly(&why.to_string());
            return None;
        }
    };
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    let data = folder.join("data");
    std::fs::create_dir(&data).unwrap();
    if let Some(user) = installed.user() {
        std::os::unix::fs::chown(&data, Some(user.user), Some(user.group)).unwrap();
    }
    Some(installed.create(&data, SETTINGS, &Arc::default()).unwrap())
}

/// By the file of its socket.
fn url(folder: &Path, user: &str, database: &str) -> ServerUrl {
    let socket = folder.join("data/db.sock").to_str().unwrap().replace('/', "%2F");
    ServerUrl::parse(&format!("mysql://{user}@{socket}/{database}")).unwrap()
}

fn client_asking(database: &dyn Database, statement: &str) -> Box<dyn Client> {
    let mut client = database.client().unwrap();
    client.prepare(&UserQuery::parse(statement, None).unwrap()).unwrap();
    client
}

#[test]
fn database_on_user_server_is_loaded_asked_cleared() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut owner) = user_server(dir.path()) else { return };
    let canceller = Arc::<Canceller>::default();
    let open = |user, name| at_url(&url(dir.path(), user, name), SETTINGS, &canceller);
    let mut database = open("root", "drivescope").unwrap();
    assert!(database.version().starts_with(|c: char| c.is_ascii_digit()), "{}", database.version());

    database.load(ROWS, &mut |row, data| (data.fill(row as u8), true).1).unwrap();
    database.checkpoint().unwrap();
    assert_eq!(database.scan().unwrap(), ROWS);
    // Two rows to a page of 16 KiB.
    let bytes = database.table_bytes().unwrap();
    assert!((ROWS * 8_192..ROWS * 8_192 * 3 / 2 + (1 << 20)).contains(&bytes), "{bytes}");
    database.make_index().unwrap();
    assert_eq!(database.scan().unwrap(), ROWS, "not by the index");

    let mut client = database.client().unwrap();
    database.begin_counting().unwrap();
    for id in [1, 7, ROWS as i64] {
        assert_eq!(client.seek(id).unwrap(), 8_000);
    }
    client.commit(1, &[7; 100]).unwrap();
    let counted = database.counted().unwrap();
    assert_eq!(counted.statements, 4);
    assert!(counted.logical_reads.unwrap() >= 9, "{counted:?}");
    assert!(client.seek(ROWS as i64 + 1).is_err(), "there is no such row");
    // A statement that fails is one of the user's own, and the next one runs.
    let text = "SELECT a, b FROM %t WHERE a = (SELECT n FROM %t WHERE n < ?)";
    client.prepare(&UserQuery::parse(text, Some("2")).unwrap()).unwrap();
    assert_eq!(client.query(&["2".to_string()]).unwrap(), 8 + 8_000);
    let many = client.query(&["9".to_string()]);
    assert!(matches!(many, Err(SqlError::Statement { .. })), "{many:?}");
    assert_eq!(client.seek(7).unwrap(), 8_000);

    assert!(database.still_warm().unwrap().is_some() && database.backup(dir.path()).is_err());
    let why = |error: Option<SqlError>| error.unwrap().to_string();
    let unknown = why(open("root", "no_such").err());
    assert!(unknown.contains("cannot connect") && unknown.contains("no_such"), "{unknown}");
    assert!(why(open("nobody", "drivescope").err()).contains("Access denied"));

    // What is under way ends with the run; the tables go all the same.
    let mut sleeper = client_asking(&*database, "SELECT SLEEP(600) FROM %t LIMIT 1");
    let waiting = std::thread::spawn(move || sleeper.query(&[]).map(|_| ()));
    while !is_sleeping(&*owner) {
        std::thread::yield_now();
    }
    canceller.cancel();
    // MariaDB ends the statement with an error, or with what it has.
    let _ = waiting.join().unwrap();
    database.clear().unwrap();
    let why = owner.scan().unwrap_err().to_string();
    assert!(why.contains("doesn't exist"), "{why}");
}

/// Whether a statement sleeps, as the server's list of connections has it.
fn is_sleeping(owner: &dyn Database) -> bool {
    let text = "SELECT a FROM (SELECT 1 AS a FROM information_schema.processlist
                WHERE state = 'User sleep') AS found";
    client_asking(owner, text).query(&[]).unwrap() > 0
}
