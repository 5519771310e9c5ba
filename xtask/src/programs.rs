//! Other programs, run to their end, which must be a good one.

use crate::workspace;
use std::path::PathBuf;
use std::process::Command;

/// The output of a program, without blanks around it. Errors name the program.
pub fn run(program: &str, args: &[&str]) -> Result<String, String> {
    printed(Command::new(program).args(args))
}

/// The output of a command, likewise.
pub fn printed(command: &mut Command) -> Result<String, String> {
    fn words(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).trim().to_string()
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot start {program}: {e}"))?;
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

/// drivescope itself in a debug build, made now.
pub fn drivescope() -> Result<PathBuf, String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "-p", "drivescope"]).current_dir(workspace::root());
    let status = command.status().map_err(|e| format!("cannot start cargo: {e}"))?;
    if !status.success() {
        return Err("drivescope does not build".to_string());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    Ok(target.unwrap_or_else(|| workspace::root().join("target")).join("debug/drivescope"))
}
