//! `fleet submit` and `fleet cancel`.

use crate::arguments::{CancelArguments, SubmitArguments};
use crate::exit::{Code, Failure};

pub fn submit(_: &SubmitArguments) -> Result<Code, Failure> {
    Err(Failure::usage("not yet".to_string()))
}

pub fn cancel(_: &CancelArguments) -> Result<Code, Failure> {
    Err(Failure::usage("not yet".to_string()))
}
