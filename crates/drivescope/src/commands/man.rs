//! `man`: the manual pages, one for the program and one for each command.

use crate::arguments::Arguments;
use crate::exit::{Code, Failure};
use crate::output;
use clap::CommandFactory;
use drivescope_model::nearest::nearest;

pub fn man(words: &[String]) -> Result<Code, Failure> {
    let mut command = Arguments::command();
    command.build();
    let mut name = command.get_name().to_string();
    for word in words {
        let Some(below) = command.find_subcommand(word) else {
            return Err(unknown(&command, word));
        };
        name = format!("{name}-{}", below.get_name());
        command = below.clone();
    }
    let mut bytes = Vec::new();
    let source = concat!("drivescope ", env!("CARGO_PKG_VERSION"));
    let page = clap_mangen::Man::new(command).title(name).source(source);
    page.render(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot make the page: {error}")))?;
    output::print(&String::from_utf8_lossy(&bytes));
    Ok(Code::Ok)
}

fn unknown(command: &clap::Command, word: &str) -> Failure {
    let meant = nearest(word, command.get_subcommands().map(clap::Command::get_name));
    let hint = meant.map(|near| format!(" (did you mean '{near}'?)")).unwrap_or_default();
    Failure::usage(format!("{} has no command '{word}'{hint}; see --help", command.get_name()))
}
