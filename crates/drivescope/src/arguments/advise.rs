//! Arguments of `advise`.

use super::StoreArguments;
use clap::Args;
use drivescope_report::Need;

pub const EXAMPLES: &str = "\
Examples:
  drivescope advise /dev/sdb            what the drive suits, what to change
  drivescope advise /dev/sdb --need vms:2TB,fast --need photos:9TB
  drivescope advise /dev/sda /dev/sdb --need db:200GB --need media:4TB
  drivescope advise sim:usb-16tb --need vms:2TB,fast --need photos:9TB

A need is NAME:SIZE, then fast, bulk or cold, and a file system (exfat).
Without a word its name decides: vms and db are fast, backup is cold.";

/// Arguments of `advise`.
#[derive(Debug, Args)]
pub struct AdviseArguments {
    /// Drives (their newest stored run counts), stored runs, JSON files, or simulated drives (sim:MODEL).
    #[arg(value_name = "DRIVE", required = true)]
    pub drives: Vec<String>,
    /// Something that needs room: NAME:SIZE[,fast|bulk|cold][,FILE SYSTEM]; may be repeated.
    #[arg(long, value_name = "NEED")]
    pub need: Vec<Need>,
    /// Measure the drives now (test geometry, read-only, about three minutes each) instead of reading stored runs.
    #[arg(long)]
    pub measure: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
    /// The store of runs.
    #[command(flatten)]
    pub store: StoreArguments,
}
