//! `man`: the manual page.

use crate::arguments::Arguments;
use crate::exit::{Code, Failure};
use crate::output;
use clap::CommandFactory;

/// Writes the manual: the program's page, then one section per command.
pub fn man() -> Result<Code, Failure> {
    let mut bytes = Vec::new();
    let failed = |error: std::io::Error| Failure::usage(format!("cannot make the manual: {error}"));
    let command = Arguments::command();
    clap_mangen::Man::new(command.clone()).render(&mut bytes).map_err(failed)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = format!("drivescope-{}", sub.get_name());
        clap_mangen::Man::new(sub.clone()).title(name).render(&mut bytes).map_err(failed)?;
    }
    output::print(&String::from_utf8_lossy(&bytes));
    Ok(Code::Ok)
}
