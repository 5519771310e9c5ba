//! `cargo xtask compare traces`: what a trace that was recorded on one served disk predicts for another one, in virtual
//! time, beside the same program on that one served in real time; and what each recording has beside what the kernel
//! counted of the device.

use super::ours::Drivescope;
use super::served::ServedDisk;
use super::table;
use crate::programs::finished;
use crate::workspace;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of `xtask/recipes/waiting.sh`, in words and by name.
const PROGRAMS: [(&str, &str); 3] = [
    ("60 transactions of SQLite", "transactions"),
    ("120 messages, each flushed", "messages"),
    ("600 random reads", "reads"),
];
/// A disk and flash.
const DRIVES: [&str; 2] = ["wd40efrx", "samsung-870evo-1tb"];
/// The most that a prediction may differ.
const NEAR: f64 = 0.15;
/// The most that a recording may differ from the kernel's counts.
const COUNTED: f64 = 0.01;

/// A program on a drive.
struct ServedRecording {
    trace: PathBuf,
    length_s: f64,
    /// Requests and bytes of the trace, and as the kernel counted them.
    seen: [f64; 2],
    counted: [f64; 2],
}

/// The section of docs/performance.md.
pub fn section(drivescope: &Drivescope) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder: {error}"))?;
    let (mut predicted, mut counts) = (String::new(), String::new());
    for (words, program) in PROGRAMS {
        let recordings: Vec<ServedRecording> = DRIVES
            .iter()
            .map(|drive| recorded(drivescope, folder.path(), drive, program))
            .collect::<Result<_, _>>()?;
        for (from, to) in [(0, 1), (1, 0)] {
            let predicted_s = replayed_s(drivescope, &recordings[from].trace, DRIVES[to])?;
            let there_s = recordings[to].length_s;
            let off = predicted_s / there_s - 1.0;
            let _ = writeln!(
                predicted,
                "| {words} | {} | {} | {predicted_s:.2} s | {there_s:.2} s | {:+.0} % | {} |",
                DRIVES[from],
                DRIVES[to],
                off * 100.0,
                table::yes(off.abs() <= NEAR)
            );
        }
        for (drive, recording) in DRIVES.iter().zip(&recordings) {
            let ServedRecording { seen, counted, .. } = recording;
            let is_near = (0..2).all(|which| (seen[which] / counted[which] - 1.0).abs() <= COUNTED);
            let _ = writeln!(
                counts,
                "| {words} | {drive} | {:.0} | {:.0} | {:.3} MB | {:.3} MB | {} |",
                seen[0],
                counted[0],
                seen[1] / 1e6,
                counted[1] / 1e6,
                table::yes(is_near)
            );
        }
    }
    Ok(format!(
        "{}\n\n| what | from | to | predicted | run there | difference | within 15 % |\n|---|---|---|---|---|---|---|\n\
         {predicted}\n| what | on | requests recorded | counted | bytes recorded | counted | within 1 % |\n\
         |---|---|---|---|---|---|---|\n{counts}",
        table::machine()
    ))
}

/// Runs a program on a fresh file system of a served drive, and records it.
fn recorded(
    drivescope: &Drivescope,
    folder: &Path,
    drive: &str,
    program: &str,
) -> Result<ServedRecording, String> {
    let served = ServedDisk::with_file_system(drivescope.path(), drive)?;
    let recipe = workspace::root().join("xtask/recipes/waiting.sh");
    let recipe = |step: &str| {
        let mut shell = Command::new("sh");
        shell.arg(&recipe).args([step, program]).current_dir(served.folder());
        shell
    };
    finished(recipe("prepare"))?;
    let mut cool = Command::new("sh");
    cool.args(["-c", "sync; echo 3 > /proc/sys/vm/drop_caches"]);
    finished(cool)?;
    let trace = folder.join(format!("{program}-{drive}.trace"));
    let mut record = Command::new(drivescope.path());
    record.args(["trace", "record", "--force", "--device"]).arg(served.device()).arg(&trace);
    let running = recipe("run");
    record.arg("--").arg(running.get_program()).args(running.get_args());
    record.current_dir(served.folder());
    let before = counted(served.device())?;
    finished(record)?;
    let after = counted(served.device())?;
    let mut info = Command::new(drivescope.path());
    info.args(["trace", "info", "--json"]).arg(&trace);
    let info: Value = serde_json::from_str(&finished(info)?).map_err(|error| error.to_string())?;
    let of = |place: &str| info.pointer(place).and_then(Value::as_f64).unwrap_or(0.0);
    Ok(ServedRecording {
        trace,
        length_s: of("/length_s"),
        seen: [
            of("/reads/requests") + of("/writes/requests") + of("/flushes"),
            of("/reads/bytes") + of("/writes/bytes"),
        ],
        counted: [after[0] - before[0], after[1] - before[1]],
    })
}

/// Reads and writes of a device so far, flushes among the writes, and bytes read and written.
fn counted(device: &Path) -> Result<[f64; 2], String> {
    let name = device.file_name().unwrap_or_default();
    let path = Path::new("/sys/class/block").join(name).join("stat");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path:?}: {error}"))?;
    let fields: Vec<f64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    // Documentation/block/stat.rst: requests and sectors of reads, of writes. A flush of a file system without a
    // journal is a write of no bytes; the count of flushes has it once more.
    let of = |index: usize| fields.get(index).copied().unwrap_or(0.0);
    Ok([of(0) + of(4), (of(2) + of(6)) * 512.0])
}

/// Seconds that a trace takes on a model, in virtual time.
fn replayed_s(drivescope: &Drivescope, trace: &Path, model: &str) -> Result<f64, String> {
    let mut replay = Command::new(drivescope.path());
    replay.args(["trace", "replay"]).arg(trace).arg(format!("sim:{model}"));
    replay.args(["--json", "--no-save", "--quiet", "--force"]);
    let replayed: Value =
        serde_json::from_str(&finished(replay)?).map_err(|error| error.to_string())?;
    let metrics = replayed["tests"][0]["metrics"].as_array();
    let is_run =
        |metric: &&Value| metric["key"].as_str().is_some_and(|key| key.ends_with(".run_s"));
    let time = metrics.and_then(|all| all.iter().find(is_run)?["value"].as_f64());
    time.ok_or_else(|| "no metric run_s".to_string())
}
