//! Runs in a file that wait for a server: it was away when they were saved.

use crate::backend::SqlRow;
use crate::error::StoreError;
use crate::location::StoreLocation;
use crate::sql;
use crate::store::Store;

impl Store {
    /// Notes in this store, a file, that a run of it waits for a server.
    pub fn set_waiting(&mut self, id: &str, server: &StoreLocation) -> Result<(), StoreError> {
        let values = [id.into(), server.shown().into()];
        self.write(|statements| {
            statements.execute(sql::CREATE_WAITING, &[])?;
            statements.execute(sql::SET_WAITING, &values)
        })
    }

    pub fn clear_waiting(&mut self, id: &str, server: &StoreLocation) -> Result<(), StoreError> {
        let values = [id.into(), server.shown().into()];
        self.write(|statements| {
            statements.execute(sql::CREATE_WAITING, &[])?;
            statements.execute(sql::CLEAR_WAITING, &values)
        })
    }

    /// Ids of the runs in this store, a file, that wait for a server, the oldest first.
    pub fn waiting(&self, server: &StoreLocation) -> Result<Vec<String>, StoreError> {
        if self.select(sql::HAS_WAITING, &[], SqlRow::text)?.is_empty() {
            return Ok(Vec::new());
        }
        self.select(sql::WAITING, &[server.shown().into()], SqlRow::text)
    }
}
