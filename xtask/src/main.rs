//! Chores of the repository, run as `cargo xtask NAME`.
#![expect(clippy::print_stdout, reason = "a program of its own, whose results go there")]

mod circles;
mod compare;
mod docs;
mod edges;
mod example;
mod format;
mod gallery;
mod house_rules;
mod lab;
mod programs;
mod record_traces;
mod release;
mod sbom;
mod seeds;
mod soak;
mod source;
mod suite_times;
mod type_names;
mod workspace;
mod writing_calls;

#[cfg(test)]
mod tidy;
#[cfg(test)]
mod workload_files;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask NAME
  docs             write the generated documents: docs/findings.md, docs/verdicts.md, docs/run.schema.json
                   and the generated tables of docs/format.md, docs/safety.md and docs/seeds.md
  docs --check     fail if one of them is out of date
  gallery          write docs/gallery.md and its pictures, from simulated drives
  gallery --check  fail if one of them is out of date
  seeds            compute the published figures on the models, for the tables of docs/seeds.md
  classes          write the figures that classes of drives are known by: those of the models
  edges            fail if a crate uses another one that it must not use
  figures [FOLDER] print lines, circles and doubled names of this tree or another one
  soak [--minutes N]
                   run the ignored tests, and the property tests with more cases, for so long (30)
  example IN OUT   make docs/examples/OUT of the run document IN: shorter, and without the names of
                   the machine it came from
  compare PEER     measure the same cells as a peer, in alternating pairs (fio), the engine that
                   drivescope chooses against the best of the peer's (engines), or the budgets of the
                   project that need no peer (budgets), copies beside cp (copy), or a
                   database's statements beside pgbench's (pgbench)
  record-traces [NAME…]
                   make the recorded traces of the test apps anew, by the recipes in xtask/recipes (root)
  lab [--long] [--only TEXT] [--program FILE] [--make] [--keep] [--list]
                   drives, volumes, exports, failures and power cuts in a guest with Debian's kernel
  release [FOLDER]  static programs, packages, sums and the list of parts, from a tree without changes
  release --try [FOLDER]
                   install and run them: Debian's two newest, an empty folder, another architecture (root)
  sbom FOLDER      write the list of parts
  suites [--only TEXT]
                   run every suite on every simulated drive: how long it computes, and what its plan said";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        ["gallery"] => gallery::write(),
        ["gallery", "--check"] => gallery::check(),
        ["seeds"] => seeds::measure().and_then(|()| docs::write()),
        ["classes"] => gallery::write_known_drives(),
        ["edges"] => edges::check(),
        ["figures"] => house_rules::print_figures("."),
        ["figures", folder] => house_rules::print_figures(folder),
        ["soak", rest @ ..] => soak::run(rest),
        ["example", input, output] => example::make(input, output),
        ["compare", ..] => compare::run(&args[1..]),
        ["record-traces", rest @ ..] => record_traces::run(rest),
        ["lab", rest @ ..] => lab::run(rest),
        ["release", rest @ ..] => release::run(rest),
        ["sbom", folder] => sbom::write(folder),
        ["suites", rest @ ..] => suite_times::run(rest),
        _ => Err(USAGE.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
