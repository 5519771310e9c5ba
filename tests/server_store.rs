//! `--store postgres://…`: the same answers as of a file, a server that goes away, stores that are copied.

use crate::support::json::{array, text};
use crate::support::postgres_server::{OWNER, PostgresServer};
use crate::support::scratch::own_folder;
use crate::support::{ONE_CELL, Scratch, TINY, wait_for};

/// A server with a new database; its address.
fn with_database() -> Option<(PostgresServer, String)> {
    let server = PostgresServer::start(&[])?;
    let address = server.address(OWNER, &server.new_database());
    Some((server, address))
}

fn ids(scratch: &Scratch, options: &[&str]) -> Vec<String> {
    let listed = scratch.drivescope(&[&["runs", "--json"], options].concat()).code(0).json();
    array(&listed).iter().map(|run| text(&run["id"]).to_string()).collect()
}

/// Output without the names of the stores: runs have the words of their call.
fn neutral(output: &str, stores: [&str; 2]) -> String {
    stores.into_iter().fold(output.to_string(), |text, store| text.replace(store, "STORE"))
}

#[test]
fn commands_answer_as_with_a_file() {
    let Some((_server, address)) = with_database() else { return };
    let scratch = Scratch::new();
    let file = scratch.text("runs.db");
    let line = format!("drivescope store init --store {address}");
    scratch.drivescope(&["runs", "--store", &address]).refused_with(2, &[&line]);
    scratch.run("target", &[TINY, ONE_CELL, &["--store", &address]]).refused_with(2, &[&line]);
    let made = scratch.drivescope(&["store", "init", "--store", &address]).code(0).stdout;
    assert!(made.starts_with("made the store postgres://"), "{made}");

    for label in ["first", "second"] {
        let options = ["--label", label, "--store", &address];
        let said = scratch.run("sim:wd20ears?seed=1", &[TINY, ONE_CELL, &options]).code(0);
        said.shows(&["drivescope show ", &format!("--store {address}")]);
    }
    let copied = scratch.drivescope(&["store", "copy", &address, &file]).code(0).stdout;
    assert!(copied.starts_with("copied 2 runs to"), "{copied}");
    assert_eq!(ids(&scratch, &[]), [""; 0], "the local store has no part in it");

    for arguments in [
        &["runs"][..],
        &["runs", "--drive", "wd20", "--label", "FIRST"],
        &["runs", "--json"],
        &["show", "last"],
        &["show", "first", "--json"],
        &["show", "zzz"],
        &["compare", "first", "second"],
        &["history", "wd20ears"],
        &["history", "absent"],
        &["export"],
        &["runs", "note", "first", "a note"],
        &["export", "first"],
        &["runs", "rm", "--yes", "second"],
        &["runs"],
        &["show", "second"],
    ] {
        let of = |store: &str| {
            let ended = scratch.drivescope(&[arguments, &["--store", store]].concat());
            let [out, err] =
                [&ended.stdout, &ended.stderr].map(|it| neutral(it, [&address, &file]));
            (ended.exit_code(), out, err)
        };
        assert_eq!(of(&address), of(&file), "{arguments:?}");
    }
    #[cfg(feature = "web")]
    {
        let pages = crate::support::http::Server::start(&scratch, &["--store", &address]);
        pages.get("/runs").status(200).has(&["1 run", "first", "WDC WD20EARS"]);
        pages.get("/runs?search=absent").status(200).has(&["No stored run matches"]);
        pages.get("/metrics").status(200).has(&["drivescope_"]);
        pages.end(0);
    }
    let html = scratch.text("report.html");
    scratch.drivescope(&["report", "first", "-o", &html, "--store", &address]).code(0);
    let again = ["rerun", "first", "--store", &address];
    scratch.drivescope(&again).code(0);
    assert_eq!(ids(&scratch, &["--store", &address]).len(), 2);
    let exported = scratch.drivescope(&["export", "--store", &address]).code(0).stdout;
    let exported = scratch.file("exported.json", exported);
    let said = scratch.drivescope(&["import", &exported, "--store", &address]).code(0).stdout;
    assert_eq!(said.matches("already stored, identical").count(), 2, "{said}");
}

/// The variable takes the place of the option, and keeps a password from the words of the process.
#[test]
fn server_that_is_away_gets_its_runs_later() {
    let Some((mut server, address)) = with_database() else { return };
    let scratch = Scratch::new();
    let store = ["--store", &address];
    scratch.drivescope(&[&["store", "init"], &store[..]].concat()).code(0);
    server.stop();
    scratch.drivescope(&[&["runs"], &store[..]].concat()).refused_with(4, &["cannot be reached"]);
    let said = scratch.run("sim:wd20ears", &[TINY, ONE_CELL, &["--json"], &store]).code(0);
    assert!(said.stderr.contains("drivescope store sync --store"), "{said}");
    let id = text(&said.json()["id"]).to_string();
    assert_eq!(ids(&scratch, &[]), [id.as_str()]);
    server.start_again();
    let said = scratch.run("sim:wd40efrx", &[TINY, ONE_CELL, &store]).code(0);
    assert!(said.stderr.contains("1 run waits in"), "{said}");
    scratch.drivescope(&["store", "sync"]).refused_with(2, &["runs wait for postgres://"]);
    let sync = [&["store", "sync"], &store[..]].concat();
    assert!(scratch.drivescope(&sync).code(0).stdout.starts_with("sent 1 run to"));
    assert!(scratch.drivescope(&sync).code(0).stdout.starts_with("no run in"));
    assert_eq!(ids(&scratch, &store).len(), 2);
    assert_eq!(ids(&scratch, &store)[1], id);
}

/// The server ends while a run measures.
#[test]
fn run_outlives_its_server() {
    let Some((mut server, address)) = with_database() else { return };
    let scratch = Scratch::new();
    let store = ["--store", &address];
    scratch.drivescope(&[&["store", "init"], &store[..]].concat()).code(0);
    let cell = ["--time=2s", "--json"];
    let running = scratch.run_call("target", &[TINY, ONE_CELL, &cell, &store]).start();
    wait_for("the run's folder", || own_folder(scratch.target()));
    let users = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'drivescope'";
    wait_for("its connection", || (server.psql("postgres", users).unwrap() != "0").then_some(()));
    server.stop();
    let ended = running.end().code(0);
    assert!(ended.stderr.contains("drivescope store sync --store"), "{ended}");
    let id = text(&ended.json()["id"]).to_string();
    assert_eq!(ids(&scratch, &[]), [id.as_str()]);
    server.start_again();
    scratch.drivescope(&[&["store", "sync"], &store[..]].concat()).code(0);
    let shown = scratch.drivescope(&[&["show", &id, "--json"], &store[..]].concat()).code(0);
    assert_eq!(shown.json(), ended.json());
}

#[test]
fn password_on_the_command_line_is_refused() {
    let scratch = Scratch::new();
    let address = "postgres://me:secret@%2Fabsent/runs";
    let message = scratch.drivescope(&["runs", "--store", address]).refused(2);
    assert!(message.contains("~/.pgpass") && !message.contains("secret"), "{message}");
    let of_variable = scratch.call(&["runs"]).env("DRIVESCOPE_STORE", address).end().refused(4);
    assert!(of_variable.contains("postgres://me@") && !of_variable.contains("secret"));
    let written = scratch.drivescope(&["store", "init", "--dry-run"]).code(0).stdout;
    for part in ["CREATE TABLE runs", "CREATE ROLE drivescope_agent NOLOGIN;", "GRANT SELECT"] {
        assert!(written.contains(part), "{written}");
    }
}
