//! Where a run is kept: the store or, if that fails, a file beside it.

use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::document_file::DocumentFile;
use drivescope_model::document::Run;
use drivescope_model::shell::quoted;
use drivescope_store::{Store, StoreError, to_json};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveOutcome {
    NotRequested,
    Stored,
    /// Saving failed, and the failure was reported; the exit code.
    NotStored(Code),
}

/// Saves a run after every test. A failing store does not end the run: its document is then saved in a file beside the
/// store, and the store is tried once more at the end.
pub struct RunSaver<'s> {
    store: Option<&'s mut Store>,
    file: Option<DocumentFile>,
}

impl<'s> RunSaver<'s> {
    /// Without a store nothing is saved.
    pub fn new(store: Option<&'s mut Store>) -> Self {
        Self { store, file: None }
    }

    /// Saves the run so far. A failure is reported only at the end: it may be temporary.
    pub fn keep(&mut self, run: &Run) {
        let Some(store) = &mut self.store else { return };
        if self.file.is_none() && store.save(run).is_err() {
            self.file = Some(beside(store, run));
        }
        if let Some(file) = &self.file {
            // Should this fail too, the end will show it again.
            let _ = file.write(&to_json(run));
        }
    }

    /// Saves the complete run; a failure is reported in one line.
    pub fn conclude(self, run: &Run) -> SaveOutcome {
        let Some(store) = self.store else { return SaveOutcome::NotRequested };
        let file = self.file;
        match store.save(run) {
            Ok(()) => {
                if let Some(Err(error)) = file.map(|file| file.remove()) {
                    output::complain(&error.to_string());
                }
                SaveOutcome::Stored
            }
            Err(error) => {
                let file = file.unwrap_or_else(|| beside(store, run));
                output::complain(&not_stored(&error, &file, store, run));
                SaveOutcome::NotStored(Failure::from(error).code)
            }
        }
    }
}

fn beside(store: &Store, run: &Run) -> DocumentFile {
    let folder = store.path().parent().unwrap_or(Path::new("/"));
    DocumentFile::new(folder, &format!("run-{}.json", run.id))
}

fn not_stored(error: &StoreError, file: &DocumentFile, store: &Store, run: &Run) -> String {
    let message = error.to_string();
    // The remedy of the store's message is for those who can still choose another one.
    let cause = message.split("; ").next().unwrap_or(&message);
    let kept = match file.write(&to_json(run)) {
        Ok(()) => {
            let (path, store) = (file.path().to_string_lossy(), store.path().to_string_lossy());
            let (path, store) = (quoted(&path), quoted(&store));
            format!("it is kept in a file; import it with drivescope import {path} --store {store}")
        }
        Err(error) => {
            format!("nor is it kept in a file ({error}); run it with --json or --store FILE")
        }
    };
    format!("the run is not stored: {cause}; {kept}")
}
