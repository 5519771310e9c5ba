//! `serve` on a store on a server: the pages of its fleet.

use crate::support::http::Server;
use crate::support::json::text;
use crate::support::postgres_server::{OWNER, PostgresServer};
use crate::support::{ONE_CELL, Scratch, TINY};
use drivescope_fleet::FleetTables;
use drivescope_fleet::tables::JobEnd;
use drivescope_model::drive::DriveKind;
use drivescope_model::fleet::{AgentFacts, FleetDrive, JobPlan, JobState, NewJob, PLAN_FORMAT};
use drivescope_model::plan::WriteLevel;
use drivescope_store::StoreLocation;

const EVIL: &str = "<script>alert(1)</script>";

fn agent(name: &str, machine: &str) -> AgentFacts {
    AgentFacts {
        id: format!("{name}-id"),
        name: name.to_string(),
        machine: machine.to_string(),
        boot: format!("boot of {name}"),
        version: "0.1.0".to_string(),
        ceiling: WriteLevel::OwnFiles,
        parallel: 2,
        poll_s: 30.0,
    }
}

fn drive(host: &str, name: &str, model: &str) -> FleetDrive {
    FleetDrive {
        key: format!("{host}|{name}"),
        target: format!("/dev/{name}"),
        model: Some(model.to_string()),
        serial: Some(format!("S-{host}-{name}")),
        firmware: Some("81.00A81".to_string()),
        temperature_c: Some(38.0),
        fill: Some(0.42),
        ..FleetDrive::named(name, DriveKind::HardDisk, 2_000_398_934_016)
    }
}

fn announce(tables: &mut FleetTables) {
    let hosts = [agent("rack7-01", "m1"), agent("rack7-02", "m2"), agent(EVIL, "m2")];
    for host in &hosts {
        assert!(tables.announce_host(host, "first", 60.0).expect("it is the test's own"));
        let (sda, sdb) = (drive(&host.name, "sda", "WDC WD20"), drive(&host.name, "sdb", EVIL));
        tables.announce_drives(&host.id, &[sda.clone(), sdb]).expect("it is the test's own");
        // The second one is gone the next time.
        tables.announce_drives(&host.id, &[sda]).expect("it is the test's own");
    }
}

/// A job that failed, one that has a run, and one that waits.
fn submit(tables: &mut FleetTables, run_id: &str) {
    let plan = JobPlan {
        format: PLAN_FORMAT,
        suite: "quick".to_string(),
        suite_text: String::new(),
        level: WriteLevel::Read,
        expected_s: 95.0,
    };
    let job = |host: &str| NewJob {
        host_id: format!("{host}-id"),
        drive: format!("{host}|sda"),
        name: "sda".to_string(),
        serial: None,
    };
    let jobs = ["rack7-01", "rack7-02", EVIL].map(job);
    let key = format!("nightly {EVIL}");
    assert_eq!(
        tables.submit((&key, "fill<0.5"), &plan, None, &jobs).expect("it is the test's own"),
        Some(3)
    );
    for (host, state) in [("rack7-01", JobState::Failed), ("rack7-02", JobState::Done)] {
        let id = format!("{host}-id");
        let taken =
            tables.beat((&id, "first"), &[], &[], (1, 60.0)).expect("it is the test's own").taken;
        let is_done = state == JobState::Done;
        let end = JobEnd {
            id: taken[0].id,
            attempt: taken[0].attempt,
            state,
            run_id: is_done.then(|| run_id.to_string()),
            exit_code: Some(if is_done { 0 } else { 4 }),
            message: (!is_done).then(|| format!("no answer of {EVIL}")),
            skew_ms: None,
        };
        assert!(tables.end_job(&id, &end).expect("it is the test's own"));
    }
}

#[test]
fn pages_of_a_fleet_show_what_its_tables_have() {
    let Some(mut server) = PostgresServer::start(&[]) else { return };
    let address = server.address(OWNER, &server.new_database());
    let scratch = Scratch::new();
    let store = ["--store", address.as_str()];
    scratch.drivescope(&[&["store", "init"], &store[..]].concat()).code(0);
    let run = scratch.run("sim:wd20ears", &[TINY, ONE_CELL, &["--json"], &store]).code(0).json();
    let run_id = text(&run["id"]);

    let pages = Server::start(&scratch, &store);
    pages.get("/fleet").status(200).has(&["No host has announced itself yet"]);
    assert!(!pages.get("/models").body.contains("href=\"/fleet\""));

    let location = StoreLocation::parse(Some(&address)).unwrap();
    let mut tables = FleetTables::open(&location, true).unwrap();
    announce(&mut tables);
    submit(&mut tables, run_id);
    let database = address.rsplit_once('/').unwrap().1;
    let lost =
        "UPDATE fleet_hosts SET last_seen = now() - INTERVAL '3 hours' WHERE name = 'rack7-01'";
    server.psql(database, lost).unwrap();

    let lists = [">1 lost<", ">2 with the machine id of another<", "missing drives", "3 h ago"];
    pages.get("/fleet").status(200).has(&lists).has(&["rack7-02", "same machine id as rack7-02"]);
    pages.get("/models").status(200).has(&["href=\"/fleet\""]);
    pages.get("/fleet?show=lost").has(&["1 host found", "rack7-01"]);
    pages.get("/fleet/drives").has(&["6 drives in 2 groups", "3 missing", "42 %"]);
    let group = "/fleet/drives?by=group&model=WDC+WD20&firmware=81.00A81";
    pages.get(group).has(&["3 drives: WDC WD20, firmware 81.00A81", "S-rack7-01-sda"]);
    let selected = "/fleet/drives?select=host%3Drack7-01+and+there%3Dyes";
    pages.get(selected).has(&["1 drive", "S-rack7-01-sda", "--select"]);
    pages.get("/fleet/drives?select=host%3D").status(200).has(&["Not an expression"]);
    let submitted = ["1 done, 1 waiting, 1 failed", "fill&lt;0.5", "level read"];
    pages.get("/fleet/jobs").status(200).has(&submitted);
    let key = "/fleet/submission?key=nightly+%3Cscript%3Ealert%281%29%3C%2Fscript%3E";
    let one = pages.get(key).status(200).has(&["no answer of", "exit code 4", "fleet cancel"]);
    assert!(one.body.contains(&format!("href=\"/runs/{run_id}\"")), "{one:?}");
    pages.get("/fleet/submission?key=absent").status(404).has(&["No such submission"]);
    for path in ["/fleet", "/fleet/drives", "/fleet/jobs", key, "/fleet/outliers"] {
        let page = pages.get(path).status(200).has(&["only show"]);
        assert!(
            !page.body.contains("<script>") && !page.body.contains("method=\"post\""),
            "{path}"
        );
    }

    server.stop();
    pages.get("/fleet").status(503).has(&["The store is away", "cannot be reached"]);
    pages.get("/models").status(200).has(&["href=\"/fleet\""]);
    server.start_again();
    pages.get("/fleet").status(200).has(&["rack7-01"]);
    pages.end(0);
}

#[test]
fn file_has_no_fleet() {
    let scratch = Scratch::new();
    let pages = Server::start(&scratch, &[]);
    pages.get("/fleet").status(404).has(&["A fleet needs a store on a server"]);
    assert!(!pages.get("/models").body.contains("href=\"/fleet\""));
    pages.end(0);
}
