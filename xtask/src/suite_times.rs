//! `cargo xtask suites`: every suite on every simulated drive, how long it computes, and what its plan had said.

use crate::compare::Drivescope;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A run computes no longer.
const COMPUTED_MAX_S: f64 = 15.0;
/// Above this the plan gives the time, right within the factor.
const SAID_FROM_S: f64 = 2.0;
const SAID_FACTOR_MAX: f64 = 2.0;

/// One suite on one drive.
struct SuiteTime {
    model: String,
    /// The planned time, s.
    planned_s: f64,
    /// Processor time of the program, which a busy machine does not lengthen much, s.
    computed_s: f64,
    /// Requests within the measured times.
    requests: u64,
}

impl SuiteTime {
    fn is_long(&self) -> bool {
        self.computed_s > COMPUTED_MAX_S
    }

    /// By what the plan is wrong, where it matters.
    fn factor(&self) -> Option<f64> {
        let matters = self.computed_s.max(self.planned_s) > SAID_FROM_S;
        matters.then(|| self.computed_s / self.planned_s.max(f64::MIN_POSITIVE))
    }

    fn is_wrong(&self) -> bool {
        self.factor().is_some_and(|it| !(1.0 / SAID_FACTOR_MAX..=SAID_FACTOR_MAX).contains(&it))
    }
}

/// Runs all of them, or those with a text in `SUITE sim:MODEL`, and prints the table; `args` follow `suites`.
pub fn run(args: &[&str]) -> Result<(), String> {
    let only = match args {
        [] => "",
        ["--only", text] => text,
        _ => return Err("usage: cargo xtask suites [--only TEXT]".to_string()),
    };
    let program = Drivescope::build()?;
    let suites = names(program.path(), &["suites", "--json"])?;
    let models = names(program.path(), &["sim", "list", "--json"])?;
    let mut table = "| suite | drives | median | longest | on | plan there | worst plan | on |\n\
                     |---|---:|---:|---:|---|---:|---:|---|\n"
        .to_string();
    let mut faults = Vec::new();
    for suite in &suites {
        let chosen = models.iter().filter(|model| format!("{suite} sim:{model}").contains(only));
        let mut times = Vec::new();
        for model in chosen {
            let Some(time) = time_of(program.path(), suite, model)? else { continue };
            eprintln!("{suite} {}", in_words(&time));
            if time.is_long() || time.is_wrong() {
                faults.push(format!("{suite} {}", in_words(&time)));
            }
            times.push(time);
        }
        add_row(&mut table, suite, times);
    }
    println!("{table}");
    if faults.is_empty() { Ok(()) } else { Err(format!("outside:\n{}", faults.join("\n"))) }
}

fn in_words(time: &SuiteTime) -> String {
    let SuiteTime { model, planned_s, computed_s, requests } = time;
    format!("sim:{model}: {computed_s:.1} s, plan {planned_s:.1} s, {requests} requests")
}

fn add_row(table: &mut String, suite: &str, mut times: Vec<SuiteTime>) {
    fn off(time: &SuiteTime) -> f64 {
        time.factor().map_or(0.0, |factor| factor.ln().abs())
    }
    times.sort_by(|a, b| a.computed_s.total_cmp(&b.computed_s));
    let (Some(longest), Some(median)) = (times.last(), times.get(times.len() / 2)) else { return };
    let worst = times.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
    let worst = worst.and_then(|time| Some((time.factor()?, time.model.as_str())));
    let (factor, on) = worst.map_or((String::new(), ""), |(it, on)| (format!("× {it:.2}"), on));
    let _ = writeln!(
        table,
        "| {suite} | {} | {:.1} s | {:.1} s | {} | {:.1} s | {factor} | {on} |",
        times.len(),
        median.computed_s,
        longest.computed_s,
        longest.model,
        longest.planned_s
    );
}

fn output(program: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new(program).args(args).stderr(Stdio::null()).output();
    Ok(output.map_err(|e| format!("cannot start {}: {e}", program.display()))?.stdout)
}

fn names(program: &Path, args: &[&str]) -> Result<Vec<String>, String> {
    let list: Vec<Value> = serde_json::from_slice(&output(program, args)?)
        .map_err(|e| format!("drivescope {}: {e}", args.join(" ")))?;
    Ok(list.iter().filter_map(|row| Some(row["name"].as_str()?.to_string())).collect())
}

/// Runs a suite on a drive; `None` where no test of it can run there.
fn time_of(program: &Path, suite: &str, model: &str) -> Result<Option<SuiteTime>, String> {
    fn tests(list: &Value) -> Vec<Value> {
        list.as_array().cloned().unwrap_or_default()
    }
    let before_s = children_s()?;
    let target = format!("sim:{model}");
    let args = ["run", &target, "--suite", suite, "--seed", "1", "--json", "--no-save", "--quiet"];
    let document = output(program, &args)?;
    let computed_s = children_s()? - before_s;
    let Ok(run) = serde_json::from_slice::<Value>(&document) else { return Ok(None) };
    let planned = tests(&run["plan"]["tests"]);
    let planned_s = planned.iter().filter_map(|test| test["cost"]["computed_s"].as_f64()).sum();
    let phases = tests(&run["tests"]).iter().flat_map(|test| tests(&test["phases"])).collect();
    let phases: Vec<Value> = phases;
    let requests = phases.iter().filter_map(|phase| phase["ops"].as_u64()).sum();
    Ok(Some(SuiteTime { model: model.to_string(), planned_s, computed_s, requests }))
}

/// Processor time of all programs that have run and ended, user and system, s.
fn children_s() -> Result<f64, String> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(|e| format!("/proc: {e}"))?;
    // The name of the program may contain anything; cutime and cstime are the fields 16 and 17.
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let ticks = behind.split_whitespace().skip(13).take(2).filter_map(|it| it.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_time_is_checked_where_it_matters() {
        fn of(planned_s: f64, computed_s: f64) -> (bool, bool) {
            let time = SuiteTime { model: String::new(), planned_s, computed_s, requests: 0 };
            (time.is_long(), time.is_wrong())
        }
        assert_eq!(of(0.1, 1.9), (false, false), "too short to matter");
        assert_eq!(of(0.1, 2.1), (false, true));
        assert_eq!(of(5.0, 2.4), (false, true));
        assert_eq!(of(10.0, 14.9), (false, false));
        assert_eq!(of(10.0, 15.1), (true, false));
    }
}
