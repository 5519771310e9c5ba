//! One job of a result: its options, whether it is a cell, and its figures.

use super::super::imported_run::Rounds;
use drivescope_model::cell::{Cell, Mix, Order, Shape};
use drivescope_model::fio_size::block_bytes;
use drivescope_model::units::Bytes;
use serde_json::Value;

/// fio's names of percentiles, and the quantities of a cell.
const PERCENTILES: [(&str, &str); 5] = [
    ("50.000000", "lat_p50_us"),
    ("90.000000", "lat_p90_us"),
    ("99.000000", "lat_p99_us"),
    ("99.900000", "lat_p99_9_us"),
    ("99.990000", "lat_p99_99_us"),
];
const SIDES: [&str; 4] = ["read", "write", "trim", "mixed"];
const SUM_OF_CLIENTS: &str = "All clients";
/// Engines that use no drive, or only through the page cache.
const NO_DRIVE: [&str; 9] = [
    "null",
    "cpuio",
    "mmap",
    "net",
    "netsplice",
    "ftruncate",
    "filecreate",
    "filestat",
    "filedelete",
];
/// Options that change the meaning of a job, with the values that do not.
const OTHER_LOADS: [(&str, &[&str]); 18] = [
    ("fsync", &["0"]),
    ("fdatasync", &["0"]),
    ("sync", &["0", "none"]),
    ("rate", &["0"]),
    ("rate_iops", &["0"]),
    ("thinktime", &["0"]),
    ("latency_target", &["0"]),
    ("bsrange", &[]),
    ("bssplit", &[]),
    ("verify", &["0", "none"]),
    ("random_distribution", &["random"]),
    ("percentage_random", &["100"]),
    ("zonemode", &["none"]),
    ("read_iolog", &[]),
    ("zero_buffers", &["0"]),
    ("buffer_pattern", &[]),
    ("buffer_compress_percentage", &["0"]),
    ("dedupe_percentage", &["0"]),
];

/// A job combined with the jobs that were its threads.
#[derive(Debug, Clone)]
pub struct FioJob<'d> {
    document: &'d Value,
    threads: Vec<&'d Value>,
    /// Including threads that fio combined itself (`group_reporting`).
    count: u32,
}

/// A cell without its number of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioCell {
    order: Order,
    is_write: bool,
    block: Bytes,
    depth: u32,
}

pub fn entries(document: &Value) -> impl Iterator<Item = &Value> {
    let jobs = document["jobs"].as_array().or(document["client_stats"].as_array());
    jobs.into_iter().flatten().filter(|job| job["jobname"] != SUM_OF_CLIENTS)
}

/// Jobs of one name and group are threads of one job.
pub fn jobs(document: &Value) -> Vec<FioJob<'_>> {
    let mut jobs: Vec<FioJob<'_>> = Vec::new();
    for entry in entries(document) {
        let one = FioJob::new(document, entry);
        let is_thread = |job: &&mut FioJob<'_>| {
            job.entry()["jobname"] == entry["jobname"] && job.ran_with(&one)
        };
        match jobs.iter_mut().find(is_thread) {
            Some(job) => {
                job.threads.push(entry);
                job.count = job.count.max(job.threads.len() as u32);
            }
            None => jobs.push(one),
        }
    }
    jobs
}

/// Whether an engine has one request in flight, whatever the depth is.
pub fn is_synchronous(engine: &str) -> bool {
    matches!(engine, "sync" | "psync" | "vsync" | "pvsync" | "pvsync2")
}

impl<'d> FioJob<'d> {
    fn new(document: &'d Value, entry: &'d Value) -> Self {
        let mut job = Self { document, threads: vec![entry], count: 1 };
        job.count = job.option("numjobs").and_then(|it| it.parse().ok()).unwrap_or(1).max(1);
        job
    }

    fn entry(&self) -> &'d Value {
        self.threads[0]
    }

    pub fn name(&self) -> &'d str {
        self.entry()["jobname"].as_str().unwrap_or("?")
    }

    /// Groups are separated by `stonewall`.
    pub fn group(&self) -> &'d Value {
        &self.entry()["groupid"]
    }

    /// Its own option, else the global one.
    pub fn option(&self, name: &str) -> Option<&'d str> {
        let own = self.entry()["job options"][name].as_str();
        own.or_else(|| self.document["global options"][name].as_str())
    }

    /// The machine, if fio's client names it, and the file.
    pub fn place(&self) -> (&'d str, &'d str) {
        let host = self.entry()["hostname"].as_str().unwrap_or_default();
        let path = self.option("filename").or_else(|| self.option("directory"));
        (host, path.unwrap_or("unknown"))
    }

    pub fn files(&self) -> Vec<String> {
        let names = self.option("filename").unwrap_or_default().replace("\\:", "\0");
        names.split(':').filter(|it| !it.is_empty()).map(|it| it.replace('\0', ":")).collect()
    }

    pub fn ran_with(&self, other: &Self) -> bool {
        let of = |job: &Self, name: &str| job.entry()[name].clone();
        ["groupid", "hostname", "port"].iter().all(|name| of(self, name) == of(other, name))
    }

    pub fn is_idle(&self) -> bool {
        let is_null = self.option("ioengine").is_some_and(|it| NO_DRIVE.contains(&it));
        is_null || SIDES.iter().all(|side| self.sum(side, "total_ios") == 0.0)
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn join(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.threads.extend(&other.threads);
    }

    pub fn error(&self) -> Option<String> {
        let code = |name: &str| {
            let codes = self.threads.iter().filter_map(|job| job[name].as_i64());
            codes.into_iter().find(|code| *code != 0)
        };
        let words = |code: i64| {
            let error = std::io::Error::from_raw_os_error(code as i32).to_string();
            let words = error.rsplit_once(" (os error").map_or(error.as_str(), |(words, _)| words);
            format!("error {code} ({words})")
        };
        if let Some(code) = code("error") {
            return Some(format!("{} ended with {}", self.name(), words(code)));
        }
        let (count, first) = (code("total_err")?, code("first_error").unwrap_or(5));
        Some(format!("{}: {count} requests failed, the first with {}", self.name(), words(first)))
    }

    /// Errors: why it does not measure a cell.
    pub fn cell(&self) -> Result<FioCell, String> {
        if !self.document["global options"].is_object() && !self.entry()["job options"].is_object()
        {
            return Err(
                "the result does not have its options, as newer fio writes them".to_string()
            );
        }
        let of = |name: &str| self.option(name);
        if let Some(engine) = of("ioengine").filter(|engine| NO_DRIVE.contains(engine)) {
            return Err(format!("no drive was measured (ioengine={engine})"));
        }
        let (order, is_write) = match of("rw").or(of("readwrite")).unwrap_or("read") {
            "read" => (Order::Seq, false),
            "write" => (Order::Seq, true),
            "randread" => (Order::Rnd, false),
            "randwrite" => (Order::Rnd, true),
            other => return Err(format!("rw={other}")),
        };
        if of("direct").is_none_or(|direct| direct == "0") && of("buffered") != Some("0") {
            return Err("through the page cache (direct=0)".to_string());
        }
        for (name, plain) in OTHER_LOADS {
            if let Some(value) = of(name).filter(|value| !plain.contains(value)) {
                return Err(format!("{name}={value}"));
            }
        }
        let cell = FioCell { order, is_write, block: self.block(is_write)?, depth: self.depth()? };
        self.check_alone(cell.side())?;
        Ok(cell)
    }

    fn block(&self, is_write: bool) -> Result<Bytes, String> {
        let kb_base = self.option("kb_base").and_then(|it| it.parse().ok()).unwrap_or(1024);
        let text = self.option("bs").or_else(|| self.option("blocksize")).unwrap_or("4k");
        block_bytes(text, is_write, kb_base).map(Bytes).ok_or_else(|| format!("bs={text}"))
    }

    fn depth(&self) -> Result<u32, String> {
        let text = self.option("iodepth").unwrap_or("1");
        match self.option("ioengine") {
            None => Ok(1),
            Some(engine) if is_synchronous(engine) => Ok(1),
            Some(_) => text.parse().map_err(|_| format!("iodepth={text}")),
        }
    }

    /// With `group_reporting` all jobs of a group are one entry, with the options of one of them; their times are added
    /// up.
    fn check_alone(&self, side: &str) -> Result<(), String> {
        if self.sum(side, "total_ios") == 0.0 {
            return Err(self
                .error()
                .map_or("no I/O".to_string(), |error| format!("no I/O ({error})")));
        }
        if let [job] = self.threads[..] {
            let own_ms = job[side]["runtime"].as_f64().unwrap_or_default();
            let threads_max = f64::from(self.count) + 0.5;
            let is_more = |ms: f64| own_ms > 0.0 && ms > threads_max * own_ms;
            if job["job_runtime"].as_f64().is_some_and(is_more) {
                return Err("several jobs in one figure (group_reporting)".to_string());
            }
        }
        Ok(())
    }

    fn sum(&self, side: &str, field: &str) -> f64 {
        self.threads.iter().filter_map(|job| job[side][field].as_f64()).sum()
    }

    pub fn elapsed_s(&self) -> f64 {
        let sides = self.threads.iter().flat_map(|job| SIDES.map(|side| &job[side]["runtime"]));
        sides.filter_map(Value::as_f64).fold(0.0, f64::max) / 1e3
    }

    pub fn add_to(&self, cell: &FioCell, key: &str, rounds: &mut Rounds) {
        let mut push = |quantity, value: Option<f64>| {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                rounds.entry((key.to_string(), quantity)).or_default().push(value);
            }
        };
        let side = cell.side();
        // fio 2 has KiB/s only, whatever its kb_base.
        let rate = |job: &&Value| {
            let bytes = job[side]["bw_bytes"].as_f64();
            bytes.or_else(|| Some(job[side]["bw"].as_f64()? * 1024.0))
        };
        let rates: Option<Vec<f64>> = self.threads.iter().map(rate).collect();
        push("mb_s", rates.map(|rates| rates.iter().sum::<f64>() / 1e6));
        push("iops", Some(self.sum(side, "iops")));
        // Percentiles of several threads cannot be combined.
        let [job] = self.threads[..] else { return };
        let whole = JobLatency::of(&job[side], "lat");
        let completion = JobLatency::of(&job[side], "clat");
        push("lat_mean_us", whole.as_ref().and_then(|it| it.us("mean")));
        push("lat_max_us", whole.as_ref().and_then(|it| it.us("max")));
        let found = whole.filter(has_percentiles).or(completion.filter(has_percentiles));
        for (name, quantity) in PERCENTILES {
            push(quantity, found.as_ref().and_then(|it| it.percentile_us(name)));
        }
    }
}

fn has_percentiles(it: &JobLatency<'_>) -> bool {
    it.figures["percentile"].is_object()
}

impl FioCell {
    fn side(&self) -> &'static str {
        if self.is_write { "write" } else { "read" }
    }

    /// The key of the cell with this number of threads. Errors: there is no such cell.
    pub fn key(&self, threads: u32) -> Result<String, String> {
        let Self { order, is_write, block, depth } = *self;
        let shape = Shape::new(order, block, depth, threads).map_err(|error| error.to_string())?;
        let mix = if is_write { Mix::WRITE } else { Mix::READ };
        Ok(Cell { shape, mix }.to_string())
    }
}

/// In nanoseconds; before fio 3 in microseconds.
struct JobLatency<'d> {
    figures: &'d Value,
    per_us: f64,
}

impl<'d> JobLatency<'d> {
    /// `None` without times: `gtod_reduce` and `disable_lat` leave zeros.
    fn of(side: &'d Value, name: &str) -> Option<Self> {
        let in_ns = &side[format!("{name}_ns")];
        let (figures, per_us) = if in_ns.is_object() { (in_ns, 1e3) } else { (&side[name], 1.0) };
        figures["mean"].as_f64().filter(|mean| *mean > 0.0)?;
        Some(Self { figures, per_us })
    }

    fn us(&self, name: &str) -> Option<f64> {
        Some(self.figures[name].as_f64()? / self.per_us)
    }

    fn percentile_us(&self, name: &str) -> Option<f64> {
        Some(self.figures["percentile"][name].as_f64()? / self.per_us)
    }
}
