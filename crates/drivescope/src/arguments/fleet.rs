//! Arguments of `fleet`.

use super::StoreArguments;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Many drives on many machines.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Find drives that are odd among those of their model: slow, hot, failing, badly attached.
    Outliers(OutliersArguments),
    /// Write all runs and their figures as Parquet files for DuckDB, pandas or Spark.
    Export(FleetExportArguments),
}

/// Arguments of `fleet outliers`.
#[derive(Debug, Args)]
pub struct OutliersArguments {
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

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 0.5);
    share.ok_or_else(|| "it must be a number above 0 and up to 0.5, such as 0.05".to_string())
}
