//! `fleet watch`.

use super::Fleet;
use crate::support::terminal::{CTRL_C, OnTerminal};
use crate::support::wait_for;

const ENDED: &str = "UPDATE fleet_jobs SET state = 'done', run_id = '7c1e', ended = now(), \
                     skew_ms = id WHERE host_id LIKE 'rack7%'";

#[test]
fn piped_watch_prints_a_line_for_each_change_and_ends_with_the_jobs() {
    let Some(fleet) = Fleet::small() else { return };
    let submit = ["submit", "zcav", "--key", "one", "--together", "--select", "name=sda"];
    fleet.fleet(&submit).code(0);
    let running = fleet.call(&["watch"]).start();
    let readers = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'drivescope'";
    // The other one is the test's.
    wait_for("its connection", || (fleet.sql(readers) == "2").then_some(()));
    fleet.sql(ENDED);
    fleet.sql(
        "UPDATE fleet_jobs SET state = 'running', lease_until = now() - INTERVAL '3 days' WHERE state = 'waiting'",
    );
    let ended = running.end().code(1);
    let expected = "rack7-1 sda: done, run 7c1e\nrack7-2 sda: done, run 7c1e\n\
                    rack8-1 sda: unknown: running, but its agent is overdue for 3 d\n\
                    one: 2 done, 1 unknown\n\
                    2 jobs started together: median 1.00 ms late, 99th percentile 2.00 ms, at most 2.00 ms\n";
    assert_eq!(ended.stdout, expected, "{ended}");
    fleet.sql("UPDATE fleet_jobs SET state = 'cancelled' WHERE state = 'running'");
    let json = fleet.fleet(&["watch", "one", "--json"]).code(0).documents();
    assert_eq!((json.len(), &json[2]["state"]), (3, &"cancelled".into()));
    fleet.fleet(&["watch", "two"]).refused_with(2, &["did you mean 'one'?"]);
}

#[test]
fn watch_on_a_terminal_redraws_and_ends_with_ctrl_c() {
    let Some(fleet) = Fleet::small() else { return };
    fleet.fleet(&["submit", "zcav", "--key", "one", "--select", "name=sda"]).code(0);
    fleet.sql(
        "UPDATE fleet_jobs SET state = 'running', phase = 'surface scan', done = 0.5, \
         lease_until = now() + INTERVAL '1 hour' WHERE host_id LIKE 'rack7-1%'",
    );
    let mut terminal = OnTerminal::start_with(fleet.call(&["watch", "one"]), 80);
    terminal.wait_for("50 % surface scan");
    terminal.press(CTRL_C);
    terminal.end().code(130);
    fleet.sql(ENDED);
    fleet.sql(
        "UPDATE fleet_jobs SET state = 'refused', message = 'not here' WHERE state = 'waiting'",
    );
    let terminal = OnTerminal::start_with(fleet.call(&["watch", "one"]), 80);
    terminal.wait_for("not here");
    terminal.end().code(1).shows(&["2 done, 1 refused"]);
}
