//! The store that `--store` names.

use crate::exit::Failure;
use drivescope_drive::target;
use drivescope_store::{Store, StoreLocation};

/// Where the store is. Errors: there is no such place, or its file system does not answer.
pub fn location(store: Option<&str>) -> Result<StoreLocation, Failure> {
    let location = StoreLocation::parse(store)?;
    target::check_answers(location.path())?;
    Ok(location)
}

/// The store, without making one.
pub fn open_existing(store: Option<&str>) -> Result<Store, Failure> {
    Ok(Store::open_existing(&location(store)?)?)
}
