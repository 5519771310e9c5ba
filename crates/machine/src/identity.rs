//! Who a drive is.

mod reported;

pub use reported::ReportedIdentity;
