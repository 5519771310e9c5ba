//! What only a server has: versions of tables made on request, roles, and ways in which it is of no use.

use super::*;
use crate::schema::{init, init_text, upgrade};
use crate::testing::{OWNER, PostgresServer};

pub fn refused(location: &StoreLocation, fault: StoreFault, words: &[&str]) {
    for opened in [Store::open(location), Store::open_existing(location)] {
        says(&opened.unwrap_err(), fault, words);
    }
}

pub fn says(error: &StoreError, fault: StoreFault, words: &[&str]) {
    let message = error.to_string();
    assert_eq!(error.fault, fault, "{message}");
    for word in words {
        assert!(message.contains(word), "{word}: {message}");
    }
    assert!(!message.contains("secret") && !message.contains('\n'), "{message}");
}

/// One server for all: starting one takes seconds.
#[test]
fn server_is_used_as_documented() {
    let Some(mut server) = PostgresServer::start(&[]) else { return };
    tables_are_made_and_changed_on_request_only(&server);
    grants_and_roles_decide(&server);
    queries_use_indexes(&server);
    writers_share_one_store(&server);
    runs_not_taken_hold_up_no_others(&server);
    away_and_back(&mut server);
    replica_is_read(&mut server);
}

fn tables_are_made_and_changed_on_request_only(server: &PostgresServer) {
    let database = server.new_database();
    let location = server.location_of(OWNER, &database);
    let line = format!("drivescope store init{}", location.words());
    refused(&location, StoreFault::Missing, &[&line]);
    assert!(upgrade(&location).is_err());
    let report = init(&location).unwrap();
    assert_eq!((report.from, report.to, report.lacks.len()), (None, 4, 0));
    assert_eq!(init(&location).unwrap().from, Some(4), "again, without harm");
    assert_eq!(upgrade(&location).unwrap().from, Some(4));
    Store::open(&location).unwrap().save(&rich_run(ID)).unwrap();

    // An older one, as version 1 made it, with a run.
    let old = server.new_database();
    let text = init_text();
    let first: Vec<&str> = text.split(";\n").take(sql::CREATE.len()).collect();
    let copied = "INSERT INTO meta VALUES ('schema', '1')";
    server.psql(&old, &format!("{};{copied}", first.join(";"))).unwrap();
    let row =
        "INSERT INTO runs VALUES ('00000000000f', '2026-01-31T12:00:00Z', 5, 1.5, NULL, 'quick',
        '/x', 'sda', 'M', 'S', 'done', 0, 1, '{}')";
    server.psql(&old, row).unwrap();
    let old = server.location_of(OWNER, &old);
    let line = format!("drivescope store upgrade{}", old.words());
    refused(&old, StoreFault::OlderSchema, &["schema 1, this one needs 4", &line]);
    assert_eq!(init(&old).unwrap_err().fault, StoreFault::OlderSchema);
    let report = upgrade(&old).unwrap();
    assert_eq!((report.from, report.to), (Some(1), 4));
    let store = Store::open(&old).unwrap();
    assert_eq!(ids(&store, &Filter::default()), ["00000000000f"]);
    assert_eq!(store.newest_of_drives().unwrap()[0].serial.as_deref(), Some("S"));

    server.psql(&database, "UPDATE meta SET value = '9'").unwrap();
    refused(&location, StoreFault::NewerSchema, &["(schema 9, this one reads up to 4); update"]);
    assert_eq!(upgrade(&location).unwrap_err().fault, StoreFault::NewerSchema);

    let foreign = server.new_database();
    server.psql(&foreign, "CREATE TABLE meta (a text); CREATE TABLE runs (b text)").unwrap();
    let foreign = server.location_of(OWNER, &foreign);
    refused(&foreign, StoreFault::Foreign, &["createdb drivescope"]);
    assert_eq!(init(&foreign).unwrap_err().fault, StoreFault::Foreign);
    let absent = server.location_of(OWNER, "absent");
    refused(&absent, StoreFault::Missing, &["createdb absent"]);
}

fn grants_and_roles_decide(server: &PostgresServer) {
    let location = server.new_store();
    let database = location.shown().rsplit('/').next().unwrap().to_string();
    let run = |sql: &str| server.psql(&database, sql).unwrap();
    for (user, role) in [("h1", "agent"), ("h2", "agent"), ("rita", "reader"), ("sue", "submitter")]
    {
        run(&format!("CREATE ROLE {user} LOGIN; GRANT drivescope_{role} TO {user}"));
    }
    run("CREATE ROLE \"o'mara\" LOGIN");
    let of = |user: &str| server.location_of(user, &database);
    let open = |user: &str| Store::open(&of(user)).unwrap();

    let (mut first, mut second) = (open("h1"), open("h2"));
    first.save(&run_at(ID, 0)).unwrap();
    second.save(&run_at("ffffffffffff", 1)).unwrap();
    assert_eq!(ids(&first, &Filter::default()), [ID], "an agent sees its own runs only");
    assert_eq!(second.get(ID).unwrap_err().fault, StoreFault::NoRun);
    let error = second.save(&run_at(ID, 0)).unwrap_err();
    says(&error, StoreFault::NotTaken, &["from another user", "drivescope_submitter"]);
    let error = second.add_all(&[run_at(ID, 9)]).unwrap_err();
    assert_eq!(error.fault, StoreFault::NotTaken, "{error}");
    says(&first.remove(ID).unwrap_err(), StoreFault::Denied, &["DELETE", "ON runs TO \"h1\""]);
    first.save(&run_at(ID, 0)).unwrap();

    let words = ["for INSERT, UPDATE on table runs", "GRANT INSERT, UPDATE ON runs TO \"rita\""];
    says(&Store::open(&of("rita")).unwrap_err(), StoreFault::Denied, &words);
    let mut reader = Store::open_existing(&of("rita")).unwrap();
    assert_eq!(ids(&reader, &Filter::default()), ["ffffffffffff", ID]);
    let error = reader.save(&run_at("000000000001", 1)).unwrap_err();
    says(&error, StoreFault::Denied, &["GRANT INSERT, UPDATE, DELETE ON runs TO \"rita\""]);
    let mut submitter = open("sue");
    submitter.save(&Run { note: Some("odd".into()), ..submitter.get(ID).unwrap() }).unwrap();
    assert_eq!(first.get(ID).unwrap().note.as_deref(), Some("odd"), "it stays the agent's");
    submitter.remove("ffffffffffff").unwrap();

    let stranger = of("o'mara");
    refused(
        &stranger,
        StoreFault::Denied,
        &["on table meta", "GRANT SELECT ON meta TO \"o'mara\""],
    );
    run("GRANT SELECT ON meta, runs, places TO \"o'mara\"");
    let error = Store::open_existing(&stranger).unwrap().list(&Filter::default()).unwrap_err();
    says(
        &error,
        StoreFault::Denied,
        &["for SELECT on table metrics", "GRANT SELECT ON metrics TO"],
    );
    run("GRANT SELECT ON metrics TO \"o'mara\"");
    let listed = Store::open_existing(&stranger).unwrap().list(&Filter::default()).unwrap();
    assert_eq!(listed.len(), 1, "no hidden rows for whom tables are granted");
    assert_eq!(init(&of("rita")).unwrap_err().fault, StoreFault::Denied);
}

/// Fills a database on the server: 40,000 runs of 400 drives, 10 metrics each.
const MANY: &str = "INSERT INTO runs SELECT to_hex(n * 7919 + 68719476736 * 16), '2026-01-31T12:00:00Z',
        n * 1000000, 60, CASE n % 50 WHEN 0 THEN 'label ' || n / 50 END, 'standard', '/dev/sd' || n % 24,
        'sd' || n % 24, 'MODEL-' || n % 20, 'SERIAL-' || n % 400, 'done', 0, 1, '{}'
    FROM generate_series(1::bigint, 40000) n;
    INSERT INTO metrics SELECT id, o, 'transfer.cell_' || o || '.read.iops', o, '1/s', o, o, 1
    FROM runs, generate_series(0, 9) o;
    ANALYZE";

/// With the planner's own choice: nothing is forbidden to it.
fn queries_use_indexes(server: &PostgresServer) {
    let location = server.new_store();
    let database = location.shown().rsplit('/').next().unwrap().to_string();
    server.psql(&database, MANY).unwrap();
    server.psql(&database, "CREATE ROLE ada LOGIN; GRANT drivescope_reader TO ada").unwrap();
    // Row security must not keep a reader from the indexes.
    let readers = [OWNER, "ada"].map(|user| server.location_of(user, &database));
    let limited = Filter { limit: Some(100), ..Filter::default() };
    let with = |change: fn(&mut Filter)| {
        let mut filter = limited.clone();
        change(&mut filter);
        filter
    };
    let list = |filter: Filter| {
        let mut values = chosen(&filter);
        values.extend([filter.rows().into(), filter.skip.into()]);
        (sql::LIST_BY_PLACE, values)
    };
    let drive = |filter: &mut Filter| filter.drive = Some("serial-77".into());
    let id: SqlValue = "0123456789ab".into();
    let queries = [
        list(limited.clone()),
        list(with(|filter| filter.skip = 2_000)),
        list(with(drive)),
        list(Filter { limit: None, ..with(drive) }),
        list(with(|filter| filter.drive = Some("model-3".into()))),
        (sql::LIST_BARE_BY_PLACE, list(Filter { limit: None, ..with(drive) }).1),
        list(with(|filter| filter.label = Some("Label 77".into()))),
        list(with(|filter| filter.text = Some("label 77".into()))),
        (sql::COUNT_BY_PLACE, chosen(&with(drive))),
        (sql::FIND, vec!["0123".into(), "0123g".into()]),
        (sql::GET_DOCUMENT, vec![id.clone()]),
        (sql::GET_PLACE, vec![id.clone()]),
        (sql::REMOVE_METRICS, vec![id]),
        (sql::NEWEST_PLACE, vec![]),
        (sql::NEWEST, vec![]),
    ];
    for location in &readers {
        let store = Store::open_existing(location).unwrap();
        let plan = |sql: &str, values: &[SqlValue]| {
            store.select(&format!("EXPLAIN (COSTS OFF) {sql}"), values, SqlRow::text).unwrap()
        };
        let check = |sql: &str, values: &[SqlValue]| {
            let plan = plan(sql, values);
            let scans = |table: &str| format!("Seq Scan on {table}");
            let reads_all =
                |line: &&String| line.contains(&scans("runs")) || line.contains(&scans("metrics"));
            let found = plan.iter().find(reads_all);
            assert_eq!(found, None, "{sql}\n{values:?}\n{}", plan.join("\n"));
        };
        for (sql, values) in &queries {
            if *sql == sql::REMOVE_METRICS && location != &readers[0] {
                continue;
            }
            check(sql, values);
        }
        check(store.tables.searches().newest_of_drives, &[]);
        for query in of_measured_drives(&store) {
            check(&query, &[8_u32.into(), "transfer.cell_1.read.iops".into()]);
        }
        let jit = store.select("SELECT current_setting('jit')", &[], SqlRow::text).unwrap();
        assert_eq!(jit, ["off"]);
        assert_eq!(store.newest_of_drives().unwrap().len(), 1200);
        assert!(plan("SELECT MAX(value) FROM metrics", &[]).join("").contains("Seq Scan"));
    }
}

fn of_measured_drives(store: &Store) -> [String; 2] {
    let newest = store.searches().newest_runs;
    let figures = store.searches().newest_figures.replace("KEYS", "$2");
    ["SELECT * FROM newest", &figures].map(|query| format!("{newest} {query}"))
}

fn writers_share_one_store(server: &PostgresServer) {
    let location = server.new_store();
    // All add the same runs, in different orders: each is there once, and no writer is refused.
    let runs: Vec<Run> = (0..12).map(|i| run_at(&format!("{i:012x}"), i)).collect();
    let added = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..6)
            .map(|writer| {
                let (location, mut runs) = (&location, runs.clone());
                runs.rotate_left(writer * 2);
                scope.spawn(move || {
                    let mut store = Store::open(location).unwrap();
                    runs.chunks(3).flat_map(|part| store.add_all(part).unwrap()).collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(added.iter().filter(|added| **added == Added::New).count(), runs.len());
    let store = Store::open(&location).unwrap();
    assert_eq!(store.count(&Filter::default()).unwrap(), 12);
}

/// A rule there that one run does not meet.
fn runs_not_taken_hold_up_no_others(server: &PostgresServer) {
    let location = server.new_store();
    let database = location.shown().rsplit('/').next().unwrap().to_string();
    let rule = "ALTER TABLE runs ADD CONSTRAINT short CHECK (elapsed_s < 1000)";
    server.psql(&database, rule).unwrap();
    let (_folder, file) = place();
    let mut local = Store::open(&file).unwrap().in_place_of(location.clone());
    for run in [&Run { elapsed_s: 2_000.0, ..run_at(ID, 0) }, &run_at("ffffffffffff", 1)] {
        local.save(run).unwrap();
    }
    let waiting = local.waiting(&location).unwrap();
    let mut store = Store::open(&location).unwrap();
    let report = crate::send_waiting(&waiting, &mut local, &mut store).unwrap();
    assert_eq!((report.new, report.refused.len()), (1, 1), "{report:?}");
    let (id, why) = &report.refused[0];
    assert!(id == ID && why.contains("does not take it") && why.contains("short"), "{report:?}");
    assert_eq!(local.waiting(&location).unwrap(), [ID]);
    // Both in one transaction at first.
    let report = crate::copy(&local, &mut store, &mut |_, _| {}).unwrap();
    assert_eq!((report.known, report.refused.len()), (1, 1), "{report:?}");
}

/// A run that is saved while the server is away waits in a file, and is sent once.
fn away_and_back(server: &mut PostgresServer) {
    let location = server.new_store();
    let (_folder, file) = place();
    let mut store = Store::open(&location).unwrap();
    store.save(&run_at(ID, 0)).unwrap();
    server.stop();
    let run = run_at("ffffffffffff", 1);
    says(&store.save(&run).unwrap_err(), StoreFault::Unreachable, &["check that the server runs"]);
    refused(&location, StoreFault::Unreachable, &["cannot be reached"]);
    let mut local = Store::open(&file).unwrap();
    assert_eq!(local.waiting(&location).unwrap(), [""; 0]);
    local = local.in_place_of(location.clone());
    for run in [&run, &run_at("eeeeeeeeeeee", 2), &run] {
        local.save(run).unwrap();
    }
    assert_eq!(local.waiting_servers().unwrap(), [(location.shown(), 2)]);
    server.start_again();
    assert_eq!(store.get(ID).unwrap().id, ID, "the connection is made anew");
    let several = server.address(OWNER, location.shown().rsplit('/').next().unwrap());
    let several = several.replace("drivescope@", "drivescope@127.0.0.1:1,");
    let several = StoreLocation::parse(Some(&several)).unwrap();
    assert_eq!(Store::open(&several).unwrap().get(ID).unwrap().id, ID, "the second host answers");
    // One of them was sent before, and the note of it was lost.
    store.save(&run).unwrap();
    let waiting = local.waiting(&location).unwrap();
    let report = crate::send_waiting(&waiting, &mut local, &mut store).unwrap();
    assert_eq!((report.new, report.known), (1, 1));
    assert_eq!(local.waiting(&location).unwrap(), [""; 0]);
    assert_eq!(store.count(&Filter::default()).unwrap(), 3);
    assert_eq!(local.count(&Filter::default()).unwrap(), 2, "nothing is removed");
    // With a waiting run a store can be used as before.
    assert_eq!(Store::open_existing(&file).unwrap().get("ffff").unwrap(), run);
}

fn replica_is_read(server: &mut PostgresServer) {
    let location = server.new_store();
    Store::open(&location).unwrap().save(&run_at(ID, 0)).unwrap();
    server.stop();
    let signal = server.data().join("standby.signal");
    crate::testing::touch(&signal);
    server.give(&signal);
    server.start_again();
    let mut store = Store::open_existing(&location).unwrap();
    assert_eq!(store.get("last").unwrap().id, ID);
    let words = ["takes no writes: it is a replica", "name the primary"];
    says(&Store::open(&location).unwrap_err(), StoreFault::ReadOnly, &words);
    says(&store.save(&run_at(ID, 0)).unwrap_err(), StoreFault::ReadOnly, &words);
    says(&init(&location).unwrap_err(), StoreFault::ReadOnly, &words);
}
