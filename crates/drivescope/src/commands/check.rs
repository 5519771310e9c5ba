//! `check`: is this drive, new or used, good enough to keep? A run of the suite `check`, whose document has a decision.

use super::run::run_suite;
use crate::arguments::{CheckArguments, RawArguments, RunArguments};
use crate::exit::{Code, Failure};
use crate::run_steps::targets::device_named;
use crate::signals::RunSignals;
use drivescope_bench::plan::overrides::Overrides;
use drivescope_bench::suites;
use drivescope_drive::simulated::spec::PREFIX;
use drivescope_machine::Roots;
use drivescope_machine::block_device::disk_of_partition;
use drivescope_machine::roots::split_dev;
use drivescope_model::options::{SelfTestLength, Suite, SurfacePreset, TestKind, VerifyMode};
use drivescope_model::shell::quoted;
use drivescope_model::units::Secs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SUITE: &str = "check";
/// With a short self-test of two minutes, and a quick verify, `--quick` stays within 15 minutes.
const QUICK_SURFACE: Secs = Secs(600.0);

pub fn check(arguments: CheckArguments, signals: &RunSignals) -> Result<Code, Failure> {
    arguments.targets.iter().try_for_each(|path| refuse_parts(path))?;
    let suite = shaped(suites::find(SUITE, None)?, &arguments);
    let overrides = Overrides { settings: arguments.set.clone(), ..Overrides::default() };
    let suite = suites::adapt(suite, &overrides)?;
    let CheckArguments { targets, destroy, resume, label, seed, outcome, .. } = arguments;
    // Nothing on this machine is written for a simulated drive, so that there is nothing to name.
    let is_real = !targets.iter().all(|path| is_simulated(path));
    let destroy = if is_real { destroy } else { Vec::new() };
    let raw = RawArguments { destroy, ..RawArguments::default() };
    let run =
        RunArguments { targets, resume, label, seed, raw, outcome, ..RunArguments::default() };
    run_suite(suite, run, signals)
}

/// The suite with what the options ask for.
fn shaped(mut suite: Suite, arguments: &CheckArguments) -> Suite {
    if arguments.long {
        suite.self_test.length = SelfTestLength::Long;
    }
    if !arguments.destroy.is_empty() {
        suite.tests.extend([TestKind::Transfer, TestKind::Verify]);
    }
    // Simulated drives keep what is written in memory.
    if arguments.targets.iter().all(|path| is_simulated(path)) {
        suite.verify.mode = VerifyMode::Quick;
    }
    if arguments.quick {
        suite.surface.preset = SurfacePreset::Spread;
        suite.surface.time = QUICK_SURFACE;
        suite.verify.mode = VerifyMode::Quick;
    }
    suite
}

fn is_simulated(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

/// Refuses what is not a whole drive, with what was probably meant. What does not exist is refused later.
fn refuse_parts(path: &Path) -> Result<(), Failure> {
    if is_simulated(path) {
        return Ok(());
    }
    let device = device_named(path);
    let path = device.as_deref().unwrap_or(path);
    let Ok(meta) = path.metadata() else { return Ok(()) };
    let shown = quoted(&path.display().to_string());
    if meta.is_dir() || meta.is_file() {
        let what = if meta.is_dir() { "directory" } else { "file" };
        return Err(Failure::usage(format!(
            "{shown} is a {what}, and a check is of a whole drive: name one of drivescope list; the capacity below a \
             directory: drivescope run DIR --test verify"
        )));
    }
    let roots = Roots::host();
    let name = roots.block_name(split_dev(meta.rdev()));
    let folder = name.and_then(|name| roots.block_dir(&name));
    match folder.and_then(|folder| disk_of_partition(&folder)) {
        Some(disk) => Err(Failure::usage(format!(
            "{shown} is a partition, and a check is of a whole drive: drivescope check {disk}"
        ))),
        None => Ok(()),
    }
}
