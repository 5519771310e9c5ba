//! Arguments of `trace`.

use clap::{Args, Subcommand, ValueEnum};
use drivescope_trace::import::BlockAction;
use std::path::PathBuf;

/// What to do with traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show what a trace holds: mix, sizes, locality, depth, think time.
    ///
    /// FILE is a trace of drivescope, or anything that `trace convert` reads.
    Info(TraceInfoArguments),
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
