//! Suites: named lists of tests with their options, built in or from a user's file.

use crate::judging::test_record::ROUNDS_MIN;
use crate::plan::option_checks::{ROUNDS_MAX, check_count, check_once, ensure};
use crate::plan::overrides::Overrides;
use crate::plan::unused_options;
use crate::workloads::{self, WORKLOADS};
use drivescope_model::json;
use drivescope_model::nearest::nearest;
use drivescope_model::options::{Suite, TestKind};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

const BUILT_IN: [(&str, &str); 36] = [
    ("first", include_str!("../suites/first.toml")),
    ("quick", include_str!("../suites/quick.toml")),
    ("standard", include_str!("../suites/standard.toml")),
    ("full", include_str!("../suites/full.toml")),
    ("check", include_str!("../suites/check.toml")),
    ("crystaldiskmark", include_str!("../suites/crystaldiskmark.toml")),
    ("crystaldiskmark-nvme", include_str!("../suites/crystaldiskmark-nvme.toml")),
    ("crystaldiskmark-peak", include_str!("../suites/crystaldiskmark-peak.toml")),
    ("crystaldiskmark-peak-nvme", include_str!("../suites/crystaldiskmark-peak-nvme.toml")),
    ("crystaldiskmark-realworld", include_str!("../suites/crystaldiskmark-realworld.toml")),
    ("as-ssd", include_str!("../suites/as-ssd.toml")),
    ("atto", include_str!("../suites/atto.toml")),
    ("sd-card", include_str!("../suites/sd-card.toml")),
    ("gnome-disks", include_str!("../suites/gnome-disks.toml")),
    ("gnome-disks-first-2tb", include_str!("../suites/gnome-disks-first-2tb.toml")),
    ("gnome-disks-last-2tb", include_str!("../suites/gnome-disks-last-2tb.toml")),
    ("gnome-disks-first-256mb", include_str!("../suites/gnome-disks-first-256mb.toml")),
    ("gnome-disks-last-256mb", include_str!("../suites/gnome-disks-last-256mb.toml")),
    ("zcav", include_str!("../suites/zcav.toml")),
    ("diskinfo", include_str!("../suites/diskinfo.toml")),
    ("phybs", include_str!("../suites/phybs.toml")),
    ("phybs-read", include_str!("../suites/phybs-read.toml")),
    ("dd", include_str!("../suites/dd.toml")),
    ("random-writes", include_str!("../suites/random-writes.toml")),
    ("apps", include_str!("../suites/apps.toml")),
    ("apps-once", include_str!("../suites/apps-once.toml")),
    ("techhabit", include_str!("../suites/techhabit.toml")),
    ("techhabit-copies", include_str!("../suites/techhabit-copies.toml")),
    ("nequalsone", include_str!("../suites/nequalsone.toml")),
    ("snia-pts-iops", include_str!("../suites/snia-pts-iops.toml")),
    ("snia-pts-throughput", include_str!("../suites/snia-pts-throughput.toml")),
    ("snia-pts-throughput-128k", include_str!("../suites/snia-pts-throughput-128k.toml")),
    ("snia-pts-latency", include_str!("../suites/snia-pts-latency.toml")),
    ("snia-pts-wsat", include_str!("../suites/snia-pts-wsat.toml")),
    ("pcmark8-consistency", include_str!("../suites/pcmark8-consistency.toml")),
    ("hard-drive-retrospective", include_str!("../suites/hard-drive-retrospective.toml")),
];

const OF_WATCH: &str = include_str!("../suites/watch.toml");

/// A thousand times what all options take, and far below what memory holds.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// Smallest test file or span.
const SIZE_MIN: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error("no {what} '{name}'{}; drivescope {what}s lists them", hint(.nearest.as_deref()))]
    Unknown { what: &'static str, name: String, nearest: Option<String> },
    #[error(
        "cannot read the suite {path}: {source}; name a TOML file, or one that drivescope suites lists"
    )]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path}:{line}:{column}: {message}")]
    Broken { path: String, line: usize, column: usize, message: String },
    #[error("{0}")]
    Absurd(String),
    /// A line of fio's job file.
    #[error("{path}:{line}: {message}")]
    JobFile { path: String, line: usize, message: String },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

/// `drivescope/suites` in the configuration folder.
pub fn user_folder() -> Option<PathBuf> {
    folder_of(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME"))
}

/// By the XDG base directories: a variable that is not an absolute path counts as not set.
fn folder_of(config: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let config = config.and_then(absolute);
    let config = config.or_else(|| Some(home.and_then(absolute)?.join(".config")))?;
    Some(config.join("drivescope/suites"))
}

fn absolute(text: OsString) -> Option<PathBuf> {
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}

/// Whether a built-in suite repeats an instrument that measures fewer rounds than a figure needs, and does so here.
pub fn has_few_rounds_by_method(suite: &Suite) -> bool {
    let method = built_in(&suite.name);
    method.is_some_and(|method| method.rounds < ROUNDS_MIN && method.rounds == suite.rounds)
}

fn built_in(name: &str) -> Option<Suite> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    parse(name, text).ok()
}

/// They repeat no instrument's method: on a slow drive they move fewer bytes, in fewer rounds.
const OF_OUR_OWN: [&str; 4] = ["first", "quick", "standard", "full"];

/// Whether a slow drive may have a smaller test file, fewer rounds and smaller samples than this suite says: it is
/// one of our own, and its user asked for none of these.
pub(crate) fn may_be_shortened(suite: &Suite) -> bool {
    let own = built_in(&suite.name).filter(|own| OF_OUR_OWN.contains(&own.name.as_str()));
    own.is_some_and(|own| {
        (own.rounds, own.size, own.span) == (suite.rounds, suite.size, suite.span)
    })
}

pub fn of_watch() -> Suite {
    parse("watch", OF_WATCH).expect("the suites of the program are sound")
}

/// A file if the name looks like one, else the user's own in `user_folder`, else a built-in one.
pub fn find(name: &str, user_folder: Option<&Path>) -> Result<Suite, SuiteError> {
    let (path, text) = text_of(name, user_folder)?;
    parse(&path, &text)
}

/// For people: the path of a suite's file, or the name of a built-in one, and its text.
pub fn text_of(name: &str, user_folder: Option<&Path>) -> Result<(String, String), SuiteError> {
    if name.contains('/') || name.ends_with(".toml") {
        return read(Path::new(name));
    }
    if let Some(path) = user_folder.map(|folder| folder.join(format!("{name}.toml")))
        && path.is_file()
    {
        return read(&path);
    }
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok((name.to_string(), text.to_string())),
        None => {
            let known = names(user_folder);
            let nearest = nearest(name, known.iter().map(String::as_str));
            Err(SuiteError::Unknown { what: "suite", name: name.to_string(), nearest })
        }
    }
}

/// The built-in ones, then a user's own that have no such name.
pub fn names(user_folder: Option<&Path>) -> Vec<String> {
    let mut all: Vec<String> = BUILT_IN.iter().map(|(name, _)| name.to_string()).collect();
    let own = user_folder.map(names_in).unwrap_or_default();
    all.extend(own.into_iter().filter(|name| BUILT_IN.iter().all(|(known, _)| known != name)));
    all
}

/// Empty if the folder cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let suites = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    suites.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string())).collect()
}

fn read(path: &Path) -> Result<(String, String), SuiteError> {
    let unreadable = |source| SuiteError::Unreadable { path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(unreadable(std::io::Error::other("it is too long for a suite")));
    }
    let name = path.display().to_string();
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
        broken(&name, &before, "not UTF-8; save the file in that encoding".to_string())
    })?;
    Ok((name, text))
}

/// A suite that was sent as text; `name` is its name if the text has none.
pub fn of_text(name: &str, text: &str) -> Result<Suite, SuiteError> {
    parse(&format!("{name}.toml"), text)
}

/// An error after the text `before`.
fn broken(path: &str, before: &str, message: String) -> SuiteError {
    SuiteError::Broken {
        path: path.to_string(),
        line: before.matches('\n').count() + 1,
        column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
        message,
    }
}

fn parse(path: &str, text: &str) -> Result<Suite, SuiteError> {
    let mut suite = Suite::from_toml(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = &text[..at.min(text.len())];
        broken(path, before, with_nearest(error.message()))
    })?;
    if suite.name.is_empty() {
        let stem = Path::new(path).file_stem().unwrap_or_default();
        suite.name = stem.to_string_lossy().into_owned();
    }
    check(&suite)?;
    Ok(suite)
}

/// In one line, in the words of a suite file, with the nearest of the expected names, which stand in backticks
/// after the unknown one.
fn with_nearest(message: &str) -> String {
    let message = message.lines().collect::<Vec<_>>().join(" ");
    let message = message.replace("expected a sequence", "expected a list, like [100, 200]");
    let mut names = message.split('`').skip(1).step_by(2);
    let meant = names.next().and_then(|name| nearest(name, names));
    if message.starts_with("unknown") { message + &hint(meant.as_deref()) } else { message }
}

pub fn adapt(mut suite: Suite, overrides: &Overrides) -> Result<Suite, SuiteError> {
    if !overrides.tests.is_empty() {
        suite.tests =
            overrides.tests.iter().map(|name| test_named(name)).collect::<Result<_, _>>()?;
    }
    unused_options::add_implied_tests(overrides, &mut suite);
    if let Some(size) = overrides.size {
        (suite.size, suite.span) = (size, size);
    }
    for workload in WORKLOADS {
        workload.apply(overrides, &mut suite).map_err(SuiteError::Absurd)?;
    }
    if let Some(rounds) = overrides.rounds {
        suite.rounds = rounds;
    }
    // Last, because it says most exactly what it means.
    if !overrides.settings.is_empty() {
        suite = set(suite, &overrides.settings)?;
    }
    check(&suite)?;
    unused_options::check(overrides, &suite).map_err(SuiteError::Absurd)?;
    Ok(suite)
}

pub(crate) fn test_named(name: &str) -> Result<TestKind, SuiteError> {
    TestKind::ALL.into_iter().find(|test| test.name() == name).ok_or_else(|| {
        let nearest = nearest(name, TestKind::ALL.iter().map(|test| test.name()));
        SuiteError::Unknown { what: "test", name: name.to_string(), nearest }
    })
}

/// Replaces options by their path in the suite file, with the file's own syntax and checks.
fn set(mut suite: Suite, settings: &[String]) -> Result<Suite, SuiteError> {
    let mut all = suite.to_value();
    for setting in settings {
        let absurd = |why: &str| SuiteError::Absurd(format!("--set {setting}: {why}"));
        let (path, value) =
            setting.split_once('=').ok_or_else(|| absurd("write it like latency.time=2s"))?;
        let value = toml::from_str::<toml::Table>(&format!("value = {value}"))
            .ok()
            .and_then(|table| serde_json::to_value(table.get("value")?).ok())
            .unwrap_or_else(|| value.into());
        let mut keys: Vec<&str> = path.split('.').collect();
        let last = keys.pop().expect("split gives at least one part");
        let mut inner = all.as_object_mut().expect("a suite has options");
        for key in keys {
            let entry = inner.entry(key).or_insert_with(|| Map::new().into());
            inner = entry.as_object_mut().ok_or_else(|| absurd("it has no options"))?;
        }
        if inner.get(last).is_some_and(Value::is_object) && !value.is_object() {
            return Err(absurd("it is a group of options; write it like latency.time=2s"));
        }
        inner.insert(last.to_string(), value);
        suite = Suite::from_value(&all).map_err(|e| absurd(&with_nearest(&json::reason(&e))))?;
    }
    Ok(suite)
}

/// Refuses what would only fail later, or never end.
fn check(suite: &Suite) -> Result<(), SuiteError> {
    let workloads = || WORKLOADS.iter().try_for_each(|workload| workload.check(suite));
    check_general(suite)
        .and_then(|()| workloads())
        .map_err(|problem| SuiteError::Absurd(format!("suite {}: {problem}", suite.name)))
}

fn check_general(suite: &Suite) -> Result<(), String> {
    ensure(!suite.tests.is_empty(), || "it names no tests".to_string())?;
    check_once(&suite.tests, "it names the test")?;
    check_count(suite.rounds, 1..=ROUNDS_MAX, "rounds")?;
    let from_start = suite.tests.iter().find(|&&test| workloads::find(test).takes_whole_target());
    if let (Some(test), Some(_)) = (from_start, suite.offset) {
        return Err(format!("{test} begins at the start of the target; leave offset out"));
    }
    ensure(suite.size.0 >= SIZE_MIN && (suite.span.0 == 0 || suite.span.0 >= SIZE_MIN), || {
        "a size must be at least 1 MiB".to_string()
    })
}

#[cfg(test)]
mod tests;
