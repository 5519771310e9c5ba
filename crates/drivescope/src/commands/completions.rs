//! `completions`: completions for a shell.

use crate::completion;
use crate::exit::{Code, Failure};
use crate::output;
use clap_complete::Shell;

/// Writes the script by which a shell asks this program for completions.
pub fn completions(shell: Shell) -> Result<Code, Failure> {
    let script = completion::script(&shell.to_string());
    let script = script.map_err(|error| {
        Failure::usage(format!(
            "cannot find the path of this program: {error}; call it by its path"
        ))
    })?;
    output::print(&script);
    Ok(Code::Ok)
}
