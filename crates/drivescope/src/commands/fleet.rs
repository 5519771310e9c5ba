//! `fleet`: many machines on one store.

mod access;
mod agent;
mod cancel;
mod decide;
#[cfg(feature = "web")]
mod demo;
mod drives;
mod export;
mod hosts;
mod key;
mod outliers;
mod start_time;
mod status;
mod submit;
mod watch;

use crate::arguments::FleetCommand;
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;

pub fn fleet(command: &FleetCommand, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        FleetCommand::Agent(arguments) => agent::agent(arguments, signals),
        FleetCommand::Submit(arguments) => submit::submit(arguments),
        FleetCommand::Status(arguments) => status::status(arguments),
        FleetCommand::Watch(arguments) => watch::watch(arguments, signals),
        FleetCommand::Cancel(arguments) => cancel::cancel(arguments),
        FleetCommand::Decide(arguments) => decide::decide(arguments),
        FleetCommand::Drives(arguments) => drives::drives(arguments),
        FleetCommand::Hosts(arguments) => hosts::hosts(arguments),
        FleetCommand::Outliers(arguments) => outliers::outliers(arguments),
        FleetCommand::Export(arguments) => export::export(arguments),
        #[cfg(feature = "web")]
        FleetCommand::Demo(arguments) => demo::demo(arguments, signals),
    }
}
