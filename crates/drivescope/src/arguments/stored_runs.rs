//! Arguments of the commands on stored runs.

use super::{OutcomeArguments, RawArguments, ShowOptions, StoreArguments};
use clap::{Args, Subcommand, ValueEnum};
use drivescope_model::units::{Bytes, Secs};
use drivescope_report::Threshold;
use std::path::PathBuf;

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Two or more runs; the others are held against the first.
    ///
    /// The first digits of an id, `last`, a label or a drive (the newest run), a JSON file (whatever contains a / or
    /// ends in .json), or a simulated drive (sim:MODEL),
    /// which is measured on the spot as the first run was.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Measure two targets, or one with two settings, interleaved.
    ///
    /// Rounds are interleaved until the difference shows or the time is over: directories (in a folder of their own),
    /// files, block devices (read only) or simulated drives.
    #[arg(long, conflicts_with_all = ["all", "force"])]
    pub ab: bool,
    /// The difference that makes none in practice, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = parse_band)]
    pub band: f64,
    /// Compare every metric that the runs share, not only those that people ask for first.
    #[arg(long)]
    pub all: bool,
    /// The run that the others are held against (default: the first): an id, label, drive or file among them.
    #[arg(long, value_name = "RUN", conflicts_with = "ab")]
    pub baseline: Option<String>,
    /// Compare runs of different plans, machines or versions.
    #[arg(long)]
    pub force: bool,
    /// Exit with 1 if a run is worse than the first: in a row of the comparison, or where a row is left out.
    #[arg(long, value_enum, value_name = "WHAT", hide_short_help = true)]
    pub fail_on: Option<FailOn>,
    /// Exit with 1 if metrics are worse than the first run's by more than this share, as the interval shows, or cannot
    /// be compared (may be repeated): 'transfer.*.iops=-10%'.
    ///
    /// KEYS is a metric's key, with * for any characters and ? for one; of several that match, the last one counts.
    /// Worse is slower: a latency is 10 % worse when it is 1/0.9 times as long. Exit code 2 if a pattern matches no
    /// rate or time of the runs.
    #[arg(long, value_name = "KEYS=-PERCENT", conflicts_with = "ab", hide_short_help = true)]
    pub fail_below: Vec<Threshold>,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
    /// How rounds are interleaved.
    #[command(flatten)]
    pub interleaved: InterleavedArguments,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// What ends `compare` and `history` with exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A figure that is shown to be worse.
    Worse,
}

/// How `compare --ab` measures.
#[derive(Debug, Args)]
pub struct InterleavedArguments {
    /// With --ab: a setting of the first, as in run --set, or engine=threads (may be repeated).
    #[arg(long, value_name = "TEST.OPTION=VALUE", requires = "ab", hide_short_help = true)]
    pub set_a: Vec<String>,
    /// With --ab: a setting of the second.
    #[arg(long, value_name = "TEST.OPTION=VALUE", requires = "ab", hide_short_help = true)]
    pub set_b: Vec<String>,
    /// With --ab: the suite, of which a round is measured at a time.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "first",
        requires = "ab",
        hide_short_help = true
    )]
    pub suite: String,
    /// With --ab: only these tests of the suite.
    #[arg(
        long,
        value_name = "TEST",
        value_delimiter = ',',
        requires = "ab",
        hide_short_help = true
    )]
    pub test: Vec<String>,
    /// With --ab: only these cells of transfer.
    #[arg(
        long,
        value_name = "CELL",
        value_delimiter = ',',
        requires = "ab",
        hide_short_help = true
    )]
    pub cells: Vec<String>,
    /// With --ab: size of the test file, or the part of a file or device to use.
    #[arg(long, requires = "ab", hide_short_help = true)]
    pub size: Option<Bytes>,
    /// With --ab: measured time per round and cell.
    #[arg(long, requires = "ab", hide_short_help = true)]
    pub time: Option<Secs>,
    /// With --ab: begin no further round after this time.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5min",
        requires = "ab",
        hide_short_help = true
    )]
    pub max_time: Secs,
    /// With --ab: go on until intervals are no wider than this to each side, in percent.
    #[arg(long, value_name = "PERCENT", value_parser = parse_band, requires = "ab", hide_short_help = true)]
    pub width: Option<f64>,
}

/// The form of a chart in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ChartFormat {
    /// Light or dark as the reader's system is.
    #[default]
    Svg,
    /// Light, two pixels per unit.
    Png,
}

impl ChartFormat {
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Runs: the first digits of an id, `last`, a label or a drive (the newest run), or a JSON file (whatever contains
    /// a / or ends in .json). Several are held against the first.
    #[arg(value_name = "RUN", required_unless_present = "history")]
    pub runs: Vec<String>,
    /// Instead of runs: a drive over all its runs, named by a part of its serial number, model, kernel name or target.
    #[arg(long, value_name = "DRIVE", conflicts_with = "runs")]
    pub history: Option<String>,
    /// What to write, by its ending: .html, .md, .svg or .png (one chart), .csv or .parquet (all figures), or a folder
    /// (ends in /) with all of it.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Without serial numbers, the machine's name, paths, labels and notes.
    #[arg(long)]
    pub anonymize: bool,
    /// Of several runs, the one that the others are held against (default: the first).
    #[arg(long, value_name = "RUN", conflicts_with = "history")]
    pub baseline: Option<String>,
    /// The chart of an .svg or .png file, or all, each a file in a folder (-o DIR/). Without it, a run that has several
    /// lists them.
    #[arg(long, value_name = "NAME")]
    pub chart: Option<String>,
    /// With --chart all: the form of the files (default: svg).
    #[arg(long, value_enum, value_name = "FORM", requires = "chart", hide_short_help = true)]
    pub format: Option<ChartFormat>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct HistoryArguments {
    /// A part of the drive's serial number, model, kernel name or target, or the id of a run of it.
    pub drive: String,
    /// Only runs of this suite (default: all that have the options of the newest).
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// The newest N runs at most.
    #[arg(long, value_name = "N", default_value = "100")]
    pub limit: u32,
    /// Exit with 1 if a metric got worse, or if the newest run has no valid figure to judge.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub fail_on: Option<FailOn>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// First digits of runs' ids, `last`, labels or drives (the newest run), or JSON files (default: all runs).
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Without serial numbers, the machine's name, paths, labels and notes.
    #[arg(long)]
    pub anonymize: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Files of drivescope (export, run --json) and fio (--output-format=json), and the text of CrystalDiskMark,
    /// KDiskMark, ioping, f3 and hdparm -t; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `runs`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArguments {
    /// What to do instead of listing them.
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// What is listed, and how.
    #[command(flatten)]
    pub list: RunsListArguments,
}

/// What to do with stored runs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Remove runs from the store.
    Rm {
        /// First digits of runs' ids, `last`, labels or drives (the newest run), or JSON files with the runs to remove.
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
        /// The store of runs.
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Note something about a run; an empty text removes the note.
    Note {
        /// The first digits of a run's id, `last`, a label or a drive (the newest run), or a JSON file.
        run: String,
        /// What to note.
        text: String,
        /// The store of runs.
        #[command(flatten)]
        store: StoreArguments,
    },
}

/// Which runs are listed, and how.
#[derive(Debug, Args)]
pub struct RunsListArguments {
    /// List only runs whose drive (model, serial number, name) or target contains this text.
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,
    /// List only runs with this label.
    #[arg(long)]
    pub label: Option<String>,
    /// List at most N runs (default: 100; with --json all).
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The first digits of a run's id, `last`, a label or a drive (the newest run), or a JSON file.
    pub run: String,
    /// Print Markdown: the answer, verdicts, findings and every metric.
    #[arg(long, conflicts_with_all = ["json", "verbose", "table"])]
    pub md: bool,
    /// Print every metric as CSV.
    #[arg(long, conflicts_with_all = ["json", "verbose", "table", "md"])]
    pub csv: bool,
    /// How results are shown.
    #[command(flatten)]
    pub show: ShowOptions,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `rerun`.
#[derive(Debug, Args)]
pub struct RerunArguments {
    /// The first digits of a run's id, `last`, a label or a drive (the newest run), or a JSON file.
    pub run: String,
    /// How block devices may be written. The permission of the earlier run does not count.
    #[command(flatten)]
    pub raw: RawArguments,
    /// What becomes of the result.
    #[command(flatten)]
    pub outcome: OutcomeArguments,
}

/// A share from a number of percent, with or without its sign.
fn parse_band(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end();
    let percent: f64 = number.parse().map_err(|_| format!("'{text}' is not a percentage"))?;
    if (0.0..=50.0).contains(&percent) {
        Ok(percent / 100.0)
    } else {
        Err("a band lies between 0 and 50 %".to_string())
    }
}
