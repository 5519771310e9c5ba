//! `sim`: simulated drives.

use super::{mount, reproduce, run};
use crate::arguments::{RunArguments, SimCommand};
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use drivescope_drive::DriveError;
use drivescope_drive::simulated::model_file;
use drivescope_drive::simulated::spec::{self, PREFIX};
use drivescope_report::text;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Does what was asked.
pub fn simulate(command: SimCommand, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        SimCommand::List => list(),
        SimCommand::Show { model } => show(&model),
        SimCommand::Run(arguments) => run::run(with_prefix(*arguments)?, signals),
        SimCommand::Mount(arguments) => mount::mount(&arguments, signals),
        SimCommand::Reproduce(arguments) => reproduce::reproduce(&arguments),
    }
}

fn list() -> Result<Code, Failure> {
    let models = spec::built_in().map_err(DriveError::from)?;
    let pairs: Vec<(String, String)> =
        models.into_iter().map(|model| (model.name, model.summary)).collect();
    output::print_line(&text::name_list(&pairs, output::columns(), output::style()));
    Ok(Code::Ok)
}

/// Prints a model's file; one of the user's is checked first, and what is wrong with it is said instead.
fn show(name: &OsStr) -> Result<Code, Failure> {
    let name = utf8(name)?;
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let text = model_file::text_of(name).map_err(DriveError::from)?;
    spec::model_of(name, &text).map_err(DriveError::from)?;
    match output::terminal_columns() {
        Some(columns) => output::print_line(&text::model_file(&text, columns)),
        None => output::print_line(text.trim_end()),
    }
    if model_file::is_file(name) {
        output::note(&format!(
            "drivescope: note: {name} is a model; drivescope run sim:{name} measures it"
        ));
    }
    Ok(Code::Ok)
}

/// The name of a model as text. Results name their target, and they are UTF-8.
fn utf8(name: &OsStr) -> Result<&str, Failure> {
    name.to_str().ok_or_else(|| {
        let shown = name.to_string_lossy();
        Failure::usage(format!(
            "the name {shown} is not UTF-8, as those of models must be; rename the file"
        ))
    })
}

/// `sim run wd20ears` means `run sim:wd20ears`.
fn with_prefix(mut arguments: RunArguments) -> Result<RunArguments, Failure> {
    for target in &mut arguments.targets {
        let text = utf8(target.as_os_str())?;
        if !text.starts_with(PREFIX) {
            *target = PathBuf::from(format!("{PREFIX}{text}"));
        }
    }
    Ok(arguments)
}
