//! Agents, jobs, a server and a pooler that are killed at random: the result of each job arrives once, and no job is
//! lost. `DRIVESCOPE_FLEET_AGENTS`, `_JOBS` and `_SECONDS` make it larger; `_SEED` chooses other victims.

use super::Fleet;
use super::agents::announced;
use super::deciding::LONG_WRITES;
use crate::support::pooler::Pooler;
use crate::support::postgres_server::OWNER;
use crate::support::{Running, wait_for};
use drivescope_fleet::agent::JobRecord;
use drivescope_model::document::{Run, TestStatus};
use drivescope_store::{Store, StoreLocation};
use rustix::process::{Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// About a second, in virtual time.
const READS: &str = "name = \"reads\"\ntests = [\"transfer\"]\nrounds = 3\nsize = \"64MiB\"\n\
    [transfer]\ncells = [\"seq1m_q8t1.read\", \"rnd4k_q1t1.read\", \"rnd4k_q32t1.read\"]\ntime = \"500ms\"\n";
const WRITES: &str = "name = \"writes\"\ntests = [\"surface\"]\nsize = \"64MiB\"\n\
    [surface]\nsamples = 12\nsample = \"1MiB\"\naccesses = 50\n";
/// Submission of the hosts that are lost while they write; they have no agent a second time.
const DARK: &str = "dark";
/// Of each agent.
const DRIVES: &[&str] = &["sim:wd40efrx?seed=1", "sim:pm871b-128?seed=2"];
const SERIALS: &[&str] = &["--serial", "SIM-WD40EFRX", "--serial", "SIM-PM871B-128"];
/// Connections of the pooler to the server.
const POOLED: u32 = 8;
/// Fsync is what the promise rests on; the last setting of a name holds.
const SETTINGS: &[&str] = &["fsync=on", "max_connections=60"];
/// Between two blows.
const PAUSE: Duration = Duration::from_millis(200);
/// The server lives this long, and longer for each agent: they all come back to it, so that work is done.
const SERVER_LIVES: Duration = Duration::from_secs(4);
const SERVER_LIVES_PER_AGENT: Duration = Duration::from_millis(20);

fn number(variable: &str, otherwise: u64) -> u64 {
    let name = format!("DRIVESCOPE_FLEET_{variable}");
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// An agent by its number; `None` while it is dead.
struct Victim {
    running: Option<Running>,
    stopped: bool,
    due: Instant,
}

#[derive(Debug, Default)]
struct Blows {
    agents_killed: u32,
    agents_stopped: u32,
    programs_killed: u32,
    servers_crashed: u32,
    poolers_killed: u32,
}

struct Chaos {
    fleet: Fleet,
    pooler: Option<Pooler>,
    _folder: tempfile::TempDir,
    victims: Vec<Victim>,
    random: u64,
    server_up: Instant,
    blows: Blows,
}

/// A job as the server has it.
struct Job {
    id: i64,
    state: String,
    run_id: String,
    submission: String,
    message: String,
}

impl Chaos {
    fn new() -> Option<Self> {
        let mut fleet = Fleet::on_server(SETTINGS)?;
        let folder = tempfile::tempdir().expect("it is the test's own");
        let pooler = Pooler::start(&fleet.server, folder.path(), POOLED);
        if let Some(pooler) = &pooler {
            fleet.address = pooler.address(&fleet.server, OWNER, &fleet.database);
        }
        let random = number("SEED", 1).wrapping_mul(0x9e37_79b9_7f4b_7c15) | 1;
        let (server_up, blows) = (Instant::now(), Blows::default());
        let victims = Vec::new();
        let mut chaos = Self { fleet, pooler, _folder: folder, victims, random, server_up, blows };
        for number in 0..number("AGENTS", 8) {
            let running = Some(chaos.agent(&format!("a{number}")));
            chaos.victims.push(Victim { running, stopped: false, due: Instant::now() });
        }
        Some(chaos)
    }

    fn agent(&self, name: &str) -> Running {
        let drives = DRIVES.iter().flat_map(|drive| ["--drive", *drive]);
        let more = ["--ceiling", "same-bytes", "--parallel", "2"];
        self.fleet.agent(name, &more.into_iter().chain(drives).collect::<Vec<_>>()).start()
    }

    /// Below `end`.
    fn chance(&mut self, end: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % end
    }

    fn soon(&mut self) -> Instant {
        Instant::now() + Duration::from_millis(100 + self.chance(2_000) as u64)
    }

    /// Hosts that lose power while they write, and never come back. Each of their jobs has begun.
    fn go_dark(&self, hosts: &[String], others: usize) {
        let agents: Vec<Running> = hosts.iter().map(|host| self.agent(host)).collect();
        announced(&self.fleet, &(others + hosts.len()).to_string());
        let options =
            [&["--select", "host=~\"dark.*\"", "--write", "same-bytes"], SERIALS].concat();
        self.fleet.submitted(DARK, LONG_WRITES, &options);
        for host in hosts {
            wait_for("its jobs", || {
                (self.fleet.programs(host).len() == DRIVES.len()).then_some(())
            });
        }
        for (host, agent) in hosts.iter().zip(agents) {
            agent.kill();
            for program in self.fleet.programs(host) {
                kill_process(program, Signal::KILL).expect("its jobs are long");
            }
        }
    }

    /// Their jobs are open for ever, and shown as unknown; nothing was begun a second time.
    fn check_dark(&self, hosts: &[String]) {
        let open = "SELECT COUNT(*) FROM fleet_jobs WHERE submission = 'dark' AND state = 'running' \
                    AND attempt = 1";
        let count = hosts.len() * DRIVES.len();
        assert_eq!(self.fleet.sql(open), count.to_string());
        // Time passes.
        self.fleet.sql(
            "UPDATE fleet_jobs SET lease_until = now() - INTERVAL '9 min' WHERE submission = 'dark'",
        );
        let shown = self.fleet.fleet(&["status", DARK]).code(1).stdout;
        assert!(shown.contains(&format!("{count} jobs: {count} unknown")), "{shown}");
        assert_eq!(shown.matches("running, but host dark").count(), count, "{shown}");
    }

    /// Submits the jobs of this number, of which one in three writes; with the same key again where the server is away.
    fn submit(&self, number: u32) {
        let select = ["--select", "host=~\"a.*\""];
        let (suite, options) = if number % 3 == 1 {
            (WRITES, [&select[..], &["--write", "same-bytes"], SERIALS].concat())
        } else {
            (READS, select.to_vec())
        };
        wait_for("a submission", || {
            let ended = self.fleet.submission(&format!("s{number}"), suite, &options);
            (ended.exit_code() != Some(4)).then(|| ended.code(0))
        });
    }

    /// Wakes and starts again what is due; an agent that ended by itself fails the test.
    fn heal(&mut self, all: bool) {
        for at in 0..self.victims.len() {
            let name = format!("a{at}");
            let victim = &mut self.victims[at];
            if victim.due > Instant::now() && !all {
                continue;
            }
            match &victim.running {
                None => self.victims[at].running = Some(self.agent(&name)),
                Some(running) if victim.stopped => {
                    running.signal(Signal::CONT);
                    victim.stopped = false;
                }
                Some(_) => {}
            }
            let running = self.victims[at].running.take().expect("it is the test's own");
            self.victims[at].running = Some(running.must_be_alive());
        }
    }

    fn blow(&mut self) {
        let at = self.chance(self.victims.len());
        let server_lives = SERVER_LIVES + SERVER_LIVES_PER_AGENT * self.victims.len() as u32;
        match self.chance(20) {
            0..7 => {
                if let Some(running) = self.victims[at].running.take() {
                    running.kill();
                    (self.victims[at].stopped, self.victims[at].due) = (false, self.soon());
                    self.blows.agents_killed += 1;
                }
            }
            7..11 => {
                let due = self.soon();
                let victim = &mut self.victims[at];
                if let Some(running) = victim.running.as_ref().filter(|_| !victim.stopped) {
                    running.signal(Signal::STOP);
                    (victim.stopped, victim.due) = (true, due);
                    self.blows.agents_stopped += 1;
                }
            }
            11..16 => {
                if let Some(program) = self.fleet.programs(&format!("a{at}")).first() {
                    // It may just have ended.
                    let _ = kill_process(*program, Signal::KILL);
                    self.blows.programs_killed += 1;
                }
            }
            16..18 if self.server_up.elapsed() > server_lives => {
                self.fleet.server.crash();
                std::thread::sleep(Duration::from_millis(self.chance(1_000) as u64));
                self.fleet.server.start_again();
                self.server_up = Instant::now();
                self.blows.servers_crashed += 1;
            }
            _ => {
                if let Some(pooler) = &mut self.pooler {
                    pooler.restart();
                    self.blows.poolers_killed += 1;
                }
            }
        }
    }

    fn rage(&mut self) {
        let (length, wanted) = (Duration::from_secs(number("SECONDS", 25)), number("JOBS", 60));
        // As many blows for each agent, however many there are.
        let blows = self.victims.len().div_ceil(40);
        let (begin, mut submissions, mut submitted) = (Instant::now(), 0, 0);
        while begin.elapsed() < length {
            // The last ones come while there is time for them.
            let is_due = begin.elapsed().as_secs_f64() / length.as_secs_f64()
                >= submitted as f64 / wanted as f64;
            if submitted < wanted && is_due {
                self.submit(submissions);
                submissions += 1;
                submitted = self.submitted();
            }
            for _ in 0..blows {
                self.blow();
            }
            self.heal(false);
            std::thread::sleep(PAUSE);
        }
        self.heal(true);
    }

    /// Jobs on the server: a submission has fewer than all drives where hosts are lost at that moment.
    fn submitted(&self) -> u64 {
        let count = "SELECT COUNT(*) FROM fleet_jobs WHERE submission <> 'dark'";
        self.fleet.sql(count).parse().expect("it is a number")
    }

    fn jobs(&self) -> Vec<Job> {
        let rows = self.fleet.sql(
            "SELECT id, state, COALESCE(run_id, ''), submission, COALESCE(LEFT(message, 200), '')
             FROM fleet_jobs ORDER BY id",
        );
        let job = |row: &str| {
            let mut words = row.splitn(5, '|');
            let mut word = || words.next().expect("it is the test's own").to_string();
            let id = word().parse().expect("it is the test's own");
            Job { id, state: word(), run_id: word(), submission: word(), message: word() }
        };
        rows.lines().map(job).collect()
    }

    fn wait_for_ends(&self) {
        let open = "SELECT COUNT(*) FROM fleet_jobs \
                    WHERE state IN ('waiting', 'running') AND submission <> 'dark'";
        wait_for("all jobs end", || {
            std::thread::sleep(PAUSE);
            (self.fleet.sql(open) == "0").then_some(())
        });
    }

    /// All at once: hundreds that poll would slow what follows.
    fn end_agents(&mut self) {
        let running = self.victims.iter_mut().map(|victim| victim.running.take());
        let agents: Vec<Running> = running.map(|it| it.expect("it was healed")).collect();
        agents.iter().for_each(|agent| agent.signal(Signal::INT));
        agents.into_iter().for_each(|agent| drop(agent.end().code(130)));
    }

    /// Records that the agents keep of their jobs.
    fn records(&self) -> BTreeMap<i64, JobRecord> {
        let folders = (0..self.victims.len()).map(|at| {
            let state = self.fleet.scratch.path(&format!("state-a{at}"));
            fs::read_dir(state.join("jobs")).expect("it is the test's own").flatten()
        });
        let files =
            folders.flatten().filter(|it| it.path().extension().is_some_and(|it| it == "json"));
        let record = |file: fs::DirEntry| -> JobRecord {
            serde_json::from_str(&fs::read_to_string(file.path()).expect("it is the test's own"))
                .expect("it is the test's own")
        };
        files.map(record).map(|record| (record.id, record)).collect()
    }

    /// How often a job left a run in the local stores, whole or not.
    fn begun(&self) -> BTreeMap<i64, u32> {
        let mut begun = BTreeMap::new();
        for at in 0..self.victims.len() {
            let file = self.fleet.scratch.path(&format!("state-a{at}")).join("runs.db");
            for run in all_runs(&StoreLocation::of_file(file)) {
                *begun.entry(run.job.expect("an agent made it").id).or_default() += 1;
            }
        }
        begun
    }
}

fn all_runs(location: &StoreLocation) -> Vec<Run> {
    let store = Store::open_existing(location).expect("it is the test's own");
    let listed = store.list(&Default::default()).expect("it is the test's own");
    listed.iter().map(|run| store.get(&run.id).expect("it is the test's own")).collect()
}

fn is_write(job: &Job) -> bool {
    job.submission == DARK
        || job.submission.trim_start_matches('s').parse::<u64>().expect("it is the test's own") % 3
            == 1
}

/// What the runs of the server say of its jobs.
fn check_runs(jobs: &[Job], runs: Vec<Run>) {
    let whole = runs.iter().filter(|run| run.status != TestStatus::Interrupted);
    let mut of_jobs: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    for run in whole {
        let job = run.job.as_ref().unwrap_or_else(|| panic!("run {} is of no job", run.id));
        of_jobs.entry(job.id).or_default().push(&run.id);
    }
    for job in jobs {
        let found = of_jobs.remove(&job.id).unwrap_or_default();
        let expected = if job.state == "done" { vec![job.run_id.as_str()] } else { Vec::new() };
        assert_eq!(found, expected, "runs of job {}, {}: {}", job.id, job.state, job.message);
    }
    assert!(of_jobs.is_empty(), "runs of unknown jobs: {of_jobs:?}");
}

fn check_states(jobs: &[Job], records: &BTreeMap<i64, JobRecord>, begun: &BTreeMap<i64, u32>) {
    for job in jobs {
        if job.submission == DARK {
            assert!(!records.contains_key(&job.id), "another agent took job {}", job.id);
            continue;
        }
        let record = &records[&job.id];
        let what = format!("job {}, {}: {}; {record:?}", job.id, job.state, job.message);
        assert_eq!(record.writes_device, is_write(job), "{what}");
        if is_write(job) {
            assert!(matches!(job.state.as_str(), "done" | "unknown"), "{what}");
            assert_eq!(record.begun, 1, "{what}");
            assert!(begun.get(&job.id).is_none_or(|count| *count == 1), "{what}");
        } else {
            let is_given_up = job.state == "failed" && record.crashes == 3;
            assert!(job.state == "done" || is_given_up, "{what}");
        }
    }
}

#[test]
fn results_arrive_once_whatever_is_killed() {
    let Some(mut chaos) = Chaos::new() else { return };
    let named = |name: &str, count: usize| (0..count).map(|at| format!("{name}{at}")).collect();
    let gone: Vec<String> = named("gone", chaos.victims.len().div_ceil(50));
    let dark: Vec<String> = named(DARK, 2);
    let lost: Vec<Running> = gone.iter().map(|name| chaos.agent(name)).collect();
    let others = chaos.victims.len() + gone.len();
    announced(&chaos.fleet, &others.to_string());
    lost.into_iter().for_each(|agent| drop(agent.kill()));
    chaos.go_dark(&dark, others);
    chaos.rage();
    let raged = Instant::now();
    chaos.wait_for_ends();
    let jobs = chaos.jobs();
    let mut states: BTreeMap<(&str, bool), u32> = BTreeMap::new();
    jobs.iter().for_each(|job| *states.entry((&job.state, is_write(job))).or_default() += 1);
    println!("{:?}, then {:.0?}; jobs (state, writes): {states:?}", chaos.blows, raged.elapsed());
    wait_for("lost hosts are named", || {
        let hosts = chaos.fleet.fleet(&["hosts"]).code(0).stdout;
        let is_lost = |name: &String| {
            hosts.lines().any(|line| line.contains(name.as_str()) && line.contains("lost"))
        };
        gone.iter().chain(&dark).all(is_lost).then_some(())
    });
    chaos.check_dark(&dark);
    chaos.end_agents();
    check_runs(&jobs, all_runs(&StoreLocation::parse(Some(&chaos.fleet.address)).unwrap()));
    check_states(&jobs, &chaos.records(), &chaos.begun());
}
