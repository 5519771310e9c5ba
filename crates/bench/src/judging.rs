//! What counts: rounds, the record of a test, and why a figure is not valid.

pub(crate) mod cpu_contention;
pub(crate) mod cpu_split;
pub mod health;
pub(crate) mod rate_drop;
pub mod round;
pub mod test_record;
pub mod validity;
