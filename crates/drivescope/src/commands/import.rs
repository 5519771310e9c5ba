//! `import`: runs from JSON files into the store.

use crate::arguments::ImportArguments;
use crate::exit::{Code, Failure};
use crate::output;
use crate::run_files::read_runs;
use drivescope_report::clean;
use drivescope_store::{Added, Store, StoreLocation};

/// Stores runs from files; all of a file or nothing of it. What is stored is not replaced.
pub fn import(arguments: &ImportArguments) -> Result<Code, Failure> {
    // Not made for files that have nothing for it.
    let mut opened = None;
    for path in &arguments.files {
        let runs = read_runs(path)?;
        let store = match &mut opened {
            Some(store) => store,
            none => {
                none.insert(Store::open(&StoreLocation::parse(arguments.store.store.as_deref())?)?)
            }
        };
        if runs.is_empty() {
            output::tell(&clean(&format!("no runs in {}", path.display())));
        }
        for (run, added) in runs.iter().zip(store.add_all(&runs)?) {
            let (id, target) = (&run.id, &run.target.path);
            let line = match added {
                Added::New => format!("imported run {id} of {target}"),
                Added::Completed => {
                    format!("completed run {id} of {target}, which was stored in part")
                }
                Added::Known => format!("run {id} of {target} is already stored, identical"),
            };
            output::tell(&clean(&line));
        }
    }
    Ok(Code::Ok)
}
