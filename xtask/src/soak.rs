//! `cargo xtask soak`: what takes too long for every change. First the ignored tests of all crates, once; then the
//! property tests of one crate after the other with more cases, again and again with other random ones, until the
//! minutes are over.

use crate::source::{Source, of_workspace};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// Default length.
const MINUTES: u64 = 30;
/// Cases of each property test in one go, four times the usual ones: the time is looked at between two goes.
const CASES: &str = "1024";

/// Runs until the minutes are over, and at least everything once; `args` follow `soak`.
pub fn run(args: &[&str]) -> Result<(), String> {
    let minutes = match args {
        [] => MINUTES,
        ["--minutes", number] => {
            number.parse().map_err(|_| format!("'{number}' is not a number of minutes"))?
        }
        _ => return Err("usage: cargo xtask soak [--minutes N]".to_string()),
    };
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let mut failed = 0;
    // Drives in real time have a turn to themselves.
    let ignored = ["--workspace", "--tests", "--", "--ignored", "--skip", "served_geometry"];
    failed += usize::from(!passes("ignored tests", &ignored));
    // More of these drives, and more suites, than for every change.
    for (what, name) in [
        ("geometry of served drives", "served_geometry"),
        ("verdicts of every suite", "healthy_models"),
    ] {
        let program = ["--package", "drivescope", "--test", "integration"];
        let test = [&program[..], &[name, "--", "--include-ignored"]].concat();
        failed += usize::from(!passes(what, &test));
    }
    let crates = property_tests(of_workspace()?);
    for round in 1.. {
        for (home, names) in &crates {
            if round > 1 && Instant::now() >= end {
                println!("{} rounds of property tests, {failed} failures", round - 1);
                return if failed == 0 { Ok(()) } else { Err("not everything passed".to_string()) };
            }
            let package = format!("drivescope-{}", home.trim_start_matches("crates/"));
            let mut arguments = vec!["--package", &package, "--lib", "--"];
            arguments.extend(names);
            let what = format!("{home}: {} property tests, {CASES} cases", names.len());
            failed += usize::from(!passes(&what, &arguments));
        }
    }
    Ok(())
}

/// Runs `cargo test` and says how it ended in one line; of a failure all is printed.
fn passes(what: &str, arguments: &[&str]) -> bool {
    let start = Instant::now();
    let mut command = Command::new("cargo");
    command.arg("test").arg("--no-fail-fast").args(arguments);
    command
        .env("PROPTEST_CASES", CASES)
        .env("DRIVESCOPE_TESTS_THOROUGH", "1")
        .env("DRIVESCOPE_TESTS_SOAK", "1");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("cannot run cargo: {error}");
            return false;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = passed(&text);
    let is_good = output.status.success() && passed > 0;
    let seconds = start.elapsed().as_secs();
    println!("{what}: {passed} passed{} in {seconds} s", if is_good { "" } else { ", FAILED" });
    if !is_good {
        eprintln!("{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    is_good
}

/// How many tests passed, of all programs that libtest reports on.
fn passed(output: &str) -> u64 {
    let results = output.lines().filter_map(|line| line.strip_prefix("test result: "));
    let counts = results
        .filter_map(|line| line.split(" passed").next()?.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

/// The names of the property tests by the folder of their crate.
fn property_tests(sources: &[Source]) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.tests.property_tests.is_empty()) {
        let names = source.tests.property_tests.iter().map(String::as_str);
        found.entry(&source.home).or_default().extend(names);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn property_tests_are_found() {
        let all = property_tests(of_workspace().unwrap());
        assert!(all.values().flatten().count() > 50, "{all:?}");
    }

    #[test]
    fn what_passed_is_counted_over_all_programs() {
        let output = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored\n\n\
                      test result: FAILED. 12 passed; 1 failed\n";
        assert_eq!(passed(output), 15);
    }
}
