//! `runs`, `show`, `export`, `import`: what earlier runs left in the store.

use crate::arguments::{ExportArguments, ImportArguments, RunsArguments, ShowArguments};
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_model::document::{Run, TestStatus};
use drivescope_model::units::{Bytes, three_digits};
use drivescope_report::clean;
use drivescope_report::text::{self, RunRow};
use drivescope_store::{
    Added, Filter, Location, RunSummary, Store, StoreError, all_to_json, from_file, to_json,
};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// What `--table` says of a run that phybs would not print.
pub const NO_PASSES: &str =
    "--table prints passes of phybs and this run has none; run --suite phybs makes them";

/// More than any store's runs need, a megabyte each at most.
const DOCUMENT_MAX_BYTES: u64 = 1 << 30;

/// The store named by `--store`, without making one.
pub fn open_existing(store: Option<&str>) -> Result<Store, Failure> {
    Ok(Store::open_existing(&Location::parse(store)?)?)
}

/// What the next command must be told to find the store that this one used: nothing where it is the default. The
/// environment may have named it for this command only.
pub fn store_words(store: Option<&str>) -> String {
    store.map_or_else(String::new, |store| format!(" --store {}", quoted(store)))
}

/// A run of the store named by `--store`. Errors: as [`Store::get`], each with a next command that finds the
/// store.
pub fn get_run(store: Option<&str>, run: &str) -> Result<Run, Failure> {
    open_existing(store)?.get(run).map_err(|error| not_found(error, store))
}

/// Why there is no such run, with a next command that finds the store.
fn not_found(error: StoreError, store: Option<&str>) -> Failure {
    let failure = Failure::from(error);
    Failure { message: with_store_words(&failure.message, &store_words(store)), ..failure }
}

/// A message with a next command, which is told the store.
fn with_store_words(message: &str, words: &str) -> String {
    let told = |message: String, command: &str, end: &str| {
        message.replace(&format!("{command}{end}"), &format!("{command}{words}{end}"))
    };
    let message = told(message.to_string(), "drivescope runs", " lists");
    told(message, "drivescope run .", " makes")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Lists runs.
pub fn runs(arguments: &RunsArguments) -> Result<Code, Failure> {
    let filter = Filter {
        drive: arguments.drive.clone(),
        label: arguments.label.clone(),
        limit: arguments.limit,
    };
    let store = open_existing(arguments.store.store.as_deref())?;
    let summaries = store.list(&filter)?;
    if arguments.json {
        let json = serde_json::to_string_pretty(&summaries).expect("summaries are plain data");
        output::print_json(&json);
    } else if summaries.is_empty() && filter != Filter::default() {
        let words = store_words(arguments.store.store.as_deref());
        let message = "no stored run passes these filters; drivescope runs lists all";
        output::print_line(&clean(&with_store_words(message, &words)));
    } else if summaries.is_empty() && arguments.store.store.is_some() {
        output::print_line(&clean(&no_runs_in(&store, arguments.store.store.as_deref())));
    } else {
        let rows: Vec<RunRow> = summaries.iter().map(row).collect();
        output::print_line(&text::runs(&rows, output::style()));
    }
    Ok(Code::Ok)
}

/// That a store which was named has nothing, and how to change that: perhaps the name is mistyped.
fn no_runs_in(store: &Store, named: Option<&str>) -> String {
    let (path, words) = (store.path().display(), store_words(named));
    format!("no runs stored in {path} yet; drivescope run .{words} makes one")
}

fn row(summary: &RunSummary) -> RunRow {
    let mut headline = Vec::new();
    if let Some(rate) = summary.seq_read_mb_s {
        headline.push(format!("{rate:.0} MB/s"));
    }
    if let Some(rate) = summary.rnd4k_q1t1_read_iops {
        headline.push(format!("{rate:.0} IOPS"));
    }
    if headline.is_empty() {
        headline.extend(first_figure(summary));
    }
    if headline.is_empty() && summary.invalid_metrics > 0 {
        headline.push("no valid figures".to_string());
    }
    // A target that does not say so itself is a served drive, with the node and name of a real one.
    if summary.simulated && !summary.target.starts_with("sim:") {
        headline.push("simulated".to_string());
    }
    let status = match summary.status.as_str() {
        "done" => TestStatus::Done,
        "failed" => TestStatus::Failed,
        "interrupted" => TestStatus::Interrupted,
        _ => TestStatus::Skipped,
    };
    RunRow {
        id: summary.id.clone(),
        started_at: summary.started_at.clone(),
        label: summary.label.clone(),
        suite: summary.suite.clone(),
        drive: summary.drive().map(str::to_string),
        target: summary.target.clone(),
        status,
        headline: headline.join(" · "),
    }
}

/// The main figure of a run without the reads that others are known by: `span100 85.1 µs`.
fn first_figure(summary: &RunSummary) -> Option<String> {
    let (_, rest) = summary.headline_key.as_deref()?.split_once('.')?;
    let (cell, quantity) = rest.rsplit_once('.')?;
    let value = summary.headline_value?;
    let figure = match (summary.headline_unit.as_deref()?, quantity) {
        ("bytes", _) => Bytes(value as u64).to_string(),
        (_, "iops") => format!("{} IOPS", three_digits(value)),
        ("us", _) => format!("{} µs", three_digits(value)),
        (unit, _) => format!("{} {unit}", three_digits(value)),
    };
    Some(format!("{cell} {figure}"))
}

/// Shows one run.
pub fn show(arguments: &ShowArguments) -> Result<Code, Failure> {
    let run = get_run(arguments.store.store.as_deref(), &arguments.run)?;
    if arguments.show.json {
        output::print_json(&to_json(&run));
        return Ok(Code::Ok);
    }
    if arguments.show.table {
        output::print(&phybs_table(&run)?);
        return Ok(Code::Ok);
    }
    let words = store_words(arguments.store.store.as_deref());
    output::print_line(&text::run_summary(&run, &words, output::style()));
    if arguments.show.verbose {
        output::print_line(&format!("\n{}", text::verbose(&run, output::style())));
    }
    Ok(Code::Ok)
}

/// The table that phybs prints. Errors: the run has no passes of phybs.
pub fn phybs_table(run: &Run) -> Result<String, Failure> {
    text::phybs_table(run).ok_or_else(|| Failure::usage(NO_PASSES))
}

/// Writes runs as JSON: one document for one run, an array otherwise.
pub fn export(arguments: &ExportArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let mut ids = arguments.runs.clone();
    if ids.is_empty() {
        ids = store.list(&Filter::default())?.into_iter().map(|summary| summary.id).collect();
        if ids.is_empty() {
            return Err(Failure::usage(no_runs_in(&store, arguments.store.store.as_deref())));
        }
    }
    let named = arguments.store.store.as_deref();
    let runs = ids.iter().map(|id| store.get(id)).collect::<Result<Vec<_>, _>>();
    let runs = runs.map_err(|error| not_found(error, named))?;
    match runs.as_slice() {
        [run] => output::print_json(&to_json(run)),
        runs => output::print_json(&all_to_json(runs)),
    }
    Ok(Code::Ok)
}

/// Stores runs from files; all of a file or nothing of it. What is stored is not replaced.
pub fn import(arguments: &ImportArguments) -> Result<Code, Failure> {
    // Not made for files that have nothing for it.
    let mut opened = None;
    for path in &arguments.files {
        let text = read(path)?;
        let runs = from_file(&text)
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        let store = match &mut opened {
            Some(store) => store,
            none => none.insert(Store::open(&Location::parse(arguments.store.store.as_deref())?)?),
        };
        if runs.is_empty() {
            output::tell(&clean(&format!("no runs in {}", path.display())));
        }
        for (run, added) in runs.iter().zip(store.add_all(&runs)?) {
            let (id, target) = (&run.id, &run.target.path);
            let line = match added {
                Added::New => format!("imported run {id} of {target}"),
                Added::Completed => {
                    format!("imported run {id} of {target}, which was there in part")
                }
                Added::Known => format!("run {id} of {target} is there already, just the same"),
            };
            output::tell(&clean(&line));
        }
    }
    Ok(Code::Ok)
}

fn read(path: &Path) -> Result<String, Failure> {
    let result = if path == Path::new("-") {
        document(std::io::stdin().lock())
    } else {
        std::fs::File::open(path).and_then(|file| document(BufReader::new(file)))
    };
    result.map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::NotFound => "name a file that drivescope export or run --json wrote",
            ErrorKind::PermissionDenied => "check its owner and mode",
            _ => "import reads files of drivescope export and run --json",
        };
        Failure::usage(format!("cannot read {}: {error}; {remedy}", path.display()))
    })
}

/// A whole document; what does not begin as one is not read to its end, which it may not have.
fn document(mut source: impl BufRead) -> std::io::Result<String> {
    let first = source.fill_buf()?.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|byte| !b"{[".contains(byte)) {
        return Err(std::io::Error::other("it is not JSON in UTF-8"));
    }
    let mut text = String::new();
    if source.take(DOCUMENT_MAX_BYTES).read_to_string(&mut text)? as u64 == DOCUMENT_MAX_BYTES {
        return Err(std::io::Error::other("it is longer than 1 GiB; export fewer runs at a time"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_the_next_command_is_named_as_a_shell_takes_it() {
        assert_eq!(store_words(None), "");
        assert_eq!(store_words(Some("/mnt/usb/runs.db")), " --store /mnt/usb/runs.db");
        assert_eq!(store_words(Some("my run's.db")), r" --store 'my run'\''s.db'");
        let words = store_words(Some("x.db"));
        assert_eq!(
            with_store_words("drivescope runs lists all", &words),
            "drivescope runs --store x.db lists all"
        );
        assert_eq!(
            with_store_words("drivescope run . makes one", &words),
            "drivescope run . --store x.db makes one"
        );
    }
}
