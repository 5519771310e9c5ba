//! Arguments of `trace`.

use super::{ALL_OPTIONS, EngineName, OutcomeArguments, RawArguments};
use clap::{Args, Subcommand, ValueEnum};
use drivescope_model::options::{ReplayTiming, TraceFit};
use drivescope_model::units::{Bytes, Secs};
use drivescope_trace::import::BlockAction;
use std::ffi::OsString;
use std::path::PathBuf;

pub const RECORD_EXAMPLES: &str = "\
Examples:
  drivescope trace record build.trace -- make -j2
  drivescope trace record day.trace --device /dev/sda --time 1h

With a command, the device below the current folder is recorded. Requests of
other programs to it are in the trace too: use a device that nothing else
uses. What the page cache still holds at the end is not: let the command end
with sync.";

pub const REPLAY_EXAMPLES: &str = "\
Examples:
  drivescope trace replay build.trace .
  drivescope trace replay build.trace sim:samsung-870evo-1tb
  drivescope trace replay build.trace . --predict samsung-870evo-1tb
  drivescope trace replay day.iolog /dev/sdb --as-fast-as-possible";

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show what a trace holds: mix, sizes, locality, depth, think time.
    ///
    /// FILE is a trace of drivescope, or anything that `trace convert` reads.
    Info(TraceInfoArguments),
    /// Record what reaches a drive while a command runs, or for a time (root only).
    ///
    /// The kernel's tracepoints of block requests tell each request when it is issued to the drive and when it
    /// completes. Nothing is written but the trace file, which holds no names of files and no data, and settings of an
    /// instance of tracefs that is removed at the end.
    #[command(after_help = ALL_OPTIONS, after_long_help = RECORD_EXAMPLES)]
    Record(RecordArguments),
    /// Replay a trace on a directory, file, block device or simulated drive.
    ///
    /// In a directory, requests go to a file of its own. Existing files and devices are only read, and the writes of
    /// the trace left out, unless --destroy allows everything on the device to be lost. The result is a run like any
    /// other, with one test, apps.
    #[command(after_help = ALL_OPTIONS, after_long_help = REPLAY_EXAMPLES)]
    Replay(Box<ReplayArguments>),
    /// Convert a trace: from what other tools write to a trace file, or to an iolog that fio replays.
    ///
    /// Reads traces of drivescope, fio iolog (versions 2 and 3), the text of blkparse, binary blktrace (merged with
    /// blkparse -d), and the CSV of MSR Cambridge, SYSTOR '17, Alibaba, Tencent and SPC; which it is, the file
    /// itself tells. What is wrong with a file is said with its line.
    Convert(ConvertArguments),
}

/// What is taken from a source.
#[derive(Debug, Args)]
pub struct SourceArguments {
    /// Take the requests of this device only, as the file names it.
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Of block traces, take requests as they were issued to the drive, or as programs queued them.
    #[arg(long, value_enum, default_value = "issue")]
    pub action: ActionName,
}

/// Arguments of `trace info`.
#[derive(Debug, Args)]
pub struct TraceInfoArguments {
    /// The trace; - is standard input.
    pub file: PathBuf,
    /// What is taken from it.
    #[command(flatten)]
    pub source: SourceArguments,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trace convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// The trace to read; - is standard input.
    pub input: PathBuf,
    /// The file to write; it ends in .trace or .iolog, which says what it becomes.
    pub output: PathBuf,
    /// What is taken from the input.
    #[command(flatten)]
    pub source: SourceArguments,
    /// In an iolog: the file or device that fio opens.
    #[arg(long, value_name = "PATH", default_value = "target")]
    pub name: String,
    /// Replace the output file.
    #[arg(long)]
    pub force: bool,
}

/// Events of block traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ActionName {
    /// Issued to the drive (D).
    Issue,
    /// Queued by programs (Q).
    Queue,
}

impl From<ActionName> for BlockAction {
    fn from(name: ActionName) -> Self {
        match name {
            ActionName::Issue => Self::Issue,
            ActionName::Queue => Self::Queue,
        }
    }
}

/// Arguments of `trace record`.
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// The trace file to write.
    pub output: PathBuf,
    /// The block device whose requests are recorded (default: the one below the current folder).
    #[arg(long, value_name = "DEVICE", required_unless_present = "command")]
    pub device: Option<PathBuf>,
    /// End after this time, such as 1h (default: when the command ends, or at Ctrl-C).
    #[arg(long)]
    pub time: Option<Secs>,
    /// Replace the output file.
    #[arg(long)]
    pub force: bool,
    /// The command to run meanwhile, with its arguments.
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// Arguments of `trace replay`.
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// The trace, of any form that `trace convert` reads.
    pub trace: PathBuf,
    /// Directories, files, devices, or simulated drives (sim:MODEL).
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<PathBuf>,
    /// When requests are sent.
    ///
    /// By default dependent where the trace knows completions, else deadlines.
    #[arg(long, value_enum, default_value = "auto", hide_default_value = true)]
    pub timing: TimingName,
    /// Send each request as soon as the drive takes it.
    #[arg(long, conflicts_with = "timing")]
    pub as_fast_as_possible: bool,
    /// Cut longer times with nothing in flight to this; 0 cuts all (default: kept).
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub think_max: Option<Secs>,
    /// Requests in flight at most (default: 64; as fast as possible, 1).
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub depth: Option<u32>,
    /// Where a trace reaches beyond the target: pack its used parts, or refuse it.
    #[arg(long, value_enum, default_value = "pack", hide_short_help = true)]
    pub fit: FitName,
    /// Of a file that names several devices, the one whose requests are replayed.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub device: Option<String>,
    /// Also show the time on this simulated drive.
    ///
    /// drivescope sim list shows the models.
    #[arg(long, value_name = "MODEL")]
    pub predict: Option<String>,
    /// Size of the test file, or the part of a device to use.
    ///
    /// In a directory the default is what the trace needs, 4 GiB at most.
    #[arg(long, allow_hyphen_values = true, hide_short_help = true)]
    pub size: Option<Bytes>,
    /// Rounds.
    #[arg(long, value_name = "N", value_parser = super::rounds, default_value = "1", hide_short_help = true)]
    pub rounds: u32,
    /// Label of this run.
    #[arg(long, hide_short_help = true)]
    pub label: Option<String>,
    /// I/O engine (default: io_uring where it works; one request at a time needs none).
    #[arg(long, value_enum, hide_short_help = true)]
    pub engine: Option<EngineName>,
    /// Random seed of written data.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = super::seed, hide_short_help = true)]
    pub seed: Option<u64>,
    /// Replay in a directory in memory, although that says nothing of a drive.
    #[arg(long, hide_short_help = true)]
    pub force: bool,
    /// How block devices may be written.
    #[command(flatten)]
    pub raw: RawArguments,
    /// What becomes of the result.
    #[command(flatten)]
    pub outcome: OutcomeArguments,
}

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TimingName {
    /// Dependent where the trace knows completions, else deadlines.
    Auto,
    /// At the times of the trace, whatever the drive does.
    Deadlines,
    /// Behind what they waited for, and after the think time of the trace.
    Dependent,
}

impl From<TimingName> for ReplayTiming {
    fn from(name: TimingName) -> Self {
        match name {
            TimingName::Auto => Self::Auto,
            TimingName::Deadlines => Self::Deadlines,
            TimingName::Dependent => Self::Dependent,
        }
    }
}

/// What becomes of a trace that reaches beyond the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FitName {
    /// Its used parts are placed one after the other.
    Pack,
    /// It is refused.
    Exact,
}

impl From<FitName> for TraceFit {
    fn from(name: FitName) -> Self {
        match name {
            FitName::Pack => Self::Pack,
            FitName::Exact => Self::Exact,
        }
    }
}
