//! Served drives against their models: fio's times of requests in real time, beside the model's in virtual time.

use super::ours::Drivescope;
use super::served::ServedDisk;
use super::{fio, table};
use std::fmt::Write as _;
use std::process::Command;

/// The flash model that takes part, and of which the drive of 8 ms is made.
const FLASH: &str = "samsung-870evo-1tb";
/// Page reads that make 8 ms, with the 870 EVO's commands and link, in microseconds.
const PAGE_US: u32 = 7_960;
/// Depths of each drive; what a hard disk needs depends on the places, and so on luck.
const DEPTHS: [u32; 2] = [1, 32];

/// The section of the document: every drive at every depth, through the file and the block device.
pub fn section(drivescope: &Drivescope, seconds: f64) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a folder: {e}"))?;
    let slow = folder.path().join("eight-ms.toml");
    let text = with_slow_pages(&model_text(drivescope, FLASH)?);
    std::fs::write(&slow, text).map_err(|e| format!("cannot write a model: {e}"))?;
    let slow = slow.display().to_string();
    let mut rows = String::new();
    let mut reports = String::new();
    for (name, model) in [("8 ms for each read", slow.as_str()), (FLASH, FLASH)] {
        let served = ServedDisk::start(drivescope.path(), model)?;
        for depth in DEPTHS {
            let cell = format!("rnd4k_q{depth}t1.read");
            let truth = drivescope.simulated_p50_us(model, &cell, seconds)?;
            for (through, place) in
                [("file", served.file()), ("block device", served.device().into())]
            {
                let [min, p50, p99] = fio::latencies_us(&place, depth, seconds)?;
                let _ = writeln!(
                    rows,
                    "| {name} | {depth} | {through} | {truth:.0} | {min:.0} | {p50:.0} | {p99:.0} | {:+.0} |",
                    p50 - truth
                );
            }
        }
        let said = served.end()?;
        let last = said.rsplit_once("served ").map_or("", |(_, report)| report);
        let _ = writeln!(reports, "{name}:\n\n```\nserved {}\n```\n", last.trim_end());
    }
    let machine = table::machine();
    Ok(format!(
        "## Served drives: the model's time and little more\n\n`--part precision --time {seconds}`. {machine} \
         Load while it was measured: {}.\n\n{ABOUT}\n\n| drive | depth | through | model | fio, shortest | \
         median | 99 % | median beyond |\n|---|---|---|---|---|---|---|---|\n{rows}\nAt its end each server \
         reported how late its replies were and what the path costs:\n\n{}",
        load(),
        reports.trim_end().to_string() + "\n"
    ))
}

/// The meaning of the figures.
const ABOUT: &str = "fio reads 4 KiB at random places of a drive that `drivescope sim mount --block` serves. All \
                     figures are\nmicroseconds; the model's is the median of the same reads in virtual time. The \
                     drive of 8 ms is the 870 EVO's\nmodel with page reads of 7.96 ms and no retries. At \
                     depth 32 requests wait for each other in the\nmodel; a busy machine sends them in bursts, \
                     and so they wait longer.";

fn model_text(drivescope: &Drivescope, name: &str) -> Result<String, String> {
    let output = Command::new(drivescope.path())
        .args(["sim", "show", name])
        .output()
        .map_err(|e| format!("cannot start drivescope: {e}"))?;
    String::from_utf8(output.stdout).map_err(|e| format!("the model is not text: {e}"))
}

/// The same model with slow pages, each alike.
fn with_slow_pages(text: &str) -> String {
    let line = |line: &str| match line.split(" = ").next() {
        Some("read_us") => format!("read_us = [{PAGE_US}, {PAGE_US}, {PAGE_US}]"),
        Some("slc_read_us") => format!("slc_read_us = {PAGE_US}"),
        Some("retry_share") => "retry_share = 0".to_string(),
        _ => line.to_string(),
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// The load average of the last minute.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_times_of_pages_change() {
        let text = "[ssd.flash]\nread_us = [40, 46, 52] # a\nslc_read_us = 40\nerase_us = 3500\nretry_share = 0.1\n";
        let slow = with_slow_pages(text);
        assert_eq!(
            slow,
            "[ssd.flash]\nread_us = [7960, 7960, 7960]\nslc_read_us = 7960\nerase_us = 3500\nretry_share = 0\n"
        );
    }
}
