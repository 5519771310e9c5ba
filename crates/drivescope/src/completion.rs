//! Completions. The script for a shell asks the program itself while a command is typed, so that suites, models and
//! stored runs are those of now.

use crate::arguments::Arguments;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use drivescope_bench::suites;
use drivescope_bench::workloads::WORKLOADS;
use drivescope_drive::simulated::spec::{self, PREFIX};
use drivescope_model::FindingId;
use drivescope_store::{Filter, RunSummary, Store, StoreLocation};
use std::ffi::OsStr;
use std::io;

/// This variable makes the program answer a shell.
const VARIABLE: &str = "DRIVESCOPE_COMPLETE";
/// Newest runs offered.
const RUNS_MAX: u32 = 50;
/// bash would split `sim:MODEL` into two words.
const BASH_WORDS: &str = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n";

/// Answers the shell and exits, if a shell started the program for that.
pub fn answer_shell() {
    CompleteEnv::with_factory(command).var(VARIABLE).bin("drivescope").complete();
}

pub fn script(shell: &str) -> io::Result<String> {
    let called = std::env::args_os().next().unwrap_or_default();
    let program = match called.to_str().filter(|called| !called.contains('/')) {
        Some(in_path) => in_path.to_string(),
        None => std::env::current_exe()?.to_string_lossy().into_owned(),
    };
    let shells = Shells::builtins();
    let completer = shells.completer(shell).expect("both name the same shells");
    let mut script = if shell == "bash" { BASH_WORDS.as_bytes().to_vec() } else { Vec::new() };
    completer.write_registration(VARIABLE, "drivescope", "drivescope", &program, &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// The command line with completers for its values.
fn command() -> Command {
    let of_runs = |arg: Arg| arg.add(ArgValueCandidates::new(runs));
    let of_runs_or_files = |arg: Arg| arg.add(ArgValueCompleter::new(runs_or_files));
    let of_compared = |command: Command| {
        command.mut_arg("runs", of_runs_or_files).mut_arg("baseline", of_runs_or_files)
    };
    let of_models = |arg: Arg| arg.add(ArgValueCandidates::new(models));
    let of_suites = |arg: Arg| arg.add(ArgValueCandidates::new(suite_names));
    let of_targets = |arg: Arg| arg.add(ArgValueCompleter::new(targets));
    let of_drives = |arg: Arg| arg.add(ArgValueCandidates::new(stored_drives));
    let of_findings = |arg: Arg| arg.add(ArgValueCandidates::new(findings));
    let of_stored = |stored: Command| {
        stored
            .mut_subcommand("rm", |rm| rm.mut_arg("runs", of_runs))
            // What is changed goes behind the others: the text is to stay the second one.
            .mut_subcommand("note", |note| note.mut_arg("run", of_runs).mut_arg("text", |arg| arg))
    };
    let plan = |command: Command| {
        let of_tests = |arg: Arg| arg.add(ArgValueCandidates::new(tests));
        command.mut_arg("suite", of_suites).mut_arg("test", of_tests)
    };
    let sim = |command: Command| {
        command
            .mut_subcommand("show", |show| show.mut_arg("model", of_models))
            .mut_subcommand("run", |run| plan(run).mut_arg("targets", of_models))
            // What is changed goes behind the others: the mount point is to stay the second one.
            .mut_subcommand("mount", |mount| {
                mount.mut_arg("model", of_models).mut_arg("mount_point", |arg| arg)
            })
    };
    Arguments::command()
        .mut_subcommand("run", |run| plan(run).mut_arg("targets", of_targets))
        .mut_subcommand("watch", |watch| watch.mut_arg("target", of_targets))
        .mut_subcommand("show", |show| show.mut_arg("run", of_runs))
        .mut_subcommand("explain", |explain| explain.mut_arg("finding", of_findings))
        .mut_subcommand("rerun", |rerun| rerun.mut_arg("run", of_runs))
        .mut_subcommand("compare", of_compared)
        .mut_subcommand("report", of_compared)
        .mut_subcommand("history", |history| history.mut_arg("drive", of_drives))
        .mut_subcommand("runs", of_stored)
        .mut_subcommand("export", |export| export.mut_arg("runs", of_runs))
        .mut_subcommand("suites", |suites| {
            suites.mut_subcommand("show", |show| show.mut_arg("suite", of_suites))
        })
        .mut_subcommand("sim", sim)
}

fn candidate(name: impl Into<String>, about: impl Into<String>) -> CompletionCandidate {
    CompletionCandidate::new(name.into()).help(Some(about.into().into()))
}

fn suite_names() -> Vec<CompletionCandidate> {
    let folder = suites::user_folder();
    let named = |name: String| {
        let suite = suites::find(&name, folder.as_deref());
        candidate(name, suite.map_or_else(|error| error.to_string(), |suite| suite.summary))
    };
    suites::names(folder.as_deref()).into_iter().map(named).collect()
}

fn tests() -> Vec<CompletionCandidate> {
    WORKLOADS.map(|test| candidate(test.kind().name(), test.question())).into()
}

fn findings() -> Vec<CompletionCandidate> {
    FindingId::ALL.iter().map(|id| candidate(id.spec().id, id.spec().name)).collect()
}

fn models() -> Vec<CompletionCandidate> {
    let models = spec::built_in().unwrap_or_default();
    models.into_iter().map(|model| candidate(model.name, model.summary)).collect()
}

/// Paths, and simulated drives after `s`.
fn targets(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = PathCompleter::any().complete(current);
    let drives = models().into_iter().map(|model| model.add_prefix(PREFIX));
    found.extend(drives.filter(|drive| !current.is_empty() && begins(drive, current)));
    found
}

fn runs_or_files(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found: Vec<_> = runs().into_iter().filter(|run| begins(run, current)).collect();
    found.extend(PathCompleter::any().complete(current));
    found
}

fn begins(candidate: &CompletionCandidate, current: &OsStr) -> bool {
    candidate.get_value().as_encoded_bytes().starts_with(current.as_encoded_bytes())
}

/// From the store in the environment, or the default one.
fn newest_runs() -> Vec<RunSummary> {
    let named = std::env::var("DRIVESCOPE_STORE").ok();
    let store = StoreLocation::parse(named.as_deref()).and_then(|at| Store::open_existing(&at));
    let newest = Filter { limit: Some(RUNS_MAX), ..Filter::default() };
    store.and_then(|store| store.list(&newest)).unwrap_or_default()
}

/// Drives of these runs, by their distinguishing names.
fn stored_drives() -> Vec<CompletionCandidate> {
    let mut found: Vec<CompletionCandidate> = Vec::new();
    for run in newest_runs() {
        let name = run.drive_serial.clone().unwrap_or_else(|| run.target.clone());
        if found.iter().all(|known| known.get_value() != name.as_str()) {
            found.push(candidate(name, run.drive().unwrap_or(&run.target)));
        }
    }
    found
}

fn runs() -> Vec<CompletionCandidate> {
    let runs = newest_runs();
    let mut found = Vec::new();
    if !runs.is_empty() {
        found.push(candidate("last", "the newest run"));
    }
    found.extend(runs.into_iter().map(|run| {
        let about =
            format!("{} {} {}", run.started_at, run.suite, run.drive().unwrap_or(&run.target));
        candidate(run.id, about)
    }));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completions of the last word.
    fn offered(words: &[&str]) -> Vec<String> {
        let args = ["drivescope"].iter().chain(words).map(Into::into).collect();
        let here = std::env::current_dir().unwrap();
        let mut command = command();
        let found = clap_complete::engine::complete(&mut command, args, words.len(), Some(&here));
        let found = found.unwrap();
        found.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn values_are_completed_by_their_names_of_now() {
        for (words, name) in [
            (&["run", "--suite", "cry"][..], "crystaldiskmark-nvme"),
            (&["run", "--suite=qu"], "--suite=quick"),
            (&["run", "--test", "sur"], "surface"),
            (&["run", "--test", "transfer,la"], "transfer,latency"),
            (&["run", "sim:wd2"], "sim:wd20ears"),
            (&["run", "sr"], "src/"),
            (&["sim", "run", "wd2"], "wd20ears"),
            (&["sim", "show", "wd2"], "wd20ears"),
            (&["sim", "mount", "wd2"], "wd20ears"),
            (&["sim", "mount", "wd20ears", "sr"], "src/"),
            (&["suites", "show", "z"], "zcav"),
            (&["report", "sr"], "src/"),
            (&["runs", "no"], "note"),
            (&["compare", "x.json", "sr"], "src/"),
            (&["suites", "sh"], "show"),
        ] {
            let offered = offered(words);
            assert!(offered.iter().any(|one| one == name), "{words:?}: {offered:?}");
        }
        assert!(!offered(&["run", ""]).iter().any(|one| one.starts_with(PREFIX)));
    }
}
