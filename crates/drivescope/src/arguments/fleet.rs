//! Arguments of `fleet`.

use super::StoreArguments;
use clap::{Args, Subcommand};
use drivescope_model::plan::WriteLevel;
use std::path::PathBuf;

pub const EXAMPLES: &str = "\
Examples:
  drivescope fleet agent                  on each machine (a unit comes with
                                          the packages)
  drivescope fleet submit quick --select 'model=~\"WD40.*\" and fill<0.5'
  drivescope fleet status                 how the newest submissions stand
  drivescope fleet outliers               which drives are odd
  drivescope fleet demo                   50 simulated machines, 30 s

The store is a database: --store postgres://USER@HOST/DATABASE, or
DRIVESCOPE_STORE. docs/fleet.md sets one up in five minutes.";

/// What to do with a fleet.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Announce this machine and its drives, and do jobs for them.
    Agent(Box<AgentArguments>),
    /// Submit jobs for all drives that an expression selects.
    #[command(after_help = super::ALL_OPTIONS)]
    Submit(Box<SubmitArguments>),
    /// Show how submissions, or the jobs of one, stand.
    Status(StatusArguments),
    /// Show a submission until all its jobs have ended.
    Watch(StatusArguments),
    /// Cancel what waits of a submission, and end what runs.
    Cancel(CancelArguments),
    /// Decide on unknown jobs: run them again, or give them up.
    ///
    /// A job that writes to a drive is never started again by itself: look at the drive first.
    Decide(DecideArguments),
    /// List the drives of the fleet.
    Drives(DrivesArguments),
    /// List the hosts: last seen, version, missing drives.
    Hosts(HostsArguments),
    /// Find drives that are odd among those of their model.
    ///
    /// Slow, slower than they were, failing, hot, badly attached. Exit code 1 if there is one.
    Outliers(OutliersArguments),
    /// Write all runs and figures as Parquet files.
    ///
    /// For DuckDB, pandas or Spark, in partitions by model and month.
    Export(FleetExportArguments),
    /// Show a fleet of simulated machines; nothing of it stays.
    ///
    /// On a PostgreSQL server of its own, agents announce their drives and do jobs for them; one drive in a hundred is
    /// slow. PostgreSQL must be installed.
    #[cfg(feature = "web")]
    Demo(DemoArguments),
}

/// Arguments of `fleet agent`.
#[derive(Debug, Args)]
pub struct AgentArguments {
    /// Do what is there for this host, send it, and end (Slurm, cron, containers).
    #[arg(long)]
    pub once: bool,
    /// Name of this host (default: the host name).
    #[arg(long, value_name = "HOST", value_parser = host_name)]
    pub name: Option<String>,
    /// Highest level of writing that is accepted, whatever the database says: read, own-files, same-bytes, restore,
    /// destroy.
    #[arg(long, value_name = "LEVEL", default_value = "own-files", value_parser = level)]
    pub ceiling: WriteLevel,
    /// A directory for tests that write files of their own; none is offered by itself.
    #[arg(long, value_name = "DIR")]
    pub dir: Vec<PathBuf>,
    /// Announce these drives only: device nodes or sim:MODEL (default: all block devices of this machine).
    #[arg(long, value_name = "TARGET")]
    pub drive: Vec<PathBuf>,
    /// Jobs at the same time, one a drive (default: half the processors, at least 1).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub parallel: Option<u32>,
    /// Folder of the agent: its id, and runs until the server has them (default: in the user's data directory).
    #[arg(long, value_name = "DIR", env = "DRIVESCOPE_AGENT_STATE")]
    pub state: Option<PathBuf>,
    /// Seconds between two polls.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = poll_s)]
    pub poll: f64,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet submit`.
#[derive(Debug, Args)]
pub struct SubmitArguments {
    /// Suite: a name, or a TOML file.
    pub plan: String,
    /// Drives: 'model=~"WD40.*" and fill<0.5 and host=~"rack7-.*"' (default: all).
    #[arg(long, value_name = "EXPR")]
    pub select: Option<String>,
    /// Level of writing: read, own-files, same-bytes, restore, destroy (default: what the suite needs, at most
    /// own-files).
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub write: Option<WriteLevel>,
    /// Serial number of a drive whose contents the jobs may touch; needed for each with restore and destroy.
    #[arg(long, value_name = "SERIAL", hide_short_help = true)]
    pub serial: Vec<String>,
    /// Key of the submission: the same key is submitted once (default: random).
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    pub key: Option<String>,
    /// Start the first measurement of all jobs at this time: 2026-12-01T03:00, or 03:00.
    #[arg(long, value_name = "TIME", conflicts_with = "together", hide_short_help = true)]
    pub at: Option<String>,
    /// Start the first measurement of all jobs at one instant, as soon as all agents can have polled.
    #[arg(long)]
    pub together: bool,
    /// Only list the drives, with the bytes that would be written.
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet status` and `fleet watch`.
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Key of a submission (default: the newest ones).
    pub submission: Option<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet cancel`.
#[derive(Debug, Args)]
pub struct CancelArguments {
    /// Key of the submission.
    pub submission: String,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet decide`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("verdict").required(true).args(["again", "failed"]))]
pub struct DecideArguments {
    /// Key of the submission.
    pub submission: String,
    /// Run its unknown jobs again, with the serial numbers that were submitted.
    #[arg(long)]
    pub again: bool,
    /// Give its unknown jobs up.
    #[arg(long)]
    pub failed: bool,
    /// Only jobs on this host.
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Only jobs of this drive: its name, as fleet status lists it.
    #[arg(long, value_name = "NAME")]
    pub drive: Option<String>,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet drives`.
#[derive(Debug, Args)]
pub struct DrivesArguments {
    /// Only these drives: 'model=~"WD40.*" and fill<0.5'.
    #[arg(long, value_name = "EXPR")]
    pub select: Option<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet hosts`.
#[derive(Debug, Args)]
pub struct HostsArguments {
    /// Forget this host, with its drives and jobs: it is gone for good. Its runs stay.
    #[arg(long, value_name = "ID")]
    pub forget: Option<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet outliers`.
#[derive(Debug, Args)]
pub struct OutliersArguments {
    /// Name only these, compared with all like them: by host, name, model, serial and firmware.
    #[arg(long, value_name = "EXPR")]
    pub select: Option<String>,
    /// Share of healthy drives that may be expected among those called odd by their figures.
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = share)]
    pub fdr: f64,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet export`.
#[derive(Debug, Args)]
pub struct FleetExportArguments {
    /// Folder to write: a new or empty one, or an earlier export, which is replaced.
    #[arg(long, value_name = "DIR")]
    pub parquet: PathBuf,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Arguments of `fleet demo`.
#[cfg(feature = "web")]
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Simulated machines, with two drives each.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub agents: u32,
    /// Seconds that it takes at least, so that the pages can be looked at.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = demo_s)]
    pub time: f64,
    /// Keep the pages until Ctrl-C.
    #[arg(long)]
    pub stay: bool,
}

#[cfg(feature = "web")]
fn demo_s(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "it must be between 0 and 86400".to_string())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 0.5);
    share.ok_or_else(|| "it must be a number above 0 and up to 0.5, such as 0.05".to_string())
}

fn level(text: &str) -> Result<WriteLevel, String> {
    let all = [
        WriteLevel::Read,
        WriteLevel::OwnFiles,
        WriteLevel::SameBytes,
        WriteLevel::Restore,
        WriteLevel::Destroy,
    ];
    all.into_iter().find(|level| level.name() == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|level| level.name()).collect();
        format!("it is one of {}", names.join(", "))
    })
}

/// As long as a host name of the DNS may be.
fn host_name(text: &str) -> Result<String, String> {
    let is_fitting = (1..=253).contains(&text.len());
    is_fitting.then(|| text.to_string()).ok_or_else(|| "it must have 1 to 253 letters".to_string())
}

fn poll_s(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "it must be between 0.1 and 3600".to_string())
}
