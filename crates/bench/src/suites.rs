//! Suites: named lists of tests with their options, built in or from a user's file.

use drivescope_model::cell::{Cell, Mix, Shape};
use drivescope_model::nearest::nearest;
use drivescope_model::options::{Rate, Suite, TestKind};
use drivescope_model::units::{Bytes, Secs};
use drivescope_model::whole_drive::{FillMode, VerifyMode, VerifyPhase};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The suites that come with the program, by name.
const BUILT_IN: [(&str, &str); 11] = [
    ("quick", include_str!("../suites/quick.toml")),
    ("standard", include_str!("../suites/standard.toml")),
    ("full", include_str!("../suites/full.toml")),
    ("crystaldiskmark", include_str!("../suites/crystaldiskmark.toml")),
    ("crystaldiskmark-nvme", include_str!("../suites/crystaldiskmark-nvme.toml")),
    ("crystaldiskmark-peak", include_str!("../suites/crystaldiskmark-peak.toml")),
    ("crystaldiskmark-peak-nvme", include_str!("../suites/crystaldiskmark-peak-nvme.toml")),
    ("crystaldiskmark-realworld", include_str!("../suites/crystaldiskmark-realworld.toml")),
    ("gnome-disks", include_str!("../suites/gnome-disks.toml")),
    ("zcav", include_str!("../suites/zcav.toml")),
    ("phybs", include_str!("../suites/phybs.toml")),
];

/// Longest file of a suite: a thousand times what all options take, and far below what memory holds.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// Shortest measured time: ten intervals of a series.
const TIME_MIN_S: f64 = 0.01;
/// Longest request of a scan.
const REQUEST_MAX: u64 = 1 << 30;
/// Largest block of a pass of phybs: beyond it, no unit of any drive is left to find.
const PASS_BLOCK_MAX: u64 = 16 << 20;
/// Most places of a surface: finer than any chart, and far below what memory holds.
const SAMPLES_MAX: u32 = 1_000_000;
/// Most spans or rates of a latency test.
const SPANS_MAX: usize = 100;
/// Largest cache that `verify` looks for: with it, a quick run stays within what f3probe writes.
const CACHE_MAX: u64 = 512 << 20;
/// Fewest places of a sampled fill.
const FILL_PLACES_MIN: u32 = crate::tests::FILL_PLACES_MIN;
/// Fastest open loop: beyond it, one thread's clock no longer tells requests apart.
const IOPS_MAX: f64 = 10_000_000.0;
/// Fastest open loop, against what the drive did one by one.
const PERCENT_MAX: f64 = 10_000.0;
/// Most rounds; more only help against chance, and a hundred exclude it.
pub const ROUNDS_MAX: u32 = 1000;

/// Why a suite or an option of one cannot be used; always one line.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// No such suite.
    #[error("no suite '{name}'{}; drivescope suites lists them", hint(.nearest.as_deref()))]
    UnknownSuite {
        /// What was asked.
        name: String,
        /// The closest name, if one is close.
        nearest: Option<String>,
    },
    /// No such test.
    #[error("no test '{name}'{}; drivescope tests lists them", hint(.nearest.as_deref()))]
    UnknownTest {
        /// What was asked.
        name: String,
        /// The closest name, if one is close.
        nearest: Option<String>,
    },
    /// The file cannot be read.
    #[error(
        "cannot read the suite {path}: {source}; name a TOML file, or one that drivescope suites lists"
    )]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a suite.
    #[error("{path}:{line}:{column}: {message}")]
    Broken {
        /// Where.
        path: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A value that makes no sense.
    #[error("{0}")]
    Absurd(String),
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

/// Where a user keeps suites of their own: `drivescope/suites` in the configuration folder.
pub fn user_folder() -> Option<PathBuf> {
    folder_of(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME"))
}

/// As the XDG base directories are: a variable that is no absolute path counts as not set.
fn folder_of(config: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |text: OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    let config = config.and_then(absolute);
    Some(
        config
            .or_else(|| Some(home.and_then(absolute)?.join(".config")))?
            .join("drivescope/suites"),
    )
}

/// All built-in suites.
pub fn built_in() -> Vec<Suite> {
    let read =
        |(name, text): (&str, &str)| parse(name, text).expect("tested: built-in suites are valid");
    BUILT_IN.into_iter().map(read).collect()
}

/// The suite called `name`: a file if it looks like one, else the user's own in `user_folder`, else a
/// built-in one.
pub fn find(name: &str, user_folder: Option<&Path>) -> Result<Suite, SuiteError> {
    if name.contains('/') || name.ends_with(".toml") {
        return read(Path::new(name));
    }
    if let Some(path) = user_folder.map(|folder| folder.join(format!("{name}.toml")))
        && path.is_file()
    {
        return read(&path);
    }
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => parse(name, text),
        None => {
            let own = user_folder.map(names_in).unwrap_or_default();
            let known = BUILT_IN.iter().map(|(known, _)| *known);
            let nearest = nearest(name, known.chain(own.iter().map(String::as_str)));
            Err(SuiteError::UnknownSuite { name: name.to_string(), nearest })
        }
    }
}

/// The names of the suites in a folder; none if it cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let suites = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    suites.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string())).collect()
}

fn read(path: &Path) -> Result<Suite, SuiteError> {
    let unreadable = |source| SuiteError::Unreadable { path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(unreadable(std::io::Error::other("it is too long to be one")));
    }
    let name = path.display().to_string();
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
        broken(&name, &before, "not UTF-8; write the file in that encoding".to_string())
    })?;
    parse(&name, &text)
}

/// A fault after the text `before`.
fn broken(path: &str, before: &str, message: String) -> SuiteError {
    SuiteError::Broken {
        path: path.to_string(),
        line: before.matches('\n').count() + 1,
        column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
        message,
    }
}

fn parse(path: &str, text: &str) -> Result<Suite, SuiteError> {
    let suite: Suite = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = &text[..at.min(text.len())];
        broken(path, before, with_nearest(error.message()))
    })?;
    check(&suite)?;
    Ok(suite)
}

/// In one line, in the words of a suite file, and with the nearest of the names that were expected, which stand
/// in backticks behind the one that is unknown.
fn with_nearest(message: &str) -> String {
    let message = message.lines().collect::<Vec<_>>().join(" ");
    let message = message.replace("expected a sequence", "expected a list, like [100, 200]");
    let mut names = message.split('`').skip(1).step_by(2);
    let meant = names.next().and_then(|name| nearest(name, names));
    if message.starts_with("unknown") { message + &hint(meant.as_deref()) } else { message }
}

/// What the command line may change in a suite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Only these tests.
    pub tests: Vec<String>,
    /// Only these cells of `transfer`; without direction, all of the suite's.
    pub cells: Vec<String>,
    /// Size of the test file; span of a file or device.
    pub size: Option<Bytes>,
    /// Measured time of one round of one cell.
    pub time: Option<Secs>,
    /// Rounds.
    pub rounds: Option<u32>,
    /// `test.option=value`, as in a suite file.
    pub settings: Vec<String>,
}

/// Applies what the command line asks.
pub fn adapt(mut suite: Suite, overrides: &Overrides) -> Result<Suite, SuiteError> {
    if !overrides.tests.is_empty() {
        suite.tests =
            overrides.tests.iter().map(|name| test_named(name)).collect::<Result<_, _>>()?;
    }
    if !overrides.cells.is_empty() && !suite.tests.contains(&TestKind::Transfer) {
        let message = "--cells narrows the test transfer, which is not among the tests";
        return Err(SuiteError::Absurd(message.to_string()));
    }
    for text in &overrides.cells {
        let absurd =
            |error: drivescope_model::units::UnitError| SuiteError::Absurd(error.to_string());
        if text.contains('.') {
            suite.transfer.cells.push(text.parse::<Cell>().map_err(absurd)?);
        } else {
            let shape: Shape = text.parse().map_err(absurd)?;
            let mixes: Vec<Mix> = suite.transfer.mixes.clone();
            suite.transfer.cells.extend(mixes.into_iter().map(|mix| Cell { shape, mix }));
        }
    }
    if let Some(size) = overrides.size {
        (suite.size, suite.span) = (size, size);
        suite.tiny_writes.size = suite.tiny_writes.size.min(size);
    }
    if let Some(time) = overrides.time {
        (suite.transfer.time, suite.latency.time, suite.tiny_writes.time) = (time, time, time);
    }
    if let Some(rounds) = overrides.rounds {
        suite.rounds = rounds;
    }
    // Last, because it says most exactly what it means.
    if !overrides.settings.is_empty() {
        suite = set(suite, &overrides.settings)?;
    }
    check(&suite)?;
    Ok(suite)
}

fn test_named(name: &str) -> Result<TestKind, SuiteError> {
    TestKind::ALL.into_iter().find(|test| test.name() == name).ok_or_else(|| {
        let nearest = nearest(name, TestKind::ALL.iter().map(|test| test.name()));
        SuiteError::UnknownTest { name: name.to_string(), nearest }
    })
}

/// Replaces options by their path in the suite file, with the file's own syntax and checks.
fn set(suite: Suite, settings: &[String]) -> Result<Suite, SuiteError> {
    let mut table = toml::Table::try_from(suite).expect("a suite is a TOML table");
    for setting in settings {
        let absurd = |why: &str| SuiteError::Absurd(format!("--set {setting}: {why}"));
        let (path, value) =
            setting.split_once('=').ok_or_else(|| absurd("write it like latency.time=2s"))?;
        let value = toml::from_str::<toml::Table>(&format!("value = {value}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| toml::Value::String(value.to_string()));
        let mut keys: Vec<&str> = path.split('.').collect();
        let last = keys.pop().expect("split gives at least one part");
        let mut inner = &mut table;
        for key in keys {
            let entry = inner.entry(key).or_insert_with(|| toml::Table::new().into());
            inner = entry.as_table_mut().ok_or_else(|| absurd("it has no options"))?;
        }
        if inner.get(last).is_some_and(|known| known.is_table()) && !value.is_table() {
            return Err(absurd("it has options of its own; write it like latency.time=2s"));
        }
        inner.insert(last.to_string(), value);
        let checked = table.clone().try_into::<Suite>();
        checked.map_err(|e| absurd(&with_nearest(e.message())))?;
    }
    table.try_into().map_err(|e: toml::de::Error| SuiteError::Absurd(e.message().to_string()))
}

/// Refuses what would only fail later, or never end.
fn check(suite: &Suite) -> Result<(), SuiteError> {
    let problem = general_problem(suite)
        .or_else(|| latency_problem(suite))
        .or_else(|| surface_problem(suite))
        .or_else(|| tiny_writes_problem(suite))
        .or_else(|| align_problem(suite))
        .or_else(|| whole_drive_problem(suite));
    match problem {
        None => Ok(()),
        Some(what) => Err(SuiteError::Absurd(format!("suite {}: {what}", suite.name))),
    }
}

/// The first that was there before: its rounds would be mistaken for more rounds of one.
fn repeated<T: PartialEq>(named: &[T]) -> Option<&T> {
    named.iter().enumerate().find(|(i, one)| named[..*i].contains(one)).map(|(_, one)| one)
}

fn general_problem(suite: &Suite) -> Option<String> {
    if suite.tests.is_empty() {
        return Some("it names no tests".to_string());
    }
    if let Some(test) = repeated(&suite.tests) {
        return Some(format!("it names the test {test} twice"));
    }
    if let Some(cell) = repeated(&suite.transfer.cells) {
        return Some(format!("transfer names the cell {cell} twice"));
    }
    if suite.rounds == 0 || suite.rounds > ROUNDS_MAX {
        return Some(format!("rounds must lie between 1 and {ROUNDS_MAX}"));
    }
    let times = [suite.transfer.time, suite.latency.time, suite.tiny_writes.time];
    if times.iter().any(|time| time.0 < TIME_MIN_S) {
        return Some("a measured time must be at least 10 ms".to_string());
    }
    if suite.transfer.area.0 < 1 << 20 {
        return Some("transfer.area must be at least 1 MiB".to_string());
    }
    if suite.size.0 < 1 << 20 || (suite.span.0 > 0 && suite.span.0 < 1 << 20) {
        return Some("a size must be at least 1 MiB".to_string());
    }
    None
}

/// Why `bytes` cannot be the length of a request that goes past the page cache.
fn request_problem(bytes: Bytes, what: &str) -> Option<String> {
    let good = (512..=REQUEST_MAX).contains(&bytes.0) && bytes.0.is_multiple_of(512);
    (!good).then(|| format!("{what} must be a multiple of 512 bytes, at most 1 GiB"))
}

fn latency_problem(suite: &Suite) -> Option<String> {
    let options = &suite.latency;
    if let Some(problem) = request_problem(options.block, "latency.block") {
        return Some(problem);
    }
    if options.rates.len() > SPANS_MAX || options.spans_pct.len() > SPANS_MAX {
        return Some(format!("latency takes at most {SPANS_MAX} spans and as many rates"));
    }
    if options.spans_pct.iter().any(|p| !(*p > 0.0 && *p <= 100.0)) {
        return Some("latency.spans_pct must lie above 0 and up to 100".to_string());
    }
    if let Some(percent) = repeated(&options.spans_pct) {
        return Some(format!("latency.spans_pct names {percent} twice"));
    }
    if let Some(rate) = repeated(&options.rates) {
        let rate = match rate {
            Rate::Iops(iops) => format!("{iops}"),
            Rate::Share { percent } => format!("{percent} percent"),
        };
        return Some(format!("latency.rates names {rate} twice"));
    }
    let good = |rate: &Rate| match *rate {
        Rate::Iops(iops) => iops > 0.0 && iops <= IOPS_MAX,
        Rate::Share { percent } => percent > 0.0 && percent <= PERCENT_MAX,
    };
    (!options.rates.iter().all(good)).then(|| {
        let range = format!("up to {IOPS_MAX} per second or {PERCENT_MAX} percent");
        format!("latency.rates must lie above 0 and {range}")
    })
}

fn surface_problem(suite: &Suite) -> Option<String> {
    let options = &suite.surface;
    let requests = [
        (options.sample, "surface.sample"),
        (options.chunk, "surface.chunk"),
        (options.write_sample, "surface.write_sample"),
        (options.access_block, "surface.access_block"),
    ];
    let problem = requests.into_iter().find_map(|(bytes, what)| request_problem(bytes, what));
    if problem.is_some() {
        return problem;
    }
    if !options.lead_in.0.is_multiple_of(512) {
        return Some("surface.lead_in must be a multiple of 512 bytes".to_string());
    }
    for (count, what) in [(options.samples, "samples"), (options.write_samples, "write_samples")] {
        if !(2..=SAMPLES_MAX).contains(&count) {
            return Some(format!("surface.{what} must lie between 2 and {SAMPLES_MAX}"));
        }
    }
    (options.accesses > SAMPLES_MAX)
        .then(|| format!("surface.accesses must be at most {SAMPLES_MAX}"))
}

fn tiny_writes_problem(suite: &Suite) -> Option<String> {
    let options = &suite.tiny_writes;
    let small = |bytes: Bytes| (1..=1 << 20).contains(&bytes.0);
    if !small(options.write) || !small(options.stream_block) || options.writes == 0 {
        let what = "tiny-writes.write and stream_block must lie between 1 byte and 1 MiB";
        return Some(what.to_string());
    }
    let largest = options.write.0.max(options.stream_block.0).max(4096);
    (options.size.0 < largest * 16)
        .then(|| "tiny-writes.size must hold 16 of its largest blocks, and 64 KiB".to_string())
}

fn align_problem(suite: &Suite) -> Option<String> {
    let options = &suite.align;
    let (min, max) = (options.min.0, options.max.0);
    let good = |bytes: u64| bytes.is_power_of_two() && (512..=PASS_BLOCK_MAX).contains(&bytes);
    if !good(min) || !good(max) || min > max {
        let what =
            "align.min and align.max must be powers of two, 512 bytes to 16 MiB, in this order";
        return Some(what.to_string());
    }
    if options.total.0 < max || !options.total.0.is_multiple_of(max) {
        return Some("align.total must be a multiple of align.max".to_string());
    }
    if options.time.0 < 1.0 {
        return Some("align.time must be at least 1 s".to_string());
    }
    let mixed = !matches!(options.mix.read_percent(), 0 | 100);
    mixed.then(|| "align.mix must be read or write".to_string())
}

/// Options of `fill` and `verify`.
fn whole_drive_problem(suite: &Suite) -> Option<String> {
    let (fill, verify) = (&suite.fill, &suite.verify);
    if let Some(problem) = request_problem(fill.chunk, "fill.chunk") {
        return Some(problem);
    }
    if fill.depth == 0 || fill.chunk.0 * u64::from(fill.depth) > REQUEST_MAX {
        return Some("fill.chunk × fill.depth must lie above 0 and up to 1 GiB".to_string());
    }
    if !(FILL_PLACES_MIN..=SAMPLES_MAX).contains(&fill.places) {
        let range = format!("{FILL_PLACES_MIN} and {SAMPLES_MAX}");
        return Some(format!("fill.places must lie between {range}: fewer are no curve"));
    }
    if !(fill.share_pct > 0.0 && fill.share_pct <= 100.0) {
        return Some("fill.share_pct must lie above 0 and up to 100".to_string());
    }
    if let Some(problem) = mode_problem(suite) {
        return Some(problem.to_string());
    }
    let cache = request_problem(verify.cache, "verify.cache").is_some();
    (cache || verify.cache.0 > CACHE_MAX)
        .then(|| "verify.cache must be whole sectors of 512 bytes, at most 512 MiB".to_string())
}

/// Options that only one mode knows: in the other they would say nothing, and something else would be written.
fn mode_problem(suite: &Suite) -> Option<&'static str> {
    let (fill, verify) = (&suite.fill, &suite.verify);
    if fill.mode == FillMode::Sampled && fill.from.0 > 0 {
        return Some("fill.from needs fill.mode=full: samples have no beginning");
    }
    if fill.mode == FillMode::Full && fill.burst.is_some_and(|burst| burst.0 > 0) {
        return Some("fill.burst needs fill.mode=sampled: a full fill is one burst");
    }
    if verify.mode == VerifyMode::Full {
        return None;
    }
    if verify.phase == VerifyPhase::Read {
        return Some("verify.phase=read needs verify.mode=full: the quick mode writes");
    }
    (verify.from.0 > 0).then_some("verify.from needs verify.mode=full: the quick mode begins anew")
}

#[cfg(test)]
#[path = "suites_tests.rs"]
mod tests;
