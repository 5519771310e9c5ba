//! `fleet decide`: unknown jobs run again or are given up, and the agent still has the last word.

use super::Fleet;
use super::agents::announced;
use crate::support::{must_have, wait_for};
use rustix::process::{Signal, kill_process};

/// Long enough to be killed meanwhile, although in virtual time.
pub(super) const LONG_WRITES: &str = "name = \"writes\"\ntests = [\"surface\"]\nsize = \"64MiB\"\n\
    [surface]\nsamples = 12\nsample = \"1MiB\"\naccesses = 1000000\n";

#[test]
fn unknown_jobs_are_decided_all_or_by_host_and_drive() {
    let Some(fleet) = Fleet::small() else { return };
    fleet.fleet(&["submit", "zcav", "--key", "one"]).code(0);
    let decide = |more: &[&str]| fleet.fleet(&[&["decide", "one"], more].concat());
    decide(&["--again"]).refused_with(2, &["no job of one is unknown", "fleet status one"]);
    fleet.sql("UPDATE fleet_jobs SET state = 'unknown', ended = now(), message = 'lost'");
    decide(&[]).code(2);
    fleet.fleet(&["decide", "on", "--again"]).refused_with(2, &["did you mean 'one'?"]);
    let advice = "drivescope fleet decide one --again";
    fleet.fleet(&["status", "one"]).code(1).shows(&["5 unknown", advice]);
    fleet.fleet(&["watch", "one"]).code(1).shows(&["one: 5 unknown", advice]);

    let one = decide(&["--failed", "--host", "rack7-1", "--drive", "sdb"]).code(0);
    assert_eq!(one.stdout, "gave up 1 job of one: rack7-1 sdb\n");
    let two = decide(&["--again", "--host", "rack7-2"]).code(0);
    two.shows(&["2 jobs of one to run again when the agent polls: rack7-2 sda, rack7-2 sdb"]);
    decide(&["--again", "--host", "rack9-1"]).refused_with(2, &["no unknown job of one is on"]);
    let decided = "SELECT string_agg(DISTINCT state || ' ' || (ended IS NULL) || ' ' || message, ', ') \
                   FROM fleet_jobs";
    let expected = "failed false given up by drivescope, unknown false lost, \
                    waiting true to run again, as decided by drivescope";
    assert_eq!(fleet.sql(decided), expected);

    fleet.sql("UPDATE fleet_submissions SET go_at = now()");
    decide(&["--again"]).refused_with(2, &["has one start for all jobs"]);
    fleet.sql("UPDATE fleet_submissions SET cancelled = now()");
    decide(&["--again"]).refused_with(2, &["is cancelled", "--failed"]);
    decide(&["--failed"]).code(0).shows(&["gave up 2 jobs"]);
    fleet.sql("UPDATE fleet_jobs SET state = 'running', lease_until = now() - INTERVAL '9 min'");
    decide(&["--failed"])
        .refused_with(2, &["5 unknown jobs of one are of lost agents", "--forget"]);
}

#[test]
fn decided_job_keeps_its_serial_and_obeys_the_ceiling() {
    let Some(fleet) = Fleet::new() else { return };
    let agent = |ceiling: &str| {
        fleet.agent("one", &["--drive", "sim:wd40efrx", "--ceiling", ceiling]).start()
    };
    let again = || {
        let said = fleet.fleet(&["decide", "writes", "--again"]).code(0).stdout;
        must_have(&said, &["1 job of writes to run again", "one sim:wd40efrx"]);
    };
    let first = agent("same-bytes");
    announced(&fleet, "1");
    fleet.submitted("writes", LONG_WRITES, &["--write", "same-bytes", "--serial", "SIM-WD40EFRX"]);
    let program = wait_for("a program", || fleet.programs("one").pop());
    kill_process(program, Signal::KILL).unwrap();
    fleet.wait_for_states("writes", "unknown");
    must_have(&fleet.sql("SELECT message FROM fleet_jobs"), &["drivescope fleet decide writes"]);
    first.interrupt().code(130);

    let careful = agent("own-files");
    again();
    fleet.wait_for_states("writes", "refused");
    must_have(&fleet.sql("SELECT message FROM fleet_jobs"), &["accepts own-files at most"]);
    careful.interrupt().code(130);

    // It is still undecided, and shorter.
    fleet.sql("UPDATE fleet_jobs SET state = 'unknown'");
    fleet.sql("UPDATE fleet_submissions SET plan = REPLACE(plan, '1000000', '50')");
    let last = agent("same-bytes");
    again();
    fleet.wait_for_states("writes", "done");
    assert_eq!(fleet.sql("SELECT serial || ' ' || attempt FROM fleet_jobs"), "SIM-WD40EFRX 3");
    assert_eq!(fleet.runs().len(), 1);
    last.interrupt().code(130);
}
