//! `fleet`: many machines on one store.

mod agent;
mod status;
mod submit;

use crate::arguments::FleetCommand;
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;

pub fn fleet(command: &FleetCommand, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        FleetCommand::Agent(arguments) => agent::agent(arguments, signals),
        FleetCommand::Submit(arguments) => submit::submit(arguments),
        FleetCommand::Status(arguments) => status::status(arguments),
        FleetCommand::Watch(arguments) => status::watch(arguments, signals),
        FleetCommand::Cancel(arguments) => submit::cancel(arguments),
        FleetCommand::Drives(arguments) => status::drives(arguments),
        FleetCommand::Hosts(arguments) => status::hosts(arguments),
    }
}
