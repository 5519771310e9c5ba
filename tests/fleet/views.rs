//! `fleet hosts`, `drives` and `status`: what is lost, missing, moved or hostile.

use super::{Fleet, HOSTILE, disk, facts};
use crate::support::json::{array, text};
use crate::support::must_have;

#[test]
fn hosts_show_what_is_lost_missing_and_copied() {
    let Some(mut fleet) = Fleet::small() else { return };
    fleet
        .sql("UPDATE fleet_hosts SET last_seen = now() - INTERVAL '12 min' WHERE name = 'rack7-2'");
    // Its SSD is pulled out.
    fleet.announce(&facts("rack7-1"), &[disk("WD-0")]);
    fleet.sql("UPDATE fleet_drives SET last_seen = now() - INTERVAL '3 days' WHERE is_there = 0");
    let mut clone = facts("rack8-2");
    clone.machine = facts("rack8-1").machine;
    fleet.announce(&clone, &[]);
    let said = fleet.fleet(&["hosts"]).code(0);
    said.shows(&[
        "lost 12 min",
        "rack7-1: drive sdb missing for 3 d",
        "rack8-1: rack8-2 (rack8-2-) has the same machine id",
        "rack8-2: rack8-1 (rack8-1-) has the same machine id",
    ]);
    let hosts = fleet.fleet(&["hosts", "--json"]).code(0).json();
    assert_eq!(hosts[0]["missing"][0][0], "sdb");

    let listed = fleet.fleet(&["drives"]).code(0).stdout;
    must_have(&listed, &["WDC WD40EFRX-68N32N0", "4.00 TB", "25 %", "missing 3 d"]);
    let missing = fleet.fleet(&["drives", "--select", "there=no", "--json"]).code(0).json();
    assert_eq!(array(&missing).len(), 1);
    assert_eq!(text(&missing[0]["drive"]["name"]), "sdb");
    fleet.fleet(&["drives", "--select", "fill>90%"]).code(0).shows(&["no drive matches"]);
    fleet.fleet(&["drives", "--select", "fil>1"]).refused_with(2, &["did you mean 'fill'?"]);
    // A drive that is moved is where it was seen last.
    fleet.announce(&facts("rack8-2"), &[disk("WD-0")]);
    let moved = fleet.fleet(&["drives", "--select", "serial=WD-0", "--json"]).code(0).json();
    assert_eq!((array(&moved).len(), text(&moved[0]["host"])), (1, "rack8-2"));

    let forget = |id: &str| fleet.fleet(&["hosts", "--forget", id]);
    forget("rack8-1").refused_with(2, &["was seen", "stop its agent first"]);
    forget("rack").refused_with(2, &["4 ids begin with 'rack'"]);
    forget("absent").refused_with(2, &["no host with id 'absent'"]);
    forget("rack7-2-0").code(0).shows(&["forgot host rack7-2 (rack7-2-0"]);
    assert!(!fleet.fleet(&["hosts"]).code(0).stdout.contains("rack7-2"));
}

#[test]
fn status_names_jobs_of_lost_hosts_and_fails_with_them() {
    let Some(fleet) = Fleet::small() else { return };
    fleet.fleet(&["submit", "zcav", "--key", "one", "--select", "name=sda"]).code(0);
    fleet.fleet(&["status"]).code(0).shows(&["one", "zcav", "3 waiting"]);
    fleet.sql(
        "UPDATE fleet_jobs SET state = 'running', phase = 'surface scan', done = 0.42, \
         lease_until = now() + INTERVAL '1 hour' WHERE host_id LIKE 'rack7-1%'",
    );
    fleet
        .sql("UPDATE fleet_jobs SET state = 'done', run_id = '7c1e' WHERE host_id LIKE 'rack8-1%'");
    let shown = fleet.fleet(&["status", "one"]).code(0);
    shown.shows(&["submission one", "1 waiting, 1 running, 1 done", "42 % surface scan", "7c1e"]);
    fleet
        .sql("UPDATE fleet_hosts SET last_seen = now() - INTERVAL '12 min' WHERE name = 'rack7-1'");
    fleet.sql(
        "UPDATE fleet_jobs SET lease_until = now() - INTERVAL '9 min' WHERE state = 'running'",
    );
    let shown = fleet.fleet(&["status", "one"]).code(1);
    shown.shows(&["unknown", "running, but host rack7-1 not seen for 12 min"]);
    fleet.fleet(&["status"]).code(1).shows(&["1 waiting, 1 done, 1 unknown"]);
    let listed = fleet.fleet(&["status", "--json"]).code(1).json();
    assert_eq!((&listed[0]["by_state"]["running"], &listed[0]["overdue"]), (&1.into(), &1.into()));
    let one = fleet.fleet(&["status", "one", "--json"]).code(1).json();
    assert_eq!(
        (array(&one["jobs"]).len(), &one["submission"]["selector"]),
        (3, &"name=sda".into())
    );
}

#[test]
fn hostile_text_in_any_field_is_shown_tame() {
    let Some(mut fleet) = Fleet::new() else { return };
    let mut agent = facts(HOSTILE);
    agent.version = HOSTILE.to_string();
    let mut drive = disk(HOSTILE);
    (drive.name, drive.model) = (HOSTILE.repeat(3), Some(HOSTILE.repeat(20)));
    (drive.firmware, drive.link) = (Some(HOSTILE.to_string()), Some("x".repeat(5_000)));
    fleet.announce(&agent, &[drive]);
    fleet.fleet(&["submit", "zcav", "--key", "k"]).code(0);
    let message = HOSTILE.repeat(20).replace('\'', "''");
    fleet.sql(&format!(
        "UPDATE fleet_jobs SET state = 'failed', message = '{message}', phase = '{message}'"
    ));
    fleet.sql(&format!("UPDATE fleet_submissions SET selector = '{message}'"));
    for (command, code) in [
        (&["hosts"][..], 0),
        (&["drives"], 0),
        (&["drives", "--json"], 0),
        (&["status"], 1),
        (&["status", "k"], 1),
        (&["status", "k", "--json"], 1),
        (&["watch", "k"], 1),
        (&["submit", "zcav", "--dry-run"], 0),
    ] {
        let said = fleet.fleet(command).code(code);
        let odd = |c: char| c.is_control() && c != '\n';
        assert!(!said.stdout.contains(odd) && !said.stderr.contains(odd), "{said}");
    }
    assert_eq!(fleet.sql("SELECT COUNT(*) FROM fleet_jobs"), "1");
}
