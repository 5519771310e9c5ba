//! drivescope: arguments → plan → claim the target → tests → run document → store → report.

mod arguments;
mod commands;
mod completion;
mod exit;
mod live_run;
mod live_view;
mod mistakes;
mod output;
mod progress;
mod run_files;
mod run_progress;
mod run_steps;
mod signals;
mod store_access;

use drivescope_drive::{journal, target};
use drivescope_machine::{aside, list, silent_loops};
use std::process::ExitCode;

/// Queries that run in a separate process, which may be abandoned.
const LOOKS: [(&str, aside::Look); 6] = [
    (list::DRIVE, list::look),
    (silent_loops::LOOP, silent_loops::look),
    (silent_loops::FILE, silent_loops::look_at_files),
    (target::PATH, target::look_up),
    (target::TARGET, target::look),
    (journal::FOLDER_OF_JOURNALS, journal::look),
];

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if aside::answer(&LOOKS) {
        return ExitCode::SUCCESS;
    }
    completion::answer_shell();
    let signals = match signals::RunSignals::new() {
        Ok(signals) => signals,
        Err(error) => {
            output::complain(&exit::no_thread(&error));
            return exit::Code::Usage.into();
        }
    };
    let arguments = match arguments::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match commands::run(arguments.command, &signals) {
        Ok(exit::Code::Ok) if output::was_lost() => exit::Code::Usage.into(),
        Ok(code) => code.into(),
        Err(failure) => {
            output::complain(&failure.message);
            failure.code.into()
        }
    }
}
