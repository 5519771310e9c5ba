//! `trace`: traces of what applications asked of drives.

mod convert;
mod info;
mod record;
mod replay;
mod source;

use crate::arguments::TraceCommand;
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;

pub fn trace(command: TraceCommand, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        TraceCommand::Info(arguments) => info::info(&arguments),
        TraceCommand::Record(arguments) => record::record(&arguments, signals),
        TraceCommand::Replay(arguments) => replay::replay(*arguments, signals),
        TraceCommand::Convert(arguments) => convert::convert(&arguments),
    }
}
