//! `cargo xtask compare budgets`: the budgets of the project that need no peer, and where the others are
//! shown.

use super::{Drivescope, table};
use crate::workspace;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Starts of which the median counts.
const STARTS: usize = 20;
const VERSION_MAX_MS: f64 = 10.0;
const BINARY_MAX_MB: f64 = 20.0;
const GENERATOR_MIN_MB_S: f64 = 5000.0;
const COLD_MAX_S: f64 = 240.0;
/// Beyond this load other work takes processor time from the measurement.
const QUIET_LOAD: f64 = 2.0;

/// Budgets that are measured elsewhere: what, how much, and where it is shown.
const ELSEWHERE: [(&str, &str, &str); 4] = [
    (
        "user CPU per I/O and I/O per second on a RAM disk",
        "≤ 0.5 × fio at QD1, ≤ 0.35 × at QD32; not below fio's",
        "`compare engines`, in this document",
    ),
    (
        "our figure against fio's on the same file",
        "within 5 %",
        "`compare fio --part file`, in this document",
    ),
    (
        "simulated I/O on one core",
        "≥ 3 million/s hard disk, ≥ 1 million/s SSD",
        "`cargo bench --package drivescope-sim`",
    ),
    (
        "100,000 stored runs: list, filter, compare, history",
        "< 200 ms each",
        "`cargo bench --package drivescope-store`",
    ),
];
/// Simulated drives of several kinds, for a report.
const REPORTED: [&str; 5] =
    ["wd40efrx", "usb-16tb", "samsung-860evo-250", "samsung-870evo-1tb", "wd10ears"];
const REPORT_MAX_S: f64 = 1.0;
const REPORT_MAX_MB: f64 = 1.0;

/// Measures, and prints the section or puts it into docs/performance.md.
pub fn run(args: &[String]) -> Result<(), String> {
    let (mut cold, mut write) = (false, false);
    for arg in args {
        match arg.as_str() {
            "--cold" => cold = true,
            "--write" => write = true,
            _ => return Err("usage: cargo xtask compare budgets [--cold] [--write]".to_string()),
        }
    }
    let drivescope = Drivescope::build()?;
    let binary = drivescope.path();
    let before = load();
    let mut rows = vec![version(binary)?, size(binary)?, generator()?, report(binary)?];
    if cold {
        rows.push(cold_build()?);
    }
    table::show(vec![section(&rows, before.max(load()), cold)], write)
}

/// A budget and what was measured.
struct BudgetRow {
    what: &'static str,
    budget: String,
    measured: String,
    within: bool,
}

fn version(binary: &Path) -> Result<BudgetRow, String> {
    let start = || -> Result<f64, String> {
        let begin = Instant::now();
        let status = Command::new(binary).arg("--version").stdout(Stdio::null()).status();
        let took_ms = begin.elapsed().as_secs_f64() * 1e3;
        match status {
            Ok(status) if status.success() => Ok(took_ms),
            Ok(status) => Err(format!("drivescope --version: {status}")),
            Err(error) => Err(format!("cannot start drivescope: {error}")),
        }
    };
    // The first start reads the program from the disk.
    start()?;
    let took = (0..STARTS).map(|_| start()).collect::<Result<Vec<f64>, String>>()?;
    let fastest_ms = took.iter().copied().fold(f64::INFINITY, f64::min);
    let median_ms = table::median(took);
    Ok(BudgetRow {
        what: "`drivescope --version`, from start to end",
        budget: format!("< {VERSION_MAX_MS} ms"),
        measured: format!("{median_ms:.1} ms, median of {STARTS}; fastest {fastest_ms:.1} ms"),
        within: median_ms < VERSION_MAX_MS,
    })
}

fn size(binary: &Path) -> Result<BudgetRow, String> {
    let bytes = std::fs::metadata(binary).map_err(|e| format!("cannot see the binary: {e}"))?.len();
    let mb = bytes as f64 / 1e6;
    Ok(BudgetRow {
        what: "release binary",
        budget: format!("< {BINARY_MAX_MB} MB"),
        measured: format!("{mb:.1} MB"),
        within: mb < BINARY_MAX_MB,
    })
}

/// A page of ten runs of the suite `standard`: each of five drives twice, with two seeds.
fn report(binary: &Path) -> Result<BudgetRow, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
    let mut command = Command::new(binary);
    command.arg("report");
    for (number, model) in REPORTED.iter().chain(&REPORTED).enumerate() {
        let target = format!("sim:{model}");
        let mut run = Command::new(binary);
        run.args(["run", &target, "--suite", "standard", "--seed", &number.to_string()]);
        let output = run.args(["--json", "--no-save", "--quiet"]).output();
        let output = output.map_err(|e| format!("cannot start drivescope: {e}"))?;
        let document = folder.path().join(format!("{number}.json"));
        std::fs::write(&document, output.stdout).map_err(|e| format!("cannot write: {e}"))?;
        command.arg(document);
    }
    let page = folder.path().join("page.html");
    let begin = Instant::now();
    let output = command.arg("--output").arg(&page).output();
    let took_s = begin.elapsed().as_secs_f64();
    let status = output.map_err(|e| format!("cannot start drivescope: {e}"))?.status;
    let size = std::fs::metadata(&page).map_err(|e| format!("no report ({status}): {e}"))?.len();
    let mb = size as f64 / 1e6;
    Ok(BudgetRow {
        what: "HTML report of 10 drives, suite `standard`",
        budget: format!("< {REPORT_MAX_S} s, < {REPORT_MAX_MB} MB"),
        measured: format!("{took_s:.2} s, {mb:.2} MB"),
        within: took_s < REPORT_MAX_S && mb < REPORT_MAX_MB,
    })
}

/// By processor time, so that other work on the machine costs little.
fn generator() -> Result<BudgetRow, String> {
    let output = Command::new("cargo")
        .args(["bench", "--quiet", "--package", "drivescope-bench", "--bench", "generator"])
        .current_dir(workspace::root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    let rates = rates(&String::from_utf8_lossy(&output.stdout))?;
    let slowest = rates.iter().map(|(_, mb_s)| *mb_s).fold(f64::INFINITY, f64::min);
    let each: Vec<String> = rates
        .iter()
        .map(|(bytes, mb_s)| format!("{:.1} GB/s in {} KiB", mb_s / 1e3, bytes >> 10))
        .collect();
    Ok(BudgetRow {
        what: "fresh test data, per core (processor time)",
        budget: format!("≥ {} GB/s", GENERATOR_MIN_MB_S / 1e3),
        measured: each.join(", "),
        within: slowest >= GENERATOR_MIN_MB_S,
    })
}

/// The benchmark's output: a size of buffers and 10^6 bytes per second on each line.
fn rates(text: &str) -> Result<Vec<(u64, f64)>, String> {
    let line = |line: &str| -> Option<(u64, f64)> {
        let (bytes, mb_s) = line.split_once(' ')?;
        Some((bytes.parse().ok()?, mb_s.parse().ok()?))
    };
    let rates: Option<Vec<(u64, f64)>> = text.lines().map(line).collect();
    rates.filter(|rates| !rates.is_empty()).ok_or(format!("no rates in what it printed: {text}"))
}

/// A build from nothing, into a folder of its own; downloads are there already.
fn cold_build() -> Result<BudgetRow, String> {
    let root = workspace::root();
    let target = tempfile::tempdir_in(root.join("target"))
        .map_err(|e| format!("cannot make a target folder: {e}"))?;
    let begin = Instant::now();
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--release", "--package", "drivescope", "--target-dir"])
        .arg(target.path())
        .current_dir(root)
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if !status.success() {
        return Err("the cold build failed".to_string());
    }
    let took_s = begin.elapsed().as_secs_f64();
    Ok(BudgetRow {
        what: "cold release build, 2 processors",
        budget: format!("< {COLD_MAX_S} s"),
        measured: format!("{took_s:.0} s"),
        within: took_s < COLD_MAX_S,
    })
}

/// Processes that wanted to run in the last minute, on average.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN)
}

fn section(rows: &[BudgetRow], load: f64, cold: bool) -> String {
    let option = if cold { " --cold" } else { "" };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "## Budgets\n\n`cargo xtask compare budgets{option}`. {}\n",
        table::machine()
    );
    // An unknown load does not count as quiet.
    if load.is_nan() || load >= QUIET_LOAD {
        let _ = writeln!(
            text,
            "Other work kept the processors busy while this was measured (load {load:.0}): times from start \
             to end\nare too long by what it took.\n"
        );
    }
    let _ = writeln!(text, "| what | budget | measured | within |");
    let _ = writeln!(text, "|---|---|---|---|");
    for BudgetRow { what, budget, measured, within } in rows {
        let _ = writeln!(text, "| {what} | {budget} | {measured} | {} |", table::yes(*within));
    }
    for (what, budget, place) in ELSEWHERE {
        let _ = writeln!(text, "| {what} | {budget} | {place} | |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(within: bool) -> BudgetRow {
        BudgetRow { what: "a thing", budget: "< 1".into(), measured: "2".into(), within }
    }

    #[test]
    fn benchmark_output_is_read_whole_or_refused() {
        assert_eq!(
            rates("4096 7100\n1048576 6900\n").unwrap(),
            [(4096, 7100.0), (1 << 20, 6900.0)]
        );
        assert!(rates("").is_err());
        assert!(rates("4096 7100\nwarning: x\n").is_err());
    }

    #[test]
    fn broken_budget_and_busy_machine_are_reported() {
        let quiet = section(&[row(true)], 0.5, false);
        assert!(
            quiet.contains("| a thing | < 1 | 2 | yes |") && !quiet.contains("busy"),
            "{quiet}"
        );
        assert!(quiet.starts_with("## Budgets\n"));
        let busy = section(&[row(false)], 9.0, true);
        assert!(busy.contains("| **no** |") && busy.contains("(load 9)"), "{busy}");
        assert!(section(&[], f64::NAN, false).contains("busy"));
    }
}
