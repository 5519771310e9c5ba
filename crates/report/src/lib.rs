//! Pure functions from drivescope's documents to text and pictures: no I/O, no clock, no terminal.
//!
//! [`judge`] says what a drive suits, [`text`] prints documents for people within the columns of their terminal, and
//! [`markdown`] writes the generated pages of `docs/`. What they need to know of a workload stands in
//! `workloads`, in one file each.

pub mod chart;
pub mod csv;
pub mod markdown;
pub mod page;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod run_markdown;
pub mod text;
pub mod verdict;

mod advise;
mod anonymize;
mod answer;
mod class_strips;
mod comparison;
mod comparison_charts;
mod criteria;
mod figure_grid;
mod first_seen;
mod history;
mod history_charts;
mod known_drives;
mod paired_comparison;
mod side_by_side;
mod terminal;
#[cfg(test)]
mod testing;
mod use_cases;
mod workloads;

pub use advise::{
    DataLayout, DriveFigures, MachineChange, Need, PlacedPartition, machine_changes,
    partition_script, place,
};
pub use anonymize::anonymized;
pub use answer::answer;
pub use class_strips::class_strips;
pub use comparison::{ComparedMetric, MetricRatio, RunComparison, compare};
pub use comparison_charts::{comparison_charts, price_chart};
pub use history::{DriveHistory, HistoryRun, MetricChange, MetricHistory, history};
pub use history_charts::history_charts;
pub use known_drives::KnownDrive;
pub use paired_comparison::{compare_pairs, is_decided};
pub use side_by_side::SideBySide;
pub use terminal::{COLUMNS_MAX, Style, WIDTH, clean, width, wrap};
pub use verdict::judge;
pub use workloads::{charts, every_chart};
