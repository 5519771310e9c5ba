//! `runs`: the stored runs, one line each; or what is done with them.

use crate::arguments::{RunsArguments, RunsCommand, RunsListArguments};
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::{is_file, named_runs};
use crate::store_access::open_existing;
use drivescope_model::Run;
use drivescope_model::document::TestStatus;
use drivescope_report::clean;
use drivescope_report::text::{self, RunRow};
use drivescope_store::{Filter, RunSummary, Store, StoreFault};
use std::io::IsTerminal;

/// Default number of rows.
const SHOWN: u32 = 100;

pub fn runs(arguments: &RunsArguments) -> Result<Code, Failure> {
    match &arguments.command {
        Some(RunsCommand::Rm { runs, yes, store }) => remove(runs, *yes, store.store.as_deref()),
        Some(RunsCommand::Note { run, text, store }) => note(run, text, store.store.as_deref()),
        None => list(&arguments.list),
    }
}

/// Removes all of the runs, or none if one is missing or the user declines.
fn remove(names: &[String], is_sure: bool, store_name: Option<&str>) -> Result<Code, Failure> {
    let mut store = open_existing(store_name)?;
    let mut ids = Vec::new();
    for name in names {
        let named = ids_of(name, &store, store_name)?;
        if is_sure && named.is_guess {
            let id = named.ids.join(", ");
            let why = format!(
                "'{name}' is a part of the drive's name of run {id}; --yes takes ids, labels and files"
            );
            return Err(Failure::usage(why));
        }
        for id in named.ids {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    let listed = ids.join(", ");
    if !is_sure {
        if !std::io::stdin().is_terminal() {
            return Err(Failure::usage(format!("--yes removes {listed} without asking")));
        }
        output::ask(&format!("remove {listed} from {}? [y/N]", store.location().shown()));
        let mut answer = String::new();
        let _ = std::io::stdin().read_line(&mut answer);
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(Failure::usage("nothing is removed"));
        }
    }
    ids.iter().try_for_each(|id| store.remove(id))?;
    output::print_wrapped(&format!("removed {listed}"));
    Ok(Code::Ok)
}

struct Named {
    ids: Vec<String>,
    /// The name is only a part of a drive's: a mistyped id may be that, too.
    is_guess: bool,
}

/// The stored runs of that name. A run whose document is damaged still has its id.
fn ids_of(name: &str, store: &Store, store_name: Option<&str>) -> Result<Named, Failure> {
    match store.whole_id(name) {
        Err(error) if error.fault == StoreFault::NoRun => {
            let runs = named_runs(&[name.to_string()], store_name)?;
            let has_label = |run: &Run| {
                run.label.as_ref().is_some_and(|it| it.to_lowercase() == name.to_lowercase())
            };
            let is_guess = !is_file(name) && !runs.iter().all(has_label);
            let ids = runs.iter().map(|run| store.whole_id(&run.id)).collect::<Result<_, _>>()?;
            Ok(Named { ids, is_guess })
        }
        found => Ok(Named { ids: vec![found?], is_guess: false }),
    }
}

fn note(name: &str, text: &str, store_name: Option<&str>) -> Result<Code, Failure> {
    let mut store = open_existing(store_name)?;
    let note = Some(text.trim().to_string()).filter(|text| !text.is_empty());
    for id in ids_of(name, &store, store_name)?.ids {
        let run = Run { note: note.clone(), ..store.get(&id)? };
        store.save(&run)?;
    }
    Ok(Code::Ok)
}

fn list(arguments: &RunsListArguments) -> Result<Code, Failure> {
    let is_filtered =
        arguments.drive.is_some() || arguments.label.is_some() || arguments.limit.is_some();
    let filter = Filter {
        drive: arguments.drive.clone(),
        label: arguments.label.clone(),
        // One more shows whether there are more.
        limit: arguments.limit.or((!arguments.json).then_some(SHOWN + 1)),
        ..Filter::default()
    };
    let store = open_existing(arguments.store.store.as_deref())?;
    let mut summaries = store.list(&filter)?;
    let has_more = arguments.limit.is_none() && !arguments.json && summaries.len() > SHOWN as usize;
    if has_more {
        summaries.truncate(SHOWN as usize);
    }
    if arguments.json {
        output::print_document(&summaries);
    } else if summaries.is_empty() && is_filtered {
        let words = store.words();
        output::print_line(&clean(&format!(
            "no stored run matches these filters; drivescope runs{words} lists all"
        )));
    } else if summaries.is_empty() && arguments.store.store.is_some() {
        output::print_line(&clean(&store.no_runs()));
    } else {
        let rows: Vec<RunRow> = summaries.iter().map(row).collect();
        output::print_line(&text::runs(&rows, jiff::ZonedDateTime::now().year(), output::style()));
        if has_more {
            output::note(&format!("the newest {SHOWN}; more with --limit N, all with --json"));
        }
    }
    Ok(Code::Ok)
}

fn row(summary: &RunSummary) -> RunRow {
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
        headline: summary.headline(),
    }
}
