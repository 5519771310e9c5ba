//! What one job sends: a cell with its bounds and its place, or requests at a rate.

use super::job_options::{JobOptions, JobSizes};
use crate::suites::SuiteError;
use drivescope_model::cell::{Mix, Order, Shape};
use drivescope_model::options::Arrivals;
use drivescope_model::plan::Engine;
use drivescope_model::units::{Bytes, UnitError};

/// fio's default, on Linux.
const ENGINE: &str = "psync";
/// One request at a time, whatever the depth is.
const ONE_BY_ONE: [&str; 5] = ["sync", "psync", "vsync", "pvsync", "pvsync2"];
/// fio's default share of reads in a mix.
const READS_PCT: u32 = 50;
/// Parts of a target begin at multiples of it.
const OFFSET_UNIT: u64 = 4096;

/// The load of one thread of a job, which other jobs may repeat at the same time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ThreadLoad {
    pub order: Order,
    pub sizes: JobSizes,
    pub depth: u32,
    pub think_us: u32,
    pub mix: Mix,
    /// `None`: only the bytes end it.
    pub time_s: Option<f64>,
    pub ramp_s: f64,
    /// `None`: only the time ends it.
    pub io_bytes: Option<u64>,
    /// Length of the place; `None`: the whole target.
    pub place_bytes: Option<u64>,
    pub offset_bytes: u64,
    pub rate: Option<(Arrivals, f64)>,
    pub engine: Engine,
    /// What the target replaces; `None`: each thread has a file of its own.
    pub file: Option<String>,
    pub loops: u32,
}

#[derive(Debug, Clone)]
pub(super) struct JobLoad<'j> {
    pub job: &'j JobOptions,
    /// Names of its jobs, this one's first.
    pub names: Vec<&'j str>,
    pub threads: u32,
    /// Threads have places of their own, one after the other.
    pub is_apart: bool,
    pub thread: ThreadLoad,
}

impl<'j> JobLoad<'j> {
    pub(super) fn of(job: &'j JobOptions) -> Result<Self, SuiteError> {
        // First: an engine has options of its own.
        let (engine, depth) = engine(job)?;
        job.check_fates()?;
        check_direct(job)?;
        let (order, mix) = directions(job)?;
        let (read, write) = job.sizes()?;
        let sizes = if mix == Mix::READ { read } else { write };
        if mix.read_percent() > 0 && mix.writes() && read != write {
            let option = if job.value("bssplit").is_some() { "bssplit" } else { "bs" };
            return Err(job
                .refuse(option, "has other sizes for reads than for writes; a cell has the same"));
        }
        let threads = job.count("numjobs", 1)?;
        let mix =
            if is_flushed(job)? && mix.writes() { synced(job, mix, depth, threads)? } else { mix };
        let is_looped = job.is_on("time_based")?;
        check_last_flush(job, mix, is_looped)?;
        let file = file(job)?;
        let is_apart = is_apart(job, order, threads, file.is_some())?;
        let size = place(job, "size")?;
        let io_bytes = job.bytes("io_size")?.or(size);
        let mut thread = ThreadLoad {
            order,
            sizes,
            depth,
            think_us: job.think_us()?,
            mix,
            time_s: job.seconds("runtime")?.filter(|seconds| *seconds > 0.0),
            ramp_s: job.seconds("ramp_time")?.unwrap_or(0.0),
            io_bytes: io_bytes.filter(|_| !is_looped),
            place_bytes: place(job, "filesize")?.or(size),
            offset_bytes: offset(job)?,
            rate: None,
            engine,
            file,
            loops: job.count("loops", 1)?,
        };
        thread.rate = rate(job, &thread, threads)?;
        if thread.time_s.is_none() && thread.io_bytes.is_none() {
            let why = "has neither an end by bytes nor by time; add size or runtime to the job";
            return Err(job.refuse(if is_looped { "time_based" } else { "runtime" }, why));
        }
        Ok(Self { job, names: vec![&job.name], threads, is_apart, thread })
    }

    pub(super) fn shape(&self) -> Result<Shape, UnitError> {
        let ThreadLoad { order, sizes, depth, think_us, .. } = self.thread;
        let of_one = |bytes| Shape::new(order, bytes, depth, self.threads);
        let shape = match sizes {
            JobSizes::One(bytes) => of_one(Bytes(bytes)),
            JobSizes::Split(split) => of_one(split.largest())?.with_split(split),
        };
        shape?.with_think(think_us)
    }

    /// Length of the place of all threads.
    pub(super) fn place_bytes(&self) -> Option<u64> {
        let times = if self.is_apart { self.threads } else { 1 };
        self.thread.place_bytes.map(|bytes| bytes.saturating_mul(times.into()))
    }

    /// Takes the threads of a job that runs at the same time. Errors: their loads differ.
    pub(super) fn join(&mut self, other: &JobLoad<'j>) -> Result<(), SuiteError> {
        let is_random = self.thread.order == Order::Rnd;
        let can_join = self.thread == other.thread && (self.thread.file.is_none() || is_random);
        if !can_join || self.thread.rate.is_some() {
            let message = format!(
                "job {} runs at the same time as job {}, and cells run one after the other; add stonewall to it",
                other.job.name, self.job.name
            );
            return Err(other.job.at.refuse(message));
        }
        self.names.extend(&other.names);
        self.threads = self.threads.saturating_add(other.threads);
        self.is_apart |= self.thread.file.is_none();
        Ok(())
    }
}

fn check_direct(job: &JobOptions) -> Result<(), SuiteError> {
    let option = job.later("direct", "buffered");
    let is_direct = match option {
        Some(option @ "buffered") => !job.is_on(option)?,
        Some(option) => job.is_on(option)?,
        None => false,
    };
    if is_direct {
        return Ok(());
    }
    let why = "measures the page cache, which cells bypass; set direct=1";
    Err(match option {
        Some(option) => job.refuse(option, why),
        None => job.at.refuse(format!("job {}: direct=0, fio's default, {why}", job.name)),
    })
}

fn directions(job: &JobOptions) -> Result<(Order, Mix), SuiteError> {
    Ok(match job.value("rw").unwrap_or("read") {
        "read" => (Order::Seq, Mix::READ),
        "write" => (Order::Seq, Mix::WRITE),
        "randread" => (Order::Rnd, Mix::READ),
        "randwrite" => (Order::Rnd, Mix::WRITE),
        "randrw" => (Order::Rnd, mixed(job)?),
        "rw" | "readwrite" => {
            let why = "reads and writes in order at two places; a sequential mix of cells has one";
            return Err(job.refuse("rw", why));
        }
        _ => return Err(job.refuse("rw", "has no equal here; a cell reads, writes or does both")),
    })
}

fn mixed(job: &JobOptions) -> Result<Mix, SuiteError> {
    let option = job.later("rwmixread", "rwmixwrite").unwrap_or("rwmixread");
    let percent = job.count(option, READS_PCT)?;
    if percent > 100 {
        return Err(job.refuse(option, "is not a percentage"));
    }
    let reads = if option == "rwmixwrite" { 100 - percent } else { percent };
    Mix::new(reads as u8).map_err(|error| job.refuse(option, &error.to_string()))
}

/// The engine, and the depth that it has.
fn engine(job: &JobOptions) -> Result<(Engine, u32), SuiteError> {
    let depth = job.count("iodepth", 1)?;
    match job.value("ioengine").unwrap_or(ENGINE) {
        engine if ONE_BY_ONE.contains(&engine) => Ok((Engine::Threads, 1)),
        "io_uring" | "libaio" => Ok((Engine::Uring, depth)),
        _ => Err(job.refuse("ioengine", "has no equal here; use libaio, io_uring or psync")),
    }
}

/// Whether the job names a depth that its engine does not have.
pub(super) fn ignores_depth(job: &JobOptions) -> bool {
    let engine = job.value("ioengine").unwrap_or(ENGINE);
    ONE_BY_ONE.contains(&engine) && job.count("iodepth", 1).is_ok_and(|depth| depth > 1)
}

/// Whether a flush follows a write.
fn is_flushed(job: &JobOptions) -> Result<bool, SuiteError> {
    for option in ["fsync", "fdatasync"] {
        match job.count(option, 0)? {
            0 => {}
            1 => return Ok(true),
            _ => return Err(job.refuse(option, "flushes after several writes; a cell after each")),
        }
    }
    Ok(false)
}

fn synced(job: &JobOptions, mix: Mix, depth: u32, threads: u32) -> Result<Mix, SuiteError> {
    let option = job.later("fsync", "fdatasync").unwrap_or("fsync");
    if mix != Mix::WRITE || depth > 1 || threads > 1 {
        let why = "has an equal only for writes one at a time (iodepth=1, numjobs=1)";
        return Err(job.refuse(option, why));
    }
    Ok(Mix::SYNC)
}

/// drivescope flushes after each writing cell, outside of its time. That is the same only where the time ends a job.
fn check_last_flush(job: &JobOptions, mix: Mix, is_looped: bool) -> Result<(), SuiteError> {
    for option in ["end_fsync", "fsync_on_close"] {
        if job.is_on(option)? && mix.writes() && !is_looped {
            let why = "counts the last flush as time; drivescope flushes after a cell without counting it";
            return Err(job.refuse(option, why));
        }
    }
    Ok(())
}

/// What the target replaces: a name for all threads of the job.
fn file(job: &JobOptions) -> Result<Option<String>, SuiteError> {
    for option in ["filename", "directory"] {
        let several = job.value(option).is_some_and(|names| names.replace("\\:", "").contains(':'));
        if several {
            return Err(job.refuse(option, "names several places; a run measures one TARGET"));
        }
    }
    Ok(job.value("filename").map(str::to_string))
}

/// Whether threads have places of their own: files, or parts of one.
fn is_apart(
    job: &JobOptions,
    order: Order,
    threads: u32,
    is_shared: bool,
) -> Result<bool, SuiteError> {
    let increment = job.bytes("offset_increment")?.filter(|bytes| *bytes > 0 && threads > 1);
    if let Some(increment) = increment {
        return match job.bytes("size")? {
            Some(size) if size == increment => Ok(true),
            _ => Err(job.refuse("offset_increment", "has an equal only where it equals size")),
        };
    }
    if threads > 1 && is_shared && order == Order::Seq {
        let why =
            "moves the same bytes in each thread; add offset_increment, or leave filename out";
        return Err(job.refuse("numjobs", why));
    }
    Ok(threads > 1 && !is_shared)
}

/// In bytes; `None` also for all of the target, `100%`.
fn place(job: &JobOptions, option: &str) -> Result<Option<u64>, SuiteError> {
    match job.value(option) {
        Some(text) if text.ends_with('%') && option == "size" && text == "100%" => Ok(None),
        Some(text) if text.ends_with('%') => {
            Err(job.refuse(option, "is a share of a target that is not known here; give bytes"))
        }
        _ => job.bytes(option),
    }
}

fn offset(job: &JobOptions) -> Result<u64, SuiteError> {
    let bytes = place(job, "offset")?.unwrap_or(0);
    if bytes.is_multiple_of(OFFSET_UNIT) {
        return Ok(bytes);
    }
    Err(job.refuse("offset", "has an equal only at multiples of 4096 bytes"))
}

/// Requests per second, whose latency drivescope counts from the time that each was due.
fn rate(
    job: &JobOptions,
    thread: &ThreadLoad,
    threads: u32,
) -> Result<Option<(Arrivals, f64)>, SuiteError> {
    let per_s = match job.bytes("rate_iops")?.filter(|rate| *rate > 0) {
        Some(iops) => Some(("rate_iops", iops as f64)),
        None => {
            let bytes = job.bytes("rate")?.filter(|rate| *rate > 0);
            bytes.map(|bytes| ("rate", bytes as f64 / thread.sizes.mean_bytes() as f64))
        }
    };
    if job.value("io_submit_mode") == Some("offload") && per_s.is_none() {
        return Err(job.refuse("io_submit_mode", "has an equal only with rate_iops"));
    }
    let Some((option, per_s)) = per_s else { return Ok(None) };
    if (thread.order, thread.mix, threads) != (Order::Rnd, Mix::READ, 1) {
        return Err(job.refuse(option, "has an equal only for random reads of one job (randread)"));
    }
    if thread.think_us > 0 || matches!(thread.sizes, JobSizes::Split(_)) {
        return Err(
            job.refuse(option, "has an equal only for requests of one size without thinktime")
        );
    }
    let arrivals = match job.value("rate_process") {
        None | Some("linear") => Arrivals::Fixed,
        Some("poisson") => Arrivals::Poisson,
        Some(_) => return Err(job.refuse("rate_process", "is neither linear nor poisson")),
    };
    Ok(Some((arrivals, per_s)))
}

impl ThreadLoad {
    /// When a load at a rate ends.
    pub(super) fn end_s(&self, per_s: f64) -> f64 {
        let by_bytes =
            self.io_bytes.map(|bytes| bytes as f64 / self.sizes.mean_bytes() as f64 / per_s);
        let both = self.time_s.into_iter().chain(by_bytes);
        both.fold(f64::INFINITY, f64::min)
    }
}
