//! Compares the files of a case with the expected outcome.

use super::cases::{Case, Expect};
use super::share::Out;
use super::table::CaseOutcome;
use serde_json::Value;

/// Exit codes of drivescope.
const DONE: i32 = 0;
/// A test found a problem, or the run has no valid figure: drives in the guest's memory have none.
const PROBLEM: i32 = 1;
/// The message of a run without a valid figure.
const NO_VALID_FIGURE: &str = "drivescope: no valid figure: ";
const USAGE: i32 = 2;
const REFUSED: i32 = 3;
const DEVICE_ERROR: i32 = 4;
/// A shell whose `timeout` ended the program.
const TIMED_OUT: [i32; 2] = [124, 137];
/// Checks that ask for the drive's name, and refuse without it.
const BY_NAME: [&str; 3] = ["signatures", "blankness", "confirmation"];
/// How far our median may lie from fio's: an emulated machine interrupts both.
const LIKE_FIO: f64 = 0.1;

pub fn judge(case: &Case, out: &Out) -> CaseOutcome {
    let seen = match case.expect {
        Expect::Free => free(out),
        Expect::Refused(check) => refused(out, check),
        Expect::Declined(reason) => declined(out, reason),
        Expect::Restored(words) => restored(out, words),
        Expect::RestoredAfterFailure => restored_after_failure(out),
        Expect::Sectors { logical, physical, misaligned } => {
            sectors(out, [logical, physical, misaligned])
        }
        Expect::Health => health(out),
        Expect::LikeFio { least_us } => like_fio(out, least_us),
    };
    seen.into()
}

/// An error unless the compared bytes are what they were.
pub fn bytes_are_back(out: &Out) -> Result<(), String> {
    let (before, after) = (out.text("before")?, out.text("after")?);
    if before == after && !before.is_empty() { Ok(()) } else { Err("BYTES CHANGED".to_string()) }
}

/// An error unless the exit code is this one, or 1 for want of valid figures where success is expected: what else such
/// a run says is judged apart.
pub fn exit_is(out: &Out, name: &str, expected: i32, said: &str) -> Result<(), String> {
    match out.code(name)? {
        code if is_expected(code, expected, &out.text(said).unwrap_or_default()) => Ok(()),
        code if TIMED_OUT.contains(&code) => Err(format!("{name}: hangs")),
        code => Err(format!("{name} {code}, not {expected}: {}", out.last_of(said))),
    }
}

fn is_expected(code: i32, expected: i32, said: &str) -> bool {
    let has_cause = || said.lines().any(|line| line.starts_with(NO_VALID_FIGURE));
    code == expected || (code == PROBLEM && expected == DONE && has_cause())
}

fn free(out: &Out) -> Result<String, String> {
    bytes_are_back(out)?;
    let refusing: Vec<String> =
        refusals(out)?.into_iter().filter(|name| !BY_NAME.contains(&name.as_str())).collect();
    if !refusing.is_empty() {
        return Err(format!("refused: {}", refusing.join(", ")));
    }
    exit_is(out, "code", DONE, "run.err")?;
    let written = out.json("run")?["tests"][0]["status"] == "done";
    if written {
        Ok("free, bytes back".to_string())
    } else {
        Err("the test did not run".to_string())
    }
}

fn refused(out: &Out, check: &str) -> Result<String, String> {
    bytes_are_back(out)?;
    exit_is(out, "code", REFUSED, "run.err")?;
    let all = refusals(out)?;
    let list = all
        .iter()
        .filter(|name| !BY_NAME.contains(&name.as_str()))
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if all.iter().any(|name| name == check) {
        Ok(format!("refused: {list}"))
    } else {
        Err(format!("refused: {list}; {check} is not among them"))
    }
}

fn declined(out: &Out, reason: &str) -> Result<String, String> {
    bytes_are_back(out)?;
    let code = out.code("code")?;
    if ![USAGE, REFUSED].contains(&code) {
        return Err(format!("code {code}: measured, or failed: {}", out.last_of("run.err")));
    }
    let said = format!("{} {}", out.text("run.err")?, out.text("plan.err")?);
    let line = out.last_of("run.err");
    if said.contains(reason) {
        Ok(format!("code {code}: {line}"))
    } else {
        Err(format!("code {code}: {line}"))
    }
}

fn restored(out: &Out, words: &str) -> Result<String, String> {
    exit_is(out, "code", REFUSED, "again.err")?;
    let (holders, refusal) = (out.text("holders")?, out.text("again.err")?);
    if !holders.is_empty() {
        return Err(format!("{holders} came to use the patterns"));
    }
    if !refusal.contains(words) {
        return Err(format!("no word of {words}: {refusal}"));
    }
    exit_is(out, "restore.code", DONE, "restore")?;
    bytes_are_back(out)?;
    Ok("patterns, refused, then bytes back".to_string())
}

fn restored_after_failure(out: &Out) -> Result<String, String> {
    exit_is(out, "restore.code", DONE, "restore")?;
    bytes_are_back(out)?;
    exit_is(out, "code", DEVICE_ERROR, "run.err")?;
    exit_is(out, "failing.code", DEVICE_ERROR, "restore.failing")?;
    Ok("device error, then bytes back".to_string())
}

/// The names of the checks that refuse in the plan.
fn refusals(out: &Out) -> Result<Vec<String>, String> {
    let plan = out.json("plan")?;
    let checks = plan["gate"]["checks"].as_array().ok_or("the plan has no gate")?;
    let refusing = checks.iter().filter(|check| check["outcome"] == "refused");
    Ok(refusing.filter_map(|check| check["name"].as_str().map(str::to_string)).collect())
}

fn sectors(out: &Out, expected: [u64; 3]) -> Result<String, String> {
    bytes_are_back(out)?;
    exit_is(out, "code", DONE, "run.err")?;
    let run = out.json("run")?;
    let drive = |key: &str| run["drive"][key].as_u64().ok_or(format!("the drive has no {key}"));
    let seen = [
        drive("logical_sector_bytes")?,
        drive("physical_sector_bytes")?,
        metric(&run, "align.", ".misaligned_bytes")? as u64,
    ];
    let reported = metric(&run, "align.device.", "reported_bytes")? as u64;
    let text = format!("{}/{}, {} misaligned", seen[0], seen[1], seen[2]);
    if seen == expected && reported == expected[1] {
        Ok(text)
    } else {
        Err(format!("{text}; align says that the drive reports {reported}"))
    }
}

fn health(out: &Out) -> Result<String, String> {
    bytes_are_back(out)?;
    let (smartctl, listed, run) = (out.json("smartctl")?, out.json("list")?, out.json("run")?);
    let drives = listed.as_array().ok_or("the list has no drives")?;
    let is_it = |drive: &&Value| drive["serial"] == smartctl["serial_number"];
    let health = &drives.iter().find(is_it).ok_or("the drive is not in the list")?["health"];
    let attributes = rows(&health["attributes"], ["/id", "/value", "/raw"]);
    let table = &smartctl["ata_smart_attributes"]["table"];
    let is_same = attributes == rows(table, ["/id", "/value", "/raw/string"])
        && health["passed"] == smartctl["smart_status"]["passed"]
        && health["power_on_hours"] == smartctl["power_on_time"]["hours"];
    if attributes.is_empty() || !is_same {
        return Err(format!("not what smartctl says: {health}"));
    }
    let tests = run["tests"].as_array().ok_or("the check has no tests")?;
    let tested = tests.iter().find(|test| test["test"] == "self-test");
    let tested = tested.ok_or("the check has no self-test")?;
    let passed = tested["self_test"]["passed"] == true;
    let in_log =
        |smartctl: &Value| smartctl["ata_smart_self_test_log"]["standard"]["count"].as_u64();
    let (before, after) = (in_log(&smartctl), in_log(&out.json("smartctl.after")?));
    let text =
        format!("{} attributes, self-test: {}", attributes.len(), tested["self_test"]["result"]);
    if passed && after > before { Ok(text) } else { Err(text) }
}

/// These fields of each row of a table.
fn rows<'v>(table: &'v Value, fields: [&str; 3]) -> Vec<[Option<&'v Value>; 3]> {
    let rows = table.as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().map(|row| fields.map(|field| row.pointer(field))).collect()
}

/// The value of the first metric whose key begins and ends so.
fn metric(run: &Value, begin: &str, end: &str) -> Result<f64, String> {
    let all = run["tests"][0]["metrics"].as_array().ok_or("the test has no metrics")?;
    let has_key = |one: &&Value| {
        one["key"].as_str().is_some_and(|key| key.starts_with(begin) && key.ends_with(end))
    };
    all.iter()
        .find(has_key)
        .and_then(|one| one["value"].as_f64())
        .ok_or(format!("no metric {begin}…{end}"))
}

fn like_fio(out: &Out, least_us: f64) -> Result<String, String> {
    let (mut ours, mut fios) = (Vec::new(), Vec::new());
    for turn in 1..=3 {
        ours.push(metric(&out.json(&format!("ours.{turn}"))?, "latency.span100.", "lat_p50_us")?);
        let fio = out.json(&format!("fio.{turn}"))?;
        let median = fio["jobs"][0]["read"]["clat_ns"]["percentile"]["50.000000"].as_f64();
        fios.push(median.ok_or("fio reported no median")? / 1_000.0);
    }
    let (ours, fios) = (middle(ours), middle(fios));
    let text = format!("{ours:.0} µs, fio {fios:.0} µs");
    if ours >= least_us && (ours / fios - 1.0).abs() <= LIKE_FIO { Ok(text) } else { Err(text) }
}

fn middle(mut three: Vec<f64>) -> f64 {
    three.sort_by(f64::total_cmp);
    three[three.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_counts_as_done_only_without_valid_figures() {
        let cause = "drivescope: no valid figure: nullb0 is memory (F002). Choose a drive.";
        assert!(is_expected(PROBLEM, DONE, &format!("using threads\n{cause}")));
        assert!(!is_expected(PROBLEM, DONE, "") && !is_expected(PROBLEM, REFUSED, cause));
        assert!(!is_expected(DEVICE_ERROR, DONE, cause) && is_expected(DONE, DONE, ""));
    }
}
