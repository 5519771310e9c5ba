//! drivescope: arguments → plan → claim the target → tests → run document → store → report.

mod arguments;
mod commands;
mod exit;
mod output;
mod progress;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    let signals = signals::RunSignals::new();
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
