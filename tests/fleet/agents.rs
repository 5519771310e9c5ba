//! `fleet agent`: jobs done once, whatever ends the agent, its jobs, or the server.

use super::Fleet;
use crate::support::json::{array, text};
use crate::support::{Ended, Running, must_have, wait_for};
use drivescope_store::{Store, StoreLocation};
use rustix::process::{Pid, Signal};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Milliseconds, in virtual time.
pub(super) const SHORT: &str = "name = \"short\"\ntests = [\"transfer\"]\nrounds = 3\nsize = \"64MiB\"\n\
    [transfer]\ncells = [\"rnd4k_q1t1.read\"]\ntime = \"50ms\"\n";
/// Half a minute, in a directory.
const LONG: &str = "name = \"long\"\ntests = [\"transfer\"]\nrounds = 3\nsize = \"64MiB\"\n\
    [transfer]\ncells = [\"rnd4k_q1t1.read\"]\ntime = \"10s\"\n";
/// Some seconds, in a directory.
const SOME: &str = "name = \"some\"\ntests = [\"transfer\"]\nrounds = 3\nsize = \"64MiB\"\n\
    [transfer]\ncells = [\"rnd4k_q1t1.read\"]\ntime = \"1s\"\n";

/// Directories of these tests lie on one drive, which one agent at a time measures: others give their jobs back.
static DRIVE_OF_DIRECTORIES: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    DRIVE_OF_DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet {
    fn suite(&self, name: &str, text: &str) -> String {
        self.scratch.file(&format!("{name}.toml"), text)
    }

    pub(super) fn agent(&self, name: &str, more: &[&str]) -> crate::support::Call {
        let state = self.scratch.text(&format!("state-{name}"));
        let own = ["agent", "--name", name, "--state", &state, "--poll", "0.3"];
        self.call(&[&own[..], more].concat())
    }

    /// An agent that offers a directory of its own.
    fn with_directory(&self, name: &str) -> Running {
        let folder = self.scratch.path(&format!("data-{name}"));
        fs::create_dir_all(&folder).expect("it is the test's own");
        self.agent(
            name,
            &["--drive", "sim:wd40efrx", "--dir", folder.to_str().expect("it is the test's own")],
        )
        .start()
    }

    pub(super) fn submitted(&self, name: &str, suite: &str, more: &[&str]) {
        self.submission(name, suite, more).code(0);
    }

    pub(super) fn submission(&self, name: &str, suite: &str, more: &[&str]) -> Ended {
        let plan = self.suite(name, suite);
        self.fleet(&[&["submit", &plan, "--key", name], more].concat())
    }

    /// States of the jobs of a submission.
    pub(super) fn states(&self, key: &str) -> String {
        self.sql(&format!(
            "SELECT string_agg(state, ' ' ORDER BY id) FROM fleet_jobs WHERE submission = '{key}'"
        ))
    }

    pub(super) fn wait_for_states(&self, key: &str, expected: &str) {
        wait_for(expected, || (self.states(key) == expected).then_some(()));
    }

    /// Runs on the server, each with its job.
    pub(super) fn runs(&self) -> Vec<(String, i64)> {
        let store = Store::open_existing(
            &StoreLocation::parse(Some(&self.address)).expect("it is the test's own"),
        )
        .expect("it is the test's own");
        let listed = store.list(&Default::default()).expect("it is the test's own");
        let job = |id: &String| {
            store.get(id).expect("it is the test's own").job.expect("an agent made it").id
        };
        listed.iter().map(|run| (run.id.clone(), job(&run.id))).collect()
    }

    /// Processes that measure for the agent of this name.
    pub(super) fn programs(&self, name: &str) -> Vec<Pid> {
        let state = self.scratch.text(&format!("state-{name}"));
        let all = fs::read_dir("/proc").expect("it is the test's own").flatten();
        let jobs: Vec<(Pid, Option<Pid>)> = all
            .filter_map(|entry| {
                let words = fs::read(entry.path().join("cmdline")).ok()?;
                let words = String::from_utf8_lossy(&words).into_owned();
                let is_job = words.contains("\0--job\0") && words.contains(&state);
                let id = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
                is_job.then(|| (id, parent_of(id)))
            })
            .collect();
        // A child of one has its command line until it starts another program.
        let is_child = |parent: Option<Pid>| jobs.iter().any(|(id, _)| Some(*id) == parent);
        jobs.iter().filter(|(_, parent)| !is_child(*parent)).map(|(id, _)| *id).collect()
    }
}

fn parent_of(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name before it may have blanks.
    Pid::from_raw(stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()?)
}

pub(super) fn announced(fleet: &Fleet, count: &str) {
    wait_for("agents are announced", || {
        (fleet.sql("SELECT COUNT(DISTINCT host_id) FROM fleet_drives") == count).then_some(())
    });
}

#[test]
fn agent_does_what_is_there_and_ends() {
    let Some(fleet) = Fleet::new() else { return };
    let drives = ["--once", "--drive", "sim:wd40efrx?seed=1", "--drive", "sim:pm871b-128?seed=2"];
    fleet.agent("one", &drives).end().code(0);
    fleet.submitted("short", SHORT, &[]);
    fleet.agent("one", &drives).end().code(0);
    assert_eq!(fleet.states("short"), "done done");
    let runs = fleet.runs();
    assert_eq!(runs.len(), 2);
    let status = fleet.fleet(&["status", "short", "--json"]).code(0).json();
    for job in array(&status["jobs"]) {
        let run = (text(&job["run_id"]).to_string(), job["id"].as_i64().unwrap());
        assert!(runs.contains(&run), "{run:?} {runs:?}");
    }
    // A job that cannot be done there.
    let unfit = SHORT.replace("64MiB", "900GiB").replace("short", "unfit");
    let plan = fleet.suite("unfit", &unfit);
    fleet.fleet(&["submit", &plan, "--key", "unfit", "--select", "model=~\"SAMSUNG.*\""]).code(0);
    fleet.sql("UPDATE fleet_submissions SET plan = REPLACE(plan, 'transfer', 'transfar') WHERE key = 'unfit'");
    fleet.agent("one", &drives).end().code(1);
    assert_eq!(fleet.states("unfit"), "refused");
    let shown = fleet.fleet(&["status", "unfit"]).code(1).stdout;
    must_have(&shown, &["1 refused", "transfar"]);
}

#[test]
fn ceiling_and_serial_hold_whatever_the_database_says() {
    let Some(fleet) = Fleet::new() else { return };
    let drives = ["--once", "--drive", "sim:wd40efrx"];
    fleet.agent("one", &drives).end().code(0);
    let above = |key: &str, level: &str| {
        fleet.submitted(key, SHORT, &[]);
        fleet.sql(&format!(
            "UPDATE fleet_submissions SET plan = REPLACE(plan, '\"level\":\"read\"', '\"level\":\"{level}\"')
             WHERE key = '{key}'"
        ));
    };
    above("above", "destroy");
    let said = fleet.agent("one", &drives).end().code(1).stderr;
    must_have(&said, &["job 1 refused", "level destroy", "accepts own-files at most"]);
    above("serial", "restore");
    let raised = [&drives[..], &["--ceiling", "destroy"]].concat();
    let said = fleet.agent("one", &raised).end().code(1).stderr;
    must_have(&said, &["job 2 refused", "needs the serial number"]);
    above("newer", "read");
    fleet.sql("UPDATE fleet_submissions SET plan = REPLACE(plan, '\"format\":1', '\"format\":9') WHERE key = 'newer'");
    let said = fleet.agent("one", &drives).end().code(1).stderr;
    must_have(&said, &["job 3 refused", "needs a newer drivescope"]);
    assert!(fleet.runs().is_empty());
}

#[test]
fn jobs_outlive_a_killed_agent_and_are_reported_by_the_next() {
    let Some(fleet) = Fleet::new() else { return };
    let _alone = alone();
    let agent = fleet.with_directory("one");
    announced(&fleet, "1");
    fleet.submitted("some", SOME, &["--write", "own-files"]);
    wait_for("the job runs", || (!fleet.programs("one").is_empty()).then_some(()));
    agent.kill();
    let again = fleet.with_directory("one");
    wait_for("both jobs are done", || (!fleet.states("some").contains("ing")).then_some(()));
    assert_eq!(fleet.states("some"), "done done");
    assert_eq!(fleet.runs().len(), 2);
    assert_eq!(fleet.sql("SELECT MAX(attempt) FROM fleet_jobs"), "1");
    again.interrupt().code(130);
}

#[test]
fn job_that_is_killed_each_time_is_given_up_after_three_attempts() {
    let Some(fleet) = Fleet::new() else { return };
    let _alone = alone();
    let agent = fleet.with_directory("one");
    announced(&fleet, "1");
    fleet.submitted("long", LONG, &["--write", "own-files", "--select", "not name=~\"sim:.*\""]);
    for _ in 0..3 {
        let program = wait_for("a program", || fleet.programs("one").pop());
        rustix::process::kill_process(program, Signal::KILL).unwrap();
        wait_for("its end", || (!fleet.programs("one").contains(&program)).then_some(()));
    }
    fleet.wait_for_states("long", "failed");
    assert_eq!(fleet.sql("SELECT attempt FROM fleet_jobs"), "3");
    must_have(&fleet.sql("SELECT message FROM fleet_jobs"), &["ended 3 times without a result"]);
    agent.interrupt().code(130);
}

#[test]
fn cancelled_job_ends_and_an_ended_agent_gives_its_job_back() {
    let Some(fleet) = Fleet::new() else { return };
    let _alone = alone();
    let agent = fleet.with_directory("one");
    announced(&fleet, "1");
    let options = ["--write", "own-files", "--select", "not name=~\"sim:.*\""];
    fleet.submitted("long", LONG, &options);
    wait_for("a program", || fleet.programs("one").pop());
    fleet.fleet(&["cancel", "long"]).code(0);
    fleet.wait_for_states("long", "cancelled");
    fleet.submitted("other", &LONG.replace("long", "other"), &options);
    wait_for("a program", || fleet.programs("one").pop());
    agent.interrupt().code(130);
    assert_eq!(fleet.states("other"), "waiting");
    assert!(fleet.runs().is_empty());
}

/// As if the answer to a beat had been lost after the server had given out the job.
#[test]
fn job_whose_taking_was_not_heard_of_is_done_soon() {
    let Some(fleet) = Fleet::new() else { return };
    let agent = fleet.agent("one", &["--drive", "sim:wd40efrx"]).start();
    announced(&fleet, "1");
    fleet.submitted("short", SHORT, &[]);
    fleet.wait_for_states("short", "done");
    fleet.sql(
        "INSERT INTO fleet_submissions (key, plan, selector)
             SELECT 'unheard', plan, selector FROM fleet_submissions;
         INSERT INTO fleet_jobs (submission, host_id, drive, name, agent_login, state, attempt)
             SELECT 'unheard', host_id, drive, name, agent_login, 'running', 1 FROM fleet_jobs",
    );
    fleet.wait_for_states("unheard", "done");
    assert_eq!(fleet.sql("SELECT MAX(attempt) FROM fleet_jobs"), "2");
    agent.interrupt().code(130);
}

#[test]
fn server_that_is_away_or_was_restored_loses_no_run() {
    let Some(mut fleet) = Fleet::new() else { return };
    let _alone = alone();
    let agent = fleet.with_directory("one");
    announced(&fleet, "1");
    fleet.submitted("some", SOME, &["--write", "own-files"]);
    wait_for("the job runs", || (!fleet.programs("one").is_empty()).then_some(()));
    fleet.server.stop();
    wait_for("the job ends", || fleet.programs("one").is_empty().then_some(()));
    fleet.server.start_again();
    fleet.wait_for_states("some", "done done");
    let runs = fleet.runs();
    assert_eq!(runs.len(), 2);
    agent.interrupt().code(130);
    // As of a backup from before the jobs.
    fleet.sql("DELETE FROM runs");
    fleet.sql("UPDATE fleet_jobs SET state = 'waiting', attempt = 0, run_id = NULL");
    let again = fleet.with_directory("one");
    fleet.wait_for_states("some", "done done");
    let named = fleet.sql("SELECT string_agg(run_id, ' ' ORDER BY id) FROM fleet_jobs");
    let before: Vec<&str> = runs.iter().rev().map(|(run, _)| run.as_str()).collect();
    assert_eq!(named, before.join(" "), "nothing is measured twice");
    again.interrupt().code(130);
}

#[test]
fn all_start_at_one_instant() {
    let Some(fleet) = Fleet::new() else { return };
    let agents: Vec<Running> = ["one", "two", "three"]
        .map(|name| fleet.agent(name, &["--drive", "sim:wd40efrx"]).start())
        .into();
    announced(&fleet, "3");
    fleet.submitted("joint", SHORT, &["--together"]);
    fleet.wait_for_states("joint", "done done done");
    let status = fleet.fleet(&["status", "joint", "--json"]).code(0).json();
    let go_at = status["submission"]["go_at_unix_us"].as_i64().unwrap();
    for job in array(&status["jobs"]) {
        // A busy machine may be late by any time, and none begins before.
        assert!(job["skew_ms"].as_f64().unwrap() >= 0.0, "{job}");
    }
    let store = Store::open_existing(&StoreLocation::parse(Some(&fleet.address)).unwrap()).unwrap();
    for (run, _) in fleet.runs() {
        let barrier = store.get(&run).unwrap().job.unwrap().barrier.unwrap();
        assert_eq!(barrier.go_at_unix_us, go_at);
    }
    agents.into_iter().for_each(|agent| drop(agent.interrupt().code(130)));
}

#[test]
fn copied_machine_is_told_apart_from_a_restarted_one() {
    let Some(fleet) = Fleet::new() else { return };
    let drives = ["--once", "--drive", "sim:wd40efrx"];
    fleet.agent("one", &drives).end().code(0);
    // Another start of the machine, which was seen just now: gone after some polls.
    fleet.sql("UPDATE fleet_hosts SET boot = 'before', last_seen = now() - INTERVAL '14 s'");
    fleet.agent("one", &drives).end().code(0);
    // A copy that goes on polling.
    fleet.sql("UPDATE fleet_hosts SET boot = 'other', incarnation = 'other', name = 'twin', last_seen = now()");
    let mut agent = fleet.agent("one", &["--drive", "sim:wd40efrx"]).start();
    while agent.is_alive() {
        fleet.sql("UPDATE fleet_hosts SET last_seen = now() WHERE name = 'twin'");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let said = agent.end().code(2).stderr;
    must_have(&said, &["now named twin", "one is a copy of the other"]);
}

#[test]
fn two_agents_on_a_machine_measure_a_drive_one_after_the_other() {
    let Some(fleet) = Fleet::new() else { return };
    let _alone = alone();
    let folder = fleet.scratch.path("data");
    fs::create_dir_all(&folder).unwrap();
    let options = ["--drive", "sim:wd40efrx", "--dir", folder.to_str().unwrap()];
    let agents = ["one", "two"].map(|name| fleet.agent(name, &options).start());
    announced(&fleet, "2");
    fleet.submitted("some", SOME, &["--write", "own-files", "--select", "not name=~\"sim:.*\""]);
    let programs = || ["one", "two"].map(|name| fleet.programs(name)).concat();
    wait_for("both are done", || {
        // One may end, and the other begin, during a look.
        let (first, second) = (programs(), programs());
        let both = first.iter().filter(|program| second.contains(program));
        assert!(both.count() <= 1, "{first:?}, then {second:?}");
        (fleet.states("some") == "done done").then_some(())
    });
    agents.into_iter().for_each(|agent| drop(agent.interrupt().code(130)));
}
