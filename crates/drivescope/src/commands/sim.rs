//! `sim`: simulated drives.

mod list;
mod mount;
mod reproduce;
mod show;

use super::run;
use crate::arguments::{RunArguments, SimCommand};
use crate::exit::{Code, Failure};
use crate::signals::RunSignals;
use drivescope_drive::simulated::spec::PREFIX;
use std::ffi::OsStr;
use std::path::PathBuf;

pub fn sim(command: SimCommand, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        SimCommand::List(arguments) => list::list(&arguments),
        SimCommand::Show { model } => show::show(model_name(&model)?),
        SimCommand::Run(arguments) => run::run(with_prefix(*arguments)?, signals),
        SimCommand::Mount(arguments) => mount::mount(&arguments, signals),
        SimCommand::Reproduce(arguments) => reproduce::reproduce(&arguments),
    }
}

/// Results name their target in UTF-8.
fn model_name(name: &OsStr) -> Result<&str, Failure> {
    name.to_str().ok_or_else(|| {
        let shown = name.to_string_lossy();
        Failure::usage(format!("the name {shown} is not UTF-8; rename the model file"))
    })
}

/// `sim run wd20ears` means `run sim:wd20ears`.
fn with_prefix(mut arguments: RunArguments) -> Result<RunArguments, Failure> {
    for target in &mut arguments.targets {
        let text = model_name(target.as_os_str())?;
        if !text.starts_with(PREFIX) {
            *target = PathBuf::from(format!("{PREFIX}{text}"));
        }
    }
    Ok(arguments)
}
