//! `list`: every drive of this machine.

use crate::arguments::ListArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::simulated::spec::name_served;
use drivescope_machine::Roots;
use drivescope_machine::list::{ListOptions, drives};
use drivescope_report::text;

/// Lists the drives.
pub fn list(arguments: &ListArguments) -> Result<Code, Failure> {
    let mut found = drives(&Roots::host(), &ListOptions { smart: true });
    found.iter_mut().for_each(name_served);
    if arguments.json {
        output::print_document(&found);
    } else {
        output::print_line(&text::drive_list(&found, output::style()));
    }
    Ok(Code::Ok)
}
