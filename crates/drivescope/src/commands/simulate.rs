//! `sim`: simulated drives.

use super::{reproduce, run};
use crate::arguments::{MountArguments, RunArguments, SimCommand};
use crate::exit::{Code, Failure};
use crate::output;
use crate::signals::RunSignals;
use drivescope_drive::DriveError;
use drivescope_drive::serve::{ServeOptions, Server};
use drivescope_drive::simulated::spec::{self, PREFIX, Spec};
use drivescope_report::{clean, text};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Does what was asked.
pub fn simulate(command: SimCommand, signals: &RunSignals) -> Result<Code, Failure> {
    match command {
        SimCommand::List => list(),
        SimCommand::Show { model } => show(&model),
        SimCommand::Run(arguments) => run::run(with_prefix(*arguments), signals),
        SimCommand::Mount(arguments) => mount(&arguments, signals),
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

/// How often a served drive is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(200);

fn mount(arguments: &MountArguments, signals: &RunSignals) -> Result<Code, Failure> {
    let spec = Spec::parse(&arguments.model).map_err(DriveError::from)?;
    let drive = spec.model.build(&spec.start).map_err(|why| Failure::usage(why.join("; ")))?;
    for note in &spec.notes {
        output::note(&format!("drivescope: note: {}", clean(note)));
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
    // Ctrl-C is how it is meant to end: there is nothing to say.
    signals.begin("");
    let server = Server::start(Box::new(drive), &options)
        .map_err(|error| Failure::usage(error.to_string()))?;
    output::print_line(&format!("{} is served as {}", identity.model, server.path().display()));
    if let Some(device) = server.block_device() {
        output::print_line(&format!("and as {}", device.display()));
    }
    output::note("Ctrl-C ends it");
    while !signals.stop.load(Ordering::Relaxed) && !server.has_ended() {
        std::thread::sleep(LOOK_EVERY);
    }
    for user in server.users() {
        output::note(&format!("drivescope: note: {user}"));
    }
    output::print_line(&server.stop().to_string());
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
