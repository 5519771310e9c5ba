//! `sim`: simulated drives.

use super::{mount, reproduce, run};
use crate::arguments::{RunArguments, SimCommand};
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use drivescope_drive::DriveError;
use drivescope_drive::simulated::spec::{self, PREFIX};
use drivescope_report::text;
use std::path::PathBuf;

/// Does what was asked.
pub fn simulate(command: SimCommand, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        SimCommand::List => list(),
        SimCommand::Show { model } => show(&model),
        SimCommand::Run(arguments) => run::run(with_prefix(*arguments), signals),
        SimCommand::Mount(arguments) => mount::mount(&arguments, signals),
        SimCommand::Reproduce(arguments) => reproduce::reproduce(&arguments),
    }
}

fn list() -> Result<Code, Failure> {
    let models = spec::built_in().map_err(DriveError::from)?;
    let pairs: Vec<(String, String)> =
        models.into_iter().map(|model| (model.name, model.summary)).collect();
    output::print_line(&text::suites(&pairs, output::style()));
    Ok(Code::Ok)
}

fn show(name: &str) -> Result<Code, Failure> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    output::print_line(&spec::text_of(name).map_err(DriveError::from)?);
    Ok(Code::Ok)
}

/// `sim run wd20ears` means `run sim:wd20ears`.
fn with_prefix(mut arguments: RunArguments) -> RunArguments {
    for target in &mut arguments.targets {
        let text = target.to_string_lossy();
        if !text.starts_with(PREFIX) {
            *target = PathBuf::from(format!("{PREFIX}{text}"));
        }
    }
    arguments
}
