//! `cargo xtask compare sql`: scans and single rows of databases on served disks, beside what `sql` predicts for the
//! same models in virtual time.

use super::ours::{Drivescope, metric};
use super::served::ServedDisk;
use super::table;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A disk, and flash behind a link that is slow beside the way to a served drive.
const DRIVES: [&str; 2] = ["wd40efrx", "samsung-870evo-1tb"];
const DATABASES: [&str; 3] = ["sqlite", "postgres", "mariadb"];
/// The table: as large as predictions compute page by page, and some seconds of a disk, so that what a server reads
/// once at its start counts little.
const SIZE: &str = "1GB";
/// The compared figures: the end of the key, and the unit.
const FIGURES: [(&str, &str); 2] = [("scan.mb_s", "MB/s"), ("seek_cold.statements_s", "/s")];
/// Clients that ask for single rows.
const THREADS: u32 = 4;
/// The most that a prediction may differ.
const NEAR: f64 = 0.15;
/// The default of Linux and of the simulated host: some machines set it otherwise for all devices.
const READ_AHEAD_KIB: &str = "128";

/// Figures of a run, in the order of [`FIGURES`].
type Figures = [f64; FIGURES.len()];

/// The section of docs/performance.md.
pub fn section(drivescope: &Drivescope) -> Result<String, String> {
    let mut rows = String::new();
    for drive in DRIVES {
        let served = ServedDisk::with_file_system(drivescope.path(), drive)?;
        let name = served.device().file_name().unwrap_or_default();
        let read_ahead = Path::new("/sys/class/block").join(name).join("queue/read_ahead_kb");
        std::fs::write(&read_ahead, READ_AHEAD_KIB)
            .map_err(|error| format!("{read_ahead:?}: {error}"))?;
        let mut all = Vec::new();
        for database in DATABASES {
            match measured(drivescope, &served.folder(), database) {
                Ok(there) => all.push((database, there)),
                Err(why) => eprintln!("SKIPPED: {database}: {why}"),
            }
        }
        let said = served.end()?;
        let way_us = way_us(&said).ok_or(format!("the served drive reported no path: {said}"))?;
        let _ = writeln!(rows, "| the way to it | {drive} | {way_us:.0} µs | | | | |");
        for (database, there) in all {
            let model = format!("sim:{drive}");
            let predicted = measured(drivescope, Path::new(&model), database)?;
            rows += &both(database, drive, there, predicted, way_us);
        }
    }
    let head = "| what | model | served | served, without the way | predicted | difference | within 15 % |\n\
                |---|---|---|---|---|---|---|\n";
    Ok(format!("{}\n\n{head}{rows}", table::machine()))
}

/// Rows of a database on a drive.
fn both(database: &str, drive: &str, there: Figures, predicted: Figures, way_us: f64) -> String {
    let mut rows = String::new();
    for (index, (figure, unit)) in FIGURES.iter().enumerate() {
        // A statement waits for one request; in a scan the waits for the way are unknown.
        let bare = figure.starts_with("seek").then(|| without_way(there[index], way_us));
        let off = predicted[index] / bare.unwrap_or(there[index]) - 1.0;
        let bare = bare.map_or("-".to_string(), |bare| format!("{bare:.1} {unit}"));
        let _ = writeln!(
            rows,
            "| {database} {figure} | {drive} | {:.1} {unit} | {bare} | {:.1} {unit} | {:+.0} % | {} |",
            there[index],
            predicted[index],
            off * 100.0,
            table::yes(off.abs() <= NEAR)
        );
    }
    rows
}

/// Microseconds that a request to a served block device takes besides the model's, as the server says at its end.
fn way_us(said: &str) -> Option<f64> {
    let mut paths = said.lines().filter(|line| line.starts_with("path through the block device"));
    // At its start it says only what the path itself is.
    let (_, about) = paths.find_map(|line| line.split_once("about "))?;
    about.split_once(" µs")?.0.parse().ok()
}

/// Statements per second of all clients without the way to the drive: each sends one request.
fn without_way(statements_s: f64, way_us: f64) -> f64 {
    let each_us = f64::from(THREADS) * 1e6 / statements_s;
    f64::from(THREADS) * 1e6 / (each_us - way_us).max(1.0)
}

/// The figures of a run, in the order of [`FIGURES`].
fn measured(drivescope: &Drivescope, target: &Path, database: &str) -> Result<Figures, String> {
    let mut command = Command::new(drivescope.path());
    command.arg("run").arg(target).args(["--test", "sql", "--db", database, "--size", SIZE]);
    command.args(["--json", "--no-save", "--quiet", "--force"]);
    command.args(["--set", "sql.parts=[\"scan\", \"seek\"]", "--set", "sql.rounds=3"]);
    // No time ends a round before all of its rows were asked for.
    command.args(["--set", "sql.seek_time=120s", "--set", "sql.iterations=500"]);
    command.args(["--set", &format!("sql.threads={THREADS}")]);
    let output = command.output().map_err(|error| format!("cannot start drivescope: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let run: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("drivescope gave no document: {error}: {said}"))?;
    let test = &run["tests"][0];
    let mut values = [0.0; FIGURES.len()];
    for (value, (figure, _)) in values.iter_mut().zip(FIGURES) {
        let key = format!("sql.{database}.{figure}");
        let found = metric(test, &key);
        *value = found.ok_or_else(|| format!("no metric {key}: {}", test["reason"]))?;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn way_is_parsed_and_subtracted_per_statement() {
        let said = "path through the block device: p50 44.5 µs, p99 10.0 ms, added to the model's time\n\
                    path through the file: p50 77 µs; a program sees the model's time and about 81.0 µs more\n\
                    path through the block device: p50 96.1 µs, p99 123 µs; a program sees the model's time and \
                    about 100.0 µs more\n";
        assert_eq!(way_us(said), Some(100.0));
        assert_eq!(way_us("nothing"), None);
        assert!((without_way(20_000.0, 100.0) - 40_000.0).abs() < 1e-6);
    }
}
