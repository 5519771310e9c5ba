//! The command line: every option defined once, here; help, man page and completions follow from it.

use crate::exit::Code;
use crate::{mistakes, output};
use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use drivescope_bench::suites::ROUNDS_MAX;
use drivescope_model::plan::{Engine, WriteLevel};
use drivescope_model::units::{Bytes, Price, Secs};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// Finds out what a storage drive is really good for.
///
/// drivescope measures directories, files and block devices, refuses numbers the hardware cannot
/// produce, and says in plain words what a drive suits. Reading is the default; a directory is measured
/// in a folder of its own that is removed afterwards.
#[derive(Debug, Parser)]
#[command(name = "drivescope", version, max_term_width = 80, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 ok, 1 a test found a problem, 2 usage, 3 refused for safety, \
                        4 device error, 130 interrupted."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the help of `run` ends with.
const RUN_EXAMPLES: &str = "\
Examples:
  drivescope run .                    the drive under this directory
  drivescope run . --dry-run          only the plan: time, bytes, places
  drivescope run . --suite standard   ten minutes instead of one
  drivescope run /dev/sda             a whole drive, which is only read
  drivescope run sim:wd40efrx         a simulated drive, in virtual time
  drivescope run . --test transfer --cells rnd4k_q32t4.mix70 --time 10s

A cell has an order (seq, rnd), a block, a depth and threads: in rnd4k_q32t4
each of 4 threads keeps 32 requests of 4 KiB in flight. It reads (.read),
writes (.write) or does both (.mix70: 70 % reads); with none of these, it
does what the suite does.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure directories, files or block devices.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Give drives back what an interrupted run had saved of them.
    Restore(RestoreArguments),
    /// Show every drive of this machine.
    List(ListArguments),
    /// List stored runs, newest first.
    Runs(RunsArguments),
    /// Show a stored run.
    Show(ShowArguments),
    /// Run the plan of a stored run again, on the same target.
    Rerun(RerunArguments),
    /// Write stored runs as JSON to standard output.
    Export(ExportArguments),
    /// Store runs from JSON files (- is standard input).
    Import(ImportArguments),
    /// Simulated drives: list, show, measure, serve, compare with published figures.
    #[command(subcommand)]
    Sim(SimCommand),
    /// List the tests and what each may write.
    Tests,
    /// List the suites.
    Suites,
    /// Write the JSON Schema of the run document to standard output.
    Schema,
    /// Write shell completions to standard output.
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual page to standard output.
    Man,
}

/// Where runs are kept.
#[derive(Debug, Clone, Args)]
pub struct StoreArguments {
    /// Where runs are kept: a file (default: the user's data directory).
    #[arg(long, value_name = "FILE", env = "DRIVESCOPE_STORE")]
    pub store: Option<String>,
}

/// How results are shown.
#[derive(Debug, Clone, Args)]
pub struct ShowOptions {
    /// Print one JSON document instead of tables.
    #[arg(long)]
    pub json: bool,
    /// Also print the tool's own cost, every round, and what limited it.
    #[arg(long, short)]
    pub verbose: bool,
    /// Print only phybs' own table of a run of its suite.
    #[arg(long, conflicts_with_all = ["json", "verbose"])]
    pub table: bool,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Directories, files or block devices; sim:MODEL is a simulated drive.
    #[arg(value_name = "TARGET", required_unless_present = "clean")]
    pub targets: Vec<PathBuf>,
    /// Suite by name, or a TOML file.
    #[arg(long, value_name = "NAME", default_value = "quick")]
    pub suite: String,
    /// Only these tests, such as transfer,latency (drivescope tests lists them).
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub test: Vec<String>,
    /// Only these cells of transfer, such as rnd4k_q1t1.read,seq1m_q8t1.write.
    #[arg(long, value_name = "CELL", value_delimiter = ',')]
    pub cells: Vec<String>,
    /// Size of the test file (default: the suite's, 1GiB in quick), or how much of a file or device is used
    /// (default: all). 1G and 1GiB are 2^30 bytes, 1GB is 10^9.
    #[arg(long, allow_hyphen_values = true)]
    pub size: Option<Bytes>,
    /// Measured time of one round of one cell (500ms, 5s, 1min; a number alone is seconds; default: the suite's).
    #[arg(long, allow_hyphen_values = true)]
    pub time: Option<Secs>,
    /// Rounds of each cell (default: the suite's, 3 in quick).
    #[arg(long, value_name = "N", value_parser = rounds, allow_hyphen_values = true)]
    pub rounds: Option<u32>,
    /// Any other option of a test, as a suite file has it: latency.time=2s.
    #[arg(long, value_name = "TEST.OPTION=VALUE")]
    pub set: Vec<String>,
    /// A name for this run.
    #[arg(long)]
    pub label: Option<String>,
    /// What the drive cost, such as 105USD.
    #[arg(long, allow_hyphen_values = true)]
    pub price: Option<Price>,
    /// Engine that moves the data; chosen by a probe if not given.
    #[arg(long, value_enum)]
    pub engine: Option<EngineName>,
    /// Seed of all random choices, to repeat exactly the same requests.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Go on where the last full fill or verify of this device was ended: by Ctrl-C, kill or power cut.
    #[arg(long, conflicts_with_all = ["seed", "clean"])]
    pub resume: bool,
    /// Remove what killed runs left in the targets (default: this directory), and stop; a dry run only
    /// lists it.
    #[arg(long, conflicts_with = "json")]
    pub clean: bool,
    /// How block devices may be written.
    #[command(flatten)]
    pub raw: RawArguments,
    /// What becomes of the result.
    #[command(flatten)]
    pub outcome: OutcomeArguments,
}

/// How block devices may be written; not at all if nothing is given.
#[derive(Debug, Clone, Default, Args)]
pub struct RawArguments {
    /// Let block devices be written so that their contents stay: same-bytes or restore (where there
    /// are contents, restore:SERIAL). Surface then also writes, and with restore transfer does. With destroy a
    /// person at a terminal is asked for the serial number.
    #[arg(long, value_name = "LEVEL", conflicts_with = "destroy")]
    pub write: Option<WriteName>,
    /// Let the block device with this serial number lose its contents (without one: MODEL:BYTES).
    #[arg(long, value_name = "SERIAL", value_parser = NonEmptyStringValueParser::new())]
    pub destroy: Vec<String>,
}

/// What `--write` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteName {
    /// Same-bytes, restore, or destroy, which somebody at a terminal must confirm.
    pub level: WriteLevel,
    /// Serial number of the device that has contents.
    pub serial: Option<String>,
}

impl FromStr for WriteName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, serial) = match text.split_once(':') {
            Some((name, serial)) => (name, Some(serial.to_string())),
            None => (text, None),
        };
        match (name, serial) {
            ("same-bytes", None) => Ok(Self { level: WriteLevel::SameBytes, serial: None }),
            ("same-bytes", Some(_)) => Err("same-bytes needs no serial number".to_string()),
            ("restore", Some(serial)) if serial.is_empty() => {
                Err("no serial number follows restore:".to_string())
            }
            ("restore", serial) => Ok(Self { level: WriteLevel::Restore, serial }),
            ("destroy", None) => Ok(Self { level: WriteLevel::Destroy, serial: None }),
            ("destroy", Some(_)) => Err("with a serial number it is --destroy SERIAL".to_string()),
            _ => Err(format!("'{name}' is no level; use same-bytes, restore or destroy")),
        }
    }
}

/// What becomes of a run's result.
#[derive(Debug, Args)]
pub struct OutcomeArguments {
    /// Print the plan and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// No plan and no progress, only the result.
    #[arg(long, short)]
    pub quiet: bool,
    /// Do not store the run.
    #[arg(long)]
    pub no_save: bool,
    /// How results are shown.
    #[command(flatten)]
    pub show: ShowOptions,
    /// Where runs are kept.
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

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Uring => Self::Uring,
            EngineName::Threads => Self::Threads,
        }
    }
}

/// What to do with simulated drives.
#[derive(Debug, Subcommand)]
pub enum SimCommand {
    /// List the built-in models.
    List,
    /// Show a model's file: every parameter, and where it comes from; check one of your own.
    ///
    /// A file of your own is checked before it is printed: exit code 2, and the line and the field of the first
    /// mistake.
    Show {
        /// Name of a model (drivescope sim list), or a TOML file: whatever contains a / or ends in .toml.
        model: OsString,
    },
    /// Measure a model in virtual time, as `drivescope run sim:MODEL` does.
    ///
    /// TARGET is the name of a model (drivescope sim list) or its TOML file, perhaps with a state behind it, as in
    /// 'wd40ezrz?fill=0.8&seed=7&fault=slow-region'.
    Run(Box<RunArguments>),
    /// Serve a model in real time as a file, and as a block device, until Ctrl-C.
    ///
    /// Any program can use the file disk.img in MOUNT_POINT, which needs FUSE (/dev/fuse, and fusermount3
    /// for users other than root), and with --block, as root, a loop device on it.
    ///
    /// What is written is kept in a sparse file of the drive's size, which stays: the same command serves the
    /// same contents again. Requests take the model's time, never less; what the path through the kernel adds
    /// is measured and printed at the start.
    ///
    /// Ctrl-C unmounts and prints how late replies were. While a file system is mounted or a program has the
    /// drive open, it is served until they are done; Ctrl-C again saves what can be saved, takes it away from
    /// them, and ends with code 130. Code 4: the backing file or the model failed. fake=, fault=page-cache and
    /// partition= exist in virtual time only.
    Mount(MountArguments),
    /// Compare the models with published measurements of their drives.
    ///
    /// Repeats the published methods on the models in virtual time and holds the results against 348
    /// published cells. Exit code 1 if a cell fails for which the table has no reason.
    Reproduce(ReproduceArguments),
}

/// Arguments of `sim reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// Only this cell (may be repeated).
    #[arg(long, value_name = "ID")]
    pub cell: Vec<String>,
    /// Only cells of this drive or model (may be repeated).
    #[arg(long, value_name = "NAME")]
    pub drive: Vec<String>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `sim mount`.
#[derive(Debug, Args)]
pub struct MountArguments {
    /// Name of a model, or its TOML file; a state may follow, as in wd40efrx?seed=7.
    pub model: String,
    /// An empty directory; the drive appears in it as disk.img.
    pub mount_point: PathBuf,
    /// Also attach a loop device with direct I/O (root only).
    #[arg(long)]
    pub block: bool,
    /// File that keeps the contents, sparse (default: the directory's name with .img, beside it).
    #[arg(long, value_name = "FILE")]
    pub backing: Option<PathBuf>,
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// Only this journal, or those of this block device (default: all open ones).
    #[arg(long, value_name = "FILE|DEVICE")]
    pub journal: Option<PathBuf>,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub struct RunsArguments {
    /// Only runs whose drive (model, serial, name) or target contains this.
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,
    /// Only runs with this label.
    #[arg(long)]
    pub label: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The beginning of a run's id, or `last`.
    pub run: String,
    /// How results are shown.
    #[command(flatten)]
    pub show: ShowOptions,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `rerun`.
#[derive(Debug, Args)]
pub struct RerunArguments {
    /// The beginning of a run's id, or `last`.
    pub run: String,
    /// How block devices may be written: never as the earlier run was allowed to, always anew.
    #[command(flatten)]
    pub raw: RawArguments,
    /// What becomes of the result.
    #[command(flatten)]
    pub outcome: OutcomeArguments,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Beginnings of runs' ids, or `last`; none: all runs.
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// JSON files; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Reads a number of rounds.
fn rounds(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|rounds| (1..=ROUNDS_MAX).contains(rounds));
    number.ok_or(format!("it must be a whole number between 1 and {ROUNDS_MAX}"))
}

/// Reads a seed.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("it must be a whole number between 0 and {}", u64::MAX))
}

/// Parses the command line; help and mistakes are answered here.
pub fn parse() -> Result<Arguments, ExitCode> {
    Arguments::try_parse().map_err(|error| match error.kind() {
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
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn serial_numbers_may_have_colons() {
        let name: WriteName = "restore:Flash: Disk:4096".parse().unwrap();
        assert_eq!(
            (name.level, name.serial.as_deref()),
            (WriteLevel::Restore, Some("Flash: Disk:4096"))
        );
        assert_eq!("restore".parse::<WriteName>().unwrap().serial, None);
    }

    #[test]
    fn examples_fit_and_can_be_parsed() {
        let lines = RUN_EXAMPLES.lines();
        assert!(lines.clone().all(|line| line.len() <= 77), "{RUN_EXAMPLES}");
        let commands = lines.filter(|line| line.starts_with("  drivescope"));
        let words = commands.map(|line| line.trim().split("   ").next().unwrap().split(' '));
        let parsed: Vec<_> = words.map(Arguments::try_parse_from).collect();
        assert!(parsed.len() > 3 && parsed.iter().all(Result::is_ok), "{parsed:?}");
    }
}
