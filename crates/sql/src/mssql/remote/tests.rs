use crate::mssql::fake_server::{FakeAnswer, FakeServer, FakeValue, number, text};
use crate::{Canceller, Database, ServerUrl, SqlError, UserQuery, mssql};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ROWS: i64 = 3_000;
const BACKUP_PATH: &str = r"C:\backup\drivescope_1.bak";

/// The answers of a server with an empty database.
fn of_server(statement: &str) -> FakeAnswer {
    let seen = |part: &str| statement.contains(part);
    match statement {
        _ if seen("sys.tables") => number(0),
        _ if seen("ProductVersion") => text("16.0.4135.4"),
        _ if seen("sys.configurations") => {
            fn row(name: &str, value: &str) -> [FakeValue; 2] {
                [name, value].map(|it| FakeValue::Text(it.to_string()))
            }
            let rows = [row("recovery model", "SIMPLE"), row("max degree of parallelism", "0")];
            FakeAnswer::Rows(rows.map(Vec::from).to_vec())
        }
        _ if seen("dm_db_partition_stats") => number(ROWS * 8_192),
        _ if seen("dm_os_buffer_descriptors") => number(8_192),
        _ if seen("dm_exec_query_stats") => {
            FakeAnswer::Rows(vec![[4, 1_000, 12].map(FakeValue::Number).to_vec()])
        }
        _ if seen("COUNT_BIG(*)") => number(ROWS),
        _ if seen("backupmediafamily") => text(BACKUP_PATH),
        _ if seen("SELECT a, b") => {
            FakeAnswer::Rows(vec![vec![FakeValue::Number(7), FakeValue::Text("7".repeat(4_000))]])
        }
        _ if seen("FROM bad") => FakeAnswer::Fails(208, "Invalid object name 'bad'."),
        _ => FakeAnswer::Done,
    }
}

/// Such a server with another answer to statements that contain `part`.
fn server_with(part: &'static str, answer: FakeAnswer) -> FakeServer {
    FakeServer::start(
        move |statement| {
            if statement.contains(part) { answer.clone() } else { of_server(statement) }
        },
    )
}

fn open(server: &FakeServer, canceller: &Arc<Canceller>) -> Result<Box<dyn Database>, SqlError> {
    let url = ServerUrl::parse(&format!("mssql://me@127.0.0.1:{}/my]db", server.port)).unwrap();
    mssql::connect(&url, canceller)
}

/// Every part sends its statements in order; a real server would get the same texts.
#[test]
fn statements_are_those_of_a_hard_drive_retrospective() {
    let server = FakeServer::start(of_server);
    let canceller = Arc::default();
    let mut database = open(&server, &canceller).unwrap();
    assert_eq!(database.version(), "16.0.4135.4");
    assert_eq!(database.settings().unwrap()["recovery model"], "SIMPLE");
    let mut filled = 0;
    let mut fill = |_: u64, _: &mut [u8]| {
        filled += 1;
        true
    };
    database.load(ROWS as u64, &mut fill).unwrap();
    assert_eq!(filled, ROWS);
    database.checkpoint().unwrap();
    assert_eq!(database.table_bytes().unwrap(), ROWS as u64 * 8_192);
    database.stop().unwrap();
    assert_eq!(database.still_warm().unwrap(), None, "a page of 3,000 is no table");
    database.start().unwrap();
    assert_eq!(database.scan().unwrap(), ROWS as u64);
    database.make_index().unwrap();
    let from = server.asked().len();
    {
        let mut client = database.client().unwrap();
        assert_eq!(client.seek(7).unwrap(), 4_000);
        client.commit(1, &[7; 100]).unwrap();
        client.prepare(&UserQuery::parse("SELECT a, b FROM %t -- ?", None).unwrap()).unwrap();
        assert_eq!(client.query(&[]).unwrap(), 8 + 4_000);
    }
    database.backup(Path::new("/nowhere")).unwrap();
    assert!(database.restore(Path::new("/nowhere"), Path::new("/nowhere")).is_err());
    database.clear().unwrap();
    let asked = server.asked();
    let has = |text: &str| asked.iter().any(|asked| asked == text);
    for text in [
        "CREATE TABLE drivescope_table (a BIGINT IDENTITY(1,1) NOT NULL, b CHAR(8000) NOT NULL); \
         CREATE TABLE drivescope_commits (a BIGINT NOT NULL, b VARBINARY(100) NOT NULL)",
        "CHECKPOINT",
        "CHECKPOINT; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS",
        "SELECT COUNT_BIG(*) FROM drivescope_table WITH (INDEX(0))",
        "CREATE INDEX drivescope_table_a ON drivescope_table (a)",
        r"EXECUTE master.dbo.xp_delete_file 0, N'C:\backup\drivescope_1.bak'",
    ] {
        assert!(has(text), "{text}: {asked:#?}");
    }
    let loads: Vec<&String> = asked.iter().filter(|text| text.contains("SELECT TOP")).collect();
    let counts = ["TOP (1280)", "TOP (1280)", "TOP (440)", "TOP (1)"];
    assert_eq!(loads.len(), counts.len(), "{loads:#?}");
    assert!(loads.iter().zip(counts).all(|(text, count)| text.contains(count)), "{loads:#?}");
    assert_eq!(asked[from], "SELECT a, b FROM drivescope_table WHERE a = @P1");
    assert_eq!(asked[from + 1], "INSERT INTO drivescope_commits (a, b) VALUES (@P1, @P2)");
    assert_eq!(asked[from + 2], "SELECT a, b FROM drivescope_table -- ?");
    let backup = asked.iter().find(|text| text.starts_with("BACKUP")).unwrap();
    assert!(backup.starts_with("BACKUP DATABASE [my]]db] TO DISK = N'drivescope_"), "{backup}");
    assert!(backup.ends_with(".bak' WITH INIT, COPY_ONLY, NO_COMPRESSION"), "{backup}");
    assert!(asked.iter().rposition(|text| text.contains("DROP TABLE")).unwrap() > from);
}

#[test]
fn statements_are_counted_between_two_moments() {
    let server = FakeServer::start(of_server);
    let mut database = open(&server, &Arc::default()).unwrap();
    // The double counts the same at all times, after nothing at first.
    let counted = database.counted().unwrap();
    assert_eq!((counted.statements, counted.server_us), (4, Some(1_000.0)));
    assert_eq!(counted.logical_reads, Some(12));
    database.begin_counting().unwrap();
    assert_eq!(database.counted().unwrap(), crate::ServerCounters::default());
}

#[test]
fn server_refusal_is_reported_in_its_words() {
    let server = FakeServer::start(of_server);
    let mut client = open(&server, &Arc::default()).unwrap().client().unwrap();
    client.prepare(&UserQuery::parse("SELECT * FROM bad", None).unwrap()).unwrap();
    let why = client.query(&[]).unwrap_err();
    assert!(matches!(why, SqlError::Statement { .. }), "counted: {why:?}");
    assert_eq!(why.to_string(), "SQL Server: Invalid object name 'bad'.");
    assert_eq!(client.seek(1).unwrap(), 4_000, "and the next one runs");

    let closed = FakeServer::start(|_| FakeAnswer::Fails(18_456, "Login failed for user 'me'."));
    let why = open(&closed, &Arc::default()).err().unwrap().to_string();
    let place = format!("127.0.0.1:{}", closed.port);
    assert_eq!(
        why,
        format!("cannot connect to SQL Server at {place}: Login failed for user 'me'.")
    );

    let why = "Could not allocate space because the filegroup is full.";
    let full = server_with("SELECT TOP", FakeAnswer::Fails(1_105, why));
    let mut database = open(&full, &Arc::default()).unwrap();
    let end = database.load(10, &mut |_, _| true);
    assert!(matches!(end, Err(SqlError::NoSpace { .. })), "{end:?}");
}

#[test]
fn a_database_of_others_is_left_alone() {
    let server = server_with("sys.tables", number(3));
    let why = open(&server, &Arc::default()).err().unwrap().to_string();
    assert_eq!(why, "SQL Server: my]db has tables of others: name an empty database");
    assert_eq!(server.asked().len(), 1, "no other statement is sent");
    let url = ServerUrl::parse("mssql://h").unwrap();
    let why = mssql::connect(&url, &Arc::default()).err().unwrap().to_string();
    assert!(why.contains("the URL needs a database"), "{why}");
}

/// A backup that stays is named; buffers that are not empty are reported.
#[test]
fn backup_and_buffers_that_stay_are_reported() {
    let server = FakeServer::start(|statement| match statement {
        _ if statement.contains("xp_delete_file") => {
            FakeAnswer::Fails(229, "The EXECUTE was denied.")
        }
        _ if statement.contains("dm_os_buffer_descriptors") => number(ROWS * 4_096),
        _ => of_server(statement),
    });
    let mut database = open(&server, &Arc::default()).unwrap();
    let warm = database.still_warm().unwrap().unwrap();
    assert_eq!(warm, "50 % of the table was still in its buffers");
    database.backup(Path::new("/nowhere")).unwrap();
    let why = database.clear().unwrap_err().to_string();
    assert!(why.contains(BACKUP_PATH) && why.contains("EXECUTE was denied"), "{why}");
    assert!(database.clear().is_ok(), "said once");
}

/// A statement that takes for ever ends with the run, and the tables go all the same.
#[test]
fn a_cancelled_run_waits_for_no_answer() {
    let server = server_with("WITH (INDEX(0))", FakeAnswer::Silence);
    let canceller = Arc::<Canceller>::default();
    let mut database = open(&server, &canceller).unwrap();
    let other = Arc::clone(&canceller);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        other.cancel();
    });
    assert!(matches!(database.scan(), Err(SqlError::Interrupted)));
    database.clear().unwrap();
    assert!(server.asked().last().unwrap().contains("DROP TABLE"));
}
