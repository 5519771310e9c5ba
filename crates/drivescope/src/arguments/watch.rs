//! Arguments of `watch`.

use clap::Args;
use drivescope_model::units::{Bytes, Secs};
use std::path::PathBuf;

/// Longest read; nothing about it is small any more.
const BLOCK_MAX: u64 = 1 << 30;

pub const EXAMPLES: &str = "\
Examples:
  drivescope watch .                    the drive under this directory
  drivescope watch /dev/sda             a whole drive, read-only
  drivescope watch . --interval 1s      one read a second, all day
  drivescope watch . --time 1min --json   an object a second
  drivescope watch sim:wd40efrx --time 1h";

/// Arguments of `watch`.
#[derive(Debug, Args)]
pub struct WatchArguments {
    /// A directory, a file, a block device, or a simulated drive (sim:MODEL).
    pub target: PathBuf,
    /// Bytes per read.
    #[arg(long, default_value = "4KiB", value_parser = block_size, allow_hyphen_values = true, hide_short_help = true)]
    pub block_size: Bytes,
    /// Time from one read to the next, such as 1s (default: back to back).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub interval: Option<Secs>,
    /// Stop after N reads.
    #[arg(long, short, value_name = "N", allow_hyphen_values = true)]
    pub count: Option<u64>,
    /// Stop after this time (default: at Ctrl-C; on a simulated drive, after 10 s).
    #[arg(long, allow_hyphen_values = true)]
    pub time: Option<Secs>,
    /// Size of the test file in a directory (default: 512MiB), or the part of a file or device to use
    /// (default: all).
    #[arg(long, allow_hyphen_values = true)]
    pub size: Option<Bytes>,
    /// Watch a directory in memory, although that says nothing of a drive.
    #[arg(long, hide_short_help = true)]
    pub force: bool,
    /// Print JSON: one object per line (NDJSON), the summary last.
    #[arg(long)]
    pub json: bool,
}

fn block_size(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    let is_good = (512..=BLOCK_MAX).contains(&bytes.0) && bytes.0.is_multiple_of(512);
    is_good
        .then_some(bytes)
        .ok_or_else(|| "it must be a multiple of 512 bytes, at most 1 GiB".to_string())
}
