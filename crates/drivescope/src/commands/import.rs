//! `import`: runs from files into the store.

use crate::arguments::ImportArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::read_runs;
use crate::store_access::location;
use drivescope_model::Run;
use drivescope_model::document::TestStatus;
use drivescope_report::clean;
use drivescope_store::{Added, Store, StoreFault};
use std::path::Path;

/// Stores the runs of each file, all or none. Stored runs are not replaced. Files after a refused one are still
/// imported.
pub fn import(arguments: &ImportArguments) -> Result<Code, Failure> {
    // Not made for files that have nothing for it.
    let mut opened = None;
    let count = arguments.files.len();
    let (mut imported, mut is_usable) = (0, true);
    for path in &arguments.files {
        match import_file(path, arguments, &mut opened, &mut is_usable) {
            Ok(()) => imported += 1,
            Err(failure) if count == 1 => return Err(failure),
            Err(failure) => output::complain(&failure.message),
        }
        if !is_usable {
            break;
        }
    }
    if imported == count {
        Ok(Code::Ok)
    } else {
        Err(Failure::usage(format!("{imported} of {count} imported")))
    }
}

/// `is_usable` is cleared if the store does not work for other files either.
fn import_file(
    path: &Path,
    arguments: &ImportArguments,
    opened: &mut Option<Store>,
    is_usable: &mut bool,
) -> Result<(), Failure> {
    let runs = read_runs(path)?;
    *is_usable = false;
    let store = match opened {
        Some(store) => store,
        none => none.insert(Store::open(&location(arguments.store.store.as_deref())?)?),
    };
    let added = store.add_all(&runs);
    let is_its_fault = |fault: StoreFault| {
        matches!(fault, StoreFault::Differs | StoreFault::NotTaken | StoreFault::Document)
    };
    *is_usable = added.as_ref().err().is_none_or(|error| is_its_fault(error.fault));
    if runs.is_empty() {
        output::print_wrapped(&clean(&format!("no runs in {}", path.display())));
    }
    for (run, added) in runs.iter().zip(added?) {
        let (id, target) = (&run.id, &run.target.path);
        let line = match added {
            Added::New => format!("imported run {id} of {target}{}", remarks(run)),
            Added::Completed => format!("completed run {id} of {target}, which was stored in part"),
            Added::Known => format!("run {id} of {target} is already stored, identical"),
        };
        output::print_wrapped(&clean(&line));
    }
    Ok(())
}

/// Cautions about results of other programs: the machine, and figures that failed, were left out, or have another
/// meaning.
fn remarks(run: &Run) -> String {
    let is_ours = run.tool.name == "drivescope";
    let reasons = run.tests.iter().filter_map(|test| {
        let head = if test.status == TestStatus::Done { "left out: " } else { "" };
        test.reason.as_ref().map(|reason| format!("{head}{reason}"))
    });
    let said = run.note.iter().cloned().chain(reasons).filter(|_| !is_ours);
    let host = (!is_ours && !run.host.name.is_empty()).then(|| format!(" on {}", run.host.name));
    host.into_iter().chain(said.map(|text| format!("; {text}"))).collect()
}
