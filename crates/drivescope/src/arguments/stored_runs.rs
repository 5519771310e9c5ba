//! Arguments of the commands on stored runs.

use super::{OutcomeArguments, RawArguments, ShowOptions, StoreArguments};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Two or more runs; the others are held against the first. The first digits of an id, `last`, a label or a
    /// drive (the newest run), or a JSON file (whatever contains a / or ends in .json).
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<String>,
    /// The difference that makes none in practice, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = parse_band)]
    pub band: f64,
    /// Compare every metric that the runs share, not only those that people ask for first.
    #[arg(long)]
    pub all: bool,
    /// Compare runs of different plans, machines or versions.
    #[arg(long)]
    pub force: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The first digits of a run's id, `last`, or a JSON file: whatever contains a / or ends in .json.
    pub run: String,
    /// The file to write; its ending chooses what: .html, .svg (one chart) or .csv (all figures).
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// The chart of an .svg file. Without it, a run that has several lists them.
    #[arg(long, value_name = "NAME")]
    pub chart: Option<String>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub force: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// First digits of runs' ids, or `last` (default: all runs).
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// JSON files; - is standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub struct RunsArguments {
    /// List only runs whose drive (model, serial number, name) or target contains this text.
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,
    /// List only runs with this label.
    #[arg(long)]
    pub label: Option<String>,
    /// List at most N runs.
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
    /// The first digits of a run's id, or `last`.
    pub run: String,
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
    /// The first digits of a run's id, or `last`.
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
    let percent: f64 = number.parse().map_err(|_| format!("'{text}' is no number of percent"))?;
    match (0.0..=50.0).contains(&percent) {
        true => Ok(percent / 100.0),
        false => Err("a band lies between 0 and 50 %".to_string()),
    }
}
