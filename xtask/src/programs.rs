//! Other programs, run to their end, which must be a good one.

use std::process::Command;

/// The output of a program, without blanks around it. Errors name the program.
pub fn run(program: &str, args: &[&str]) -> Result<String, String> {
    printed(Command::new(program).args(args))
}

/// The output of a command, likewise.
pub fn printed(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot start {program}: {e}"))?;
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if output.status.success() {
        Ok(words(&output.stdout))
    } else {
        Err(format!("{program}: {}", words(&output.stderr)))
    }
}

/// All that a command printed. Errors name it with its arguments.
pub fn finished(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}
