//! The command line: every option defined once, here; help, man page and completions follow from it.

mod advise;
mod check;
#[cfg(feature = "fleet")]
mod fleet;
mod raw_writes;
#[cfg(feature = "web")]
mod serve;
mod sim;
mod store;
mod stored_runs;
mod trace;
mod watch;

pub use advise::AdviseArguments;
pub use check::CheckArguments;
#[cfg(all(feature = "fleet", feature = "web"))]
pub use fleet::DemoArguments;
#[cfg(feature = "fleet")]
pub use fleet::{
    AgentArguments, CancelArguments, DecideArguments, DrivesArguments, FleetCommand,
    FleetExportArguments, HostsArguments, OutliersArguments, StatusArguments, SubmitArguments,
};
pub use raw_writes::RawArguments;
#[cfg(feature = "web")]
pub use serve::ServeArguments;
pub use sim::{MountArguments, ReproduceArguments, SimCommand};
pub use store::StoreCommand;
pub use stored_runs::{
    ChartFormat, CompareArguments, ExportArguments, HistoryArguments, ImportArguments,
    InterleavedArguments, ReportArguments, RerunArguments, RunsArguments, RunsCommand,
    RunsListArguments, ShowArguments,
};

pub use trace::{
    ConvertArguments, RecordArguments, ReplayArguments, SourceArguments, TraceCommand,
    TraceInfoArguments,
};
pub use watch::WatchArguments;

use crate::exit::Code;
use crate::{mistakes, output};
use clap::error::ErrorKind;
use clap::{
    Args, Command as ClapCommand, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
};
use drivescope_bench::plan::option_checks::ROUNDS_MAX;
use drivescope_model::plan::Engine;
use drivescope_model::units::{Bytes, Price, Secs};
use std::path::PathBuf;
use std::process::ExitCode;

/// Find out what a storage drive is really good for.
///
/// drivescope measures directories, files and block devices, rejects numbers that the hardware cannot
/// produce, and says what a drive is suited for. By default it reads devices and files; in a directory it writes
/// only scratch files (up to 15 GB, in the plan) in a folder of its own, which it removes afterwards.
#[derive(Debug, Parser)]
#[command(name = "drivescope", version, max_term_width = 80, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 ok, 1 a test found a problem or nothing valid was measured, 2 usage error, \
                        3 refused for safety, 4 device error, 130 interrupted."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Ends `-h`, which leaves out what few need.
const ALL_OPTIONS: &str = "--help shows all options, with examples.";

const RUN_EXAMPLES: &str = "\
Examples:
  drivescope run .                    the drive under this directory, with
                                      scratch files of its own
  drivescope run . --dry-run          only the plan: time, bytes, paths
  drivescope run . --suite standard   ten minutes instead of one
  drivescope run /dev/sda             a whole drive, read-only
  drivescope run sim:wd40efrx         a simulated drive, in virtual time
  drivescope run . --test transfer --cells rnd4k_q32t4.mix70 --time 10s
  drivescope run . --fio ssd.fio      the jobs of a job file of fio

A cell is an order (seq, rnd), a block size, a queue depth and a number of
threads: in rnd4k_q32t4 each of 4 threads keeps 32 requests of 4 KiB in
flight. It reads (.read), writes (.write), does both (.mix70: 70 % reads), or
flushes each write (.sync); without a suffix it does what the suite does.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure directories, files or block devices.
    #[command(after_help = ALL_OPTIONS, after_long_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Decide whether a drive, new or used, is good enough to keep.
    #[command(after_help = ALL_OPTIONS, after_long_help = check::EXAMPLES)]
    Check(Box<CheckArguments>),
    /// Watch a drive: one small read after the other, a line a second.
    #[command(after_help = ALL_OPTIONS, after_long_help = watch::EXAMPLES)]
    Watch(WatchArguments),
    /// Restore contents saved by an interrupted run.
    Restore(RestoreArguments),
    /// List the drives of this machine.
    List(DriveListArguments),
    /// List stored runs, newest first.
    Runs(RunsArguments),
    /// Show a stored run.
    Show(ShowArguments),
    /// Explain a finding: what it means, its cause, and what to do.
    Explain {
        /// Its number or name: F034, busy-processors (default: list all).
        finding: Option<String>,
    },
    /// Repeat a stored run on the same target.
    Rerun(RerunArguments),
    /// Compare runs: which drive is faster in what, and how sure that is.
    Compare(CompareArguments),
    /// Show one drive over all its runs: what got worse, and since when.
    History(HistoryArguments),
    /// Advise where data should lie, and what to change on this machine.
    #[command(after_help = ALL_OPTIONS, after_long_help = advise::EXAMPLES)]
    Advise(AdviseArguments),
    /// Write a run as an HTML page, its charts as SVG, or its figures as CSV.
    Report(ReportArguments),
    /// Show drives and runs as web pages, and measure from a browser.
    #[cfg(feature = "web")]
    #[command(after_help = ALL_OPTIONS, after_long_help = serve::EXAMPLES)]
    Serve(ServeArguments),
    /// Print stored runs as JSON.
    Export(ExportArguments),
    /// Import runs from JSON files, or results of fio (- is standard input).
    Import(ImportArguments),
    /// Whole stores: make one on a server, upgrade, send, copy.
    #[command(subcommand)]
    Store(StoreCommand),
    /// Many machines: agents, jobs, drives that are odd.
    #[cfg(feature = "fleet")]
    #[command(subcommand, after_help = ALL_OPTIONS, after_long_help = fleet::EXAMPLES)]
    Fleet(FleetCommand),
    /// Simulated drives: list, show, measure, mount, compare with results.
    #[command(subcommand)]
    Sim(SimCommand),
    /// Traces of applications: record, replay, convert, describe.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// List the tests, and what each may write.
    Tests(ListArguments),
    /// List the suites, or show one to start your own from.
    Suites(SuitesArguments),
    /// Print the JSON Schema of the run document.
    Schema,
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page of drivescope, or of a command.
    Man {
        /// The command, such as `run` or `sim mount` (default: drivescope itself).
        command: Vec<String>,
    },
}

/// The store of runs.
#[derive(Debug, Clone, Default, Args)]
pub struct StoreArguments {
    /// Store of runs: a file (default: in the user's data directory), or postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "STORE", env = "DRIVESCOPE_STORE", hide_short_help = true)]
    pub store: Option<String>,
}

/// How results are shown.
#[derive(Debug, Clone, Default, Args)]
pub struct ShowOptions {
    /// Print JSON instead of tables.
    ///
    /// One document per run, one after the other, on one line each unless at a terminal.
    #[arg(long)]
    pub json: bool,
    /// Also print the tool's overhead, and each round with its limiting factor.
    #[arg(long, short, hide_short_help = true)]
    pub verbose: bool,
    /// Print only the table of phybs (suite phybs).
    #[arg(long, conflicts_with_all = ["json", "verbose"], hide_short_help = true)]
    pub table: bool,
}

/// Arguments of `run`.
#[derive(Debug, Default, Args)]
pub struct RunArguments {
    /// Directories, files, devices, or simulated drives (sim:MODEL).
    ///
    /// A device may be named as drivescope list names it: sda.
    #[arg(value_name = "TARGET", required_unless_present = "clean")]
    pub targets: Vec<PathBuf>,
    /// Suite: a name, or a TOML file.
    ///
    /// drivescope suites lists the names.
    #[arg(long, value_name = "NAME", default_value = "quick")]
    pub suite: String,
    /// Measure what a job file of fio asks for, on TARGET instead of its filename or directory.
    ///
    /// Its jobs become cells of transfer. An option without an equal is refused, with its line.
    #[arg(long, value_name = "JOBFILE", conflicts_with_all = ["suite", "test", "cells", "clean", "resume"])]
    #[arg(hide_short_help = true)]
    pub fio: Option<PathBuf>,
    /// Run only these tests, such as transfer,latency.
    ///
    /// drivescope tests lists them.
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub test: Vec<String>,
    /// Run only these cells of transfer, such as rnd4k_q1t1.read,seq1m_q8t1.write.
    #[arg(long, value_name = "CELL", value_delimiter = ',', hide_short_help = true)]
    pub cells: Vec<String>,
    /// Size of the test file, or the part of a device to use.
    ///
    /// In a directory the default is the suite's, 512MiB in quick; of a file or device, all is used. 1G and 1GiB are
    /// 2^30 bytes, 1GB is 10^9.
    #[arg(long, allow_hyphen_values = true)]
    pub size: Option<Bytes>,
    /// Measured time per round and cell: 500ms, 5s, 1min.
    ///
    /// Without a unit, seconds. The default is the suite's.
    #[arg(long, allow_hyphen_values = true)]
    pub time: Option<Secs>,
    /// Rounds per cell (default: the suite's, 6 in quick).
    #[arg(long, value_name = "N", value_parser = rounds, allow_hyphen_values = true)]
    pub rounds: Option<u32>,
    /// copy: a directory of your own to copy; it is only read (without --test, runs copy alone).
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub files: Option<PathBuf>,
    /// copy: copy from a directory on another drive (it gets a folder for the test's files), or from sim:MODEL (without
    /// --test, runs copy alone).
    #[arg(long, value_name = "DIR", conflicts_with = "files", hide_short_help = true)]
    pub from: Option<PathBuf>,
    /// sql: databases (sqlite, postgres, mariadb; only on simulated drives: mssql), or the URL of a server whose files
    /// lie on the target: postgres://USER@HOST/DATABASE, mysql://…, mssql://… (password: DRIVESCOPE_DB_PASSWORD).
    /// Without --test, runs sql alone.
    #[arg(long, value_name = "DATABASE", value_delimiter = ',', hide_short_help = true)]
    pub db: Vec<String>,
    /// sql: measure the statement in this file; ? is a parameter, %t the test's table (a: 1, 2, 3 …; b: 8,000 bytes).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub query: Option<PathBuf>,
    /// sql: parameters of that statement, a line an iteration, fields apart by tabs.
    #[arg(long, value_name = "FILE", requires = "query", hide_short_help = true)]
    pub params: Option<PathBuf>,
    /// fill-files: leave the files for a later read-files; run --clean removes them.
    #[arg(long, hide_short_help = true)]
    pub keep: bool,
    /// Set any option of a planned test, as in a suite file: latency.time=2s.
    #[arg(long, value_name = "TEST.OPTION=VALUE", hide_short_help = true)]
    pub set: Vec<String>,
    /// Label of this run.
    #[arg(long)]
    pub label: Option<String>,
    /// Price of the drive, such as 105USD.
    #[arg(long, allow_hyphen_values = true, hide_short_help = true)]
    pub price: Option<Price>,
    /// I/O engine (default: the faster one for each cell, found by a trial of milliseconds).
    #[arg(long, value_enum, hide_short_help = true)]
    pub engine: Option<EngineName>,
    /// Random seed: the same seed repeats the same requests.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed, hide_short_help = true)]
    pub seed: Option<u64>,
    /// Resume the last interrupted fill, verify (full mode) or steady of this device, or fill-files of this directory.
    #[arg(long, conflicts_with_all = ["seed", "clean"], hide_short_help = true)]
    pub resume: bool,
    /// Remove what killed runs left in the targets (default: this directory) and exit; a dry run only lists it.
    #[arg(long, conflicts_with = "json", hide_short_help = true)]
    pub clean: bool,
    /// Measure a directory in memory, although that says nothing of a drive.
    #[arg(long, conflicts_with = "clean", hide_short_help = true)]
    pub force: bool,
    /// How block devices may be written.
    #[command(flatten)]
    pub raw: RawArguments,
    /// What becomes of the result.
    #[command(flatten)]
    pub outcome: OutcomeArguments,
}

/// What becomes of a run's result.
#[derive(Debug, Default, Args)]
pub struct OutcomeArguments {
    /// Print the plan and exit.
    #[arg(long)]
    pub dry_run: bool,
    /// Print only the result: no plan, no progress.
    #[arg(long, short, hide_short_help = true)]
    pub quiet: bool,
    /// Take the whole terminal, with graphs and keys.
    ///
    /// Tables, graphs of the running phase, findings, and keys to pause, skip and stop.
    #[arg(long, conflicts_with_all = ["quiet", "dry_run"])]
    pub live: bool,
    /// Measure all targets at the same time, each with threads of its own.
    ///
    /// Before, devices and files are read one after the other and then all at once: the difference is what they share,
    /// such as a hub or controller, and no drive is blamed for it. Without it targets are measured one after the other.
    #[arg(long, conflicts_with = "live", hide_short_help = true)]
    pub together: bool,
    /// The job of a fleet's agent, in this file.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["live", "together", "table", "json"])]
    pub job: Option<PathBuf>,
    /// Do not store the run.
    #[arg(long)]
    pub no_save: bool,
    /// Write the figures for Prometheus (OpenMetrics) into this file, such as drivescope.prom; it is replaced whole.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub metrics: Option<PathBuf>,
    /// Also write a page (.html) or Markdown (.md).
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How results are shown.
    #[command(flatten)]
    pub show: ShowOptions,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Engines a user can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// io_uring.
    #[value(alias = "io_uring")]
    Uring,
    /// Threads with pread and pwrite.
    Threads,
}

impl EngineName {
    /// `None` for what a user cannot ask for.
    pub fn of(engine: Engine) -> Option<Self> {
        match engine {
            Engine::Uring => Some(Self::Uring),
            Engine::Threads => Some(Self::Threads),
            Engine::Auto | Engine::Sim => None,
        }
    }
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Uring => Self::Uring,
            EngineName::Threads => Self::Threads,
        }
    }
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// Restore only this journal, or those of this block device (default: all open journals).
    #[arg(long, value_name = "FILE|DEVICE")]
    pub journal: Option<PathBuf>,
    /// This journal is of the attached drive with its names, although that holds neither the originals nor test data.
    #[arg(long, value_name = "JOURNAL")]
    pub is_of: Option<PathBuf>,
}

/// Arguments of `suites`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SuitesArguments {
    /// What to do instead of listing them.
    #[command(subcommand)]
    pub command: Option<SuitesCommand>,
    /// How they are listed.
    #[command(flatten)]
    pub list: ListArguments,
}

/// What to do with suites.
#[derive(Debug, Subcommand)]
pub enum SuitesCommand {
    /// Print the TOML file of a suite, to start your own from.
    ///
    /// A file of your own needs only its tests; every option has a default.
    Show {
        /// Name of a suite (drivescope suites lists them), or a TOML file.
        suite: String,
    },
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct DriveListArguments {
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// Also print the whole health of each drive: SMART attributes, NVMe log, self-tests.
    #[arg(long, short, conflicts_with = "json")]
    pub verbose: bool,
}

/// Arguments of `tests`, `suites` and `sim list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

fn rounds(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|rounds| (1..=ROUNDS_MAX).contains(rounds));
    number.ok_or(format!("it must be a whole number between 1 and {ROUNDS_MAX}"))
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("it must be a whole number between 0 and {}", u64::MAX))
}

/// Commands that the help of `-h` leaves out, so that it fits on a screen.
const RARE_COMMANDS: [&str; 12] = [
    // Named below every list of findings.
    "explain",
    "restore",
    "rerun",
    "export",
    "import",
    "store",
    "fleet",
    "trace",
    "tests",
    "schema",
    "completions",
    "man",
];

/// The command line; for `-h`, and without any word, with the commands that most need.
fn command_line() -> ClapCommand {
    let is_short = std::env::args_os().skip(1).all(|word| word == "-h");
    let command = Arguments::command();
    if !is_short {
        return command;
    }
    let command = command
        .disable_help_subcommand(true)
        .after_help("--help shows all commands, and the exit codes.");
    RARE_COMMANDS.iter().fold(command, |all, name| all.mut_subcommand(name, |one| one.hide(true)))
}

/// Parses the command line; help and mistakes are answered here.
pub fn parse() -> Result<Arguments, ExitCode> {
    let matches = command_line().try_get_matches();
    let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::print(&error.render().to_string());
            if output::was_lost() { Code::Usage.into() } else { Code::Ok.into() }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output::show(error.render().to_string().trim_end());
            Code::Usage.into()
        }
        _ => {
            output::complain(&mistakes::explained(&error));
            Code::Usage.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn examples_fit_and_can_be_parsed() {
        let lines =
            RUN_EXAMPLES.lines().chain(watch::EXAMPLES.lines()).chain(advise::EXAMPLES.lines());
        let lines = lines.chain(check::EXAMPLES.lines());
        #[cfg(feature = "web")]
        let lines = lines.chain(serve::EXAMPLES.lines());
        let lines =
            lines.chain(trace::RECORD_EXAMPLES.lines()).chain(trace::REPLAY_EXAMPLES.lines());
        assert!(lines.clone().all(|line| line.len() <= 77), "{RUN_EXAMPLES}");
        let commands = lines.filter(|line| line.starts_with("  drivescope"));
        let words = commands.map(|line| line.trim().split("   ").next().unwrap().split(' '));
        let parsed: Vec<_> = words.map(Arguments::try_parse_from).collect();
        assert!(parsed.len() > 3 && parsed.iter().all(Result::is_ok), "{parsed:?}");
    }
}
