//! `trace`: traces of what applications asked of drives.

mod convert;
mod info;
mod source;

use crate::arguments::TraceCommand;
use crate::exit::{Code, Failure};

/// Runs a command about traces.
pub fn trace(command: TraceCommand) -> Result<Code, Failure> {
    match command {
        TraceCommand::Info(arguments) => info::info(&arguments),
        TraceCommand::Convert(arguments) => convert::convert(&arguments),
    }
}
