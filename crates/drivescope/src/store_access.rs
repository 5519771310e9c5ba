//! The store that `--store` names.

use crate::exit::Failure;
use drivescope_drive::target;
use drivescope_store::{Store, StoreLocation};

/// Errors: there is no place for a store, or its file system does not answer.
pub fn location(store: Option<&str>) -> Result<StoreLocation, Failure> {
    let location = StoreLocation::parse(store)?;
    target::check_answers(location.path())?;
    Ok(location)
}

/// Does not create a store.
pub fn open_existing(store: Option<&str>) -> Result<Store, Failure> {
    Ok(Store::open_existing(&location(store)?)?)
}
