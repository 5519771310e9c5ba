//! The commands, one file each.

mod advise;
mod check;
mod compare;
mod completions;
mod explain;
mod export;
#[cfg(feature = "fleet")]
mod fleet;
mod history;
mod import;
mod list;
mod man;
mod report;
mod rerun;
mod restore;
mod run;
mod runs;
mod schema;
#[cfg(feature = "web")]
mod serve;
mod show;
mod sim;
mod store;
mod suites;
mod tests;
mod trace;
mod watch;

use crate::arguments::Command;
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;

/// A signal ends the command at once, unless it has begun something that needs an orderly end.
pub fn run(command: Command, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        Command::Run(arguments) => run::run(*arguments, signals),
        Command::Check(arguments) => check::check(*arguments, signals),
        Command::Rerun(arguments) => rerun::rerun(arguments, signals),
        Command::Watch(arguments) => watch::watch(&arguments, signals),
        Command::Restore(arguments) => restore::restore(&arguments, signals),
        Command::List(arguments) => list::list(&arguments),
        Command::Runs(arguments) => runs::runs(&arguments),
        Command::Show(arguments) => show::show(&arguments),
        Command::Explain { finding } => explain::explain(finding.as_deref()),
        Command::Compare(arguments) => compare::compare(&arguments, signals),
        Command::History(arguments) => history::history(&arguments),
        Command::Advise(arguments) => advise::advise(&arguments, signals),
        Command::Report(arguments) => report::report(&arguments),
        #[cfg(feature = "web")]
        Command::Serve(arguments) => serve::serve(&arguments, signals),
        Command::Export(arguments) => export::export(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Store(command) => store::store(&command),
        #[cfg(feature = "fleet")]
        Command::Fleet(command) => fleet::fleet(&command, signals),
        Command::Sim(command) => sim::sim(command, signals),
        Command::Trace(command) => trace::trace(command, signals),
        Command::Tests(arguments) => tests::tests(&arguments),
        Command::Suites(arguments) => suites::suites(&arguments),
        Command::Schema => schema::schema(),
        Command::Completions { shell } => completions::completions(shell),
        Command::Man { command } => man::man(&command),
    }
}
