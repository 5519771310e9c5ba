//! `list`: every drive of this machine.

use crate::arguments::ListArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_drive::journal;
use drivescope_drive::simulated::spec::name_served;
use drivescope_machine::Roots;
use drivescope_machine::graph::BlockGraph;
use drivescope_machine::list::{ListOptions, drives};
use drivescope_report::{clean, text};

pub fn list(arguments: &ListArguments) -> Result<Code, Failure> {
    let roots = Roots::host();
    let mut found = drives(&roots, &ListOptions { smart: true });
    found.iter_mut().for_each(name_served);
    if arguments.json {
        output::print_document(&found);
    } else {
        output::print_line(&text::drive_list(&found, output::style()));
    }
    if let Ok(folder) = journal::state_folder() {
        let waiting = journal::waiting(&BlockGraph::read(&roots), &folder).unwrap_or_default();
        waiting.iter().for_each(|drive| output::remark(&clean(&drive.to_string())));
    }
    Ok(Code::Ok)
}
