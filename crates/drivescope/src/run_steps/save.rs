//! Where a run is kept: the store or, if that fails, a file beside it; of a store on a server, the local store.

use crate::exit::{Code, Failure};
use crate::output;
use crate::store_access::{first_part, open_in_place_of};
use drivescope_drive::document_file::DocumentFile;
use drivescope_model::document::Run;
use drivescope_model::shell::quoted;
use drivescope_report::clean;
use drivescope_store::{Store, StoreError, to_json};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveOutcome {
    NotRequested,
    Stored,
    /// In the local store, for a server that failed meanwhile; this was reported.
    Waiting,
    /// Saving failed, and the failure was reported; the exit code.
    NotStored(Code),
}

/// Saves a run after every test. A failing store does not end the run: its document is then saved elsewhere, and the
/// store is tried once more at the end.
pub struct RunSaver<'s> {
    store: Option<&'s mut Store>,
    aside: Option<Aside>,
}

enum Aside {
    File(DocumentFile),
    Local(Box<Store>),
}

impl Aside {
    fn of(store: &Store, run: &Run) -> Self {
        let location = store.location();
        match location.path() {
            Some(path) => Self::beside(path, run),
            None => match open_in_place_of(location) {
                Ok(local) => Self::Local(Box::new(local)),
                // A home that cannot be written: the folder of this process may do.
                Err(_) => Self::beside(Path::new("./runs.db"), run),
            },
        }
    }

    fn beside(path: &Path, run: &Run) -> Self {
        let folder = path.parent().unwrap_or(Path::new("/"));
        Self::File(DocumentFile::new(folder, &format!("run-{}.json", run.id)))
    }

    /// Errors: why it is not kept here either.
    fn keep(&mut self, run: &Run) -> Result<(), String> {
        match self {
            Self::File(file) => file.write(&to_json(run)).map_err(|error| error.to_string()),
            Self::Local(store) => store.save(run).map_err(|error| error.to_string()),
        }
    }

    fn remove(self, run: &Run) -> Result<(), String> {
        match self {
            Self::File(file) => file.remove().map_err(|error| error.to_string()),
            Self::Local(mut store) => store.remove(&run.id).map_err(|error| error.to_string()),
        }
    }

    /// Where it is, and how it comes into the store.
    fn words(&self, store: &Store) -> String {
        match self {
            Self::File(file) => {
                let path = file.path().to_string_lossy();
                let path = quoted(&path);
                let words = match store.location().path() {
                    Some(store) => format!(" --store {}", quoted(&store.to_string_lossy())),
                    None => store.words().to_string(),
                };
                format!("it is kept in a file; import it with drivescope import {path}{words}")
            }
            Self::Local(local) => format!(
                "it is kept in {}; drivescope store sync{} sends it",
                local.location().shown(),
                store.words()
            ),
        }
    }
}

impl<'s> RunSaver<'s> {
    /// Without a store nothing is saved.
    pub fn new(store: Option<&'s mut Store>) -> Self {
        Self { store, aside: None }
    }

    /// Saves the run so far. A failure is reported only at the end: it may be temporary.
    pub fn keep(&mut self, run: &Run) {
        let Some(store) = &mut self.store else { return };
        if self.aside.is_none() && store.save(run).is_err() {
            self.aside = Some(Aside::of(store, run));
        }
        if let Some(aside) = &mut self.aside {
            // Should this fail too, the end will show it again.
            let _ = aside.keep(run);
        }
    }

    /// Saves the complete run; a failure is reported in one line.
    pub fn conclude(self, run: &Run) -> SaveOutcome {
        let Some(store) = self.store else { return SaveOutcome::NotRequested };
        match store.save(run) {
            Ok(()) => {
                if let Some(Err(error)) = self.aside.map(|aside| aside.remove(run)) {
                    output::complain(&error);
                }
                SaveOutcome::Stored
            }
            Err(error) => {
                let aside = self.aside.unwrap_or_else(|| Aside::of(store, run));
                not_stored(error, aside, store, run)
            }
        }
    }
}

fn not_stored(error: StoreError, mut aside: Aside, store: &Store, run: &Run) -> SaveOutcome {
    let cause = first_part(&error);
    let is_kept = aside.keep(run);
    let kept = match &is_kept {
        Ok(()) => aside.words(store),
        Err(why) => format!("nor is it kept elsewhere ({why}); run it with --json or --store FILE"),
    };
    output::complain(&clean(&format!("the run is not stored: {cause}; {kept}")));
    match aside {
        Aside::Local(_) if is_kept.is_ok() => SaveOutcome::Waiting,
        _ => SaveOutcome::NotStored(Failure::from(error).code),
    }
}
