//! Arguments of `check`.

use super::OutcomeArguments;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  drivescope check sdb                read-only: health, self-test, all of it
  drivescope check sdb --quick        a sample of it, within 15 minutes
  drivescope check sdb --destroy SERIAL -o check.html
                                      also write all of it; a certificate
  drivescope check sim:wd40efrx       a simulated drive, in virtual time";

/// Arguments of `check`.
#[derive(Debug, Default, Args)]
pub struct CheckArguments {
    /// A whole drive, such as sdb, or sim:MODEL.
    #[arg(value_name = "DRIVE", required = true)]
    pub targets: Vec<PathBuf>,
    /// Read a sample of the drive, within 15 minutes.
    ///
    /// The result says how large a bad region would have been seen, and with which confidence.
    #[arg(long, conflicts_with_all = ["long", "resume"])]
    pub quick: bool,
    /// Start the drive's long self-test: hours on a disk.
    #[arg(long)]
    pub long: bool,
    /// Also write the drive with this serial number: its contents are lost.
    ///
    /// All of it is written and read back, which finds missing capacity, and flushes that are confirmed too early.
    /// MODEL:BYTES if it has no serial number; of a simulated drive anything.
    #[arg(long, value_name = "SERIAL", value_parser = NonEmptyStringValueParser::new())]
    pub destroy: Vec<String>,
    /// Resume the last interrupted check of this drive.
    ///
    /// What it had tested counts.
    #[arg(long)]
    pub resume: bool,
    /// Label of this run, such as the name of the seller.
    #[arg(long)]
    pub label: Option<String>,
    /// Set any option of a planned test, as in a suite file: self-test.wait=1h.
    #[arg(long, value_name = "TEST.OPTION=VALUE", hide_short_help = true)]
    pub set: Vec<String>,
    /// Random seed: the same seed repeats the same requests.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = super::seed, hide_short_help = true)]
    #[arg(conflicts_with = "resume")]
    pub seed: Option<u64>,
    /// What becomes of the result.
    #[command(flatten)]
    pub outcome: OutcomeArguments,
}
