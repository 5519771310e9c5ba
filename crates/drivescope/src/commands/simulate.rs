//! `sim`: simulated drives.

use super::{reproduce, run};
use crate::arguments::{MountArguments, RunArguments, SimCommand};
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use drivescope_drive::DriveError;
use drivescope_drive::serve::{ServeOptions, Server};
use drivescope_drive::simulated::model_file;
use drivescope_drive::simulated::spec::{self, PREFIX, Spec};
use drivescope_report::text;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Does what was asked.
pub fn simulate(command: SimCommand) -> Result<Code, Failure> {
    match command {
        SimCommand::List => list(),
        SimCommand::Show { model } => show(&model),
        SimCommand::Run(arguments) => run::run(with_prefix(*arguments)?),
        SimCommand::Mount(arguments) => mount(&arguments),
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

/// Prints a model's file; one of the user's is checked first, and what is wrong with it is said instead.
fn show(name: &OsStr) -> Result<Code, Failure> {
    let name = utf8(name)?;
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let text = model_file::text_of(name).map_err(DriveError::from)?;
    spec::model_of(name, &text).map_err(DriveError::from)?;
    output::print_line(text.trim_end());
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

/// How often a served drive is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(200);

fn mount(arguments: &MountArguments) -> Result<Code, Failure> {
    let spec = Spec::parse(&arguments.model).map_err(DriveError::from)?;
    let drive = spec.model.build(&spec.start).map_err(|why| Failure::usage(why.join("; ")))?;
    for note in &spec.notes {
        output::note(&format!("drivescope: note: {note}"));
    }
    let identity = spec.model.shown();
    let backing = arguments.backing.clone().unwrap_or_else(|| {
        let mut name = arguments.mount_point.components().as_path().as_os_str().to_owned();
        name.push(".img");
        PathBuf::from(name)
    });
    let options = ServeOptions {
        mount_point: arguments.mount_point.clone(),
        backing,
        block: arguments.block,
        sector_bytes: identity.reported_logical_sector_bytes,
        rotational: spec.model.looks_rotating(),
        trim: spec.model.takes_trim(),
    };
    let stop = RunSignals::new().stop;
    let server = Server::start(Box::new(drive), &options)
        .map_err(|error| Failure::usage(error.to_string()))?;
    output::print_line(&format!("{} is served as {}", identity.model, server.path().display()));
    if let Some(device) = server.block_device() {
        output::print_line(&format!("and as {}", device.display()));
    }
    output::note("Ctrl-C ends it");
    while !stop.load(Ordering::Relaxed) && !server.has_ended() {
        std::thread::sleep(LOOK_EVERY);
    }
    for user in server.users() {
        output::note(&format!("drivescope: note: {user}"));
    }
    output::print_line(&server.stop().to_string());
    Ok(Code::Ok)
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
