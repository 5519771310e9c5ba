//! What an agent meets: its folder in use, runs that the server refuses, a host with another name or folder.

use super::Fleet;
use super::agents::{SHORT, announced};
use crate::support::json::{array, text};
use crate::support::must_have;
use drivescope_store::{Store, StoreLocation};

const DRIVE: &[&str] = &["--drive", "sim:wd40efrx"];
const ONCE: &[&str] = &["--once", "--drive", "sim:wd40efrx"];

#[test]
fn state_folder_is_of_one_agent_and_must_be_usable() {
    let Some(fleet) = Fleet::new() else { return };
    let first = fleet.agent("one", DRIVE).start();
    announced(&fleet, "1");
    let message = fleet.agent("one", ONCE).end().refused_with(2, &["another agent uses "]);
    must_have(&message, &["state-one", "another folder with --state"]);
    first.interrupt().code(130);
    fleet.agent("one", ONCE).end().code(0);

    let file = fleet.scratch.file("plain", "");
    for state in [file.clone(), format!("{file}/below"), "/proc/absent/state".to_string()] {
        let call = fleet.call(&[&["agent", "--state", &state], ONCE].concat()).end();
        let message = call.refused_with(2, &["the agent cannot keep its state", "with --state"]);
        assert!(!message.contains("drivescope list"), "{message}");
    }
    let name = "x".repeat(10_000);
    let call = fleet.call(&[&["agent", "--name", &name], ONCE].concat()).end().code(2);
    must_have(&call.stderr, &["1 to 253 letters"]);
}

#[test]
fn run_that_the_server_refuses_is_named_once_and_holds_up_no_other() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.sql("ALTER TABLE runs ADD CONSTRAINT small CHECK (LENGTH(document) < 100)");
    let agent = fleet.agent("one", DRIVE).start();
    announced(&fleet, "1");
    fleet.submitted("short", SHORT, &[]);
    fleet.wait_for_states("short", "done");
    fleet.sql("ALTER TABLE runs DROP CONSTRAINT small");
    fleet.submitted("next", SHORT, &[]);
    fleet.wait_for_states("next", "done");
    assert_eq!(fleet.runs().len(), 1);
    let said = agent.interrupt().code(130).stderr;
    assert_eq!(said.matches("is not sent, and stays here").count(), 1, "{said}");
    must_have(&said, &["does not take it", "\"small\"", "drivescope runs rm"]);
    // The next agent offers it again.
    fleet.agent("one", ONCE).end().code(0);
    let runs = fleet.runs();
    assert_eq!(runs.len(), 2);

    // Another run came to be there under its id, and it is to be sent once more.
    let id = &runs[0].0;
    fleet.sql(&format!(
        "UPDATE runs SET document = REPLACE(document, 'wd40efrx', 'wd20ears') WHERE id = '{id}'"
    ));
    let local = StoreLocation::of_file(fleet.scratch.path("state-one").join("runs.db"));
    let server = StoreLocation::parse(Some(&fleet.address)).unwrap();
    let run = Store::open(&local).unwrap().get(id).unwrap();
    Store::open(&local).unwrap().in_place_of(server).save(&run).unwrap();
    let said = fleet.agent("one", ONCE).end().code(1).stderr;
    let line = format!("run {id} is not sent, and stays here: another document is there");
    must_have(&said, &[&line, &format!("drivescope show {id} --store ")]);
}

#[test]
fn renamed_host_stays_itself_and_one_installed_anew_has_a_predecessor() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.agent("one", ONCE).end().code(0);
    let state = fleet.scratch.text("state-one");
    let renamed = ["agent", "--name", "two", "--state", &state, "--poll", "0.3"];
    fleet.fleet(&[&renamed, ONCE].concat()).code(0);
    let hosts = fleet.fleet(&["hosts", "--json"]).code(0).json();
    assert_eq!((array(&hosts).len(), text(&hosts[0]["agent"]["name"])), (1, "two"));
    let id = text(&hosts[0]["agent"]["id"]).to_string();

    fleet.submitted("short", SHORT, &[]);
    fleet.sql("UPDATE fleet_hosts SET last_seen = now() - INTERVAL '12 min'");
    // With an empty folder.
    let anew = fleet.agent("two", DRIVE).start();
    announced(&fleet, "2");
    let shown = fleet.fleet(&["hosts"]).code(0).stdout;
    let forget = format!("fleet hosts --forget {} removes", &id[..8]);
    must_have(&shown, &["two: ", "is lost, and", &forget, "(1 waiting)"]);
    fleet.fleet(&["status", "short"]).code(0).shows(&["waiting", "host two not seen for 12 min"]);
    fleet.fleet(&["hosts", "--forget", &id[..8]]).code(0);
    let shown = fleet.fleet(&["hosts"]).code(0).stdout;
    assert!(!shown.contains("lost"), "{shown}");
    anew.interrupt().code(130);
}
