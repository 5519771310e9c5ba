//! Making the tables of a store, and bringing older ones up to date: on request only.

use crate::error::StoreError;
use crate::location::{StoreLocation, StorePlace};
#[cfg(feature = "postgres")]
use crate::postgres;
use crate::schema_report::SchemaReport;
use crate::sql;
use crate::store::Store;

/// Makes the tables of a store, and what belongs to them; what is there stays. Errors: older or newer tables are there,
/// or the user may not make them.
pub fn init(location: &StoreLocation) -> Result<SchemaReport, StoreError> {
    apply(location, false)
}

/// Brings the tables up to date. Errors: there are none, they are newer, or the user may not change them.
pub fn upgrade(location: &StoreLocation) -> Result<SchemaReport, StoreError> {
    apply(location, true)
}

/// What [`init`] runs on a server, for an administrator to read.
pub fn init_text() -> String {
    #[cfg(feature = "postgres")]
    return postgres::sql_text();
    #[cfg(not(feature = "postgres"))]
    return "-- this build has no PostgreSQL store (feature postgres)".to_string();
}

fn apply(location: &StoreLocation, upgrades: bool) -> Result<SchemaReport, StoreError> {
    match &location.place {
        StorePlace::File(path) => {
            let was_there = upgrades || path.exists();
            let store =
                if upgrades { Store::open_existing(location) } else { Store::open(location) };
            store?.check_exists()?;
            let from = was_there.then_some(sql::SCHEMA);
            Ok(SchemaReport { from, to: sql::SCHEMA, lacks: Vec::new() })
        }
        #[cfg(feature = "postgres")]
        StorePlace::Server(address) => postgres::apply(address, upgrades),
    }
}
