//! Users with the rights of a role, or with fewer.

use super::Fleet;
use crate::support::must_have;

#[test]
fn missing_right_is_named_with_the_line_that_grants_it() {
    let Some(fleet) = Fleet::small() else { return };
    fleet.fleet(&["submit", "zcav", "--key", "known"]).code(0);
    for (user, role) in [("bob", "drivescope_reader"), ("sue", "drivescope_submitter")] {
        fleet.sql(&format!("CREATE ROLE {user} LOGIN IN ROLE {role}"));
    }
    let [bob, sue] = ["bob", "sue"].map(|user| fleet.server.address(user, &fleet.database));
    for reading in [&["status"][..], &["status", "known"], &["hosts"], &["drives"]] {
        fleet.call_at(&bob, reading).end().code(0);
    }
    for (writing, line) in [
        (&["submit", "quick"][..], "GRANT INSERT, UPDATE ON fleet_submissions TO \"bob\""),
        (&["cancel", "known"], "GRANT INSERT, UPDATE ON fleet_submissions TO \"bob\""),
    ] {
        fleet.call_at(&bob, writing).end().refused_with(2, &["no permission for", line]);
    }
    fleet
        .sql("UPDATE fleet_hosts SET last_seen = now() - INTERVAL '3 days' WHERE name = 'rack8-1'");
    let forget = ["hosts", "--forget", "rack8-1"];
    fleet.call_at(&bob, &forget).end().refused_with(2, &["DELETE ON fleet_hosts TO \"bob\""]);
    fleet.call_at(&bob, &["submit", "quick", "--dry-run"]).end().code(0);

    fleet.sql("UPDATE fleet_jobs SET state = 'unknown' WHERE submission = 'known'");
    let decide = ["decide", "known", "--failed"];
    let line = "GRANT INSERT, UPDATE ON fleet_jobs TO \"bob\"";
    fleet.call_at(&bob, &decide).end().refused_with(2, &["no permission for", line]);
    fleet.call_at(&sue, &decide).end().code(0).shows(&["gave up 5 jobs of known: rack7-1 sda"]);
    assert_eq!(fleet.sql("SELECT DISTINCT message FROM fleet_jobs"), "given up by sue");

    fleet.call_at(&sue, &["submit", "quick", "--key", "of-sue"]).end().code(0);
    fleet.call_at(&sue, &["cancel", "known"]).end().code(0);
    fleet.call_at(&sue, &forget).end().code(0).shows(&["forgot host rack8-1 ("]);
    fleet.fleet(&["status"]).code(1).shows(&["of-sue", "sue"]);

    fleet.sql("REVOKE SELECT ON fleet_drives FROM drivescope_reader");
    let line = "GRANT SELECT ON fleet_drives TO \"bob\"";
    fleet.call_at(&bob, &["drives"]).end().refused_with(2, &[line]);
}

#[test]
fn agent_that_may_not_do_its_work_ends_at_its_start() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.sql("CREATE ROLE h1 LOGIN IN ROLE drivescope_agent; CREATE ROLE h2 LOGIN IN ROLE drivescope_agent");
    let state = fleet.scratch.text("state");
    let own = ["agent", "--once", "--poll", "0.3", "--drive", "sim:wd40efrx", "--state", &state];
    let agent_of = |login| fleet.call_at(&fleet.server.address(login, &fleet.database), &own).end();
    for (right, line) in [
        ("INSERT ON runs", "GRANT INSERT ON runs TO \"h1\""),
        ("UPDATE ON fleet_hosts", "GRANT UPDATE ON fleet_hosts TO \"h1\""),
        ("SELECT ON fleet_jobs", "GRANT SELECT ON fleet_jobs TO \"h1\""),
    ] {
        fleet.sql(&format!("REVOKE {right} FROM drivescope_agent"));
        must_have(&agent_of("h1").code(2).stderr, &["no permission for", line]);
        fleet.sql(&format!("GRANT {right} TO drivescope_agent"));
    }
    agent_of("h1").code(0);
    agent_of("h2").refused_with(2, &["this host from another login than h2", "--forget ID"]);
    let database = &fleet.database;
    fleet.sql(&format!("ALTER DATABASE {database} SET default_transaction_read_only = on"));
    agent_of("h1").refused_with(2, &["takes no writes: it is a replica, or read-only"]);
}
