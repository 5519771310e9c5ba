//! Makes the examples of docs/examples from real runs: short enough to be read, and without the
//! names of the machine they came from.

use crate::workspace;
use drivescope_model::{Run, TestResult};
use std::path::Path;

/// Kept of each list that repeats itself.
const POINTS_KEPT: usize = 6;
const DISTRIBUTIONS_KEPT: usize = 1;
const PHASES_KEPT: usize = 2;
/// Objects and lists up to this length stay on one line.
const LINE_MAX: usize = 320;
/// The text in place of the target's path.
const TARGET: &str = "/mnt/data/target";

/// Makes `docs/examples/OUTPUT` of the run document in the file `input`.
pub fn make(input: &str, output: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(input).map_err(|e| format!("cannot read {input}: {e}"))?;
    let mut run: Run = serde_json::from_str(&text).map_err(|e| format!("{input}: {e}"))?;
    run.tests.iter_mut().for_each(shorten);
    let path = run.target.path.clone();
    forget_machine(&mut run);
    let text = serde_json::to_string_pretty(&run).expect("a run is plain data");
    workspace::write(
        &Path::new("docs/examples").join(output).to_string_lossy(),
        &joined(&text.replace(&path, TARGET)),
    )
}

/// Takes away what identifies one machine and drive.
fn forget_machine(run: &mut Run) {
    run.host.name = "host".to_string();
    run.host.kernel.truncate(run.host.kernel.find('-').unwrap_or(run.host.kernel.len()));
    if let Some(drive) = &mut run.drive {
        drive.serial = drive.serial.as_ref().map(|_| "0123456789".to_string());
        drive.wwn = drive.wwn.as_ref().map(|_| "0x0123456789abcdef".to_string());
    }
    if let Some(file_system) = &mut run.target.file_system {
        file_system.options = "rw,relatime".to_string();
    }
}

fn shorten(test: &mut TestResult) {
    // One curve of each quantity: `mb_s` of `read.mb_s#1`; those without rounds all differ.
    let mut seen: Vec<String> = Vec::new();
    test.series.retain(|series| {
        let quantity = match series.key.split_once('#') {
            Some((key, _)) => key.rsplit('.').next().unwrap_or_default(),
            None => &series.key,
        };
        let quantity = quantity.to_string();
        let is_new = !seen.contains(&quantity);
        seen.push(quantity);
        is_new
    });
    for series in &mut test.series {
        series.x.truncate(POINTS_KEPT);
        series.y.truncate(POINTS_KEPT);
        let values = series.x.iter_mut().chain(&mut series.y);
        values.for_each(|value| *value = six_digits(*value));
    }
    test.distributions.truncate(DISTRIBUTIONS_KEPT);
    test.phases.truncate(PHASES_KEPT);
    for metric in &mut test.metrics {
        let ends = [&mut metric.value, &mut metric.low, &mut metric.high];
        ends.into_iter().chain(&mut metric.rounds).for_each(|value| *value = six_digits(*value));
    }
}

fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().expect("a printed number can be read")
}

/// The same JSON with the short objects and lists on one line each. `pretty` is what `serde_json`
/// prints: a bracket that opens ends its line, one that closes begins it.
fn joined(pretty: &str) -> String {
    let mut open: Vec<usize> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for line in pretty.lines() {
        let ends = line.trim_start().starts_with(['}', ']']);
        lines.push(line.to_string());
        if ends && let Some(from) = open.pop() {
            let inner: Vec<&str> = lines[from + 1..].iter().map(|l| l.trim()).collect();
            let (last, fields) = inner.split_last().expect("the closing bracket is there");
            let one = format!("{}{}{last}", lines[from], fields.join(" "));
            if one.chars().count() <= LINE_MAX {
                lines.truncate(from);
                lines.push(one);
            }
        } else if line.ends_with(['{', '[']) {
            open.push(lines.len() - 1);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_parts_share_a_line_without_loss() {
        let long = "x".repeat(LINE_MAX);
        let value = serde_json::json!({"a": [1, 2, {"b": "{"}], "c": [long, []], "d": {}});
        let text = joined(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert_eq!(text.lines().nth(1), Some("  \"a\": [1, 2, {\"b\": \"{\"}],"));
        assert_eq!(text.lines().count(), 8);
    }

    #[test]
    fn numbers_keep_six_digits() {
        assert_eq!(six_digits(15444.862351565518), 15444.9);
        assert_eq!(six_digits(-0.0), 0.0);
    }
}
