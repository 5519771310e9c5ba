//! `fleet demo`: a fleet of simulated machines on a server of its own, for half a minute. Nothing of it stays.

use super::agent::HostMachine;
use crate::arguments::{AgentArguments, DemoArguments, StoreArguments};
use crate::commands::serve::LocalWorkbench;
use crate::exit::{Code, Failure, no_thread};
use crate::output;
use crate::signals::RunSignals;
use drivescope_bench::io::clock;
use drivescope_drive::OwnFolder;
use drivescope_fleet::agent::{Agent, AgentError};
use drivescope_fleet::{FleetTables, submission};
use drivescope_model::fleet::{FleetJob, HostDrive, JobPlan, JobState, NewJob, PLAN_FORMAT};
use drivescope_model::options::DatabaseKind;
use drivescope_model::plan::WriteLevel;
use drivescope_report::{FDR, clean, fleet_keys, fleet_outliers, text};
use drivescope_sql::{Canceller, Database, DatabaseSettings, SqlError};
use drivescope_store::{Store, StoreLocation, init};
use drivescope_web::{Guard, Site};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

const ENDING: &str = "ending the demo";
const KEY: &str = "demo";
/// Two drives a machine. Of the drives, one in a hundred is slow, and at least one.
const DRIVES: u32 = 2;
const MODELS: [&str; 2] = ["wd40efrx", "samsung-870evo-1tb"];
/// Random and sequential reads for some milliseconds of virtual time.
const SUITE: &str = "name = \"demo\"\ntests = [\"transfer\"]\nrounds = 3\nsize = \"64MiB\"\n\n[transfer]\ncells = \
                     [\"rnd4k_q1t1.read\", \"seq1m_q8t1.read\"]\ntime = \"100ms\"\n";
const LOOK_EVERY: Duration = Duration::from_millis(100);
const POLL_S: f64 = 1.0;

pub fn demo(arguments: &DemoArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let begun = Instant::now();
    let temporary = std::env::temp_dir();
    signals.begin(ENDING);
    let mut folder = OwnFolder::create(&temporary, &format!("demo-{}", std::process::id()))?;
    let shown = in_folder(&mut folder, arguments, begun, signals);
    folder.end_programs()?;
    for tree in ["server", "agents"] {
        folder.remove_tree(tree)?;
    }
    folder.remove()?;
    shown?;
    Ok(if signals.was_signalled() { Code::Interrupted } else { Code::Ok })
}

fn in_folder(
    folder: &mut OwnFolder,
    arguments: &DemoArguments,
    begun: Instant,
    signals: &RunSignals,
) -> Result<(), Failure> {
    let (server, location) = server(folder)?;
    folder.create_tree("agents")?;
    let agents = folder.path().join("agents");
    let (stop, fault) = (&AtomicBool::new(false), &Mutex::new(None));
    let pages = serve(&location)?;
    let ended = thread::scope(|scope| {
        let threads: Vec<ScopedJoinHandle<'_, ()>> = (0..arguments.agents)
            .map(|number| {
                let machine = machine(number, arguments.agents, &agents, &location);
                let location = location.clone();
                scope.spawn(move || match machine {
                    Ok(machine) => run_agent(machine, location, stop),
                    Err(failure) => keep(fault, failure),
                })
            })
            .collect();
        let result = show(&location, arguments, begun, signals, fault);
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|it| it.join().expect("an agent does not panic"));
        result
    });
    pages.stop.store(true, Ordering::Relaxed);
    pages.thread.join().expect("pages do not panic");
    drop(server);
    ended
}

fn keep(fault: &Mutex<Option<Failure>>, failure: Failure) {
    fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
}

/// A server with a fleet's tables. It ends with the first value.
fn server(folder: &mut OwnFolder) -> Result<(Box<dyn Database>, StoreLocation), Failure> {
    let of_server = |error: SqlError| Failure::usage(error.to_string());
    let installed = drivescope_sql::find(DatabaseKind::Postgres).map_err(of_server)?;
    for program in installed.programs() {
        folder.note_program(&program)?;
    }
    folder.create_tree("server")?;
    if let Some(user) = installed.user() {
        folder.give_tree("server", user.user, user.group)?;
    }
    let place = folder.path().join("server");
    let settings = DatabaseSettings {
        buffer_bytes: 64 << 20,
        is_durable: false,
        clients: 300,
        cpus: 2,
        table_bytes: 0,
    };
    let canceller = Arc::new(Canceller::default());
    let server = installed.create(&place, settings, &canceller).map_err(of_server)?;
    let socket = place.to_string_lossy().replace('%', "%25").replace('/', "%2F");
    let address = format!("postgres://drivescope@{socket}/postgres?application_name=demo");
    let location = StoreLocation::parse(Some(&address))?;
    init(&location)?;
    Ok((server, location))
}

/// A simulated machine with two drives; the last ones are slow.
fn machine(
    number: u32,
    agents: u32,
    folder: &Path,
    server: &StoreLocation,
) -> Result<HostMachine, Failure> {
    let slow = (agents * DRIVES / 100).max(1);
    let drive = |place: usize| {
        let is_slow = place == 1 && number % (agents / slow).max(1) == agents / slow / 2;
        let fault = if is_slow { "&fault=throttled" } else { "" };
        format!("sim:{}?seed={}{fault}", MODELS[place], number + 1).into()
    };
    let arguments = AgentArguments {
        once: false,
        name: Some(format!("rack{}-{:02}", number / 10 + 1, number % 10 + 1)),
        ceiling: WriteLevel::Read,
        dir: Vec::new(),
        drive: (0..MODELS.len()).map(drive).collect(),
        parallel: Some(1),
        state: Some(folder.join(number.to_string())),
        poll: POLL_S,
        store: StoreArguments::default(),
    };
    HostMachine::new(&arguments, server.clone())
}

fn run_agent(machine: HostMachine, location: StoreLocation, stop: &AtomicBool) {
    let seed = clock::now_ns() ^ u64::from(std::process::id());
    let incarnation = format!("{seed:016x}");
    let mut agent = Agent::new(location, machine, incarnation, seed);
    while !stop.load(Ordering::Relaxed) {
        // What goes wrong shows in the jobs.
        let Ok(wait): Result<Duration, AgentError> = agent.step(&mut |_| ()) else { return };
        thread::sleep(wait.min(LOOK_EVERY));
    }
    agent.stop_jobs();
    while agent.has_jobs() {
        if agent.step(&mut |_| ()).is_err() {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}

struct Pages {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

/// Pages of the fleet.
fn serve(location: &StoreLocation) -> Result<Pages, Failure> {
    let no_port = |error: std::io::Error| Failure::usage(format!("cannot listen: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(no_port)?;
    let bound = listener.local_addr().map_err(no_port)?;
    let guard = Guard::new(bound, &[], None);
    let workbench = Box::new(LocalWorkbench::new(location.clone()));
    let site = Arc::new(Site::new(location.clone(), workbench, guard));
    output::print_line(&format!("pages: http://{bound}/fleet"));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    // Without pages the rest of the demo is still one.
    let serving = move || drop(drivescope_web::serve(listener, site, &stopped));
    let thread = thread::Builder::new().spawn(serving);
    Ok(Pages { stop, thread: thread.map_err(|error| Failure::usage(no_thread(&error)))? })
}

/// Submits for all drives, waits for the jobs, and prints what is odd.
fn show(
    location: &StoreLocation,
    arguments: &DemoArguments,
    begun: Instant,
    signals: &RunSignals,
    fault: &Mutex<Option<Failure>>,
) -> Result<(), Failure> {
    let mut tables = FleetTables::open(location, true)?;
    let wanted = (arguments.agents * DRIVES) as usize;
    let mut drives = Vec::new();
    wait(signals, fault, || {
        drives = tables.drives()?;
        Ok(drives.len() >= wanted)
    })?;
    output::print_line(&format!(
        "{} agents announced {} drives after {:.1} s",
        arguments.agents,
        drives.len(),
        begun.elapsed().as_secs_f64()
    ));
    submit(&mut tables, &drives)?;
    let mut jobs: Vec<FleetJob> = Vec::new();
    let mut said = 0;
    wait(signals, fault, || {
        jobs = tables.jobs(KEY)?;
        let ended = jobs.iter().filter(|job| job.state.has_ended()).count();
        if ended * 4 / jobs.len().max(1) > said {
            said = ended * 4 / jobs.len();
            output::note(&format!("{ended} of {} jobs", jobs.len()));
        }
        Ok(ended == jobs.len())
    })?;
    let done = jobs.iter().filter(|job| job.state == JobState::Done).count();
    let seconds = begun.elapsed().as_secs_f64();
    output::print_line(&format!("{done} of {} jobs done after {seconds:.1} s", jobs.len()));
    let (measured, _) = Store::open_existing(location)?.measured_drives(&fleet_keys())?;
    let found = fleet_outliers(&measured, FDR);
    output::print_line(&format!("\n{}", text::fleet_outliers(&found, output::style())));
    let until = begun + Duration::from_secs_f64(arguments.time);
    if arguments.stay {
        output::note("Ctrl-C ends");
    }
    while !signals.was_signalled() && (arguments.stay || Instant::now() < until) {
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Errors: a signal ended it; an agent could not start; the server failed.
fn wait(
    signals: &RunSignals,
    fault: &Mutex<Option<Failure>>,
    mut look: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    loop {
        if let Some(failure) = fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(failure);
        }
        if signals.was_signalled() {
            let message = "interrupted before all jobs had ended".to_string();
            return Err(Failure { message, code: Code::Interrupted });
        }
        if look()? {
            return Ok(());
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn submit(tables: &mut FleetTables, drives: &[HostDrive]) -> Result<(), Failure> {
    let plan = JobPlan {
        format: PLAN_FORMAT,
        suite: KEY.to_string(),
        suite_text: SUITE.to_string(),
        level: WriteLevel::Read,
        expected_s: 1.0,
    };
    submission::check(&plan).map_err(Failure::usage)?;
    let jobs: Vec<NewJob> = drives
        .iter()
        .map(|it| NewJob {
            host_id: it.host_id.clone(),
            drive: it.drive.key.clone(),
            name: it.drive.name.clone(),
            serial: None,
        })
        .collect();
    tables.submit((KEY, ""), &plan, None, &jobs)?;
    output::print_line(&clean(&format!("submitted {} jobs as {KEY}", jobs.len())));
    Ok(())
}
