//! The store that `--store` names, and the local one in its place while its server is away.

use crate::exit::Failure;
use crate::output;
use drivescope_drive::DriveError;
use drivescope_drive::target;
use drivescope_report::clean;
use drivescope_store::{Store, StoreError, StoreFault, StoreLocation};
use std::path::PathBuf;
use std::sync::Once;

/// Runs side by side open a store each.
static SAID: Once = Once::new();

/// Errors: there is no place for a store, or its file system does not answer.
pub fn location(store: Option<&str>) -> Result<StoreLocation, Failure> {
    let location = StoreLocation::parse(store)?;
    check_answers(&location)?;
    Ok(location)
}

/// Errors: the file system of a file does not answer. A server has a time limit of its own.
pub fn check_answers(location: &StoreLocation) -> Result<(), DriveError> {
    location.path().map_or(Ok(()), target::check_answers)
}

/// Does not create a store.
pub fn open_existing(store: Option<&str>) -> Result<Store, Failure> {
    Ok(Store::open_existing(&location(store)?)?)
}

/// The file that must not be overwritten.
pub fn own_file(location: &StoreLocation) -> Option<PathBuf> {
    location.path().map(Into::into)
}

/// Opens a store for a run, which is to be measured even if the server is away: it is then kept in the local store.
pub fn open_for_run(location: &StoreLocation) -> Result<Store, StoreError> {
    match Store::open(location) {
        Err(error) if error.fault == StoreFault::Unreachable => {
            let store = open_in_place_of(location)?;
            SAID.call_once(|| {
                output::remark(&clean(&format!(
                    "{}; the run is kept in {} meanwhile: drivescope store sync{} sends it",
                    first_part(&error),
                    store.location().shown(),
                    location.words()
                )));
            });
            Ok(store)
        }
        opened => {
            SAID.call_once(|| offer_waiting(location));
            opened
        }
    }
}

/// The local store, whose saved runs wait for the server.
pub fn open_in_place_of(server: &StoreLocation) -> Result<Store, StoreError> {
    Ok(Store::open(&StoreLocation::parse(None)?)?.in_place_of(server.clone()))
}

/// Notes runs that were saved while the server was away.
fn offer_waiting(location: &StoreLocation) {
    let Ok(local) = StoreLocation::parse(None) else { return };
    if location.path().is_some() {
        return;
    }
    let waiting = Store::open_existing(&local).and_then(|store| store.waiting(location));
    let count = waiting.map_or(0, |ids| ids.len());
    if count > 0 {
        let runs = if count == 1 { "1 run waits" } else { &format!("{count} runs wait") };
        output::remark(&clean(&format!(
            "{runs} in {} for this store; drivescope store sync{} sends them",
            local.shown(),
            location.words()
        )));
    }
}

/// A message without its remedy, which is for those who can still choose another store.
pub fn first_part(error: &StoreError) -> String {
    let message = error.to_string();
    message.split("; ").next().unwrap_or(&message).to_string()
}
