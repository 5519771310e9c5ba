//! Many machines on one store: agents announce their drives and take jobs for them; submitters choose drives.
//!
//! There is no service but the database. Work is addressed to a host, and only the agent of that host takes, renews and
//! gives up its jobs.

pub mod agent;
pub mod choice;
pub mod selector;
mod sql;
pub mod submission;
pub mod tables;
#[cfg(test)]
mod testing;

pub use tables::FleetTables;
