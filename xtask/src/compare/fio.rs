//! fio's side of a pair.

use super::{CellFigures, Measurement, samples};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The memory of fio's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// malloc, fio's default: whether a large request is one piece of memory is luck.
    Malloc,
    /// Huge pages, as drivescope asks the kernel for.
    Huge,
    /// malloc, filled anew for every write, as drivescope does: else data come out of the processor's cache, which a
    /// file on a RAM disk or a loop device shows.
    Fresh,
}

/// The engine of fio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FioEngine {
    /// One `pread` or `pwrite` after the other, at any depth.
    Psync,
    /// The older interface of Linux.
    Libaio,
    /// With fixed buffers and a registered file.
    Uring,
}

impl FioEngine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Psync, Self::Libaio, Self::Uring];

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Psync => &["--ioengine=psync"],
            Self::Libaio => &["--ioengine=libaio"],
            Self::Uring => &["--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1"],
        }
    }
}

/// Makes a fresh file of random data and flushes it, as drivescope makes its own.
pub fn lay_out(file: &Path, size_mib: u64) -> Result<(), String> {
    remove(file);
    let size = format!("--size={size_mib}m");
    let fixed = [
        "--name=layout",
        "--rw=write",
        "--bs=1m",
        "--ioengine=io_uring",
        "--iodepth=4",
        "--direct=1",
        "--end_fsync=1",
        "--refill_buffers",
    ];
    run(file, &[fixed.as_slice(), &[&size]].concat()).map(drop)
}

/// Removes the file; a missing file is not an error.
pub fn remove(file: &Path) {
    let _ = std::fs::remove_file(file);
}

/// Shortest, median and 99th percentile latency of reads of 4 KiB at random places, in microseconds.
///
/// Each request counts by itself: fio's own percentiles are multiples of 66 µs at 8 ms.
pub fn latencies_us(target: &Path, depth: u32, seconds: f64) -> Result<[f64; 3], String> {
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
    let log = format!("--write_lat_log={}", folder.path().join("each").display());
    let (depth, runtime) =
        (format!("--iodepth={depth}"), format!("--runtime={}ms", (seconds * 1e3) as u64));
    // fio's own clock is the processor's counter, and drivescope's the kernel's.
    let fixed = ["--name=each", "--ioengine=io_uring", "--direct=1", "--bs=4k", "--rw=randread"];
    let more = ["--time_based", "--norandommap", "--clocksource=clock_gettime", "--readonly"];
    let own = [log.as_str(), &depth, &runtime, "--allow_file_create=0"];
    run(target, &[&fixed[..], &more, &own].concat())?;
    let each = std::fs::read_to_string(folder.path().join("each_lat.1.log"))
        .map_err(|e| format!("fio wrote no log: {e}"))?;
    // Time in ms, latency in ns, direction, size, offset, priority.
    let latency = |line: &str| line.split(',').nth(1)?.trim().parse::<f64>().ok();
    let mut all: Vec<f64> = each.lines().filter_map(latency).map(|ns| ns / 1e3).collect();
    all.sort_unstable_by(f64::total_cmp);
    let quantile = |q: f64| all.get((all.len() as f64 * q) as usize).copied();
    let [min, p50, p99] = [0.0, 0.5, 0.99].map(quantile);
    Ok([min, p50, p99].map(|found| found.unwrap_or(f64::NAN)))
}

/// Measures one cell, with fio's fastest common settings: io_uring, fixed buffers, registered file.
pub fn measure(
    file: &Path,
    cell: &str,
    seconds: f64,
    memory: Memory,
) -> Result<CellFigures, String> {
    measure_with(FioEngine::Uring, file, cell, memory, Measurement::of(seconds))
}

/// Figures with any of its engines; on demand, with user CPU by samples.
pub fn measure_with(
    engine: FioEngine,
    file: &Path,
    cell: &str,
    memory: Memory,
    each: Measurement,
) -> Result<CellFigures, String> {
    let (shape, direction) = cell.split_once('.').ok_or("a cell has a direction")?;
    let (order_block, queue) = shape.split_once("_q").ok_or("a cell has a depth")?;
    let (depth, _) = queue.split_once('t').ok_or("a cell has threads")?;
    let (order, block) = order_block.split_at(3);
    let rw = if order == "rnd" { format!("rand{direction}") } else { direction.to_string() };
    let own = [
        format!("--rw={rw}"),
        format!("--bs={block}"),
        format!("--iodepth={depth}"),
        format!("--ramp_time={}ms", (each.ramp_s * 1e3) as u64),
        format!("--runtime={}ms", (each.seconds * 1e3) as u64),
    ];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let fixed = [
        "--name=cell",
        "--direct=1",
        "--time_based",
        "--norandommap",
        "--randrepeat=0",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        "--allow_file_create=0",
    ];
    let mut args = [fixed.as_slice(), engine.options(), &own].concat();
    if direction == "read" {
        args.push("--readonly");
    }
    match memory {
        Memory::Malloc => {}
        Memory::Huge => args.push("--iomem=mmaphuge"),
        Memory::Fresh => args.push("--refill_buffers"),
    }
    let (document, user_ns_per_s) = if each.sampled {
        let args = all_arguments(file, &args);
        let (output, user_ns_per_s) = samples::run(Path::new("fio"), &args, each)?;
        (document(&output)?, Some(user_ns_per_s))
    } else {
        (run(file, &args)?, None)
    };
    let figures = figures(&document["jobs"][0], direction).ok_or("fio's document lacks a field")?;
    Ok(figures.with_user_cpu(user_ns_per_s))
}

fn figures(job: &Value, direction: &str) -> Option<CellFigures> {
    let side = &job[direction];
    let ios = side["total_ios"].as_f64().filter(|&n| n > 0.0)?;
    let cpu_ns =
        |key: &str| Some(job[key].as_f64()? / 100.0 * job["job_runtime"].as_f64()? * 1e6 / ios);
    let percentile = |p: &str| Some(side["lat_ns"]["percentile"][p].as_f64()? / 1e3);
    Some(CellFigures {
        mb_s: side["bw_bytes"].as_f64()? / 1e6,
        iops: side["iops"].as_f64()?,
        lat_p50_us: percentile("50.000000")?,
        lat_p99_us: percentile("99.000000")?,
        user_ns: cpu_ns("usr_cpu")?,
        sys_ns: cpu_ns("sys_cpu")?,
    })
}

fn all_arguments(file: &Path, args: &[&str]) -> Vec<String> {
    let file = format!("--filename={}", file.display());
    let all = [&[file.as_str()], args, &["--output-format=json"]].concat();
    all.into_iter().map(str::to_string).collect()
}

fn run(file: &Path, args: &[&str]) -> Result<Value, String> {
    let output = Command::new("fio").args(all_arguments(file, args)).output();
    document(&output.map_err(|e| format!("cannot start fio: {e}"))?)
}

fn document(output: &Output) -> Result<Value, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    // Notes of fio come before the document.
    let start = text.find('{').ok_or_else(|| {
        format!("fio gave no document: {}", String::from_utf8_lossy(&output.stderr).trim())
    })?;
    serde_json::from_str(&text[start..]).map_err(|e| format!("fio's document is broken: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_taken_per_request() {
        let job: Value = serde_json::from_str(
            r#"{"job_runtime": 2000, "usr_cpu": 10.0, "sys_cpu": 50.0, "read": {
                "total_ios": 1000, "bw_bytes": 2048000, "iops": 500.0,
                "lat_ns": {"percentile": {"50.000000": 1500, "99.000000": 9000}}}}"#,
        )
        .unwrap();
        let figures = figures(&job, "read").unwrap();
        assert_eq!((figures.user_ns, figures.sys_ns), (200_000.0, 1_000_000.0));
        assert_eq!((figures.mb_s, figures.lat_p50_us, figures.lat_p99_us), (2.048, 1.5, 9.0));
    }
}
