//! `tests`, `suites`, `completions`, `man`: what the program can do.

use crate::arguments::Arguments;
use crate::exit::{Code, Failure};
use crate::output;
use clap::CommandFactory;
use drivescope_bench::suites;
use drivescope_model::options::TestKind;
use drivescope_report::text;

/// Lists the tests.
pub fn tests() -> Result<Code, Failure> {
    let describe = |test: &TestKind| format!("{}; {}", test.question(), touches(*test));
    let lines: Vec<String> = TestKind::ALL.iter().map(describe).collect();
    let pairs: Vec<(&str, &str)> =
        TestKind::ALL.iter().zip(&lines).map(|(test, line)| (test.name(), line.as_str())).collect();
    output::print_line(&text::name_list(&pairs, output::columns(), output::style()));
    Ok(Code::Ok)
}

/// What becomes of a directory, a file and a device, as the tests' plans have it.
fn touches(test: TestKind) -> &'static str {
    match test {
        TestKind::Transfer => {
            "in a directory: writes a file of its own; on a file: only reads; on a device: only reads, \
             unless --write restore (contents are put back) or --destroy SERIAL (they are lost)"
        }
        TestKind::Latency => {
            "in a directory: reads a file of its own; on a file or a device: only reads"
        }
        TestKind::Surface => {
            "not in a directory; on a file: only reads; on a device: only reads, unless --write \
             same-bytes (writes the same back) or --destroy SERIAL (contents are lost)"
        }
        TestKind::TinyWrites => {
            "in a directory: writes files of its own; not on a file or a device"
        }
        TestKind::Align => {
            "in a directory: writes a file of its own; not on a file; on a device: writes back what is \
             there (--write same-bytes)"
        }
        TestKind::Fill => {
            "not in a directory or on a file; on a device: everything on it is lost (--destroy SERIAL)"
        }
        TestKind::Verify => {
            "not in a directory; on a file: reads back what an earlier run wrote (verify.phase=read); on a \
             device: everything on it is lost (--destroy SERIAL), with verify.phase=read it only reads"
        }
    }
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
