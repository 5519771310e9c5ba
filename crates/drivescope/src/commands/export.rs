//! `export`: stored runs as JSON.

use crate::arguments::ExportArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::named_runs;
use crate::store_access::open_existing;
use drivescope_model::Run;
use drivescope_report::anonymized;
use drivescope_store::{Filter, Store};

/// Writes runs as JSON documents. Errors: a run is missing or unreadable; nothing is written then.
pub fn export(arguments: &ExportArguments) -> Result<Code, Failure> {
    let store = arguments.store.store.as_deref();
    let mut runs = if arguments.runs.is_empty() {
        every_run(&open_existing(store)?)?
    } else {
        named_runs(&arguments.runs, store)?
    };
    if arguments.anonymize {
        runs = runs.iter().map(anonymized).collect();
    }
    runs.iter().for_each(output::print_document);
    Ok(Code::Ok)
}

/// Errors: there is none.
fn every_run(store: &Store) -> Result<Vec<Run>, Failure> {
    let listed = store.list(&Filter::default())?;
    if listed.is_empty() {
        return Err(Failure::usage(store.no_runs()));
    }
    Ok(listed.iter().map(|summary| store.get(&summary.id)).collect::<Result<_, _>>()?)
}
