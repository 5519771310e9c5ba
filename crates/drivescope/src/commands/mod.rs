//! The commands, one file each.

mod ask;
mod catalogue;
mod document;
mod drives;
mod length;
mod measure;
mod mount;
mod originals;
mod raw;
mod reproduce;
mod restore;
mod resume;
mod run;
mod schema;
mod shelf;
mod simulate;
mod stored;

use crate::arguments::Command;
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;

pub use stored::quoted;

/// Does what was asked. Signals end it at once, unless it says that there is something to put in order.
pub fn run(command: Command, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        Command::Run(arguments) => run::run(*arguments, signals),
        Command::Rerun(arguments) => run::rerun(arguments, signals),
        Command::Restore(arguments) => restore::restore(&arguments, signals),
        Command::List(arguments) => drives::list(&arguments),
        Command::Runs(arguments) => stored::runs(&arguments),
        Command::Show(arguments) => stored::show(&arguments),
        Command::Export(arguments) => stored::export(&arguments),
        Command::Import(arguments) => stored::import(&arguments),
        Command::Sim(arguments) => simulate::simulate(arguments, signals),
        Command::Tests => catalogue::tests(),
        Command::Suites => catalogue::suites(),
        Command::Schema => schema::schema(),
        Command::Completions { shell } => catalogue::completions(shell),
        Command::Man => catalogue::man(),
    }
}
