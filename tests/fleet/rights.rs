//! Users with the rights of a role, or with fewer.

use super::Fleet;

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

    fleet.call_at(&sue, &["submit", "quick", "--key", "of-sue"]).end().code(0);
    fleet.call_at(&sue, &["cancel", "known"]).end().code(0);
    fleet.call_at(&sue, &forget).end().code(0).shows(&["forgot host rack8-1 ("]);
    fleet.fleet(&["status"]).code(0).shows(&["of-sue", "sue"]);

    fleet.sql("REVOKE SELECT ON fleet_drives FROM drivescope_reader");
    let line = "GRANT SELECT ON fleet_drives TO \"bob\"";
    fleet.call_at(&bob, &["drives"]).end().refused_with(2, &[line]);
}
