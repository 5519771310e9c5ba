//! What is submitted: a suite as text, with the level at which it may write; and whether an agent can do it.

use drivescope_bench::planner::{UnseenPlace, plan_unseen};
use drivescope_bench::suites::{self, SuiteError};
use drivescope_model::drive::DriveKind;
use drivescope_model::fleet::{FleetDrive, JobPlan, PLAN_FORMAT};
use drivescope_model::options::Suite;
use drivescope_model::plan::{Cost, PlannedTest, WriteLevel};
use serde::Deserialize;
use std::path::Path;

/// As JSON it may become twice as long, and the column of the table holds a million characters.
const TEXT_MAX: usize = 450_000;
/// Of a target on a simulated drive.
const SIMULATED: &str = "sim:";

/// Why a suite cannot be submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    #[error(transparent)]
    Suite(#[from] SuiteError),
    #[error("{}; leave them out, or measure there with drivescope run", foreign(.suite, .options))]
    Foreign { suite: String, options: Vec<String> },
    #[error(
        "the suite {suite} has {bytes} bytes, and a fleet takes {TEXT_MAX} at most; shorten it"
    )]
    TooLong { suite: String, bytes: usize },
}

fn foreign(suite: &str, options: &[String]) -> String {
    let options = options.join(", ");
    format!("the suite {suite} names what other machines need not have ({options})")
}

/// The plan of a suite, by its name or file, with the suite. Without a `level` it is what its tests need, at most
/// [`WriteLevel::OwnFiles`]. How long it takes is known when drives are chosen.
pub fn plan(
    name: &str,
    user_folder: Option<&Path>,
    level: Option<WriteLevel>,
) -> Result<(JobPlan, Suite), SubmissionError> {
    let suite = suites::find(name, user_folder)?;
    let (_, suite_text) = suites::text_of(name, user_folder)?;
    if suite_text.len() > TEXT_MAX {
        let bytes = suite_text.len();
        return Err(SubmissionError::TooLong { suite: suite.name, bytes });
    }
    let options = foreign_paths(&suite);
    if !options.is_empty() {
        return Err(SubmissionError::Foreign { suite: suite.name, options });
    }
    let plan = JobPlan {
        format: PLAN_FORMAT,
        suite: suite.name.clone(),
        suite_text,
        level: level.unwrap_or_else(|| usual_level(&suite)),
        expected_s: 0.0,
    };
    Ok((plan, suite))
}

/// Reads a plan. Errors: it is of a later version, or of another program.
pub fn read(text: &str) -> Result<JobPlan, String> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    match serde_json::from_str::<Version>(text) {
        Ok(Version { format }) if format > PLAN_FORMAT => Err(newer(format)),
        _ => {
            serde_json::from_str(text).map_err(|error| format!("the plan cannot be read: {error}"))
        }
    }
}

fn newer(format: u32) -> String {
    format!("this plan needs a newer drivescope: format {format}, this agent reads {PLAN_FORMAT}")
}

/// The suite of a plan, for the agent that is to run it. Errors: why it cannot.
pub fn check(plan: &JobPlan) -> Result<Suite, String> {
    if plan.format > PLAN_FORMAT {
        return Err(newer(plan.format));
    }
    let suite = suites::of_text(&plan.suite, &plan.suite_text)
        .map_err(|error| format!("the suite of this plan cannot be used: {error}"))?;
    match foreign_paths(&suite) {
        options if options.is_empty() => Ok(suite),
        options => Err(foreign(&suite.name, &options)),
    }
}

/// Whether a model of a simulated drive is a file, and not one of the program's own.
fn is_file(model: &str) -> bool {
    model.contains('/') || model.contains(".toml")
}

/// Options that name files, directories or servers of one machine.
fn foreign_paths(suite: &Suite) -> Vec<String> {
    let of_this_program =
        |text: &&String| text.strip_prefix(SIMULATED).is_some_and(|name| !is_file(name));
    let named = [
        ("apps.file", suite.apps.file.as_ref()),
        ("apps.predict", suite.apps.predict.as_ref().filter(|name| is_file(name))),
        ("copy.files", suite.copy.files.as_ref()),
        ("copy.from", suite.copy.from.as_ref().filter(|from| !of_this_program(from))),
        ("sql.url", suite.sql.url.as_ref()),
        ("sql.backup_to", suite.sql.backup_to.as_ref()),
        ("sql.query", suite.sql.query.as_ref()),
        ("sql.params", suite.sql.params.as_ref()),
    ];
    let named = named.into_iter().filter(|(_, value)| value.is_some());
    named.map(|(option, _)| option.to_string()).collect()
}

/// What is measured of a drive at a level, and what that takes. A directory is used where files are allowed and its
/// agent offers one, else the device itself. Errors: no test of the suite can run there, and why.
pub fn place_of(
    suite: &Suite,
    level: WriteLevel,
    drive: &FleetDrive,
) -> Result<(String, Cost), String> {
    let directory = drive.directories.first().filter(|_| level == WriteLevel::OwnFiles);
    let (place, path) = match directory {
        _ if drive.target.starts_with(SIMULATED) => (UnseenPlace::Simulated, &drive.target),
        Some(path) => (UnseenPlace::Directory(path), path),
        None if level <= WriteLevel::OwnFiles => {
            (UnseenPlace::Device(WriteLevel::Read), &drive.target)
        }
        None => (UnseenPlace::Device(level), &drive.target),
    };
    let tests = plan_unseen(suite, drive, place);
    if tests.iter().any(|test| test.skip.is_none()) {
        let cost = tests.iter().fold(Cost::default(), |sum, test| sum + test.cost);
        return Ok((path.clone(), cost));
    }
    let reason = |test: &PlannedTest| Some(format!("{} {}", test.test, test.skip.as_ref()?));
    let reasons: Vec<String> = tests.iter().filter_map(reason).collect();
    let reasons = reasons.join("; ").replace("--destroy SERIAL", "--write destroy with --serial");
    let is_missing =
        level == WriteLevel::OwnFiles && place == UnseenPlace::Device(WriteLevel::Read);
    let offer = if is_missing { "its agent offers no directory (--dir); " } else { "" };
    Err(format!("{offer}{reasons}"))
}

/// [`WriteLevel::Read`] if a device that is only read is enough for all of its tests.
fn usual_level(suite: &Suite) -> WriteLevel {
    let device = UnseenPlace::Device(WriteLevel::Read);
    let tests = plan_unseen(suite, &typical_disk(), device);
    let is_whole = |test: &PlannedTest| test.skip.is_none() && test.omitted.is_empty();
    if tests.iter().all(is_whole) { WriteLevel::Read } else { WriteLevel::OwnFiles }
}

fn typical_disk() -> FleetDrive {
    FleetDrive::named("", DriveKind::HardDisk, 4_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::host_drive;
    use std::collections::BTreeSet;

    #[test]
    fn level_is_what_the_tests_need_and_own_files_at_most() {
        for (name, expected) in [
            ("quick", WriteLevel::OwnFiles),
            ("zcav", WriteLevel::Read),
            ("techhabit-copies", WriteLevel::OwnFiles),
            ("snia-pts-iops", WriteLevel::OwnFiles),
        ] {
            let (plan, suite) = plan(name, None, None).unwrap();
            assert_eq!(plan.level, expected, "{name}");
            assert_eq!(check(&plan).unwrap(), suite, "{name}");
        }
        let (plan, _) = plan("quick", None, Some(WriteLevel::Read)).unwrap();
        assert_eq!(plan.level, WriteLevel::Read);
    }

    #[test]
    fn place_follows_level_and_directories() {
        let suite = |name| suites::find(name, None).unwrap();
        let bare = host_drive().drive;
        let mut offering = bare.clone();
        offering.directories.push("/srv/data".into());
        let mut simulated = bare.clone();
        simulated.target = "sim:wd40efrx".into();
        let place = |name, level, drive| place_of(&suite(name), level, drive).map(|it| it.0);
        let own = WriteLevel::OwnFiles;
        assert_eq!(place("quick", own, &offering).unwrap(), "/srv/data");
        assert_eq!(place("quick", own, &bare).unwrap(), "/dev/sda");
        assert_eq!(place("quick", WriteLevel::Read, &offering).unwrap(), "/dev/sda");
        assert_eq!(place("techhabit-copies", own, &simulated).unwrap(), "sim:wd40efrx");
        let why = place("techhabit-copies", own, &bare).unwrap_err();
        assert!(why.starts_with("its agent offers no directory (--dir); copy needs"), "{why}");
        let why = place("snia-pts-iops", own, &bare).unwrap_err();
        assert!(why.contains("--write destroy with --serial"), "{why}");
        assert_eq!(place("snia-pts-iops", WriteLevel::Destroy, &bare).unwrap(), "/dev/sda");
    }

    #[test]
    fn cost_follows_the_level() {
        let suite = suites::find("quick", None).unwrap();
        let mut drive = host_drive().drive;
        let (_, reads) = place_of(&suite, WriteLevel::OwnFiles, &drive).unwrap();
        assert!(reads.written_bytes == 0 && reads.seconds > 1.0, "{reads:?}");
        drive.directories.push("/srv".into());
        let (_, files) = place_of(&suite, WriteLevel::OwnFiles, &drive).unwrap();
        assert!(files.written_bytes >= suite.size.0, "{files:?}");
    }

    #[test]
    fn agents_refuse_plans_that_they_cannot_do() {
        let (good, _) = plan("quick", None, None).unwrap();
        let text = serde_json::to_string(&good).unwrap();
        assert_eq!(read(&text).unwrap(), good);
        let newer = "this plan needs a newer drivescope: format 2, this agent reads 1";
        assert_eq!(read(r#"{"format": 2, "suites": []}"#).unwrap_err(), newer);
        assert_eq!(check(&JobPlan { format: 2, ..good.clone() }).unwrap_err(), newer);
        assert!(read("{}").unwrap_err().starts_with("the plan cannot be read: missing field"));
        let with = |suite_text: &str| JobPlan { suite_text: suite_text.into(), ..good.clone() };
        for (text, expected) in [
            (
                "tests = [\"transfer\"]\nsurprise = 1",
                "cannot be used: quick.toml:2:1: unknown field",
            ),
            ("\0\u{1b}[2J", "cannot be used"),
            ("tests = [\"copy\"]\ncopy.from = \"/srv\"", "need not have (copy.from)"),
        ] {
            let error = check(&with(text)).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// Of a new option that may be left out, this test asks whether it names something of one machine.
    #[test]
    fn every_optional_option_is_known_to_name_a_place_or_not() {
        let mut empty = BTreeSet::new();
        let suite = serde_json::to_value(Suite::default()).unwrap();
        for (test, options) in suite.as_object().unwrap() {
            let options = options.as_object().into_iter().flatten();
            let absent = options.filter(|(_, value)| value.is_null());
            empty.extend(absent.map(|(option, _)| format!("{test}.{option}")));
        }
        let mut places = Suite::default();
        let path = || Some("/srv/a".to_string());
        (places.apps.file, places.apps.predict) = (path(), path());
        (places.copy.files, places.copy.from) = (path(), path());
        (places.sql.url, places.sql.backup_to) = (path(), path());
        (places.sql.query, places.sql.params) = (path(), path());
        let places = foreign_paths(&places);
        assert_eq!(places.len(), 8);
        let others: Vec<&String> = empty.iter().filter(|it| !places.contains(it)).collect();
        let known = ["apps.device", "apps.think_max", "fill.burst", "transfer.preset"];
        assert_eq!(others, known, "does one of these name a file, directory or server?");
        let mut simulated = Suite::default();
        simulated.copy.from = Some("sim:wd40efrx?seed=1".into());
        simulated.apps.predict = Some("samsung-870evo-1tb".into());
        assert_eq!(foreign_paths(&simulated), [""; 0]);
    }
}
