//! Tables on a server for other parts of the program, such as those of a fleet.

use crate::backend::{SqlRow, SqlValue, StoreTables, WrongType};
use crate::error::{StoreError, StoreFault};
use crate::location::{StoreLocation, StorePlace};
use crate::postgres::{self, PostgresTables};

/// A connection to the tables of a server. A lost one is replaced at the next statement.
#[derive(Debug)]
pub struct ServerTables {
    tables: PostgresTables,
}

impl ServerTables {
    /// Errors: the store is a file; it cannot be opened. `writes`: more than reading is intended.
    pub fn open(location: &StoreLocation, writes: bool) -> Result<Self, StoreError> {
        match &location.place {
            StorePlace::Server(address) => {
                Ok(Self { tables: postgres::open_any(address, writes)? })
            }
            StorePlace::File(path) => {
                let message = format!(
                    "{} is a file, and a fleet needs a store on a server: --store postgres://USER@HOST/DATABASE",
                    path.display()
                );
                Err(StoreError::new(StoreFault::Location, message))
            }
        }
    }

    /// What a statement that changes nothing answers.
    pub fn read<T>(
        &self,
        sql: &str,
        values: &[SqlValue],
        row: impl Fn(&mut SqlRow) -> Result<T, WrongType>,
    ) -> Result<Vec<T>, StoreError> {
        self.converted(self.tables.read(sql, values)?, row)
    }

    /// Runs a statement in a transaction of its own, and once more after a lost connection, so it must be one that may
    /// run twice.
    pub fn change<T>(
        &mut self,
        sql: &str,
        values: &[SqlValue],
        row: impl Fn(&mut SqlRow) -> Result<T, WrongType>,
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        self.tables.write(&mut |statements| {
            rows = statements.rows(sql, values)?;
            Ok(())
        })?;
        self.converted(rows, row)
    }

    /// As [`change`](Self::change), in one trip to the server, and without limits of its time.
    pub fn change_at_once<T>(
        &mut self,
        sql: &str,
        values: &[SqlValue],
        row: impl Fn(&mut SqlRow) -> Result<T, WrongType>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.tables.change_at_once(sql, values)?;
        self.converted(rows, row)
    }

    fn converted<T>(
        &self,
        rows: Vec<SqlRow>,
        row: impl Fn(&mut SqlRow) -> Result<T, WrongType>,
    ) -> Result<Vec<T>, StoreError> {
        let converted: Result<_, WrongType> = rows.into_iter().map(|mut it| row(&mut it)).collect();
        converted.map_err(|wrong| self.tables.damaged(&wrong.reason()))
    }
}
