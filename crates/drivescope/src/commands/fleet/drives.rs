//! `fleet drives`.

use super::access;
use crate::arguments::DrivesArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_report::fleet;

pub fn drives(arguments: &DrivesArguments) -> Result<Code, Failure> {
    let selector = access::selector(arguments.select.as_deref())?;
    let mut drives = access::open(&arguments.store, false)?.drives()?;
    let fleet_is_empty = drives.is_empty();
    drives.retain(|drive| selector.as_ref().is_none_or(|it| it.matches(drive)));
    if arguments.json {
        output::print_document(&drives);
    } else {
        output::print(&fleet::fleet_drives(&drives, fleet_is_empty, output::style()));
    }
    Ok(Code::Ok)
}
