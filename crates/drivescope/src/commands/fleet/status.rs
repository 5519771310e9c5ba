//! `fleet status`, `watch`, `drives` and `hosts`.

use crate::arguments::{DrivesArguments, HostsArguments, StatusArguments};
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;

pub fn status(_: &StatusArguments) -> Result<Code, Failure> {
    Err(Failure::usage("not yet".to_string()))
}

pub fn watch(_: &StatusArguments, _: &RunSignals) -> Result<Code, Failure> {
    Err(Failure::usage("not yet".to_string()))
}

pub fn drives(_: &DrivesArguments) -> Result<Code, Failure> {
    Err(Failure::usage("not yet".to_string()))
}

pub fn hosts(_: &HostsArguments) -> Result<Code, Failure> {
    Err(Failure::usage("not yet".to_string()))
}
