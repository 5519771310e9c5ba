//! `completions`: completions for a shell.

use crate::arguments::Arguments;
use crate::exit::{Code, Failure};
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;

/// Writes completions for a shell.
pub fn completions(shell: Shell) -> Result<Code, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "drivescope", &mut bytes);
    output::print(&String::from_utf8_lossy(&bytes));
    Ok(Code::Ok)
}
