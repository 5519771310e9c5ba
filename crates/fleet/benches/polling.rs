//! Agents that poll and find nothing to do: the time that the processes of the server and of its pooler need for their
//! beats. The database must have a store (`drivescope store init`); hosts are added to it. The server and the pooler
//! are given by their process ids (0: none); connections come from this machine:
//!
//! ```sh
//! DRIVESCOPE_BENCH_STORE=postgres://user@%2Ftmp:6432/store cargo bench -p drivescope-fleet --bench polling -- \
//!     --agents=10000 --connections=50 --seconds=60 --server=PID --pooler=PID
//! ```

#![expect(clippy::print_stdout, reason = "the figures are the result")]

use drivescope_fleet::FleetTables;
use drivescope_model::fleet::AgentFacts;
use drivescope_model::plan::WriteLevel;
use drivescope_store::StoreLocation;
use std::fs;
use std::time::{Duration, Instant};

const VARIABLE: &str = "DRIVESCOPE_BENCH_STORE";
const POLL_S: f64 = 30.0;
/// Unit of times in `/proc/PID/stat` (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

fn main() {
    let Ok(named) = std::env::var(VARIABLE) else {
        println!("{VARIABLE} names no server; nothing is measured");
        return;
    };
    let location = StoreLocation::parse(Some(&named)).expect("the variable is an address");
    let (agents, connections) = (option("agents", 10_000), option("connections", 50));
    let seconds = option("seconds", 60);
    // Each connection serves its own agents.
    let hosts = |of: u64| (of..agents).step_by(connections as usize);
    on_connections(connections, &location, |of, tables| {
        hosts(of).for_each(|host| announce(tables, host));
        Vec::new()
    });
    let (server, pooler) = (option("server", 0), option("pooler", 0));
    let before = (cpu_s(server), cpu_s(pooler), Instant::now());
    let mut lat_ms = on_connections(connections, &location, |of, tables| {
        let hosts: Vec<u64> = hosts(of).collect();
        beats(tables, &hosts, Duration::from_secs(seconds))
    });
    let elapsed_s = before.2.elapsed().as_secs_f64();
    lat_ms.sort_by(f64::total_cmp);
    let at = |share: f64| lat_ms[((lat_ms.len() - 1) as f64 * share) as usize];
    println!("| {agents} agents, {connections} connections | |\n|---|---|");
    println!("| beats/s | {:.0} |", lat_ms.len() as f64 / elapsed_s);
    println!("| median, from when each was due, ms | {:.2} |", at(0.5));
    println!("| 99th percentile, ms | {:.1} |", at(0.99));
    let share = |id, before_s| (cpu_s(id) - before_s) / elapsed_s * 100.0;
    println!("| server, share of a core, % | {:.1} |", share(server, before.0));
    println!("| pooler, share of a core, % | {:.1} |", share(pooler, before.1));
}

/// `--name=number`
fn option(name: &str, otherwise: u64) -> u64 {
    let of = |word: String| word.strip_prefix(&format!("--{name}="))?.parse().ok();
    std::env::args().find_map(of).unwrap_or(otherwise)
}

fn on_connections(
    count: u64,
    location: &StoreLocation,
    work: impl Fn(u64, &mut FleetTables) -> Vec<f64> + Sync,
) -> Vec<f64> {
    let open = |of| {
        let mut tables = FleetTables::open(location, true).expect("the store is there");
        work(of, &mut tables)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|of| scope.spawn(move || open(of))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn announce(tables: &mut FleetTables, host: u64) {
    let facts = AgentFacts {
        id: format!("{host:032x}"),
        name: format!("host-{host}"),
        machine: format!("{host:016x}"),
        boot: "boot".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        ceiling: WriteLevel::OwnFiles,
        parallel: 1,
        poll_s: POLL_S,
    };
    assert!(tables.announce_host(&facts, "incarnation", POLL_S).expect("it may announce"));
}

/// One beat of each host in a poll, evenly spread; how late each answer was, in milliseconds.
fn beats(tables: &mut FleetTables, hosts: &[u64], time: Duration) -> Vec<f64> {
    let (begin, step_s) = (Instant::now(), POLL_S / hosts.len() as f64);
    let mut lat_ms = Vec::new();
    for (turn, host) in hosts.iter().cycle().enumerate() {
        // Connections do not beat together.
        let part = hosts[0] as f64 * 0.618_034 % 1.0;
        let due = begin + Duration::from_secs_f64(step_s * (turn as f64 + part));
        if due > begin + time {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let id = format!("{host:032x}");
        let answer = tables.beat((&id, "incarnation"), &[], &[], (1, 150.0));
        assert!(answer.expect("the server is there").is_known);
        lat_ms.push(due.elapsed().as_secs_f64() * 1e3);
    }
    lat_ms
}

/// Processor time of a process and of its children, also of those that have ended.
fn cpu_s(id: u64) -> f64 {
    let ticks = |stat: &str, fields: std::ops::Range<usize>| -> f64 {
        // The name, in brackets, may have blanks; the state is the third field.
        let fields_of = stat.rsplit_once(')').map_or("", |parts| parts.1).split_whitespace();
        let times = fields_of.skip(fields.start - 3).take(fields.len());
        times.filter_map(|time| time.parse::<f64>().ok()).sum()
    };
    let mut sum = 0.0;
    for entry in fs::read_dir("/proc").expect("it is Linux").flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let is_self = entry.file_name().to_str() == Some(&id.to_string());
        if is_self {
            sum += ticks(&stat, 14..18);
        } else if ticks(&stat, 4..5) == id as f64 && id > 1 {
            sum += ticks(&stat, 14..16);
        }
    }
    sum / TICKS_PER_S
}
