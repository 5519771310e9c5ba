//! The store that `--store` names, for commands that read it.

use crate::exit::Failure;
use drivescope_store::{Store, StoreLocation};

/// The store named by `--store`, without making one.
pub fn open_existing(store: Option<&str>) -> Result<Store, Failure> {
    Ok(Store::open_existing(&StoreLocation::parse(store)?)?)
}
