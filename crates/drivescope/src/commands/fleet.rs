//! `fleet`: many drives on many machines.

mod export;
mod outliers;

use crate::arguments::FleetCommand;
use crate::exit::{Code, Failure};

pub fn fleet(command: &FleetCommand) -> Result<Code, Failure> {
    match command {
        FleetCommand::Outliers(arguments) => outliers::outliers(arguments),
        FleetCommand::Export(arguments) => export::export(arguments),
    }
}
