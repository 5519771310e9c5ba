//! Results of fio (`--output-format=json`) as a run, so that what people have measured can be compared.
//!
//! A job becomes a cell of `transfer` where it means the same: direct, one block size, reads or writes only, closed
//! loop. Other jobs are left out, and named in the result. Jobs of one name are its threads; jobs of other names with
//! the same cell are its rounds.

use super::FormatError;
use drivescope_model::cell::{Cell, Mix, Order, Shape};
use drivescope_model::document::{FORMAT, Metric, Run, TestResult, TestStatus, Tool};
use drivescope_model::host::Host;
use drivescope_model::metrics::quantity_of;
use drivescope_model::options::{Suite, TestKind};
use drivescope_model::plan::{Engine, Plan};
use drivescope_model::target::{TargetInfo, TargetKind};
use drivescope_model::units::Bytes;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

/// Percentiles, as fio names them, and the quantities of a cell.
const PERCENTILES: [(&str, &str); 5] = [
    ("50.000000", "lat_p50_us"),
    ("90.000000", "lat_p90_us"),
    ("99.000000", "lat_p99_us"),
    ("99.900000", "lat_p99_9_us"),
    ("99.990000", "lat_p99_99_us"),
];

/// Values of a quantity, round by round.
type Rounds = BTreeMap<(String, &'static str), Vec<f64>>;

/// The document in a file of fio.
pub fn document(text: &str) -> Option<Value> {
    let begin = text.find('{')?;
    // Its first field: other documents are not parsed for nothing.
    let is_fio = text[begin + 1..].trim_start().starts_with("\"fio version\"");
    let document = is_fio.then(|| serde_json::from_str::<Value>(&text[begin..]).ok())??;
    document["jobs"].is_array().then_some(document)
}

/// The run that a document of fio tells of.
///
/// # Errors
/// There is no job that can be told as a cell; the reasons are named.
pub fn run(document: &Value) -> Result<Run, FormatError> {
    let jobs = document["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut rounds = Rounds::new();
    let mut left_out = Vec::new();
    for threads in threads_of(jobs) {
        if let Err(why) = add(document, &threads, &mut rounds) {
            left_out.push(format!("{}: {why}", threads[0]["jobname"].as_str().unwrap_or("?")));
        }
    }
    if rounds.is_empty() {
        let why = if left_out.is_empty() { "it has none".to_string() } else { left_out.join("; ") };
        let message = format!("no job of this fio result can be compared with a cell ({why})");
        return Err(FormatError::NotARun(message));
    }
    let reason = (!left_out.is_empty()).then(|| left_out.join("; "));
    let mut result = TestResult::empty(TestKind::Transfer, TestStatus::Done, reason);
    result.metrics =
        rounds.into_iter().map(|((cell, quantity), it)| metric(&cell, quantity, it)).collect();
    result.elapsed_s = jobs.iter().filter_map(|job| job["job_runtime"].as_f64()).sum::<f64>() / 1e3;
    Ok(whole(document, result))
}

/// Jobs that ran together as threads of one: those of one name, unless fio put them together itself.
fn threads_of(jobs: &[Value]) -> Vec<Vec<&Value>> {
    let mut groups: Vec<Vec<&Value>> = Vec::new();
    for job in jobs {
        let name = |job: &Value| (job["jobname"].clone(), job["groupid"].clone());
        match groups.iter_mut().find(|group| name(group[0]) == name(job)) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
}

/// An option of a job, or of all jobs.
fn option<'d>(document: &'d Value, job: &'d Value, name: &str) -> Option<&'d str> {
    let own = job["job options"][name].as_str();
    own.or_else(|| document["global options"][name].as_str())
}

/// Adds a round of a cell. Errors: why the job is no cell.
fn add(document: &Value, threads: &[&Value], rounds: &mut Rounds) -> Result<(), String> {
    let of = |name: &str| option(document, threads[0], name);
    let number = |name: &str| {
        of(name).map_or(Ok(1), |text| text.parse::<u32>().map_err(|_| format!("{name}={text}")))
    };
    let (order, side, mix) = match of("rw").or(of("readwrite")).unwrap_or("read") {
        "read" => (Order::Seq, "read", Mix::READ),
        "write" => (Order::Seq, "write", Mix::WRITE),
        "randread" => (Order::Rnd, "read", Mix::READ),
        "randwrite" => (Order::Rnd, "write", Mix::WRITE),
        other => return Err(format!("rw={other}")),
    };
    if of("direct").is_none_or(|direct| direct == "0") && of("buffered") != Some("0") {
        return Err("through the page cache (direct=0)".to_string());
    }
    for name in [
        "fsync",
        "fdatasync",
        "sync",
        "rate",
        "rate_iops",
        "thinktime",
        "bsrange",
        "bssplit",
        "verify",
    ] {
        if let Some(value) = of(name).filter(|value| !matches!(*value, "0" | "none")) {
            return Err(format!("{name}={value}"));
        }
    }
    let block: Bytes =
        of("bs").or(of("blocksize")).unwrap_or("4k").parse().map_err(|_| "bs".to_string())?;
    let is_synchronous = of("ioengine").is_none_or(|engine| engine.ends_with("sync"));
    let depth = if is_synchronous { 1 } else { number("iodepth")? };
    let count = number("numjobs")?.max(threads.len() as u32);
    let shape = Shape::new(order, block, depth, count).map_err(|error| error.to_string())?;
    let cell = Cell { shape, mix }.to_string();
    let sum = |field: &str| threads.iter().filter_map(|job| job[side][field].as_f64()).sum::<f64>();
    if sum("total_ios") == 0.0 {
        return Err("no I/O".to_string());
    }
    let mut push = |quantity, value: f64| {
        if value.is_finite() {
            rounds.entry((cell.clone(), quantity)).or_default().push(value);
        }
    };
    push("mb_s", sum("bw_bytes") / 1e6);
    push("iops", sum("iops"));
    // Percentiles of several threads cannot be put together again.
    if let [job] = threads {
        let latencies = &job[side]["lat_ns"];
        let percentiles = [latencies, &job[side]["clat_ns"]];
        let found = percentiles.into_iter().find(|of| of["percentile"].is_object());
        push("lat_mean_us", latencies["mean"].as_f64().unwrap_or(f64::NAN) / 1e3);
        push("lat_max_us", latencies["max"].as_f64().unwrap_or(f64::NAN) / 1e3);
        for (name, quantity) in PERCENTILES {
            let value = found.and_then(|of| of["percentile"][name].as_f64());
            push(quantity, value.unwrap_or(f64::NAN) / 1e3);
        }
    }
    Ok(())
}

/// The median of the rounds with their range: nothing else is known of their spread.
fn metric(cell: &str, quantity: &str, rounds: Vec<f64>) -> Metric {
    let key = format!("{}.{cell}.{quantity}", TestKind::Transfer);
    let mut sorted = rounds.clone();
    sorted.sort_by(f64::total_cmp);
    let (last, middle) = (sorted.len() - 1, sorted.len() / 2);
    Metric {
        unit: quantity_of(&key).map_or(String::new(), |quantity| quantity.unit.to_string()),
        key,
        value: f64::midpoint(sorted[last - middle], sorted[middle]),
        low: sorted[0],
        high: sorted[last],
        valid: true,
        rounds,
        pooled: false,
        invalid_because: Vec::new(),
    }
}

/// The document around a result.
fn whole(document: &Value, result: TestResult) -> Run {
    let job = &document["jobs"][0];
    let path = option(document, job, "filename").or(option(document, job, "directory"));
    let path = path.unwrap_or("unknown").to_string();
    let engine = match option(document, job, "ioengine") {
        Some("io_uring") => Engine::Uring,
        Some(engine) if engine.ends_with("sync") => Engine::Threads,
        _ => Engine::Auto,
    };
    let started = document["timestamp_ms"].as_i64().unwrap_or_default();
    let started = Timestamp::from_millisecond(started).unwrap_or_default();
    let suite = Suite {
        name: "fio".to_string(),
        summary: "imported from fio".to_string(),
        tests: vec![TestKind::Transfer],
        ..Suite::default()
    };
    let version = document["fio version"].as_str().unwrap_or_default();
    Run {
        format: FORMAT,
        id: id_of(document),
        tool: Tool {
            name: "fio".to_string(),
            version: version.trim_start_matches("fio-").to_string(),
            build: "imported".to_string(),
            commit: None,
            command_line: Vec::new(),
        },
        started_at: started.to_string(),
        elapsed_s: result.elapsed_s,
        status: TestStatus::Done,
        label: None,
        note: None,
        price: None,
        simulated: false,
        target: TargetInfo {
            kind: if path.starts_with("/dev/") { TargetKind::Block } else { TargetKind::File },
            path,
            size_bytes: 0,
            file_system: None,
            stack: Vec::new(),
            system_disk: false,
            io_mode: None,
            io_align_bytes: 0,
        },
        drive: None,
        host: Host::default(),
        calibration: None,
        gate: Vec::new(),
        plan: Plan {
            suite,
            seed: 0,
            engine,
            tests: Vec::new(),
            own_folder: None,
            own_bytes: Bytes(0),
        },
        tests: vec![result],
        findings: Vec::new(),
        verdict: Vec::new(),
    }
}

/// The same for the same document: importing it twice is known (FNV-1a, 48 bits).
fn id_of(document: &Value) -> String {
    let text = document.to_string();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:012x}", hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job(name: &str, options: &Value, side: &str, iops: f64) -> Value {
        json!({
            "jobname": name, "groupid": 0, "job_runtime": 1000, "job options": options,
            side: {"total_ios": 1000, "bw_bytes": iops * 4096.0, "iops": iops,
                "lat_ns": {"mean": 100_000.0, "max": 900_000},
                "clat_ns": {"percentile": {"50.000000": 90_000, "99.000000": 400_000}}},
        })
    }

    fn document(jobs: &[Value]) -> Value {
        let global = json!({"direct": "1", "ioengine": "io_uring", "bs": "4k"});
        json!({"fio version": "fio-3.33", "timestamp_ms": 1_795_528_240_563_i64,
            "global options": global, "jobs": jobs})
    }

    fn values(run: &Run, key: &str) -> Option<(f64, Vec<f64>)> {
        run.metric(key).map(|metric| (metric.value, metric.rounds.clone()))
    }

    #[test]
    fn jobs_of_other_names_are_rounds_and_of_one_name_threads() {
        let deep = json!({"rw": "randread", "iodepth": "32"});
        let both = json!({"rw": "randwrite"});
        let jobs = [
            job("a", &deep, "read", 100.0),
            job("b", &deep, "read", 120.0),
            job("c", &both, "write", 10.0),
            job("c", &both, "write", 11.0),
        ];
        let run = run(&document(&jobs)).unwrap();
        let read = values(&run, "transfer.rnd4k_q32t1.read.iops");
        assert_eq!(read, Some((110.0, vec![100.0, 120.0])));
        let p99 = values(&run, "transfer.rnd4k_q32t1.read.lat_p99_us");
        assert_eq!(p99, Some((400.0, vec![400.0, 400.0])));
        let written = values(&run, "transfer.rnd4k_q1t2.write.iops");
        assert_eq!(written, Some((21.0, vec![21.0])));
        assert!(values(&run, "transfer.rnd4k_q1t2.write.lat_p99_us").is_none());
        assert_eq!(
            (run.tool.version.as_str(), run.started_at.get(..10)),
            ("3.33", Some("2026-11-24"))
        );
        assert!(crate::document::check(&run).is_ok());
    }

    #[test]
    fn what_means_something_else_is_left_out_and_named() {
        let cached = json!({"rw": "randread", "direct": "0"});
        let synced = json!({"rw": "write", "fsync": "1"});
        let mixed = json!({"rw": "randrw"});
        let jobs = [
            job("cached", &cached, "read", 1.0),
            job("synced", &synced, "write", 1.0),
            job("mixed", &mixed, "read", 1.0),
        ];
        let error = run(&document(&jobs)).unwrap_err().to_string();
        for part in ["cached: through the page cache", "synced: fsync=1", "mixed: rw=randrw"] {
            assert!(error.contains(part), "{error}");
        }
        let some = [job("plain", &json!({"rw": "read"}), "read", 1.0), jobs[0].clone()];
        let reason = run(&document(&some)).unwrap().tests[0].reason.clone().unwrap();
        assert!(reason.starts_with("cached"), "{reason}");
    }

    #[test]
    fn a_depth_without_an_engine_that_queues_is_one() {
        let options = json!({"rw": "randread", "iodepth": "32", "ioengine": "psync"});
        let run = run(&document(&[job("a", &options, "read", 100.0)])).unwrap();
        assert!(run.metric("transfer.rnd4k_q1t1.read.iops").is_some());
    }
}
