//! `tests`, `suites`, `completions`, `man`: what the program can do.

use crate::arguments::Arguments;
use crate::exit::{Code, Failure};
use crate::output;
use clap::CommandFactory;
use drivescope_bench::suites;
use drivescope_bench::workloads::WORKLOADS;
use drivescope_report::text;

/// Lists the tests.
pub fn tests() -> Result<Code, Failure> {
    let lines = WORKLOADS.map(|test| format!("{}; {}", test.question(), test.access()));
    let names = WORKLOADS.iter().map(|test| test.kind().name());
    let pairs: Vec<(&str, &str)> = names.zip(lines.iter().map(String::as_str)).collect();
    output::print_line(&text::name_list(&pairs, output::columns(), output::style()));
    Ok(Code::Ok)
}

/// Lists the built-in suites and the user's own.
pub fn suites() -> Result<Code, Failure> {
    let mut pairs: Vec<(String, String)> =
        suites::built_in().into_iter().map(|suite| (suite.name, suite.summary)).collect();
    if let Some(folder) = suites::user_folder()
        && let Ok(entries) = std::fs::read_dir(&folder)
    {
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let summary = match suites::find(&path.to_string_lossy(), None) {
                    Ok(suite) => suite.summary,
                    Err(error) => format!("broken: {error}"),
                };
                pairs.retain(|(known, _)| *known != name);
                pairs.push((name, summary));
            }
        }
    }
    output::print_line(&text::name_list(&pairs, output::columns(), output::style()));
    Ok(Code::Ok)
}

/// Writes completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<Code, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "drivescope", &mut bytes);
    output::print(&String::from_utf8_lossy(&bytes));
    Ok(Code::Ok)
}

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
