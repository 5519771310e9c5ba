//! `cargo xtask compare sql`: scans and single rows of databases on served disks, beside what `sql` predicts for the
//! same models in virtual time.

use super::ours::Drivescope;
use super::served::ServedDisk;
use super::table;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A disk, and flash behind a link that is slow beside the way to a served drive.
const DRIVES: [&str; 2] = ["wd40efrx", "samsung-870evo-1tb"];
const DATABASES: [&str; 3] = ["sqlite", "postgres", "mariadb"];
/// The table: some seconds of a disk.
const SIZE: &str = "400MB";
/// What is compared: the end of its key, and its unit.
const FIGURES: [(&str, &str); 2] = [("scan.mb_s", "MB/s"), ("seek_cold.statements_s", "/s")];
/// A prediction must be so near.
const NEAR: f64 = 0.15;
/// What Linux has by default, and the simulated host: some machines set it otherwise for all devices.
const READ_AHEAD_KIB: &str = "128";

/// The section of docs/performance.md.
pub fn section(drivescope: &Drivescope) -> Result<String, String> {
    let mut rows = String::new();
    for drive in DRIVES {
        let served = ServedDisk::with_file_system(drivescope.path(), drive)?;
        let name = served.device().file_name().unwrap_or_default();
        let read_ahead = Path::new("/sys/class/block").join(name).join("queue/read_ahead_kb");
        std::fs::write(&read_ahead, READ_AHEAD_KIB)
            .map_err(|error| format!("{read_ahead:?}: {error}"))?;
        for database in DATABASES {
            let there = match measured(drivescope, &served.folder(), database) {
                Ok(there) => there,
                Err(why) => {
                    eprintln!("SKIPPED: {database}: {why}");
                    continue;
                }
            };
            let model = format!("sim:{drive}");
            let predicted = measured(drivescope, Path::new(&model), database)?;
            for (index, (figure, unit)) in FIGURES.iter().enumerate() {
                let off = predicted[index] / there[index] - 1.0;
                let _ = writeln!(
                    rows,
                    "| {database} {figure} | {drive} | {:.1} {unit} | {:.1} {unit} | {:+.0} % | {} |",
                    there[index],
                    predicted[index],
                    off * 100.0,
                    table::yes(off.abs() <= NEAR)
                );
            }
        }
    }
    let head = "| what | model | served | predicted | difference | within 15 % |\n|---|---|---|---|---|---|\n";
    Ok(format!("{}\n\n{head}{rows}", table::machine()))
}

/// The figures of a run, in the order of [`FIGURES`].
fn measured(
    drivescope: &Drivescope,
    target: &Path,
    database: &str,
) -> Result<[f64; FIGURES.len()], String> {
    let mut command = Command::new(drivescope.path());
    command.arg("run").arg(target).args(["--test", "sql", "--db", database, "--size", SIZE]);
    command.args(["--json", "--no-save", "--quiet", "--force"]);
    command.args(["--set", "sql.parts=[\"scan\", \"seek\"]", "--set", "sql.rounds=3"]);
    // No time ends a round before all of its rows were asked for.
    command.args(["--set", "sql.seek_time=120s", "--set", "sql.iterations=500"]);
    let output = command.output().map_err(|error| format!("cannot start drivescope: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let run: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("drivescope gave no document: {error}: {said}"))?;
    let metrics = run["tests"][0]["metrics"].as_array();
    let mut values = [0.0; FIGURES.len()];
    for (value, (figure, _)) in values.iter_mut().zip(FIGURES) {
        let key = format!("sql.{database}.{figure}");
        let found = metrics.and_then(|all| all.iter().find(|it| it["key"] == key.as_str()));
        let found = found.and_then(|metric| metric["value"].as_f64());
        *value = found.ok_or_else(|| format!("no metric {key}: {}", run["tests"][0]["reason"]))?;
    }
    Ok(values)
}
