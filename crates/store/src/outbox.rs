//! Runs in a file that wait for a server: it was away when they were saved.

use crate::backend::SqlRow;
use crate::error::StoreError;
use crate::location::StoreLocation;
use crate::sql;
use crate::store::Store;

impl Store {
    pub(crate) fn clear_waiting(
        &mut self,
        id: &str,
        server: &StoreLocation,
    ) -> Result<(), StoreError> {
        let values = [id.into(), server.shown().into()];
        self.write(|statements| statements.execute(sql::CLEAR_WAITING, &values))
    }

    /// Ids of the runs in this store, a file, that wait for a server, the oldest first.
    pub fn waiting(&self, server: &StoreLocation) -> Result<Vec<String>, StoreError> {
        if !self.has_waiting()? {
            return Ok(Vec::new());
        }
        self.select(sql::WAITING, &[server.shown().into()], SqlRow::text)
    }

    /// Servers for which runs in this store, a file, wait, with their number.
    pub fn waiting_servers(&self) -> Result<Vec<(String, u64)>, StoreError> {
        if !self.has_waiting()? {
            return Ok(Vec::new());
        }
        self.select(sql::WAITING_SERVERS, &[], |row| Ok((row.text()?, row.int()?.unsigned_abs())))
    }

    fn has_waiting(&self) -> Result<bool, StoreError> {
        Ok(!self.select(sql::HAS_WAITING, &[], SqlRow::text)?.is_empty())
    }
}
