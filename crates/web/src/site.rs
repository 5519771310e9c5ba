//! What all requests share.

use crate::browser_run::BrowserRuns;
use crate::guard::Guard;
use crate::workbench::Workbench;
use drivescope_store::{Store, StoreError, StoreLocation};

pub struct Site {
    pub(crate) store: StoreLocation,
    pub(crate) workbench: Box<dyn Workbench>,
    pub(crate) guard: Guard,
    pub(crate) runs: BrowserRuns,
}

impl Site {
    pub fn new(store: StoreLocation, workbench: Box<dyn Workbench>, guard: Guard) -> Self {
        Self { store, workbench, guard, runs: BrowserRuns::default() }
    }

    pub fn has_runs(&self) -> bool {
        !self.runs.running().is_empty()
    }

    /// Stops the runs that browsers have started, and waits until all have ended. Returns whether there was one.
    pub fn stop_runs(&self) -> bool {
        self.runs.stop_all()
    }

    /// The store, which may have been made, moved or locked since the last request.
    pub(crate) fn open_store(&self) -> Result<Store, StoreError> {
        Store::open_existing(&self.store)
    }
}
