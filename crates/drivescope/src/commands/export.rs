//! `export`: stored runs as JSON.

use crate::arguments::ExportArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::open_existing;
use drivescope_report::anonymized;
use drivescope_store::Filter;

/// Writes runs as JSON documents. Errors: a run is missing or unreadable; nothing is written then.
pub fn export(arguments: &ExportArguments) -> Result<Code, Failure> {
    let store = open_existing(arguments.store.store.as_deref())?;
    let mut ids = arguments.runs.clone();
    if ids.is_empty() {
        ids = store.list(&Filter::default())?.into_iter().map(|summary| summary.id).collect();
        if ids.is_empty() {
            return Err(Failure::usage(store.no_runs()));
        }
    }
    let mut runs = ids.iter().map(|id| store.get(id)).collect::<Result<Vec<_>, _>>()?;
    if arguments.anonymize {
        runs = runs.iter().map(anonymized).collect();
    }
    runs.iter().for_each(output::print_document);
    Ok(Code::Ok)
}
